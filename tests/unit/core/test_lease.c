/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/protocol/lease.h"
#include "run.h"

/* One machine with scripted answers first; then several against a modelled
 * server that has resourceVersions, delays and lost answers. */

#define DURATION 15000
#define RENEW 10000
#define RETRY 2000
#define RETRY_MAX 4400	/* RETRY · (1 + 1.2) */
#define LOOK 600	/* instead, while another holds it */
#define LOOK_MAX 1320
#define EPOCH INT64_C(1767323045000)
#define HOUR INT64_C(3600000)

static struct lease_config
config(const char *identity)
{
	struct lease_config c = {.enabled = true,
				 .duration_ms = DURATION,
				 .renew_deadline_ms = RENEW,
				 .retry_ms = RETRY};

	(void)str_copy(c.identity, sizeof(c.identity), identity);
	return c;
}

static struct now
at(int64_t ms)
{
	return (struct now){.server_ms = EPOCH + ms, .boot_ms = ms};
}

/* --- one machine, scripted ------------------------------------------------ */

static struct lease l;
static int64_t t;
static struct lease_todo todo;
static struct lease_record answer;

static void
setup(void)
{
	struct lease_config c = config("me");

	t = 1000000;
	lease_init(&l, &c, 1);
}

static void
setup_disabled(void)
{
	struct lease_config c = {.renew_deadline_ms = RENEW,
				 .duration_ms = DURATION,
				 .retry_ms = RETRY};

	t = 1000000;
	lease_init(&l, &c, 1);
}

static void
record_of(const char *holder, int32_t duration_s)
{
	static unsigned rv = 1;

	memset(&answer, 0, sizeof(answer));
	answer.present = true;
	answer.duration_s = duration_s;
	answer.transitions = 7;
	answer.acquire_us = 5000;
	answer.renew_us = 6000;
	(void)str_copy(answer.holder, sizeof(answer.holder), holder);
	(void)snprintf(answer.rv, sizeof(answer.rv), "%u", rv++);
}

/* Runs until the next call; returns how long it waited. */
static int64_t
step(enum lease_step want, const char *name)
{
	int64_t then = t;

	todo = lease_next(&l, at(t));
	for (int i = 0; todo.step == LEASE_WAIT && i < 3; i++) {
		ck_assert_int_gt(todo.wait_ms, 0);
		ck_assert_msg(todo.wait_ms < HOUR, "%s: waits for ever", name);
		t += todo.wait_ms;
		todo = lease_next(&l, at(t));
	}
	ck_assert_msg(todo.step == want, "%s: step %d, not %d", name,
		      todo.step, want);
	return t - then;
}

static void
done(enum lease_code code)
{
	struct lease_outcome o = {.code = code, .record = &answer};

	lease_done(&l, &o, at(t));
}

/* OK of a write: what was written, under a new resourceVersion. */
static void
done_write(void)
{
	char state[sizeof(answer.state)];

	memcpy(state, answer.state, sizeof(state));
	record_of("", 0);
	if (todo.with_spec) {
		char rv[RV_BYTES];

		memcpy(rv, answer.rv, sizeof(rv));
		answer = *todo.record;
		memcpy(answer.rv, rv, sizeof(rv));
		answer.present = true;
	}
	memcpy(answer.state, todo.with_state || todo.step == LEASE_CREATE
				     ? todo.record->state : state,
	       sizeof(state));
	done(LEASE_OK);
}

/* Words: G C U for the step that must come, then what is answered: ok 404 409
 * 429 fail; for G also who holds it: me, you (valid), none. */
static void
script(const char *text, const char *name)
{
	char word[16];
	int n;

	for (; sscanf(text, "%15s%n", word, &n) == 1; text += n) {
		const char *a = word + 1;

		(void)step(word[0] == 'G'   ? LEASE_GET
			   : word[0] == 'C' ? LEASE_CREATE
					    : LEASE_UPDATE, name);
		ck_assert_int_gt(todo.timeout_ms, 0);
		ck_assert_int_le(todo.timeout_ms, RENEW / 2);
		if (strcmp(a, "ok") == 0)
			done_write();
		else if (strcmp(a, "404") == 0)
			done(LEASE_NOT_FOUND);
		else if (strcmp(a, "409") == 0)
			done(LEASE_CONFLICT);
		else if (strcmp(a, "429") == 0)
			done(LEASE_BUSY);
		else if (strcmp(a, "fail") == 0)
			done(LEASE_FAILED);
		else {
			record_of(strcmp(a, "none") == 0 ? "" : a, 15);
			done(LEASE_OK);
		}
	}
}

/* The notes so far, a letter each. */
static const char *
notes(void)
{
	static const char letters[] = "LOXTRB";
	static char out[64];
	struct lease_note n;
	size_t i = 0;

	while (lease_note(&l, &n))
		out[i++] = letters[n.type];
	out[i] = '\0';
	return out;
}

static const struct {
	const char *name, *script;
	bool leads;
	const char *notes;
	int64_t wait_min, wait_max;	/* then */
	enum lease_step next;
} rows[] = {
	{"absent: created", "G404 Cok", true, "L", RETRY, RETRY, LEASE_UPDATE},
	{"lost the race", "G404 C409", false, "", RETRY, RETRY_MAX, LEASE_GET},
	{"held by another", "Gyou", false, "O", LOOK, LOOK_MAX, LEASE_GET},
	{"given up: taken at once", "Gnone Uok", true, "L", RETRY, RETRY,
	 LEASE_UPDATE},
	{"ours from before a restart", "Gme Uok", true, "L", RETRY, RETRY,
	 LEASE_UPDATE},
	{"taken by another meanwhile", "Gnone U409", false, "", RETRY,
	 RETRY_MAX, LEASE_GET},
	{"first GET fails", "Gfail", false, "", RETRY, RETRY_MAX, LEASE_GET},
	{"answer to CREATE lost", "G404 Cfail Gme Uok", true, "L", RETRY, RETRY,
	 LEASE_UPDATE},
	{"answer to taking lost", "Gnone Ufail Gme Uok", true, "L", RETRY,
	 RETRY, LEASE_UPDATE},
	{"renewed without GET", "G404 Cok Uok Uok Uok", true, "L", RETRY, RETRY,
	 LEASE_UPDATE},
	{"renewal fails: looked at once", "G404 Cok Ufail", true, "L", 0, 0,
	 LEASE_GET},
	{"and again", "G404 Cok Ufail Gme", true, "L", 0, 0, LEASE_UPDATE},
	{"and well", "G404 Cok Ufail Gme Uok", true, "L", RETRY, RETRY,
	 LEASE_UPDATE},
	{"renewal conflicts", "G404 Cok U409 Gme Uok", true, "L", RETRY, RETRY,
	 LEASE_UPDATE},
	{"the look fails too", "G404 Cok Ufail Gfail", true, "L", RETRY, RETRY,
	 LEASE_GET},
	{"no spin", "G404 Cok U409 Gme U409 Gme", true, "L", RETRY, RETRY,
	 LEASE_UPDATE},
	{"another has it: lost", "G404 Cok U409 Gyou", false, "LOT", LOOK,
	 LOOK_MAX, LEASE_GET},
	{"emptied: lost, and taken", "G404 Cok U409 Gnone Uok", true, "LTL",
	 RETRY, RETRY, LEASE_UPDATE},
	{"deleted: made anew", "G404 Cok U404 G404 Cok", true, "L", RETRY,
	 RETRY, LEASE_UPDATE},
	{"deleted, another was faster", "G404 Cok U404 G404 C409 Gyou", false,
	 "LOT", LOOK, LOOK_MAX, LEASE_GET},
	{"deleted under another: its time first", "Gyou G404", false, "O",
	 RETRY, RETRY_MAX, LEASE_GET},
	{"busy at renewal: the same again", "G404 Cok U429", true, "L", RETRY,
	 RETRY, LEASE_UPDATE},
	{"busy at first", "G429", false, "", RETRY, RETRY_MAX, LEASE_GET},
	{"no namespace", "G404 C404", false, "", RETRY, RETRY_MAX, LEASE_GET},
};

