/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EDGE_KUBE_KUBE_PARTS_H
#define EDGE_KUBE_KUBE_PARTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/limits.h"
#include "edge/kube/kube.h"
#include "wire/kubeconfig/kubeconfig.h"

/* The parts of edge/kube that do not use libcurl. */

/* --- kube_url.c: the kubeconfig's `server` -------------------------------- */

/* Where requests go.  If there is a tls_server_name, it takes the place of the
 * host in the URL, because libcurl sends and verifies that name.  `connect_to`
 * then makes libcurl connect to the real address, and the Host header carries
 * the real host. */
struct kube_url {
	char *base;	  /* "https://host:port/prefix"; no '/' at end */
	char *peer;	  /* "host:port", for messages */
	char *connect_to; /* NULL without tls_server_name */
	bool tls;
	/* Whether the host is a loopback address, for which no proxy is
	 * used. */
	bool loopback;
};

int kube_url_init(struct kube_url *u, const char *server,
		  const char *tls_server_name, struct err *e);
void kube_url_done(struct kube_url *u);

/* --- kube_token.c: the bearer token --------------------------------------- */

/* One thread's copy of the token.  Each kube_stream and each kube_lanes has a
 * copy of its own, so that no thread waits for a lock or while another thread
 * reads the file.  Only the token of a plugin is shared. */
struct kube_token {
	/* The token itself, and the file that has it.  Both are borrowed.  If
	 * both are set, the file takes precedence. */
	const char *fixed, *file;
	struct kube_plugin *plugin; /* Borrowed, or NULL. */
	/* A run of the plugin is cut when this becomes true; may be NULL. */
	const atomic_bool *cancelled;
	/* The file is read again every_ms milliseconds after read_ms (boot
	 * time). */
	int64_t every_ms, read_ms;
	char *text;	  /* NULL if there is no token yet. */
	unsigned version; /* How often the text has changed. */
};

void kube_token_init(struct kube_token *t, const struct kubeconfig *access,
		     int64_t every_ms, struct kube_plugin *plugin,
		     const atomic_bool *cancelled);
void kube_token_done(struct kube_token *t);

/* Sets *out to the token for a call now, or to NULL if there is none.  A file
 * that cannot be read is a failure only if there is no other token: an older
 * one, or `fixed`. */
int kube_token_get(struct kube_token *t, int64_t boot_ms, const char **out,
		   struct err *e);

/* Call this if a call with the token of this version got a 401.  It reads the
 * file again or runs the plugin.  Returns true if there is another token
 * now. */
bool kube_token_refused(struct kube_token *t, unsigned version,
			int64_t boot_ms);

/* Reads the whole file as a string without white space at either end.  The
 * caller frees *out.  ERR_INPUT: the file is empty or has a NUL byte.
 * ERR_LIMIT: it has more than `max` bytes. */
int kube_file_read(const char *path, size_t max, char **out, struct err *e);

/* --- kube_head.c: the head of a reply ------------------------------------- */

struct kube_head {
	int status; /* 0 before the status line. */
	/* Whether the head of the final reply, not of a 1xx reply, is
	 * complete. */
	bool whole;
	size_t bytes;
	int64_t date_ms; /* STAMP_NONE without a Date */
	/* Retry-After if it is given in seconds, or -1. */
	int64_t retry_after_ms;
	/* Retry-After if it is given as a date, or STAMP_NONE. */
	int64_t retry_at_ms;
};

void kube_head_init(struct kube_head *h);

/* Takes one line of the head, with its line end.  ERR_LIMIT: the head has more
 * than HEAD_BYTES_MAX bytes. */
int kube_head_line(struct kube_head *h, const char *s, size_t n, struct err *e);

/* Returns the Retry-After in milliseconds from now, or -1 if there is none. */
int64_t kube_head_retry(const struct kube_head *h, int64_t server_ms);

/* --- kube_fault.c: what went wrong, as a sentence ------------------------- */

enum kube_fault {
	FAULT_RESOLVE,
	FAULT_CONNECT,
	FAULT_CONNECT_TIMEOUT,
	FAULT_CA,
	FAULT_DATES,
	FAULT_NAME,
	FAULT_HANDSHAKE,
	FAULT_CLIENT_CERT,
	FAULT_CA_FILE,
	FAULT_CUT,
	FAULT_DEAD,
	FAULT_NOT_HTTP,
	FAULT_PROXY,
	FAULT_REQUEST,
	FAULT_MEMORY,
	FAULT_OTHER,
	FAULT_COUNT,
};

/* Sets the error to "PEER: DETAIL; ADVICE".  Returns -1. */
int kube_fault_set(struct err *e, enum kube_fault fault, const char *peer,
		   const char *detail);

#endif
