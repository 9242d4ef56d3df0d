/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/sighting.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "edge/log.h"
#include "suite.h"

/*
 * What becomes of an item of a list or a line of a watch.  The linker puts the
 * functions below in place of the table's and of the log.
 */
void __wrap_state_track(struct state *s, const struct object *o);
void __wrap_state_forget(struct state *s, const struct object *o);
void __wrap_state_nodepool(struct state *s, const struct nodepool *p);
void __wrap_state_nodepool_gone(struct state *s, const char *name);
void __wrap_state_ticket(struct state *s, const struct ticket *t);
void __wrap_state_ticket_gone(struct state *s, const char *name);
void __wrap_state_disruption_event(struct state *s, const char *claim_uid,
				   const char *reason);
void __wrap_log_fields(enum log_level level, const char *phrase,
		       const struct log_field *fields);
bool __wrap_log_ratelimit(const char *phrase, unsigned burst);
void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);

static const struct hold_key hold = {DEFAULT_HOLD_KEY, DEFAULT_HOLD_VALUE};
static char told[1024];	/* each call, on a line of its own */
static struct buf b;
static bool limited;	/* the log has said the phrase too often */
static bool no_memory;

void *
__wrap_malloc(size_t n)
{
	return no_memory ? NULL : __real_malloc(n);
}

bool
__wrap_log_ratelimit(const char *phrase, unsigned burst)
{
	ck_assert_str_eq(phrase, "object left out");
	ck_assert_uint_eq(burst, 10);
	return !limited;
}

void
__wrap_state_track(struct state *s, const struct object *o)
{
	(void)s;
	buf_printf(&b, "track %s %s\n", object_kind_name(o->kind), o->name);
}

void
__wrap_state_forget(struct state *s, const struct object *o)
{
	(void)s;
	buf_printf(&b, "forget %s %s\n", object_kind_name(o->kind), o->name);
}

void
__wrap_state_nodepool(struct state *s, const struct nodepool *p)
{
	(void)s;
	buf_printf(&b, "track NodePool %s\n", p->name);
}

void
__wrap_state_nodepool_gone(struct state *s, const char *name)
{
	(void)s;
	buf_printf(&b, "forget NodePool %s\n", name);
}

void
__wrap_state_ticket(struct state *s, const struct ticket *t)
{
	(void)s;
	buf_printf(&b, "track ticket %s, %s\n", t->name, t->holder);
}

void
__wrap_state_ticket_gone(struct state *s, const char *name)
{
	(void)s;
	buf_printf(&b, "forget ticket %s\n", name);
}

void
__wrap_state_disruption_event(struct state *s, const char *claim_uid,
			      const char *reason)
{
	(void)s;
	buf_printf(&b, "replacement %s %s\n", claim_uid, reason);
}

void
__wrap_log_fields(enum log_level level, const char *phrase,
		  const struct log_field *fields)
{
	buf_printf(&b, "%s %s", level == LOG_WARN ? "WARN" : "?", phrase);
	for (; fields->type != LOG_END; fields++)
		buf_printf(&b, " %s=%s", fields->key,
			   strcmp(fields->key, "err") == 0 ? "…" : fields->str);
	buf_puts(&b, "\n");
}

static void
setup(void)
{
	buf_init(&b, told, sizeof(told));
	limited = false;
}

#define OBJECT(NAME)                                                           \
	"{\"metadata\":{\"name\":\"" NAME "\",\"uid\":\"u-" NAME               \
	"\",\"resourceVersion\":\"7\","                                        \
	"\"creationTimestamp\":\"2026-01-02T03:04:05Z\"}}"
#define TICKET(NAME)                                                           \
	"{\"metadata\":{\"name\":\"" NAME "\",\"uid\":\"u-" NAME               \
	"\",\"resourceVersion\":\"7\"},\"spec\":{\"holderIdentity\":\"who\"}}"
#define EVENT(REASON)                                                          \
	"{\"metadata\":{\"resourceVersion\":\"7\"},\"reason\":\"" REASON       \
	"\",\"message\":\"Launching NodeClaim: Drifted\",\"involvedObject\":{" \
	"\"kind\":\"NodeClaim\",\"apiVersion\":\"karpenter.sh/v1\","           \
	"\"name\":\"c-1\",\"uid\":\"u-c-1\"}}"