START_TEST(scripted)
{
	const char *name = rows[_i].name, *told;
	int64_t waited;

	script(rows[_i].script, name);
	ck_assert_msg(lease_leads(&l, t) == rows[_i].leads, "%s: leads", name);
	ck_assert_msg((lease_state(&l) != NULL) == rows[_i].leads, "%s: state",
		      name);
	told = notes();
	ck_assert_msg(strcmp(told, rows[_i].notes) == 0, "%s: notes %s", name,
		      told);
	waited = step(rows[_i].next, name);
	ck_assert_msg(waited >= rows[_i].wait_min &&
			      waited <= rows[_i].wait_max,
		      "%s: waits %lld", name, (long long)waited);
}
END_TEST

static const struct {
	const char *name, *script;
	int32_t transitions;
	bool acquired_now;	/* else as it was */
} written[] = {
	{"created", "G404", 0, true},
	{"taken", "Gnone", 8, true},
	{"ours from before", "Gme", 7, false},
	{"renewed", "Gnone Uok", 8, false},
	{"made anew", "Gnone Uok U404 G404", 0, true},
};

START_TEST(what_is_written)
{
	const char *name = written[_i].name;
	const struct lease_record *r;
	int64_t now_us;

	script(written[_i].script, name);
	t += 5;
	todo = lease_next(&l, at(t));
	while (todo.step == LEASE_WAIT) {
		t += todo.wait_ms;
		todo = lease_next(&l, at(t));
	}
	r = todo.record;
	now_us = (EPOCH + t) * 1000;
	ck_assert_ptr_nonnull(r);
	ck_assert(todo.with_spec && !todo.with_state);
	ck_assert_str_eq(r->holder, "me");
	ck_assert_int_eq(r->duration_s, 15);
	ck_assert_int_eq(r->renew_us, now_us);
	ck_assert_msg(r->transitions == written[_i].transitions,
		      "%s: transitions %d", name, r->transitions);
	ck_assert_msg((r->acquire_us == now_us) == written[_i].acquired_now,
		      "%s: acquired %lld", name, (long long)r->acquire_us);
	if (todo.step == LEASE_UPDATE)
		ck_assert_str_eq(r->rv, l.seen.rv);
	if (strcmp(name, "ours from before") == 0)
		ck_assert_int_eq(r->acquire_us, 5000);
}
END_TEST

/* The server's time as we take it, beside what it was at the last renewal. */
static const struct {
	int64_t moved_ms, renewed_us;
} jitters[] = {
	{1, 1000}, {0, 1}, {-1, 1}, {-2999, 1}, {-3000, -3000000},
	{-HOUR, -HOUR * 1000},
};

START_TEST(renewals_always_differ)
{
	int64_t before;

	script("G404 Cok Uok", "renewals");
	before = l.seen.renew_us;
	t += RETRY;
	todo = lease_next(&l, (struct now){
		.server_ms = before / 1000 + jitters[_i].moved_ms,
		.boot_ms = t});
	ck_assert_int_eq(todo.step, LEASE_UPDATE);
	ck_assert_int_eq(todo.record->renew_us - before,
			 jitters[_i].renewed_us);
	ck_assert_int_eq(todo.record->acquire_us, l.seen.acquire_us);
}
END_TEST

/* Part of a second counts as a whole one in the record, never as none. */
START_TEST(duration_is_rounded_up)
{
	struct lease_config c = config("me");

	c.duration_ms = 1001;
	lease_init(&l, &c, 1);
	script("G404", "rounded");
	(void)step(LEASE_CREATE, "rounded");
	ck_assert_int_eq(todo.record->duration_s, 2);
}
END_TEST

/* --- how long another's is good ------------------------------------------- */

static const struct {
	const char *name;
	int32_t duration_s;
	int64_t from_ms, to_ms;	/* first sight to the taking */
} terms[] = {
	{"as ours", 15, 15000, 15000 + LOOK_MAX},
	{"longer than ours", 40, 40000, 40000 + LOOK_MAX},
	{"shorter than ours", 5, 5000, 5000 + LOOK_MAX},
	{"none", 0, 0, 0},
	{"negative", -5, 0, 0},
	{"of a release that crashed", 1, 1000, 1000 + LOOK_MAX},
};

START_TEST(the_records_own_duration)
{
	const char *name = terms[_i].name;
	int64_t then = t;

	record_of("you", terms[_i].duration_s);
	(void)step(LEASE_GET, name);
	done(LEASE_OK);
	while (lease_next(&l, at(t)).step == LEASE_WAIT)
		t += 100;
	/* Either a look (at the same record), or the write itself. */
	while (l.busy == LEASE_GET) {
		t += 1;
		/* A new label moves the object on, but is no sign of life. */
		(void)snprintf(answer.rv, sizeof(answer.rv), "l%lld",
			       (long long)t);
		done(LEASE_OK);
		while (lease_next(&l, at(t)).step == LEASE_WAIT)
			t += 100;
	}
	ck_assert_int_eq(l.busy, LEASE_UPDATE);
	ck_assert_msg(t - then >= terms[_i].from_ms &&
			      t - then <= terms[_i].to_ms + 500,
		      "%s: taken after %lld", name, (long long)(t - then));
}
END_TEST

