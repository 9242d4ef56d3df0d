/* SPDX-License-Identifier: Apache-2.0 */
#include "leader.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/str.h"
#include "edge/kube/answer.h"
#include "wire/api/lease.h"
#include "wire/config/config.h"
#include "wire/doctor/facts.h"

/* The pause between two tries, and the minimum timeout of a request. */
#define AGAIN_MS 300
#define ANSWER_LEAST_MS 500
/* By how much the renewTime that the leader knows may be earlier than ours:
 * another run of the same name may have renewed the ticket after us, and the
 * clocks have whole seconds. */
#define CLOCK_STEP_MS 2000

enum verdict {
	HOLDS,
	NOT_YET, /* another try may help */
	USELESS,
};

/* --- one question --------------------------------------------------------- */

static enum verdict
get(const struct leader_question *q, const char *path, int64_t until_ms,
    struct kube_reply *r, struct err *e)
{
	int64_t left_ms = until_ms - clock_boot_ms();
	struct kube_request request = {.method = "GET",
				       .path = path,
				       .timeout_ms = left_ms > ANSWER_LEAST_MS
							     ? left_ms
							     : ANSWER_LEAST_MS};
	struct err no_answer = {0};
	char text[ANSWER_TEXT];
	uint64_t tag;

	if (session_start(q->calls, &request, 0, e) ||
	    session_finished(q->calls, &tag, r, &no_answer, e))
		return USELESS;
	if (no_answer.code != ERR_NONE) {
		*e = no_answer;
		return NOT_YET;
	}
	if (r->status == 200)
		return HOLDS;
	(void)err_set(e, ERR_SYSTEM, "%d: %s", r->status, answer_text(r, text));
	return answer_class(r) == ANSWER_REFUSED ? USELESS : NOT_YET;
}

/* Finds the name of the leader's Pod.  Checks the name, so that nobody who can
 * write the Lease can direct the next request to another path. */
static enum verdict
find_pod(const struct leader_question *q, int64_t until_ms,
	 char pod[NAME_BYTES], struct err *e)
{
	static struct lease_record record; /* too large for a stack */
	char path[120 + 2 * NAME_BYTES];
	struct kube_reply r;
	enum verdict v;

	(void)snprintf(path, sizeof(path), LEASE_ITEM_PATH, q->namespace_name,
		       q->lease);
	v = get(q, path, until_ms, &r, e);
	if (v == HOLDS && lease_decode(r.body, r.body_bytes, false, &record, e))
		v = NOT_YET;
	if (v != HOLDS) {
		(void)err_wrap(e, "the Lease %s/%s of the holder",
			       q->namespace_name, q->lease);
		return v;
	}
	str_cut(pod, NAME_BYTES, record.holder);
	pod[strcspn(pod, "_")] = '\0';
	if (record.holder[0] == '\0') {
		(void)err_set(e, ERR_SYSTEM,
			      "no replica leads: nobody has the Lease %s/%s",
			      q->namespace_name, q->lease);
		return NOT_YET;
	}
	if (syntax_subdomain(pod))
		return HOLDS;
	(void)err_set(e, ERR_SYSTEM, "the Lease %s/%s does not name a Pod",
		      q->namespace_name, q->lease);
	return NOT_YET;
}

static enum verdict
find_port(const struct leader_question *q, int64_t until_ms, const char *pod,
	  char port[8], struct err *e)
{
	char path[120 + 2 * NAME_BYTES];
	struct pod_facts p;
	struct kube_reply r;
	enum verdict v;

	(void)snprintf(path, sizeof(path), "/api/v1/namespaces/%s/pods/%s",
		       q->namespace_name, pod);
	v = get(q, path, until_ms, &r, e);
	if (v == HOLDS && facts_pod_decode(r.body, r.body_bytes, &p, e) < 0)
		v = NOT_YET;
	if (v != HOLDS) {
		(void)err_wrap(e, "the leader's Pod %s", pod);
		return v;
	}
	if (p.metrics_port[0] == '\0') {
		(void)err_set(e, ERR_SYSTEM,
			      "the leader's Pod %s has no port named metrics",
			      pod);
		return NOT_YET;
	}
	(void)str_copy(port, 8, p.metrics_port);
	return HOLDS;
}

