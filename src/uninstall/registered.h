/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNINSTALL_REGISTERED_H
#define UNINSTALL_REGISTERED_H

#include "lease_session.h"

/*
 * What still makes new objects come held: MutatingWebhookConfigurations with
 * our webhook in them, and the MutatingAdmissionPolicy (and its binding) named
 * POLICY_NAME where the API server has such.
 */
#define POLICY_NAME "karpenter-node-holder"
#define REGISTERED_MAX 8

enum registered_kind {
	REGISTERED_WEBHOOK,
	REGISTERED_BINDING,	/* goes before its policy */
	REGISTERED_POLICY,
};

struct registered {
	unsigned n;
	struct {
		enum registered_kind kind;
		char path[300 + NAME_BYTES];
		char name[NAME_BYTES];
		bool shared;	/* holds other webhooks, too */
	} at[REGISTERED_MAX];
};

/* -1: it cannot be seen, such as for want of a right. */
int registered_look(struct lease_session *l, struct registered *out,
		    struct err *e);

/* "mutatingwebhookconfiguration/NAME", as kubectl takes it. */
const char *registered_text(const struct registered *r, unsigned i,
			    char text[64 + NAME_BYTES]);

/* Deletes them all, a line on stdout for each; none that is shared. */
int registered_remove(struct lease_session *l, const struct registered *r,
		      struct err *e);

#endif