#define LINE(TYPE, OBJECT) "{\"type\":\"" TYPE "\",\"object\":" OBJECT "}"

static const struct {
	const char *name;
	enum kind kind;
	const char *item, *tracked, *forgotten;
} items[] = {
	{"a Node", KIND_NODE, OBJECT("n"), "track Node n\n", "forget Node n\n"},
	{"a NodeClaim", KIND_NODECLAIM, OBJECT("c"), "track NodeClaim c\n",
	 "forget NodeClaim c\n"},
	{"a NodePool", KIND_NODEPOOL, OBJECT("p"), "track NodePool p\n",
	 "forget NodePool p\n"},
	{"a ticket", KIND_TICKET, TICKET("t"), "track ticket t, who\n",
	 "forget ticket t\n"},
	/* That an Event has expired changes nothing. */
	{"an Event of a replacement", KIND_EVENT, EVENT("DisruptionLaunching"),
	 "replacement u-c-1 drifted\n", ""},
	{"another Event", KIND_EVENT, EVENT("FailedDraining"), "", ""},
};
#define ITEMS (sizeof(items) / sizeof(items[0]))

static void
expect(const char *what, const char *want)
{
	ck_assert_msg(strcmp(told, want) == 0, "%s: wanted\n%sgot\n%s", what,
		      want, told);
	buf_init(&b, told, sizeof(told));
}

START_TEST(test_what_a_list_shows_is_tracked)
{
	struct sighting o = {.kind = items[_i].kind};
	const char *item = items[_i].item;
	struct err e;

	ck_assert_int_eq(sighting_item(item, strlen(item), &hold, &o, &e), 0);
	ck_assert_str_eq(sighting_rv(&o), "7");
	sighting_track(NULL, &o);
	expect(items[_i].name, items[_i].tracked);
}
END_TEST

static void
take(const char *type, const char *item, enum kind kind)
{
	struct sighting o = {.kind = kind};
	enum watch_type got;
	struct err e = {0};
	char line[1024];
	int status = 0;
	struct buf in;

	buf_init(&in, line, sizeof(line));
	buf_printf(&in, "{\"type\":\"%s\",\"object\":%s}", type, item);
	ck_assert_int_eq(
		sighting_line(line, in.len, &hold, &got, &o, &status, &e), 0);
	ck_assert_str_eq(sighting_rv(&o), "7");
	sighting_take(NULL, got, &o);
}

START_TEST(test_a_watch_line_tracks_or_forgets)
{
	take("ADDED", items[_i].item, items[_i].kind);
	expect(items[_i].name, items[_i].tracked);
	take("MODIFIED", items[_i].item, items[_i].kind);
	expect(items[_i].name, items[_i].tracked);
	take("DELETED", items[_i].item, items[_i].kind);
	expect(items[_i].name, items[_i].forgotten);
	take("BOOKMARK", items[_i].item, items[_i].kind);
	expect("bookmark", "");
}
END_TEST

START_TEST(test_an_error_in_a_watch_reaches_the_caller_alone)
{
	static const char line[] =
		LINE("ERROR", "{\"kind\":\"Status\",\"code\":410}");
	struct sighting o = {.kind = items[_i].kind};
	enum watch_type type;
	int status = 0;
	struct err e;

	ck_assert_int_eq(sighting_line(line, strlen(line), &hold, &type, &o,
				       &status, &e),
			 0);
	ck_assert_int_eq(type, WATCH_ERROR);
	ck_assert_int_eq(status, 410);
	sighting_take(NULL, type, &o);
	expect(items[_i].name, "");
}
END_TEST

#define LEFT_OUT(RESOURCE, NAME)                                               \
	"WARN object left out resource=" RESOURCE " name=" NAME " err=…\n"

