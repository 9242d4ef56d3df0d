/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_STATUS_STATUS_H
#define WIRE_STATUS_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/limits.h"
#include "core/controller/status.h"

/*
 * Writes what /status, /status/machines and /status/machines/NAME answer, as
 * JSON, as text and as HTML (docs/status.md).  Names and values come from the
 * cluster, whose writers are not trusted: each format escapes them.  The
 * functions keep no state; any thread may call them.
 */
enum status_format {
	STATUS_TEXT,
	STATUS_JSON,
	STATUS_HTML,
};

/* Returns the Content-Type of this format.  Static. */
const char *status_type(enum status_format f);
/* The Content-Security-Policy that each answer in HTML needs. */
extern const char status_policy[];
#define STATUS_REFRESH "15" /* seconds; the value of the HTTP field Refresh */

/* Which replica leads. */
struct status_lead {
	/* Whether leader election is enabled.  If not, each replica leads. */
	bool electing;
	bool here; /* whether this replica leads */
	/* Whether nobody leads because the Lease still names the earlier
	 * container of this pod. */
	bool restarted;
	/* The holder of the Lease, or "" if nobody leads or the holder is
	 * unknown. */
	char identity[NAME_BYTES];
	/* Since when that holder leads, or STAMP_NONE if that is unknown. */
	int64_t since_ms;
	/* Whose Lease this replica waits for although it is not renewed
	 * (lease_waits), or "".  For how much longer, and the command that ends
	 * the wait, or "" if none does. */
	char waits_for[NAME_BYTES];
	int64_t wait_ms;
	char wait_ends[LEASE_COMMAND_BYTES];
};

/* If `restarted` is set, this text follows "This replica stands by and knows no
 * machines". */
#define STATUS_RESTARTED                                                       \
	": its own pod led before it restarted, and nobody leads until that "  \
	"Lease has run out"

#define STATUS_HOLD                                                            \
	"the Lease's holdAnnotation counts, and this replica is configured "   \
	"with another, so it is not ready"

#define STATUS_STALE                                                           \
	"the file has changed since this replica read it; restart the pods "   \
	"to put it in force"

/* Counts of the reviews in the last minute, or since the start if that is
 * later.  `seconds` is the length of this time. */
struct status_admissions {
	unsigned seconds;
	uint64_t held;
	uint64_t would_hold; /* with MODE_OBSERVE, how many would be held */
	uint64_t unchanged, refused, failed, shed;
};

/* Settings of the page; the other formats ignore them. */
struct status_view {
	/* Time that the timeline shows, at most JOURNAL_MS.  0: the page
	 * chooses it. */
	int64_t last_ms;
	bool still; /* Whether the page does not reload itself. */
};

/* Everything but the items (struct status_items). */
struct status_head {
	int64_t now_ms; /* the API server's time */
	const char *version;
	char replica[NAME_BYTES]; /* the identity of the replica that answers */
	/* Whether the mode is observe.  The holds are then those that would be
	 * made. */
	bool observe;
	struct status_lead lead;
	struct hand_holds hand;	   /* of all NodePools */
	int64_t cert_not_after_ms; /* when the certificate expires; 0: none is
				      served */
	bool cert_valid;
	/* First 8 bytes of the key identifier of the CA that signed the
	 * certificate; 0: unknown. */
	uint64_t cert_authority;
	struct status_admissions admissions;
	const struct rules *rules;
	/* The hold that the replica sets, and whether it is the Lease's and
	 * another than that of the rules. */
	struct hold_key hold;
	bool hold_is_other;
	/* Whether the configuration file has changed since it was read. */
	bool config_stale;
	struct status_report report; /* set only if lead.here */
	int64_t known_ms; /* the time from which on the history is complete */
	struct status_view view;
};

/* The caller's iterators.  They work like controller_scope_status,
 * controller_nodepool_status, controller_ticket_status and controller_turn.
 * They are callbacks so that the caller can take its lock for each item. */
struct status_items {
	void *ctx;
	bool (*scope)(void *ctx, uint32_t *i, struct scope_status *out);
	bool (*nodepool)(void *ctx, uint32_t *i, struct nodepool_status *out);
	bool (*ticket)(void *ctx, uint32_t *i, struct ticket_status *out);
	bool (*turn)(void *ctx, uint64_t *before, struct turn *out);
};

/* Appends the answer of /status.  It writes as many items as fit, and how many
 * were left out.  b->full is set if not even the answer without items fits. */
void status_write(struct buf *b, enum status_format f,
		  const struct status_head *h,
		  const struct status_items *items);

/* Appends the answer about the machine that the request calls `name`.  `scope`
 * is the machine's scope, or NULL if it has none. */
void status_write_machine(struct buf *b, enum status_format f,
			  const struct status_head *h, const char *name,
			  const struct machine_status *m,
			  const struct scope_status *scope);

/* The machines of a list.  `next` calls controller_machine_next until a machine
 * or the end is found.  It sets *scope to the machine's scope, or to an empty
 * scope if the machine has none. */
struct status_machines {
	void *ctx;
	bool (*next)(void *ctx, enum machine_rank rank, uint32_t *i,
		     struct machine_status *m, struct scope_status *scope);
	uint32_t total; /* how many machines there are */
};

/* Appends the list, with the machines that need attention first.  It writes as
 * many as fit, and how many were left out. */
void status_write_machines(struct buf *b, enum status_format f,
			   const struct status_head *h,
			   const struct status_machines *list);

/* Appends a refusal: one line of text, that line as HTML, or a Kubernetes
 * Status in JSON. */
void status_write_refusal(struct buf *b, enum status_format f, int code,
			  const char *message);

#endif
