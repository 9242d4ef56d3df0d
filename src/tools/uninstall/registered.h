/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_UNINSTALL_REGISTERED_H
#define TOOLS_UNINSTALL_REGISTERED_H

#include "core/base/limits.h"
#include "edge/kube/session.h"

/*
 * The registrations that add the hold to new objects:
 * MutatingWebhookConfigurations with our webhook and, if the API server serves
 * them, the MutatingAdmissionPolicy named POLICY_NAME and its binding.
 */
#define POLICY_NAME "karpenter-node-holder"

enum registered_kind {
	REGISTERED_WEBHOOK,
	REGISTERED_BINDING, /* deleted before its policy */
	REGISTERED_POLICY,
};

struct registered {
	unsigned n;
	struct {
		enum registered_kind kind;
		char path[300 + NAME_BYTES];
		char name[NAME_BYTES];
		/* Whether the object also contains webhooks of others. */
		bool shared;
	} at[REGISTERED_MAX];
};

/* Finds the registrations, at most REGISTERED_MAX.  It returns -1 if a list or
 * GET failed, for example because of a missing right. */
int registered_look(struct session *l, struct registered *out, struct err *e);

/* Writes the registration's type and name as kubectl takes them, such as
 * "mutatingwebhookconfiguration/NAME".  Returns `text`. */
const char *registered_text(const struct registered *r, unsigned i,
			    char text[64 + NAME_BYTES]);

/* Deletes each registration and prints a line for it.  It fails at a shared
 * registration, which a person has to change. */
int registered_remove(struct session *l, const struct registered *r,
		      struct output *out, struct err *e);

#endif
