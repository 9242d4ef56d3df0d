/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "core/base/stamp.h"
#include "edge/output.h"
#include "hold_parts.h"
#include "leader.h"

#define LOOK_MS 20 /* how long one turn of the session waits for an answer */

static void
tell_held(const struct holding *h, const struct leader_answer *a)
{
	char until[STAMP_BYTES], text[STAMP_BYTES + 80];

	stamp_format(a->until_ms, until);
	(void)snprintf(text, sizeof(text),
		       "the leader holds %" PRIu64 " NodePool%s until %s",
		       a->nodepools, a->nodepools == 1 ? "" : "s", until);
	keeper_tell(&h->keeper, text, "");
	if (a->problem[0] != '\0')
		keeper_tell(&h->keeper, "the leader says: ", a->problem);
}

/* Writes the ticket, and waits until the leader confirms that the ticket holds.
 * Returns -1 with *e set if there is no confirmation. */
static int
begin_held(struct holding *h, struct err *e)
{
	int64_t until_ms = clock_boot_ms() + h->timing->listed_ms;
	struct leader_question q = {
		.calls = &h->keeper.calls,
		.clock = h->clock,
		.namespace_name = h->setup->holder_namespace,
		.lease = h->setup->holder_lease,
		.ticket_namespace = h->setup->ticket.namespace_name,
		.ticket = h->setup->ticket.name};
	struct leader_answer a;

	keeper_want(&h->keeper, KEEPER_KEEP);
	if (keeper_wait(&h->keeper, until_ms, e)) {
		if (e->code != ERR_CANCELLED && h->keeper.state != KEEPER_TAKEN)
			(void)err_wrap(e, "it is not written");
		return -1;
	}
	q.renewed_ms = h->keeper.draft.renewed_us / 1000;
	if (leader_await(&q, until_ms, &a, e))
		return -1;
	tell_held(h, &a);
	return 0;
}

static int
run_command(struct holding *h)
{
	struct kube_reply r;
	struct err e = {0};
	uint64_t tag;
	int rc = child_start(&h->child, h->setup->command, &e);

	if (rc != 0) {
		output_tell("holderctl: %s", e.text);
		return rc;
	}
	while (!child_wait(&h->child, keeper_idle_ms(&h->keeper)))
		(void)session_turn(&h->keeper.calls, LOOK_MS, &tag, &r, &e);
	return child_code(&h->child);
}

/* Reports why there is no confirmation that the ticket holds.  Returns whether
 * the command is started all the same. */
static bool
goes_on(const struct holding *h, const char *why)
{
	keeper_tell(&h->keeper, "it may hold nothing: ", why);
	if (h->setup->strict)
		output_tell("holderctl: --strict: the command is not started");
	return !h->setup->strict;
}

int
hold_while(struct holding *h, struct err *e)
{
	int rc = begin_held(h, e), sig = h->keeper.calls.signals.taken;

	if (rc != 0 && h->keeper.state == KEEPER_TAKEN)
		return err_wrap(e, "ticket %s/%s",
				h->setup->ticket.namespace_name,
				h->setup->ticket.name);
	h->keeper.begun = true;
	if (sig != 0) {
		output_tell("holderctl: %s", e->text);
		rc = 128 + sig;
	} else if (rc != 0 && !goes_on(h, e->text)) {
		rc = HOLD_UNHELD;
	} else {
		rc = run_command(h);
	}
	keeper_end(&h->keeper);
	return rc;
}