static void
change_renew(void)
{
	answer.renew_us++;
}

static void
change_acquire(void)
{
	answer.acquire_us++;
}

static void
change_transitions(void)
{
	answer.transitions++;
}

static void
change_holder(void)
{
	(void)str_copy(answer.holder, sizeof(answer.holder), "third");
}

static void
change_cut(void)
{
	answer.holder_cut = true;
}

static void
change_duration(void)
{
	answer.duration_s++;
}

static const struct {
	const char *name;
	void (*change)(void);
} signs[] = {
	{"renewTime", change_renew},
	{"acquireTime", change_acquire},
	{"leaseTransitions", change_transitions},
	{"holderIdentity", change_holder},
	{"a long holderIdentity", change_cut},
	{"leaseDurationSeconds", change_duration},
};

START_TEST(any_change_of_the_record_counts)
{
	script("Gyou", signs[_i].name);
	t += 14900;
	ck_assert_int_eq(lease_next(&l, at(t)).step, LEASE_GET);
	signs[_i].change();
	done(LEASE_OK);
	t += 14900;
	ck_assert_int_eq(lease_next(&l, at(t)).step, LEASE_GET);
	done(LEASE_OK);
	todo = lease_next(&l, at(t));
	ck_assert_msg(todo.step == LEASE_WAIT, "%s", signs[_i].name);
}
END_TEST

/* Cut to what we keep, another's name may look like ours. */
START_TEST(a_cut_name_is_not_ours)
{
	record_of("me", 15);
	answer.holder_cut = true;
	(void)step(LEASE_GET, "cut");
	done(LEASE_OK);
	ck_assert_int_eq(lease_next(&l, at(t)).step, LEASE_WAIT);
}
END_TEST

/* --- the leader's end ----------------------------------------------------- */

/* No answer comes any more: the end comes by itself, told by lease_next. */
START_TEST(a_hanging_renewal)
{
	int64_t sent;
	struct lease_note n;

	script("G404 Cok Uok", "hang");
	sent = t;	/* answered in no time */
	(void)notes();
	(void)step(LEASE_UPDATE, "hang");
	ck_assert_int_eq(lease_fence_ms(&l),
			 sent + DURATION - LEASE_MARGIN_MS);
	ck_assert(lease_leads(&l, sent + RENEW - 1));
	ck_assert(!lease_leads(&l, sent + RENEW));
	todo = lease_next(&l, at(sent + 9000));
	ck_assert_int_eq(todo.step, LEASE_WAIT);
	ck_assert_int_eq(todo.wait_ms, 1000);
	todo = lease_next(&l, at(sent + RENEW));
	ck_assert_int_eq(todo.step, LEASE_WAIT);
	ck_assert_int_eq(todo.wait_ms, INT64_MAX);
	ck_assert(lease_note(&l, &n));
	ck_assert_int_eq(n.type, LEASE_NOTE_LATE);
	ck_assert_ptr_null(lease_state(&l));
	t = sent + RENEW + 100;
	done(LEASE_FAILED);
	ck_assert(!lease_leads(&l, t));
	ck_assert_int_ge(step(LEASE_GET, "hang"), RETRY);
}
END_TEST

/* It counts from when it was sent: an answer after the deadline is none. */
START_TEST(a_late_answer)
{
	script("G404", "late");
	(void)step(LEASE_CREATE, "late");
	t += RENEW;
	done_write();
	ck_assert(!lease_leads(&l, t));
	ck_assert_str_eq(notes(), "");
	script("Gme Uok", "late");
	ck_assert(lease_leads(&l, t));
	(void)step(LEASE_UPDATE, "late");
	t += RENEW - 1000;
	done_write();
	ck_assert(lease_leads(&l, t + 999));
	ck_assert(!lease_leads(&l, t + 1000));
}
END_TEST

/* In time for itself, too late for the one before: there was a gap. */
START_TEST(a_gap_is_told)
{
	int64_t sent;

	script("G404 Cok", "gap");
	sent = t;
	(void)step(LEASE_UPDATE, "gap");
	t = sent + RENEW + 1000;
	ck_assert(!lease_leads(&l, t));
	done_write();
	ck_assert(lease_leads(&l, t));
	ck_assert_str_eq(notes(), "LXL");
}
END_TEST

START_TEST(a_leader_is_told_once)
{
	script("Gyou Gyou Gthird Gthird Gnone U409 Gthird", "told");
	ck_assert_str_eq(notes(), "OOO");
}
END_TEST

START_TEST(a_call_ends_with_the_lead)
{
	int64_t sent;

	script("G404 Cok", "timeout");
	sent = t;
	script("Ufail", "timeout");
	t = sent + RENEW - 300;
	(void)step(LEASE_GET, "timeout");
	ck_assert_int_eq(todo.timeout_ms, 300);
}
END_TEST

/* A deadline that is too near the duration gives way to the margin. */
START_TEST(the_margin_is_kept)
{
	struct lease_config c = config("me");
	int64_t sent;

	c.renew_deadline_ms = DURATION - 1;
	lease_init(&l, &c, 1);
	ck_assert_int_eq(lease_fence_ms(&l), LEASE_NEVER);
	(void)step(LEASE_GET, "margin");
	done(LEASE_NOT_FOUND);
	(void)step(LEASE_CREATE, "margin");
	sent = t;
	done_write();
	ck_assert(lease_leads(&l, sent + DURATION - LEASE_MARGIN_MS - 1));
	ck_assert(!lease_leads(&l, sent + DURATION - LEASE_MARGIN_MS));
}
END_TEST

START_TEST(retry_after_is_obeyed)
{
	struct lease_outcome o = {.code = LEASE_BUSY, .retry_after_ms = 7000};

	(void)step(LEASE_GET, "busy");
	lease_done(&l, &o, at(t));
	ck_assert_int_eq(step(LEASE_GET, "busy"), 7000);
}
END_TEST

START_TEST(jitter_is_spread)
{
	int64_t min = INT64_MAX, max = 0;

	for (uint64_t seed = 0; seed < 300; seed++) {
		struct lease_config c = config("me");
		int64_t waited;

		lease_init(&l, &c, seed);
		script("Gyou", "jitter");
		waited = step(LEASE_GET, "jitter");
		min = waited < min ? waited : min;
		max = waited > max ? waited : max;
	}
	ck_assert_int_ge(min, LOOK);
	ck_assert_int_lt(min, LOOK + 30);
	ck_assert_int_lt(max, LOOK_MAX);
	ck_assert_int_gt(max, LOOK_MAX - 30);
}
END_TEST

