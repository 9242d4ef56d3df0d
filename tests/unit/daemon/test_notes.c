/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "daemon/notes.h"
#include "edge/log.h"
#include "suite.h"

/*
 * What the leader says of each note of the controller, word by word.  The
 * linker puts the functions below in the place of the table, the event recorder
 * and the log.
 */
bool __wrap_state_note(struct state *s, struct note *out);
bool __wrap_state_nodepool_at(struct state *s, uint32_t *i,
			   struct nodepool_report *out);
void __wrap_event_recorder_say(struct event_recorder *t,
			       const struct event_series_what *what);
void __wrap_log_fields(enum log_level level, const char *phrase,
		       const struct log_field *fields);

static const struct note *note;		/* NULL: it has been taken */
static char said[4096];
static struct buf b;

/* A person holds p by hand, and `off` is left out. */
static const struct nodepool_report pools[] = {
	{.name = "p", .uid = "u-p", .hand_ms = 1},
	{.name = "q", .uid = "u-q", .hand_ms = STAMP_NONE},
	{.name = "off", .uid = "u-off", .out = true, .hand_ms = STAMP_NONE},
};

bool
__wrap_state_note(struct state *s, struct note *out)
{
	(void)s;
	if (note == NULL)
		return false;
	*out = *note;
	note = NULL;
	return true;
}

bool
__wrap_state_nodepool_at(struct state *s, uint32_t *i,
			 struct nodepool_report *out)
{
	(void)s;
	if (*i >= sizeof(pools) / sizeof(pools[0]))
		return false;
	*out = pools[(*i)++];
	return true;
}

void
__wrap_event_recorder_say(struct event_recorder *t,
			  const struct event_series_what *what)
{
	(void)t;
	buf_printf(&b, "%s %s %s: %s\n", event_series_reason_name(what->reason),
		   what->nodepool, what->nodepool_uid, what->note);
}

void
__wrap_log_fields(enum log_level level, const char *phrase,
		  const struct log_field *fields)
{
	buf_printf(&b, "%s %s", level == LOG_WARN ? "WARN" : "INFO", phrase);
	for (; fields->type != LOG_END; fields++)
		if (fields->type == LOG_STR)
			buf_printf(&b, " %s=%s", fields->key, fields->str);
		else
			buf_printf(&b, " %s=%lld", fields->key,
				   (long long)fields->num);
	buf_puts(&b, "\n");
}

#define T 1767323045000	/* 2026-01-02T03:04:05Z */
#define AT "2026-01-02T03:04:05Z"
#define BOOTING " at the earliest, as machines are still booting\n"

