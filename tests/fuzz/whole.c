/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/whole.h"

#include <cjson/cJSON.h>
#include <string.h>

#include "core/base/stamp.h"
#include "fuzz/fuzz.h"
#include "fuzz/rules.h"
#include "wire/admission/admission.h"
#include "wire/api/disruption_event.h"
#include "wire/api/nodepool.h"
#include "wire/api/object.h"
#include "wire/api/ticket.h"
#include "wire/json/json.h"

/* --- the tree --------------------------------------------------------------- */

static void
same_number(double d, const struct json *v)
{
	const double exact = 9007199254740992.0;
	long long i = 0;
	bool whole = d > -exact && d < exact && (double)(long long)d == d;

	PROMISE((json_integer(v, &i) == 0) == whole);
	PROMISE(!whole || i == (long long)d);
}

static void
same_tree(const cJSON *c, const struct json *v)
{
	const struct json *below = json_first(v);

	PROMISE(v != NULL);
	PROMISE(json_is_object(v) == cJSON_IsObject(c));
	PROMISE(json_is_array(v) == cJSON_IsArray(c));
	PROMISE(json_is_null(v) == cJSON_IsNull(c));
	PROMISE(json_is_true(v) == cJSON_IsTrue(c));
	PROMISE((json_string(v) != NULL) == cJSON_IsString(c));
	if (cJSON_IsString(c))
		PROMISE(strcmp(json_string(v), c->valuestring) == 0);
	if (cJSON_IsNumber(c))
		same_number(c->valuedouble, v);
	for (c = c->child; c != NULL; c = c->next) {
		PROMISE((c->string != NULL) == (json_key(below) != NULL));
		PROMISE(c->string == NULL ||
			strcmp(c->string, json_key(below)) == 0);
		same_tree(c, below);
		below = json_next(below);
	}
	PROMISE(below == NULL);
}

/* Some versions of cJSON read no more than 63 bytes of a number. */
static bool
has_long_number(const char *text, size_t n)
{
	size_t digits = 0;

	for (size_t i = 0; i < n && digits < 63; i++)
		digits = text[i] != '\0' &&
					 strchr("+-.0123456789eE", text[i])
				 ? digits + 1 : 0;
	return digits == 63;
}

static void
tree_promise(const char *text, size_t n)
{
	struct err e = {0};
	AUTO_JSON v = json_parse(text, n, &json_bounds_stored, &e);
	cJSON *c;

	PROMISE(v != NULL || e.code == ERR_INPUT || e.code == ERR_LIMIT);
	if (v == NULL || has_long_number(text, n))
		return;
	c = cJSON_ParseWithLength(text, n);
	PROMISE(c != NULL);
	same_tree(c, v);
	cJSON_Delete(c);
}

/* --- the decoders ------------------------------------------------------------ */

struct json *__real_json_pick(const char *bytes, size_t n,
			      const struct json_keep *keep,
			      const struct json_bounds *bounds, struct err *e);
struct json *__wrap_json_pick(const char *bytes, size_t n,
			      const struct json_keep *keep,
			      const struct json_bounds *bounds, struct err *e);

static bool keeps_all;

struct json *
__wrap_json_pick(const char *bytes, size_t n, const struct json_keep *keep,
		 const struct json_bounds *bounds, struct err *e)
{
	return keeps_all ? json_parse(bytes, n, bounds, e)
			 : __real_json_pick(bytes, n, keep, bounds, e);
}

/* What any of the decoders makes of a text. */
struct made {
	int rc;
	struct err e;
	enum watch_type type;
	int code;
	struct admission_request request;
	struct object object;
	struct nodepool pool;
	struct disruption_event event;
	struct ticket ticket;
};

static void
review_make(const char *text, size_t n, struct made *m)
{
	m->rc = admission_decode(text, n, &rules[1].hold, &m->request, &m->e);
}

static void
node_make(const char *text, size_t n, struct made *m)
{
	m->rc = object_decode(text, n, KIND_NODE, &rules[0].hold, &m->object,
			      &m->e);
}

static void
claim_make(const char *text, size_t n, struct made *m)
{
	m->rc = object_decode(text, n, KIND_NODECLAIM, &rules[1].hold,
			      &m->object, &m->e);
}

static void
node_line_make(const char *text, size_t n, struct made *m)
{
	m->rc = object_watch_decode(text, n, KIND_NODE, &rules[1].hold, &m->type,
			     &m->object, &m->code, &m->e);
}

static void
claim_line_make(const char *text, size_t n, struct made *m)
{
	m->rc = object_watch_decode(text, n, KIND_NODECLAIM, &rules[0].hold, &m->type,
			     &m->object, &m->code, &m->e);
}

static void
pool_make(const char *text, size_t n, struct made *m)
{
	m->rc = nodepool_decode(text, n, &m->pool, &m->e);
}

static void
pool_line_make(const char *text, size_t n, struct made *m)
{
	m->rc = nodepool_watch_decode(text, n, &m->type, &m->pool, &m->code,
				      &m->e);
}

static void
event_make(const char *text, size_t n, struct made *m)
{
	m->rc = disruption_event_decode(text, n, &m->event, &m->e);
}

static void
event_line_make(const char *text, size_t n, struct made *m)
{
	m->rc = disruption_event_watch_decode(text, n, &m->type, &m->event,
					      &m->code, &m->e);
}

static void
ticket_make(const char *text, size_t n, struct made *m)
{
	m->rc = ticket_decode(text, n, &m->ticket, &m->e);
}

static void
ticket_line_make(const char *text, size_t n, struct made *m)
{
	m->rc = ticket_watch_decode(text, n, &m->type, &m->ticket, &m->code,
				    &m->e);
}

static void (*const decoders[])(const char *, size_t, struct made *) = {
	review_make,	 node_make,  claim_make,     node_line_make,
	claim_line_make, pool_make,  pool_line_make, event_make,
	event_line_make, ticket_make, ticket_line_make,
};

unsigned
whole_promise(const char *text, size_t n)
{
	static struct made part, all;
	unsigned decoded = 0;

	tree_promise(text, n);
	for (size_t i = 0; i < sizeof(decoders) / sizeof(decoders[0]); i++) {
		memset(&part, 0, sizeof(part));
		memset(&all, 0, sizeof(all));
		decoders[i](text, n, &part);
		keeps_all = true;
		decoders[i](text, n, &all);
		keeps_all = false;
		/* What is kept has bounds of its own. */
		if (part.rc != 0 && part.e.code == ERR_LIMIT)
			continue;
		/* Each decoder begins with zeros, also where its text is
		 * shorter. */
		PROMISE(memcmp(&part, &all, sizeof(all)) == 0);
		decoded += part.rc == 0;
	}
	return decoded;
}