/* The oldest give way, and the newest are there. */
START_TEST(notes_are_bounded)
{
	script("G404 Cok", "notes");
	for (int i = 0; i < LEASE_NOTES; i++)
		script("U409 Gnone Uok", "notes");
	ck_assert_str_eq(notes(), "TLTLTLTL");
}
END_TEST

/* --- the end -------------------------------------------------------------- */

static const struct {
	const char *name, *before, *after, *notes;
	bool under_way;	/* the call of `after`'s first word, as we stop */
} stops[] = {
	{"never led", "Gyou", "", "", false},
	{"nothing seen", "", "", "", false},
	{"fresh: given up at once", "G404 Cok", "Uok", "R", false},
	{"not fresh: looked first", "G404 Cok Ufail Gfail", "Gme Uok", "R",
	 false},
	{"another has it", "G404 Cok Ufail Gfail", "Gyou", "O", false},
	{"conflict: once more", "G404 Cok", "U409 Gme Uok", "R", false},
	{"conflict: another has it", "G404 Cok", "U409 Gyou", "O", false},
	{"one try", "G404 Cok", "Ufail", "", false},
	{"conflict for ever", "G404 Cok", "U409 Gme U409", "", false},
	{"deleted", "G404 Cok Ufail Gfail", "G404", "", false},
	{"busy", "G404 Cok", "U429", "", false},
	{"renewal under way", "G404 Cok", "Uok Uok", "R", true},
	{"renewal under way is lost", "G404 Cok", "Ufail Gme Uok", "R", true},
	{"the taking under way", "Gnone", "Uok Uok", "R", true},
	{"the taking under way is lost", "Gnone", "Ufail Gme Uok", "R", true},
	{"the taking under way came too late", "Gnone", "U409 Gyou", "O", true},
	{"the making under way", "G404", "Cok Uok", "R", true},
	{"a look under way", "", "Gyou", "O", true},
	{"a look under way, ours", "G404 Cok Ufail", "Gme Uok", "R", true},
};

static void
stop_under_way(const char *script_text)
{
	enum lease_step first = script_text[0] == 'G'	? LEASE_GET
				: script_text[0] == 'C' ? LEASE_CREATE
							: LEASE_UPDATE;
	struct lease_todo kept;

	(void)step(first, "under way");
	kept = todo;
	lease_stop(&l);
	ck_assert_int_eq(lease_next(&l, at(t)).wait_ms, INT64_MAX);
	todo = kept;
	if (strncmp(script_text + 1, "ok", 2) == 0)
		done_write();
	else if (strncmp(script_text + 1, "409", 3) == 0)
		done(LEASE_CONFLICT);
	else if (strncmp(script_text + 1, "fail", 4) == 0)
		done(LEASE_FAILED);
	else {
		record_of(strncmp(script_text + 1, "me", 2) == 0 ? "me" : "you",
			  15);
		done(LEASE_OK);
	}
}

START_TEST(stopping)
{
	const char *name = stops[_i].name, *after = stops[_i].after, *told;
	int64_t then;

	script(stops[_i].before, name);
	if (!stops[_i].under_way)
		(void)notes();
	then = t;
	if (stops[_i].under_way) {
		const char *space = strchr(after, ' ');

		(void)notes();
		stop_under_way(after);
		then = t;
		after = space == NULL ? "" : space + 1;
	} else {
		lease_stop(&l);
	}
	lease_stop(&l);	/* again: nothing */
	ck_assert_msg(!lease_leads(&l, t), "%s", name);
	ck_assert_int_eq(lease_state_set(&l, "x"), -1);
	script(after, name);
	ck_assert_msg(lease_next(&l, at(t)).step == LEASE_END, "%s: not done",
		      name);
	ck_assert_msg(lease_next(&l, at(t + HOUR)).step == LEASE_END,
		      "%s: not for good", name);
	ck_assert_msg(t == then, "%s: it waited", name);
	told = notes();
	ck_assert_msg(strcmp(told, stops[_i].notes) == 0, "%s: notes %s", name,
		      told);
}
END_TEST

START_TEST(what_a_release_writes)
{
	int64_t now_us;

	script("Gnone Uok", "release");
	ck_assert_int_eq(lease_state_set(&l, "last words"), 0);
	t += 5;
	lease_stop(&l);
	(void)step(LEASE_UPDATE, "release");
	now_us = (EPOCH + t) * 1000;
	ck_assert_str_eq(todo.record->holder, "");
	ck_assert_int_eq(todo.record->duration_s, 1);
	ck_assert_int_eq(todo.record->transitions, 8);
	ck_assert_int_eq(todo.record->acquire_us, now_us);
	ck_assert_int_eq(todo.record->renew_us, now_us);
	ck_assert(todo.with_state && todo.with_spec);
	ck_assert_str_eq(todo.record->state, "last words");
}
END_TEST

/* --- the state ------------------------------------------------------------ */

START_TEST(state_is_read_before_it_is_written)
{
	ck_assert_ptr_null(lease_state(&l));
	ck_assert_int_eq(lease_state_set(&l, "early"), -1);
	record_of("", 15);
	(void)str_copy(answer.state, sizeof(answer.state), "theirs");
	(void)step(LEASE_GET, "state");
	done(LEASE_OK);
	ck_assert_ptr_null(lease_state(&l));
	(void)step(LEASE_UPDATE, "state");
	ck_assert(!todo.with_state);
	done_write();
	ck_assert_str_eq(lease_state(&l), "theirs");
	ck_assert_int_eq(lease_state_set(&l, "ours"), 0);
	ck_assert_str_eq(lease_state(&l), "ours");
	ck_assert_int_eq(step(LEASE_UPDATE, "state"), RETRY);
	ck_assert(todo.with_state && todo.with_spec);
	ck_assert_str_eq(todo.record->state, "ours");
	done_write();
	(void)step(LEASE_UPDATE, "state");
	ck_assert(!todo.with_state);	/* it has not changed */
	done(LEASE_FAILED);
	record_of("me", 15);	/* someone else took it away */
	(void)step(LEASE_GET, "state");
	done(LEASE_OK);
	(void)step(LEASE_UPDATE, "state");
	ck_assert(todo.with_state);
}
END_TEST