static const struct tell {
	const char *name;
	enum scope_kind scope;
	struct note note;
	const char *want;
} tells[] = {
	{"held", SCOPE_CLUSTER,
	 {.type = NOTE_SCOPE_HELD,
	  .as.held = {.until_ms = T, .machine = "p-x7"}},
	 "INFO scope held scope=cluster quietAt=" AT
	 " atTheEarliest=false machine=p-x7\n"
	 "HoldStarted p u-p: The cluster has scaled up, most recently by "
	 "machine p-x7: its nodes are held until " AT
	 " if nothing is added\n"
	 "HoldStarted q u-q: The cluster has scaled up, most recently by "
	 "machine p-x7: its nodes are held until " AT
	 " if nothing is added\n"},
	{"held, machines boot", SCOPE_NODEPOOL,
	 {.type = NOTE_SCOPE_HELD, .name = "q",
	  .as.held = {.until_ms = T, .earliest = true, .machine = "q-1"}},
	 "INFO scope held scope=q quietAt=" AT
	 " atTheEarliest=true machine=q-1\n"
	 "HoldStarted q u-q: This NodePool has scaled up, most recently by "
	 "machine q-1: its nodes are held until " AT BOOTING},
	{"held, nobody knows by which", SCOPE_NODEPOOL,
	 {.type = NOTE_SCOPE_HELD, .name = "q", .as.held = {.until_ms = T}},
	 "INFO scope held scope=q quietAt=" AT
	 " atTheEarliest=false machine=\n"
	 "HoldStarted q u-q: This NodePool has scaled up: its nodes are held "
	 "until " AT " if nothing is added\n"},
	{"moved", SCOPE_NODEPOOL,
	 {.type = NOTE_SCOPE_MOVED, .name = "q",
	  .as.held = {.until_ms = T, .machine = "q-2"}},
	 "INFO quiet time moved scope=q quietAt=" AT
	 " atTheEarliest=false machine=q-2\n"
	 "HoldExtended q u-q: This NodePool is still busy, most recently "
	 "because of machine q-2: its nodes are held until " AT
	 " if nothing is added\n"},
	{"moved, machines boot", SCOPE_NODEPOOL,
	 {.type = NOTE_SCOPE_MOVED, .name = "p",
	  .as.held = {.until_ms = T, .earliest = true}},
	 "INFO quiet time moved scope=p quietAt=" AT
	 " atTheEarliest=true machine=\n"
	 "HoldExtended p u-p: This NodePool is still busy: its nodes are held "
	 "until " AT BOOTING},
	{"quiet; what is held by hand hears nothing", SCOPE_CLUSTER,
	 {.type = NOTE_SCOPE_QUIET, .as.quiet = {.held_ms = 605000}},
	 "INFO scope quiet scope=cluster heldFor=10m5s\n"
	 "HoldReleased q u-q: The cluster is quiet after 10m5s: its nodes are "
	 "released\n"},
	{"quiet on half a view", SCOPE_CLUSTER,
	 {.type = NOTE_SCOPE_QUIET,
	  .as.quiet = {.held_ms = 60000, .unseen = "NodeClaim"}},
	 "INFO scope quiet scope=cluster heldFor=1m\n"
	 "HoldReleased q u-q: The cluster is quiet after 1m: its nodes are "
	 "released as soon as NodeClaims are seen again\n"},
	{"capped", SCOPE_CLUSTER,
	 {.type = NOTE_SCOPE_CAPPED,
	  .as.capped = {.until_ms = T, .max_ms = 3600000}},
	 "WARN maxHoldDuration used up, released scope=cluster "
	 "maxHoldDuration=1h until=" AT "\n"
	 "HoldCapped q u-q: The cluster has used up its maxHoldDuration of "
	 "1h: until " AT " at the earliest its nodes are released, but for "
	 "machines whose own holdDuration has not passed\n"},
	{"capped, and not all is seen", SCOPE_CLUSTER,
	 {.type = NOTE_SCOPE_CAPPED,
	  .as.capped = {.until_ms = T, .max_ms = 3600000, .unseen = "Node"}},
	 "WARN maxHoldDuration used up, released scope=cluster "
	 "maxHoldDuration=1h until=" AT "\n"
	 "HoldCapped q u-q: The cluster has used up its maxHoldDuration of "
	 "1h: until " AT " at the earliest its nodes are released, but for "
	 "machines whose own holdDuration has not passed, as soon as Nodes are "
	 "seen again\n"},
	{"held, and capped before it is quiet", SCOPE_NODEPOOL,
	 {.type = NOTE_SCOPE_HELD, .name = "p",
	  .as.held = {.until_ms = T, .capped = true, .machine = "p-x7"}},
	 "INFO scope held scope=p quietAt=" AT
	 " atTheEarliest=false machine=p-x7\n"
	 "HoldStarted p u-p: This NodePool has scaled up, most recently by "
	 "machine p-x7: its nodes are held until " AT
	 " at the latest, when its maxHoldDuration is used up\n"},
	{"blocked", SCOPE_CLUSTER,
	 {.type = NOTE_BLOCKED, .name = "NodePool", .as.objects = 12},
	 "WARN holds cannot be released unseen=NodePool objects=12\n"
	 "ReleaseBlocked p u-p: Nothing is released, whatever is due: "
	 "NodePools cannot be listed or watched; the log of the holder that "
	 "leads says why\n"
	 "ReleaseBlocked q u-q: Nothing is released, whatever is due: "
	 "NodePools cannot be listed or watched; the log of the holder that "
	 "leads says why\n"},
	{"stopped", SCOPE_CLUSTER,
	 {.type = NOTE_STOPPED, .name = "NodeClaim", .as.objects = 3},
	 "INFO release waits for unseen objects kind=NodeClaim unseen=3\n"},
	{"without NodePools", SCOPE_CLUSTER,
	 {.type = NOTE_WITHOUT, .name = "NodePool"},
	 "WARN leading without a list unseen=NodePool meanwhile=NodePools "
	 "count as they were last known, else as the configuration says\n"},
	{"without Events", SCOPE_CLUSTER,
	 {.type = NOTE_WITHOUT, .name = "Event"},
	 "WARN leading without a list unseen=Event meanwhile=replacements "
	 "count as scale-ups until Karpenter's Events are seen\n"},
	{"without tickets", SCOPE_CLUSTER,
	 {.type = NOTE_WITHOUT, .name = "Ticket"},
	 "WARN leading without a list unseen=Ticket meanwhile=only the tickets "
	 "that were seen hold\n"},
	{"refused hold", SCOPE_CLUSTER,
	 {.type = NOTE_REFUSED, .name = "n",
	  .as.refused = {KIND_NODE, ACT_HOLD, "403: no"}},
	 "WARN write refused kind=Node name=n write=hold err=403: no\n"},
	{"refused release", SCOPE_CLUSTER,
	 {.type = NOTE_REFUSED, .name = "c",
	  .as.refused = {KIND_NODECLAIM, ACT_CLEAR, "422: bad"}},
	 "WARN write refused kind=NodeClaim name=c write=release "
	 "err=422: bad\n"},
	{"refused class", SCOPE_CLUSTER,
	 {.type = NOTE_REFUSED, .name = "c",
	  .as.refused = {KIND_NODECLAIM, ACT_CLASSIFY, "403: no"}},
	 "WARN write refused kind=NodeClaim name=c write=note a "
	 "replacement err=403: no\n"},
	{"by hand", SCOPE_CLUSTER,
	 {.type = NOTE_NODEPOOL_MANUAL, .name = "p", .as.manual = {"u-p", T}},
	 "INFO pool held by hand pool=p until=" AT "\n"
	 "ManualHold p u-p: karpenter-node-holder.io/hold-until: the nodes of "
	 "this NodePool are held until " AT "\n"},
	{"by hand, with a reason", SCOPE_CLUSTER,
	 {.type = NOTE_NODEPOOL_MANUAL, .name = "p",
	  .as.manual = {"u-p", T, "Black %s Friday"}},
	 "INFO pool held by hand pool=p until=" AT " reason=Black %s Friday\n"
	 "ManualHold p u-p: karpenter-node-holder.io/hold-until: the nodes of "
	 "this NodePool are held until " AT " (Black %s Friday)\n"},
	{"by a ticket", SCOPE_CLUSTER,
	 {.type = NOTE_NODEPOOL_MANUAL, .name = "p",
	  .as.manual = {"u-p", T, "ticket ci of ops: 100% %s", true}},
	 "INFO pool held by hand pool=p until=" AT
	 " reason=ticket ci of ops: 100% %s\n"
	 "ManualHold p u-p: a ticket: the nodes of this NodePool are held "
	 "until " AT " (ticket ci of ops: 100% %s)\n"},
	/* A person's reason may begin with the same word. */
	{"by hand, because of a ticket", SCOPE_CLUSTER,
	 {.type = NOTE_NODEPOOL_MANUAL, .name = "p",
	  .as.manual = {"u-p", T, "ticket OPS-4711"}},
	 "INFO pool held by hand pool=p until=" AT " reason=ticket OPS-4711\n"
	 "ManualHold p u-p: karpenter-node-holder.io/hold-until: the nodes of "
	 "this NodePool are held until " AT " (ticket OPS-4711)\n"},
	{"a ticket that does not say how long", SCOPE_CLUSTER,
	 {.type = NOTE_TICKET, .name = "ci",
	  .as.ticket = {TICKET_ENDLESS, "ops"}},
	 "WARN ticket name=ci holder=ops problem=it lacks renewTime or "
	 "leaseDurationSeconds\n"},
	{"a ticket that is over", SCOPE_CLUSTER,
	 {.type = NOTE_TICKET, .name = "ci", .as.ticket = {TICKET_OVER, "ops"}},
	 "WARN ticket name=ci holder=ops problem=it was over already when it "
	 "was seen\n"},
	{"a ticket for too long", SCOPE_CLUSTER,
	 {.type = NOTE_TICKET, .name = "ci", .as.ticket = {TICKET_LONG, "ops"}},
	 "WARN ticket name=ci holder=ops problem=it holds for 7 days without "
	 "renewal at most\n"},
	{"a ticket of a clock that is ahead", SCOPE_CLUSTER,
	 {.type = NOTE_TICKET, .name = "ci",
	  .as.ticket = {TICKET_AHEAD, "ops"}},
	 "WARN ticket name=ci holder=ops problem=its renewTime is ahead of the "
	 "API server's clock, so it counts from when it was seen\n"},
	{"a ticket of too many patterns", SCOPE_CLUSTER,
	 {.type = NOTE_TICKET, .name = "ci",
	  .as.ticket = {TICKET_BROAD, "ops"}},
	 "WARN ticket name=ci holder=ops problem=it has too many or too long "
	 "patterns; the rest of them hold nothing\n"},
	{"a ticket without room, of nobody", SCOPE_CLUSTER,
	 {.type = NOTE_TICKET, .name = "ci", .as.ticket = {TICKET_FULL, ""}},
	 "WARN ticket name=ci holder= problem=there are 1000 others, and it "
	 "holds nothing\n"},
}, observed[] = {
	{"would be held by a ticket", SCOPE_CLUSTER,
	 {.type = NOTE_NODEPOOL_MANUAL, .name = "p",
	  .as.manual = {"u-p", T, "ticket ci", true}},
	 "INFO observe: pool held by hand pool=p until=" AT
	 " reason=ticket ci\n"
	 "ObservedManualHold p u-p: Mode observe: a ticket: the nodes of this "
	 "NodePool would be held until " AT " (ticket ci)\n"},
	{"a ticket that is over", SCOPE_CLUSTER,
	 {.type = NOTE_TICKET, .name = "ci", .as.ticket = {TICKET_OVER, "ops"}},
	 "WARN ticket name=ci holder=ops problem=it was over already when it "
	 "was seen\n"},
	{"would be held", SCOPE_NODEPOOL,
	 {.type = NOTE_SCOPE_HELD, .name = "q",
	  .as.held = {.until_ms = T, .machine = "q-1"}},
	 "INFO observe: scope held scope=q quietAt=" AT
	 " atTheEarliest=false machine=q-1\n"
	 "ObservedHoldStarted q u-q: Mode observe: This NodePool has scaled "
	 "up, most recently by machine q-1: its nodes would be held until " AT
	 " if nothing is added\n"},
	{"would be held on", SCOPE_NODEPOOL,
	 {.type = NOTE_SCOPE_MOVED, .name = "q", .as.held = {.until_ms = T}},
	 "INFO observe: quiet time moved scope=q quietAt=" AT
	 " atTheEarliest=false machine=\n"
	 "ObservedHoldExtended q u-q: Mode observe: This NodePool is still "
	 "busy: its nodes would be held until " AT
	 " if nothing is added\n"},
	{"would be released", SCOPE_NODEPOOL,
	 {.type = NOTE_SCOPE_QUIET, .name = "q",
	  .as.quiet = {.held_ms = 605000}},
	 "INFO observe: scope quiet scope=q heldFor=10m5s\n"
	 "ObservedHoldReleased q u-q: Mode observe: This NodePool is quiet "
	 "after 10m5s: its nodes would be released\n"},
	{"would be capped", SCOPE_NODEPOOL,
	 {.type = NOTE_SCOPE_CAPPED, .name = "q",
	  .as.capped = {.until_ms = T, .max_ms = 3600000}},
	 "INFO observe: maxHoldDuration used up, released scope=q "
	 "maxHoldDuration=1h until=" AT "\n"
	 "ObservedHoldCapped q u-q: Mode observe: This NodePool has used up "
	 "its maxHoldDuration of 1h: until " AT " at the earliest its nodes "
	 "would be released, but for machines whose own holdDuration has not "
	 "passed\n"},
	{"would be blocked", SCOPE_CLUSTER,
	 {.type = NOTE_BLOCKED, .name = "Node", .as.objects = 1},
	 "WARN observe: holds cannot be released unseen=Node objects=1\n"
	 "ObservedReleaseBlocked p u-p: Mode observe: Nothing would be "
	 "released, whatever is due: Nodes cannot be listed or watched; the "
	 "log of the holder that leads says why\n"
	 "ObservedReleaseBlocked q u-q: Mode observe: Nothing would be "
	 "released, whatever is due: Nodes cannot be listed or watched; the "
	 "log of the holder that leads says why\n"},
	{"would be held by hand", SCOPE_CLUSTER,
	 {.type = NOTE_NODEPOOL_MANUAL, .name = "p", .as.manual = {"u-p", T}},
	 "INFO observe: pool held by hand pool=p until=" AT "\n"
	 "ObservedManualHold p u-p: Mode observe: "
	 "karpenter-node-holder.io/hold-until: the nodes of this NodePool "
	 "would be held until " AT "\n"},
	{"marks that stay", SCOPE_CLUSTER,
	 {.type = NOTE_LEFT, .as.objects = 3},
	 "WARN mode observe leaves holds in place objects=3\n"},
	{"a state that does not fit", SCOPE_NODEPOOL,
	 {.type = NOTE_STATE_SHORT, .as.objects = 312},
	 "WARN the Lease has no room for the state of all scopes left_out=312\n"},
};

static void
check(const struct tell *t, enum mode mode)
{
	struct rules rules = {.mode = mode, .scope = t->scope};

	note = &t->note;
	buf_init(&b, said, sizeof(said));
	notes_report(NULL, &rules, NULL);
	ck_assert_msg(!b.full && strcmp(said, t->want) == 0, "%s: got\n%s",
		      t->name, said);
}

START_TEST(test_tells)
{
	check(&tells[_i], MODE_ENFORCE);
}
END_TEST

START_TEST(test_observed)
{
	check(&observed[_i], MODE_OBSERVE);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("daemon/notes");
	TCase *tc = tcase_create("notes");

	tcase_add_loop_test(tc, test_tells, 0,
			    sizeof(tells) / sizeof(tells[0]));
	tcase_add_loop_test(tc, test_observed, 0,
			    sizeof(observed) / sizeof(observed[0]));
	suite_add_tcase(s, tc);
	return suite_run(s);
}
