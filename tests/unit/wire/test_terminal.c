/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "core/base/utf8.h"
#include "core/doctor/finding.h"
#include "suite.h"
#include "wire/admission/admission.h"
#include "wire/api/event.h"
#include "wire/api/lease.h"
#include "wire/api/ticket.h"
#include "wire/config/config.h"
#include "wire/doctor/findings.h"
#include "wire/karpenter/record.h"
#include "wire/metrics/metrics.h"
#include "wire/status/status.h"

/* What a peer names is in every format, and nothing in it is obeyed by the
 * terminal that shows the format, or what is decoded from it.  The log's lines
 * are in tests/edge/test_clock_log.c. */

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static char text[REPORT_BYTES > STATUS_PAGE_BYTES ? REPORT_BYTES
						  : STATUS_PAGE_BYTES];
static const char *name;	/* what the peer named */
static struct rules rules = {.scope = SCOPE_NODEPOOL};
static struct status_head head;

/* --- who writes ---------------------------------------------------------- */

static void
json(struct buf *b)
{
	buf_json(b, name);
}

static void
error(struct buf *b)
{
	struct err e;

	(void)err_set(&e, ERR_INPUT, "%s", name);
	buf_puts(b, e.text);
	(void)err_wrap(&e, "%s", name);
	buf_puts(b, e.text);
}

static void
reason(struct buf *b)
{
	struct nodepool p;

	nodepool_init(&p);
	nodepool_set_reason(&p, name);
	buf_puts(b, p.reason);
}

/* What the log and Events show of a ticket. */
static void
ticket(struct buf *b)
{
	static char json[2048];
	struct ticket t;
	struct err e;
	struct buf j;

	buf_init(&j, json, sizeof(json));
	buf_puts(&j, "{\"metadata\":{\"name\":\"t\",\"uid\":\"u\","
		     "\"resourceVersion\":\"1\",\"annotations\":{\""
		     TICKET_REASON_KEY "\":");
	buf_json(&j, name);
	buf_puts(&j, "}},\"spec\":{\"holderIdentity\":");
	buf_json(&j, name);
	buf_puts(&j, "}}");
	ck_assert_msg(ticket_decode(json, j.len, &t, &e) == 0, "%s", e.text);
	buf_printf(b, "%s %s", t.holder, t.reason);
}

static const struct finding_kind some = {DOCTOR_RIGHTS, FINDING_ERROR, "some",
					 "Why."};

static void
findings(struct buf *b, bool as_json)
{
	static struct findings f;

	findings_init(&f);
	finding_fix(findings_add(&f, &some, "%s", name), "%s", name);
	findings_unknown(&f, DOCTOR_BUNDLE, name, name, "/");
	findings_looked(&f, DOCTOR_API, "%s", name);
	if (as_json)
		findings_json(b, &f, "0.1.0");
	else
		findings_text(b, &f);
}

static void
doctor_text(struct buf *b)
{
	findings(b, false);
}

static void
doctor_json(struct buf *b)
{
	findings(b, true);
}

static bool
a_scope(void *ctx, uint32_t *i, struct scope_status *out)
{
	(void)ctx;
	*out = (struct scope_status){.state = SCOPE_HELD};
	strcpy(out->name, name);
	strcpy(out->machine, name);
	return (*i)++ == 0;
}

static bool
a_nodepool(void *ctx, uint32_t *i, struct nodepool_status *out)
{
	(void)ctx;
	*out = (struct nodepool_status){.n.machines = 1};
	nodepool_init(&out->nodepool);
	strcpy(out->nodepool.name, name);
	strcpy(out->nodepool.reason, name);
	for (int k = 0; k < NODEPOOL_KEY_COUNT; k++)
		nodepool_set(&out->nodepool, (enum nodepool_key)k, name);
	return (*i)++ == 0;
}

static bool
a_turn(void *ctx, uint64_t *before, struct turn *out)
{
	(void)ctx;
	*out = (struct turn){.held_ms = -1};
	strcpy(out->machine, name);
	strcpy(out->scope, name);
	if (*before <= 1)
		return false;
	*before = 1;
	return true;
}