/* What was set while the write was under way goes with the next one. */
START_TEST(state_set_under_way)
{
	script("G404 Cok", "under way");
	ck_assert_int_eq(lease_state_set(&l, "one"), 0);
	(void)step(LEASE_UPDATE, "under way");
	answer = *todo.record;
	answer.present = true;
	ck_assert_int_eq(lease_state_set(&l, "two"), 0);
	done(LEASE_OK);
	(void)step(LEASE_UPDATE, "under way");
	ck_assert(todo.with_state);
	ck_assert_str_eq(todo.record->state, "two");
}
END_TEST

/* Who loses the Lease loses the state: it may be another's by now. */
START_TEST(state_goes_with_the_lead)
{
	script("G404 Cok", "lost");
	ck_assert_int_eq(lease_state_set(&l, "mine"), 0);
	script("U409 Gyou", "lost");
	ck_assert_ptr_null(lease_state(&l));
	ck_assert_int_eq(lease_state_set(&l, "mine"), -1);
	t += 16000;
	script("Gnone", "lost");
	(void)step(LEASE_UPDATE, "lost");
	ck_assert(!todo.with_state);
	done(LEASE_FAILED);
	script("G404", "lost");
	(void)step(LEASE_CREATE, "lost");
	ck_assert_str_eq(todo.record->state, "");
}
END_TEST

START_TEST(state_of_a_lease_made_anew)
{
	script("G404 Cok", "anew");
	ck_assert_int_eq(lease_state_set(&l, "mine"), 0);
	script("U404 G404", "anew");
	(void)step(LEASE_CREATE, "anew");
	ck_assert_str_eq(todo.record->state, "mine");
}
END_TEST

START_TEST(state_bounds)
{
	static char text[LEASE_STATE_BYTES + 1];

	script("G404 Cok", "bounds");
	memset(text, 'x', LEASE_STATE_BYTES);
	ck_assert_int_eq(lease_state_set(&l, text), -1);
	ck_assert_str_eq(lease_state(&l), "");
	text[LEASE_STATE_BYTES - 1] = '\0';
	ck_assert_int_eq(lease_state_set(&l, text), 0);
	ck_assert_str_eq(lease_state(&l), text);
}
END_TEST

START_TEST(state_that_cannot_be_read)
{
	record_of("me", 15);
	answer.state_bad = true;
	(void)step(LEASE_GET, "bad");
	done(LEASE_OK);
	(void)step(LEASE_UPDATE, "bad");
	answer = *todo.record;
	answer.present = answer.state_bad = true;
	done(LEASE_OK);
	ck_assert_str_eq(lease_state(&l), "");
	ck_assert_str_eq(notes(), "LB");
}
END_TEST

/* --- without election ----------------------------------------------------- */

/* Nothing is asked for at t; waits for ever. */
static void
idle(const char *name)
{
	todo = lease_next(&l, at(t));
	ck_assert_msg(todo.step == LEASE_WAIT && todo.wait_ms == INT64_MAX,
		      "%s: step %d", name, todo.step);
}

START_TEST(alone_makes_the_object)
{
	ck_assert(lease_leads(&l, t));
	ck_assert_ptr_null(lease_state(&l));
	ck_assert_int_eq(lease_state_set(&l, "early"), -1);
	script("G404", "alone");
	ck_assert_int_eq(step(LEASE_CREATE, "alone"), 0);
	ck_assert(!todo.with_spec);
	ck_assert_str_eq(todo.record->holder, "");
	ck_assert_int_eq(todo.record->duration_s, 0);
	ck_assert_int_eq(todo.record->renew_us, STAMP_NONE);
	ck_assert_int_eq(todo.record->acquire_us, STAMP_NONE);
	done_write();
	ck_assert_str_eq(lease_state(&l), "");
	idle("alone");
	ck_assert(lease_leads(&l, t + 1000 * HOUR));
	ck_assert_int_eq(lease_fence_ms(&l), INT64_MAX);
}
END_TEST

START_TEST(alone_writes_changes_only)
{
	int64_t waited;

	record_of("someone", 15);
	(void)str_copy(answer.state, sizeof(answer.state), "old");
	(void)step(LEASE_GET, "alone");
	done(LEASE_OK);
	ck_assert(lease_leads(&l, t));
	ck_assert_str_eq(lease_state(&l), "old");
	idle("as read");
	t += 60000;
	ck_assert_int_eq(lease_state_set(&l, "old"), 0);
	idle("the same");
	ck_assert_int_eq(lease_state_set(&l, "new"), 0);
	ck_assert_int_eq(step(LEASE_UPDATE, "new"), 0);
	ck_assert(todo.with_state && !todo.with_spec);
	done_write();
	ck_assert_int_eq(lease_state_set(&l, "newer"), 0);
	waited = step(LEASE_UPDATE, "newer");
	ck_assert_int_eq(waited, RETRY);	/* at most once per retry_ms */
	done_write();
	idle("written");
	ck_assert_str_eq(notes(), "");
}
END_TEST

static const struct {
	const char *name, *script;
	enum lease_step next;
	int64_t wait_min, wait_max;
	bool known;	/* the state */
} alones[] = {
	{"GET fails", "Gfail", LEASE_GET, RETRY, 2 * RETRY, false},
	{"GET fails again", "Gfail Gfail", LEASE_GET, 2 * RETRY, 4 * RETRY,
	 false},
	{"backoff ends", "Gfail Gfail Gfail Gfail Gfail Gfail Gfail Gfail",
	 LEASE_GET, 8 * RETRY, 16 * RETRY, false},
	{"CREATE is refused", "G404 Cfail", LEASE_GET, RETRY, 2 * RETRY, false},
	{"made by another", "G404 C409", LEASE_GET, 0, 0, false},
	{"conflict", "Gme +x U409", LEASE_GET, 0, 0, true},
	{"conflict, written then", "Gme +x U409 Gme", LEASE_UPDATE, 0, 0, true},
	{"deleted", "Gme +x U404 G404", LEASE_CREATE, 0, 0, true},
	{"no spin", "Gme +x U409 Gme U409 Gme", LEASE_UPDATE, RETRY,
	 2 * RETRY, true},
	{"lost answer", "Gme +x Ufail", LEASE_GET, RETRY, 2 * RETRY, true},
	{"busy", "Gme +x U429", LEASE_UPDATE, RETRY, 2 * RETRY, true},
	{"backoff starts over", "Gfail Gfail Gfail Gme +x Ufail", LEASE_GET,
	 RETRY, 2 * RETRY, true},
};

