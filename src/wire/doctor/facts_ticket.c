/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/stamp.h"
#include "core/base/str.h"
#include "wire/doctor/facts.h"
#include "wire/json/json.h"

static const struct json_keep leader_keep[] = {{"thisReplica", NULL},
					       {NULL, NULL}};
static const struct json_keep ticket_keep[] = {
	{"name", NULL},	   {"until", NULL},   {"nodePools", NULL},
	{"problem", NULL}, {"renewed", NULL}, {NULL, NULL}};
static const struct json_keep left_out_keep[] = {{"tickets", NULL},
						 {NULL, NULL}};
static const struct json_keep status_keep[] = {{"kind", NULL},
					       {"mode", NULL},
					       {"leader", leader_keep},
					       {"tickets", ticket_keep},
					       {"leftOut", left_out_keep},
					       {NULL, NULL}};

static void
ticket_read(const struct json *v, struct ticket_facts *t)
{
	const char *until = json_string(json_member(v, "until"));
	const char *renewed = json_string(json_member(v, "renewed"));
	long long n = 0;

	t->listed = true;
	if (until == NULL || stamp_parse(until, &t->until_ms))
		t->until_ms = STAMP_NONE;
	if (renewed == NULL || stamp_parse(renewed, &t->renewed_ms))
		t->renewed_ms = STAMP_NONE;
	(void)json_integer(json_member(v, "nodePools"), &n);
	t->nodepools = n > 0 ? (uint64_t)n : 0;
	str_cut(t->problem, sizeof(t->problem),
		json_string(json_member(v, "problem")));
}

int
facts_ticket_decode(const char *bytes, size_t n, const char *ticket,
		    struct ticket_facts *out, struct err *e)
{
	AUTO_JSON root =
		json_pick(bytes, n, status_keep, &json_bounds_stored, e);
	const struct json *tickets = json_member(root, "tickets");
	long long left_out = 0;

	if (root == NULL)
		return -1;
	if (!json_says(root, "kind", "HolderStatus"))
		return err_set(e, ERR_INPUT, "no HolderStatus");
	(void)json_integer(json_member(json_member(root, "leftOut"), "tickets"),
			   &left_out);
	*out = (struct ticket_facts){
		.leads = json_is_true(json_member(json_member(root, "leader"),
						  "thisReplica")),
		.observes = json_says(root, "mode", "observe"),
		.reads = json_is_array(tickets),
		.left_out = left_out > 0 ? (uint64_t)left_out : 0,
		.until_ms = STAMP_NONE,
		.renewed_ms = STAMP_NONE,
	};
	for (const struct json *v = json_first(tickets);
	     v != NULL && !out->listed; v = json_next(v))
		if (json_says(v, "name", ticket))
			ticket_read(v, out);
	return 0;
}