static void
set_head(bool leads)
{
	head = (struct status_head){
		.version = "0.1.0", .rules = &rules,
		.lead = {.electing = true, .here = leads}};
	strcpy(head.replica, name);
	strcpy(head.lead.identity, name);
}

static void
status(struct buf *b, enum status_format f)
{
	struct status_items items = {
		.scope = a_scope, .nodepool = a_nodepool, .turn = a_turn};
	struct machine_status m = {.claim.present = true, .node.present = true};
	struct scope_status scope;
	uint32_t i = 0;

	set_head(false);
	status_write(b, f, &head, &items);
	set_head(true);
	status_write(b, f, &head, &items);
	strcpy(m.claim.name, name);
	strcpy(m.node.name, name);
	strcpy(m.nodepool, name);
	(void)a_scope(NULL, &i, &scope);
	status_write_machine(b, f, &head, name, &m, &scope);
	status_write_refusal(b, f, 404, name);
}

static void
status_text(struct buf *b)
{
	status(b, STATUS_TEXT);
}

static void
status_json(struct buf *b)
{
	status(b, STATUS_JSON);
}

static void
status_html(struct buf *b)
{
	status(b, STATUS_HTML);
}

static bool
a_gauge(void *ctx, uint32_t *i, struct scope_report *out)
{
	(void)ctx;
	*out = (struct scope_report){.held = true, .quiet_ms = 1};
	strcpy(out->name, name);
	return (*i)++ == 0;
}

static bool
held_nodepool(void *ctx, uint32_t *i, struct nodepool_report *out)
{
	(void)ctx;
	*out = (struct nodepool_report){.hand_ms = 1};
	strcpy(out->name, name);
	return (*i)++ == 0;
}

static void
metrics(struct buf *b)
{
	static struct counters c;
	struct metrics_gauges g = {
		.leads = true, .lease_name = name, .version = name,
		.cluster_scope = name};

	metrics_write(b, &c, &g, a_gauge, held_nodepool, NULL);
}

static void
event(struct buf *b)
{
	struct event_series_event v = {.count = 1};

	strcpy(v.nodepool, name);
	strcpy(v.nodepool_uid, name);
	strcpy(v.action, "Hold");
	strcpy(v.note, name);
	event_create(b, &v, name);
	event_path(b, &v);
}

static void
lease(struct buf *b)
{
	static struct lease_record r;

	strcpy(r.holder, name);
	lease_create(b, name, name, &r);
}

static void
review(struct buf *b)
{
	struct admission_request q = {.dry_run = false};
	struct hold_key hold = {.key = "k", .value = "v"};
	struct verdict v = {.held = false};

	strcpy(q.uid, name);
	ck_assert_int_eq(admission_encode(b, &q, &v, &hold, 0, NULL), 0);
}

static void
record(struct buf *b)
{
	struct fact_node node = {.node = name, .claim = name};
	struct fact f;

	fact_init(&f, FACT_DECIDED, 0);
	f.claim = f.node = f.pool = f.action = f.reason = name;
	f.nodes = &node;
	f.nodes_n = 1;
	record_write(b, &f);
}

static void
config(struct buf *b)
{
	static struct config c;

	config_defaults(&c);
	strcpy(c.leader.name, name);
	strcpy(c.rules.exclude.at[0], name);
	c.rules.exclude.n = 1;
	config_print(&c, b);
}

static const struct {
	const char *what;
	void (*write)(struct buf *b);
	bool decoded;	/* kubectl shows what it decodes from it */
} formats[] = {
	{"a string of JSON", json, false},
	{"an error", error, true},
	{"a reason", reason, true},
	{"a ticket", ticket, true},
	{"the doctor's text", doctor_text, true},
	{"the doctor's JSON", doctor_json, true},
	{"status, text", status_text, true},
	{"status, JSON", status_json, false},
	{"status, HTML", status_html, true},
	{"metrics", metrics, true},
	{"an Event", event, true},
	{"a Lease", lease, false},
	{"an answer to a review", review, false},
	{"a record", record, false},
	{"a configuration", config, false},
};

/* --- what is looked for -------------------------------------------------- */