START_TEST(alone_scripted)
{
	const char *name = alones[_i].name;
	char before[64];
	const char *plus = strstr(alones[_i].script, "+x ");
	int64_t waited;

	(void)snprintf(before, sizeof(before), "%s", alones[_i].script);
	if (plus != NULL)
		before[plus - alones[_i].script] = '\0';
	script(before, name);
	if (plus != NULL) {
		ck_assert_int_eq(lease_state_set(&l, "x"), 0);
		script(plus + 3, name);
	}
	ck_assert_msg(lease_leads(&l, t), "%s: leads", name);
	ck_assert_msg((lease_state(&l) != NULL) == alones[_i].known,
		      "%s: state", name);
	waited = step(alones[_i].next, name);
	ck_assert_msg(waited >= alones[_i].wait_min &&
			      waited <= alones[_i].wait_max,
		      "%s: waits %lld", name, (long long)waited);
	if (todo.step == LEASE_CREATE || todo.step == LEASE_UPDATE)
		ck_assert_str_eq(todo.record->state, "x");
}
END_TEST

START_TEST(alone_stops)
{
	script("Gme", "stop");
	ck_assert_int_eq(lease_state_set(&l, "last words"), 0);
	lease_stop(&l);
	ck_assert(!lease_leads(&l, t));
	ck_assert_int_eq(step(LEASE_UPDATE, "stop"), 0);
	ck_assert(todo.with_state && !todo.with_spec);
	ck_assert_str_eq(todo.record->state, "last words");
	done_write();
	ck_assert_int_eq(lease_next(&l, at(t)).step, LEASE_END);
	ck_assert_str_eq(notes(), "");
}
END_TEST

START_TEST(alone_stops_with_nothing_to_say)
{
	script("Gme", "stop");
	lease_stop(&l);
	ck_assert_int_eq(lease_next(&l, at(t)).step, LEASE_END);
}
END_TEST

/* --- several, and a server ------------------------------------------------ */

#define REPLICAS 3
#define REQUESTS 24
#define NEVER INT64_MAX
#define SHORT 64

struct row {	/* the Lease, small */
	bool exists;
	char holder[SHORT], state[SHORT];
	int32_t duration_s, transitions;
	int64_t acquire_us, renew_us;
	unsigned rv;
};

struct request {	/* between a replica and the server */
	int64_t arrives;	/* NEVER: none */
	int from;
	unsigned call;
	enum lease_step step;
	bool with_spec, with_state;
	struct row row;
	int64_t takes;	/* the way back */
	bool lost;	/* on it */
};

struct replica {
	struct lease l;
	bool up, stopped;
	char name[16];
	int64_t boot_ms, skew_ms;	/* its clocks beside the world's */
	int64_t wakes, paused_until;
	unsigned call;	/* under way; 0: none */
	int64_t answers;	/* when lease_done is called */
	enum lease_code code;
	struct row row;
	unsigned born;
};

static struct world {
	struct row row;
	struct request requests[REQUESTS];
	struct replica replicas[REPLICAS];
	int64_t t;
	struct dice dice;
	unsigned calls;
	uint32_t lost_percent, slow_percent, delay_ms;
	unsigned leads, takeovers;
	int leader;	/* the last that came to lead */
	uint64_t seed;
} w;

static struct now
replica_now(const struct replica *r)
{
	return (struct now){.server_ms = EPOCH + w.t + r->skew_ms,
			    .boot_ms = w.t + r->boot_ms};
}

static bool
replica_leads(const struct replica *r)
{
	return r->up && lease_leads(&r->l, w.t + r->boot_ms);
}

static void
replica_start(int i)
{
	struct replica *r = &w.replicas[i];
	struct lease_config c;

	(void)snprintf(r->name, sizeof(r->name), "r%d-%u", i, r->born++);
	c = config(r->name);
	lease_init(&r->l, &c, w.seed * 31 + r->born * 7 + (uint64_t)i);
	r->up = true;
	r->stopped = false;
	r->call = 0;
	r->answers = NEVER;
	r->wakes = w.t;
	r->paused_until = w.t;
}

static void
world_init(uint64_t seed)
{
	memset(&w.row, 0, sizeof(w.row));
	w.seed = seed;
	w.dice = dice_new(seed);
	w.t = 0;
	w.calls = w.leads = w.takeovers = 0;
	w.lost_percent = w.slow_percent = 0;
	w.delay_ms = 20;
	w.leader = -1;
	w.row.rv = 1;
	for (int i = 0; i < REQUESTS; i++)
		w.requests[i].arrives = NEVER;
	for (int i = 0; i < REPLICAS; i++) {
		w.replicas[i].up = false;
		w.replicas[i].born = 0;
		w.replicas[i].stopped = true;	/* nothing under way */
		w.replicas[i].answers = w.replicas[i].wakes = NEVER;
		w.replicas[i].boot_ms = roll(&w.dice, 100000000);
		w.replicas[i].skew_ms =
			((int64_t)roll(&w.dice, 48) - 24) * HOUR;
	}
}

static int64_t
delay(void)
{
	if (roll(&w.dice, 100) < w.slow_percent)
		return roll(&w.dice, 20000);
	return 1 + roll(&w.dice, w.delay_ms);
}

static void
send(int i, const struct lease_todo *todo_)
{
	struct replica *r = &w.replicas[i];
	struct request *q = w.requests;

	while (q < w.requests + REQUESTS && q->arrives != NEVER)
		q++;
	r->call = ++w.calls;
	r->code = LEASE_FAILED;
	r->answers = w.t + todo_->timeout_ms;
	if (q == w.requests + REQUESTS || roll(&w.dice, 200) < w.lost_percent)
		return;	/* never arrives */
	*q = (struct request){.arrives = w.t + delay(),
			      .from = i,
			      .call = r->call,
			      .step = todo_->step,
			      .with_spec = todo_->with_spec,
			      .with_state = todo_->with_state,
			      .takes = delay(),
			      .lost = roll(&w.dice, 200) < w.lost_percent};
	if (todo_->record == NULL)
		return;
	q->row.duration_s = todo_->record->duration_s;
	q->row.transitions = todo_->record->transitions;
	q->row.acquire_us = todo_->record->acquire_us;
	q->row.renew_us = todo_->record->renew_us;
	(void)sscanf(todo_->record->rv, "%u", &q->row.rv);
	ck_assert(!str_copy(q->row.holder, SHORT, todo_->record->holder));
	ck_assert(!str_copy(q->row.state, SHORT, todo_->record->state));
}