/* The log says of which resource the object was, ten times a minute. */
START_TEST(test_what_cannot_be_read_is_left_out_and_logged)
{
	static const char *const want[] = {
		[KIND_NODE] = LEFT_OUT("nodes", ""),
		[KIND_NODECLAIM] = LEFT_OUT("nodeclaims", ""),
		[KIND_NODEPOOL] = LEFT_OUT("nodepools", ""),
		[KIND_EVENT] = LEFT_OUT("events", ""),
		[KIND_TICKET] = LEFT_OUT("tickets", ""),
	};
	static const char line[] = LINE("ADDED", "{}");
	struct sighting o = {.kind = items[_i].kind};
	enum watch_type type;
	int status;
	struct err e;

	ck_assert_int_eq(sighting_item("{}", 2, &hold, &o, &e), -1);
	expect("item", want[o.kind]);
	ck_assert_int_eq(sighting_line(line, strlen(line), &hold, &type, &o,
				       &status, &e),
			 -1);
	expect("line", want[o.kind]);
	limited = true;
	ck_assert_int_eq(sighting_item("{}", 2, &hold, &o, &e), -1);
	expect("the eleventh within a minute", "");
}
END_TEST

/* Of a NodeClaim and a NodePool the metadata is read, and of a ticket the name,
 * wherever the text is cut after that. */
START_TEST(test_what_is_too_large_is_read_in_part)
{
	static const char *const want[] = {
		[KIND_NODE] = LEFT_OUT("nodes", ""),
		[KIND_NODECLAIM] = LEFT_OUT("nodeclaims", "c")
			"track NodeClaim c\nforget NodeClaim c\n",
		[KIND_NODEPOOL] = LEFT_OUT("nodepools", "p")
			"track NodePool p\nforget NodePool p\n",
		[KIND_EVENT] = LEFT_OUT("events", ""),
		[KIND_TICKET] = "track ticket t, \nforget ticket t\n",
	};
	static char text[ITEM_BYTES_MAX];
	struct sighting o = {.kind = items[_i].kind};
	const char *item = items[_i].item;
	enum watch_type type;
	int status, n;
	struct err e;

	memset(text, 'x', sizeof(text));
	n = snprintf(text, sizeof(text), "%.*s,\"spec\":{\"a\":[\"",
		     (int)strlen(item) - 1, item);
	text[n] = 'x';
	if (sighting_item(text, 9000000, &hold, &o, &e) == 0)
		sighting_track(NULL, &o);
	limited = true;
	n = snprintf(text, sizeof(text),
		     "{\"type\":\"DELETED\",\"object\":%.*s,\"spec\":\"",
		     (int)strlen(item) - 1, item);
	text[n] = 'x';
	if (sighting_line(text, 9000000, &hold, &type, &o, &status, &e) == 0)
		sighting_take(NULL, type, &o);
	expect(items[_i].name, want[o.kind]);
	ck_assert_str_eq(e.text, "9000000 bytes, more than 1048576");
}
END_TEST

START_TEST(test_without_memory_nothing_is_left_out)
{
	struct sighting o = {.kind = items[_i].kind};
	const char *item = items[_i].item;
	enum watch_type type;
	char line[1024];
	struct buf line_buf;
	int status, rc[2];
	struct err e[2];

	buf_init(&line_buf, line, sizeof(line));
	buf_printf(&line_buf, "{\"type\":\"ADDED\",\"object\":%s}", item);
	no_memory = true;
	rc[0] = sighting_item(item, strlen(item), &hold, &o, &e[0]);
	rc[1] = sighting_line(line, strlen(line), &hold, &type, &o, &status,
			      &e[1]);
	no_memory = false;
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(rc[i], -1);
		ck_assert_int_eq(e[i].code, ERR_SYSTEM);
	}
	expect("neither", "");
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("daemon/sighting");
	TCase *tc = tcase_create("sighting");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_loop_test(tc, test_what_a_list_shows_is_tracked, 0, ITEMS);
	tcase_add_loop_test(tc, test_a_watch_line_tracks_or_forgets, 0, ITEMS);
	tcase_add_loop_test(
		tc, test_an_error_in_a_watch_reaches_the_caller_alone, 0,
		ITEMS);
	tcase_add_loop_test(
		tc, test_what_cannot_be_read_is_left_out_and_logged, 0,
		ITEMS - 1);	/* the last two are of one kind */
	tcase_add_loop_test(tc, test_what_is_too_large_is_read_in_part, 0,
			    ITEMS);
	tcase_add_loop_test(tc, test_without_memory_nothing_is_left_out, 0,
			    ITEMS);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