/* Decides what the leader's answer means for the ticket. */
static enum verdict
judge_ticket(const struct leader_question *q, const struct ticket_facts *t,
	     int64_t now_ms, struct err *e)
{
	if (!t->leads) {
		(void)err_set(e, ERR_SYSTEM, "another replica leads by now");
		return NOT_YET;
	}
	if (!t->reads) {
		(void)err_set(e, ERR_SYSTEM,
			      "the holder reads no tickets: its "
			      "tickets.namespace is empty, or it is older than "
			      "tickets");
		return USELESS;
	}
	if (t->observes) {
		(void)err_set(e, ERR_SYSTEM,
			      "the holder has mode: observe, and holds "
			      "nothing");
		return USELESS;
	}
	if (!t->listed && t->left_out > 0)
		(void)err_set(e, ERR_SYSTEM,
			      "the leader's /status does not show it: it has "
			      "no room for %" PRIu64 " of the tickets",
			      t->left_out);
	else if (!t->listed)
		(void)err_set(e, ERR_SYSTEM,
			      "the leader does not list it: is %s its "
			      "tickets.namespace?",
			      q->ticket_namespace);
	else if (t->renewed_ms != STAMP_NONE &&
		 t->renewed_ms < q->renewed_ms - CLOCK_STEP_MS)
		(void)err_set(e, ERR_SYSTEM,
			      "the leader knows only the ticket of this name "
			      "that was there before");
	else if (t->until_ms == STAMP_NONE || t->until_ms <= now_ms)
		(void)err_set(e, ERR_SYSTEM, "the leader says: %s",
			      t->problem[0] != '\0' ? t->problem
						    : "it is over");
	else if (t->nodepools == 0)
		(void)err_set(e, ERR_SYSTEM,
			      "it matches no NodePool that may be held");
	else
		return HOLDS;
	return NOT_YET;
}

static enum verdict
ask_leader(const struct leader_question *q, int64_t until_ms,
	   struct leader_answer *out, struct err *e)
{
	char path[160 + 2 * NAME_BYTES], pod[NAME_BYTES], port[8];
	struct ticket_facts t;
	struct kube_reply r;
	enum verdict v;

	v = find_pod(q, until_ms, pod, e);
	if (v == HOLDS)
		v = find_port(q, until_ms, pod, port, e);
	if (v != HOLDS)
		return v;
	(void)snprintf(path, sizeof(path),
		       "/api/v1/namespaces/%s/pods/http:%s:%s/proxy/status"
		       "?format=json",
		       q->namespace_name, pod, port);
	v = get(q, path, until_ms, &r, e);
	if (v == HOLDS &&
	    facts_ticket_decode(r.body, r.body_bytes, q->ticket, &t, e))
		v = NOT_YET;
	if (v != HOLDS) {
		(void)err_wrap(e, "/status of Pod %s", pod);
		return v;
	}
	v = judge_ticket(q, &t, clock_now(q->clock).server_ms, e);
	*out = (struct leader_answer){.until_ms = t.until_ms,
				      .nodepools = t.nodepools};
	memcpy(out->problem, t.problem, sizeof(out->problem));
	return v;
}

/* --- until it holds ------------------------------------------------------- */

int
leader_await(const struct leader_question *q, int64_t until_ms,
	     struct leader_answer *out, struct err *e)
{
	enum verdict v;
	struct err why;

	for (;;) {
		v = ask_leader(q, until_ms, out, e);
		if (v != NOT_YET)
			return v == HOLDS ? 0 : -1;
		if (clock_boot_ms() + AGAIN_MS >= until_ms)
			return -1;
		if (session_sleep(q->calls, AGAIN_MS, &why)) {
			*e = why;
			return -1;
		}
	}
}