static const unsigned obeyed[][2] = {
	{0x01, 0x1f},	  {0x7f, 0x7f},	    {0x80, 0x9f},	{0x61c, 0x61c},
	{0x200e, 0x200f}, {0x2028, 0x2029}, {0x202a, 0x202e}, {0x2066, 0x206f},
};

static size_t
encode(unsigned c, char *out)
{
	size_t n = 0;

	if (c >= 0x800) {
		out[n++] = (char)(0xe0 | c >> 12);
		out[n++] = (char)(0x80 | (c >> 6 & 0x3f));
	} else if (c >= 0x80) {
		out[n++] = (char)(0xc0 | c >> 6);
	}
	out[n++] = (char)(c < 0x80 ? c : 0x80 | (c & 0x3f));
	out[n] = '\0';
	return n;
}

/* Writes the format with this between the letters of a name, and returns how
 * many lines it has. */
static unsigned
write_with(int i, const char *bytes)
{
	char named[NODEPOOL_BYTES];
	unsigned lines = 0;
	struct buf b;

	(void)snprintf(named, sizeof(named), "qj%sjq", bytes);
	name = named;
	buf_init(&b, text, sizeof(text));
	formats[i].write(&b);
	ck_assert(!b.full);
	ck_assert_uint_eq(strlen(text), b.len);
	ck_assert_msg(strstr(text, "qj") != NULL && strstr(text, "jq") != NULL,
		      "%s does not name it", formats[i].what);
	for (const char *p = text; *p != '\0'; p++)
		lines += *p == '\n';
	return lines;
}

/* Nothing but line ends is obeyed, and all is UTF-8. */
static void
is_shown(int i, const char *what)
{
	for (size_t n, at = 0; text[at] != '\0'; at += n) {
		const unsigned char *u = (unsigned char *)text + at;
		unsigned c = *u;

		n = utf8_len(text + at, 4);
		if (n == 0)	/* ck_assert would make a call of the system */
			ck_abort_msg("%s: %s: no UTF-8", formats[i].what, what);
		if (n == 2)
			c = (u[0] & 0x1fu) << 6 | (u[1] & 0x3fu);
		else if (n > 2)
			c = (u[0] & 0xfu) << 12 | (u[1] & 0x3fu) << 6 |
			    (u[2] & 0x3fu);
		for (size_t r = 0; n < 4 && c != '\n' && r < COUNT(obeyed); r++)
			if (c >= obeyed[r][0] && c <= obeyed[r][1])
				ck_abort_msg("%s: %s: U+%04X is in it",
					     formats[i].what, what, c);
	}
}

START_TEST(test_nothing_is_obeyed)
{
	static const char *const bad[] = {"\x9b", "\xff", "\xe2\x80",
					  "\xc0\x9b", "\xed\xa0\x80"};
	unsigned lines = write_with(_i, "x");
	char bytes[5], what[16];

	for (size_t r = 0; r < COUNT(obeyed); r++) {
		for (unsigned c = obeyed[r][0]; c <= obeyed[r][1]; c++) {
			(void)encode(c, bytes);
			(void)snprintf(what, sizeof(what), "U+%04X", c);
			ck_assert_uint_eq(write_with(_i, bytes), lines);
			is_shown(_i, what);
			ck_assert_msg(!formats[_i].decoded ||
					      (strstr(text, "j\\u") == NULL &&
					       strstr(text, "j\\n") == NULL),
				      "%s: %s is escaped, and decoded",
				      formats[_i].what, what);
		}
	}
	for (size_t k = 0; k < COUNT(bad); k++) {
		ck_assert_uint_eq(write_with(_i, bad[k]), lines);
		is_shown(_i, "a byte that is no UTF-8");
	}
	/* What people write stays. */
	(void)write_with(_i, "\xd7\x90\xe2\x82\xac\xf0\x9f\x98\x80");
	ck_assert_ptr_nonnull(
		strstr(text, "\xd7\x90\xe2\x82\xac\xf0\x9f\x98\x80"));
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("wire/terminal");
	TCase *all = tcase_create("all");

	tcase_add_loop_test(all, test_nothing_is_obeyed, 0,
			    (int)COUNT(formats));
	suite_add_tcase(s, all);
	return suite_run(s);
}