/* What the API server makes of it. */
static enum lease_code
serve(const struct request *q)
{
	char state[SHORT];

	if (q->step == LEASE_CREATE ? w.row.exists : !w.row.exists)
		return q->step == LEASE_CREATE ? LEASE_CONFLICT
					       : LEASE_NOT_FOUND;
	if (q->step == LEASE_UPDATE && q->row.rv != w.row.rv)
		return LEASE_CONFLICT;
	if (q->step != LEASE_GET) {
		unsigned rv = w.row.rv + 1;

		memcpy(state, w.row.state, SHORT);
		if (w.row.exists && strcmp(w.row.holder, q->row.holder) != 0)
			w.takeovers++;
		w.row = q->row;
		w.row.exists = true;
		w.row.rv = rv;
		if (q->step == LEASE_UPDATE && !q->with_state)
			memcpy(w.row.state, state, SHORT);
	}
	return LEASE_OK;
}

static void
arrive(struct request *q)
{
	struct replica *r = &w.replicas[q->from];
	enum lease_code code = serve(q);

	q->arrives = NEVER;
	if (!r->up || r->call != q->call || q->lost ||
	    w.t + q->takes >= r->answers)
		return;
	r->answers = w.t + q->takes;
	r->code = code;
	r->row = w.row;
}

/* Nobody's write may be under way any more, and no one else may lead. */
static void
check_lead(int i)
{
	for (int k = 0; k < REPLICAS; k++) {
		const struct replica *other = &w.replicas[k];

		if (k == i)
			continue;
		ck_assert_msg(!replica_leads(other),
			      "seed %llu, %lld ms: %d and %d lead",
			      (unsigned long long)w.seed, (long long)w.t, i, k);
		ck_assert_msg(other->stopped || lease_fence_ms(&other->l) <=
							w.t + other->boot_ms,
			      "seed %llu, %lld ms: %d leads before %d's fence",
			      (unsigned long long)w.seed, (long long)w.t, i, k);
	}
	w.leads++;
	w.leader = i;
}

static void
answered(int i)
{
	static struct lease_record r;
	struct replica *p = &w.replicas[i];
	struct lease_outcome o = {.code = p->code, .record = &r};
	bool led = replica_leads(p);

	if (p->code == LEASE_OK) {
		(void)str_copy(r.holder, sizeof(r.holder), p->row.holder);
		(void)str_copy(r.state, sizeof(r.state), p->row.state);
		(void)snprintf(r.rv, sizeof(r.rv), "%u", p->row.rv);
		r.present = true;
		r.duration_s = p->row.duration_s;
		r.transitions = p->row.transitions;
		r.acquire_us = p->row.acquire_us;
		r.renew_us = p->row.renew_us;
	}
	p->call = 0;
	p->answers = NEVER;
	p->wakes = w.t;
	lease_done(&p->l, &o, replica_now(p));
	if (replica_leads(p) && !led)
		check_lead(i);
	if (replica_leads(p))	/* whose turn, and which */
		ck_assert(lease_state(&p->l) != NULL);
}

static void
turn(int i)
{
	struct replica *r = &w.replicas[i];
	struct lease_todo next = lease_next(&r->l, replica_now(r));

	r->wakes = NEVER;
	if (next.step == LEASE_END)
		r->up = false;
	else if (next.step != LEASE_WAIT)
		send(i, &next);
	else if (next.wait_ms != INT64_MAX)
		r->wakes = w.t + next.wait_ms;
}

static int64_t
later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* The next thing that happens, if it does so by `until`. */
static bool
happens(int64_t until)
{
	int64_t when = NEVER;
	int i, what = -1;

	for (i = 0; i < REPLICAS; i++) {
		const struct replica *r = &w.replicas[i];
		int64_t soon = r->answers < r->wakes ? r->answers : r->wakes;

		if (r->up && soon != NEVER &&
		    later(soon, r->paused_until) < when) {
			when = later(soon, r->paused_until);
			what = i;
		}
	}
	for (i = 0; i < REQUESTS; i++)
		if (w.requests[i].arrives < when) {
			when = w.requests[i].arrives;
			what = REPLICAS + i;
		}
	if (when > until)
		return false;
	w.t = later(w.t, when);
	if (what >= REPLICAS)
		arrive(&w.requests[what - REPLICAS]);
	else if (w.replicas[what].answers <= w.t)
		answered(what);
	else
		turn(what);
	return true;
}

static void
run(int64_t until)
{
	while (happens(until))
		;
	w.t = until;
}

/* Until someone leads, or not (-1); returns who. */
static int
run_to_leader(int64_t until)
{
	unsigned leads = w.leads;

	while (w.leads == leads && happens(until))
		;
	return w.leads == leads ? -1 : w.leader;
}

static void
stop(int i)
{
	struct replica *r = &w.replicas[i];

	lease_stop(&r->l);
	r->stopped = true;
	if (r->call == 0)
		r->wakes = w.t;
}

START_TEST(two_take_turns)
{
	world_init((uint64_t)_i + 1);
	replica_start(0);
	ck_assert_int_eq(run_to_leader(1000), 0);
	replica_start(1);
	for (int i = 0; i < 6; i++) {
		int64_t then;
		char state[SHORT];

		run(w.t + 30000);
		ck_assert(replica_leads(&w.replicas[i % 2]));
		(void)snprintf(state, sizeof(state), "state %d", i);
		ck_assert_int_eq(lease_state_set(&w.replicas[i % 2].l, state),
				 0);
		stop(i % 2);
		then = w.t;
		ck_assert_int_eq(run_to_leader(then + 60000), !(i % 2));
		ck_assert_int_le(w.t - then, RETRY_MAX + 200);
		ck_assert_int_eq(w.row.transitions, i + 1);
		ck_assert_str_eq(lease_state(&w.replicas[!(i % 2)].l), state);
		replica_start(i % 2);
	}
}
END_TEST

/* A replica that dies is followed after its Lease's time: not sooner, and soon
 * then; the clocks are hours apart. */
START_TEST(a_crash)
{
	int64_t then, renewed;

	world_init((uint64_t)_i + 1);
	replica_start(0);
	ck_assert_int_eq(run_to_leader(1000), 0);
	replica_start(1);
	run(60000 + (_i * 137) % 5000);
	w.replicas[0].up = false;
	then = w.t;
	renewed = w.replicas[0].l.sent_ms - w.replicas[0].boot_ms;
	ck_assert_int_eq(run_to_leader(then + 60000), 1);
	ck_assert_int_ge(w.t - renewed, DURATION);
	ck_assert_int_le(w.t - then, DURATION + 2 * RETRY_MAX + 200);
	ck_assert_int_eq(w.row.transitions, 1);
}
END_TEST

START_TEST(a_pause)
{
	world_init((uint64_t)_i + 1);
	replica_start(0);
	ck_assert_int_eq(run_to_leader(1000), 0);
	replica_start(1);
	run(30000);
	w.replicas[0].paused_until = w.t + 120000;
	ck_assert_int_eq(run_to_leader(w.t + 60000), 1);
	ck_assert(!replica_leads(&w.replicas[0]));
	run(w.t + 300000);
	ck_assert(!replica_leads(&w.replicas[0]));
	ck_assert(replica_leads(&w.replicas[1]));
	ck_assert_uint_eq(w.leads, 2);	/* it has seen who leads */
}
END_TEST

START_TEST(a_deletion)
{
	world_init((uint64_t)_i + 1);
	replica_start(0);
	ck_assert_int_eq(run_to_leader(1000), 0);
	replica_start(1);
	run(30000);
	w.row.exists = false;
	run(60000);
	ck_assert(replica_leads(&w.replicas[0]));
	ck_assert(w.row.exists);
	ck_assert_uint_eq(w.leads, 1);
}
END_TEST

static void
trouble(void)
{
	int i = (int)roll(&w.dice, REPLICAS);
	struct replica *r = &w.replicas[i];

	switch (roll(&w.dice, 6)) {
	case 0:
		r->up = false;	/* crash */
		break;
	case 1:
		if (r->up && !r->stopped)
			stop(i);
		break;
	case 2:
		r->paused_until = w.t + roll(&w.dice, 40000);
		break;
	case 3:
		w.slow_percent = roll(&w.dice, 30);
		break;
	case 4:
		w.lost_percent = roll(&w.dice, 2) == 0 ? 10 : 60;
		break;
	default:
		w.row.rv++;	/* someone adds a label */
	}
	i = (int)roll(&w.dice, REPLICAS);
	if (!w.replicas[i].up && (w.replicas[i].stopped ||
				  w.t + w.replicas[i].boot_ms >=
					  lease_fence_ms(&w.replicas[i].l)))
		replica_start(i);
}

#define SEEDS 250

/* Never two at once, nor one before the last one's fence; and when the trouble
 * is over, one. */
START_TEST(never_two)
{
	unsigned leads = 0, takeovers = 0;

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		bool led = false, up = false;

		world_init((uint64_t)_i * SEEDS + seed + 1);
		w.lost_percent = 10;
		w.slow_percent = 5;
		w.delay_ms = 300;
		for (int i = 0; i < REPLICAS; i++)
			replica_start(i);
		while (w.t < 200000) {
			run(w.t + 1 + roll(&w.dice, 15000));
			trouble();
		}
		w.lost_percent = w.slow_percent = 0;
		for (int i = 0; i < REPLICAS; i++) {
			w.replicas[i].paused_until = w.t;
			if (!w.replicas[i].up)
				w.replicas[i].stopped = true;
		}
		run(w.t + 120000);
		for (int i = 0; i < REPLICAS; i++)
			if (replica_leads(&w.replicas[i]))
				ck_assert_str_eq(w.row.holder,
						 w.replicas[i].name);
		for (int i = 0; i < REPLICAS; i++) {
			up |= w.replicas[i].up;
			led |= replica_leads(&w.replicas[i]);
		}
		ck_assert_msg(led || !up, "seed %llu: nobody leads",
			      (unsigned long long)w.seed);
		leads += w.leads;
		takeovers += w.takeovers;
	}
	ck_assert_uint_gt(leads, 3 * SEEDS);	/* it was no idle run */
	ck_assert_uint_gt(takeovers, 2 * SEEDS);
}
END_TEST

#define ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

static TCase *
mine(Suite *s, const char *name, void (*before)(void))
{
	TCase *c = run_case(s, name);

	tcase_add_checked_fixture(c, before, NULL);
	return c;
}

int
main(void)
{
	Suite *s = suite_create("lease");
	TCase *c = mine(s, "steps", setup);

	tcase_add_loop_test(c, scripted, 0, ROWS(rows));
	tcase_add_loop_test(c, what_is_written, 0, ROWS(written));
	tcase_add_loop_test(c, renewals_always_differ, 0,
			    sizeof(jitters) / sizeof(jitters[0]));
	tcase_add_test(c, duration_is_rounded_up);
	tcase_add_loop_test(c, the_records_own_duration, 0, ROWS(terms));
	tcase_add_loop_test(c, any_change_of_the_record_counts, 0, ROWS(signs));
	tcase_add_test(c, a_cut_name_is_not_ours);
	tcase_add_test(c, retry_after_is_obeyed);
	tcase_add_test(c, jitter_is_spread);
	tcase_add_test(c, notes_are_bounded);
	c = mine(s, "end", setup);
	tcase_add_test(c, a_hanging_renewal);
	tcase_add_test(c, a_late_answer);
	tcase_add_test(c, a_gap_is_told);
	tcase_add_test(c, a_leader_is_told_once);
	tcase_add_test(c, a_call_ends_with_the_lead);
	tcase_add_test(c, the_margin_is_kept);
	tcase_add_loop_test(c, stopping, 0, ROWS(stops));
	tcase_add_test(c, what_a_release_writes);
	c = mine(s, "state", setup);
	tcase_add_test(c, state_is_read_before_it_is_written);
	tcase_add_test(c, state_set_under_way);
	tcase_add_test(c, state_goes_with_the_lead);
	tcase_add_test(c, state_of_a_lease_made_anew);
	tcase_add_test(c, state_bounds);
	tcase_add_test(c, state_that_cannot_be_read);
	c = mine(s, "alone", setup_disabled);
	tcase_add_test(c, alone_makes_the_object);
	tcase_add_test(c, alone_writes_changes_only);
	tcase_add_loop_test(c, alone_scripted, 0, ROWS(alones));
	tcase_add_test(c, alone_stops);
	tcase_add_test(c, alone_stops_with_nothing_to_say);
	c = run_case(s, "world");
	tcase_add_loop_test(c, two_take_turns, 0, 5);
	tcase_add_loop_test(c, a_crash, 0, 20);
	tcase_add_loop_test(c, a_pause, 0, 5);
	tcase_add_loop_test(c, a_deletion, 0, 5);
	tcase_add_loop_test(c, never_two, 0, 12);
	return run_suite(s);
}
