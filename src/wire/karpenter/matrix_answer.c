/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "core/base/str.h"
#include "wire/json/json.h"
#include "wire/karpenter/matrix.h"

static const struct json_keep nothing[] = {{NULL, NULL}};
static const struct json_keep kind[] = {
	{"resultType", NULL}, {"result", NULL}, {NULL, NULL}};
static const struct json_keep envelope[] = {
	{"status", NULL},   {"errorType", NULL}, {"error", NULL},
	{"warnings", NULL}, {"infos", NULL},	 {"isPartial", NULL},
	{"data", kind},	    {NULL, NULL}};
static const struct json_keep sample[] = {{"metric", nothing},
					  {"value", NULL},
					  {"histogram", nothing},
					  {NULL, NULL}};

/* Takes the first line of a refusal in plain text, such as a proxy's.  The
 * first line of HTML or JSON explains nothing, so such a body is skipped. */
static void
take_plain(const char *bytes, size_t n, struct matrix_answer *out)
{
	size_t line = 0;

	while (line < n && line + 1 < sizeof(out->text) &&
	       bytes[line] != '\n' && bytes[line] != '\r' &&
	       bytes[line] != '\0')
		line++;
	if (n == 0 || bytes[0] == '<' || bytes[0] == '{')
		return;
	memcpy(out->text, bytes, line);
	out->text[line] = '\0';
}

/* Returns whether a key of `keep` comes twice.  It is then unclear which value
 * the sender means. */
static bool
repeats(const struct json *object, const struct json_keep *keep)
{
	unsigned seen = 0;

	for (const struct json *v = json_first(object); v != NULL;
	     v = json_next(v))
		for (unsigned i = 0; keep[i].key != NULL; i++)
			if (strcmp(json_key(v), keep[i].key) == 0) {
				if (seen >> i & 1)
					return true;
				seen |= 1u << i;
			}
	return false;
}

/* Returns the type of the result, or NULL if this is not a well-formed
 * success.  The envelope has none of the series, so `result` is empty. */
static const char *
result_type(const struct json *root)
{
	const struct json *data = json_member(root, "data");
	const struct json *result = json_member(data, "result");

	if (!json_is_object(root) || !json_is_object(data) ||
	    repeats(root, envelope) || repeats(data, kind) ||
	    !json_says(root, "status", "success") || !json_is_array(result) ||
	    json_first(result) != NULL)
		return NULL;
	return json_string(json_member(data, "resultType"));
}

static void
take_infos(const struct json *root, struct matrix_answer *out)
{
	const struct json *v = json_first(json_member(root, "infos"));

	if (out->text[0] == '\0')
		str_cut(out->text, sizeof(out->text), json_string(v));
	for (; v != NULL; v = json_next(v))
		out->infos++;
}

/* Counts what says that the answer may be partial: the warnings of Prometheus
 * and Thanos, and isPartial of VictoriaMetrics. */
static void
take_warnings(const struct json *root, struct matrix_answer *out)
{
	const struct json *warnings = json_member(root, "warnings");
	const struct json *partial = json_member(root, "isPartial");
	const struct json *first = json_first(warnings);

	str_cut(out->text, sizeof(out->text), json_string(first));
	for (; first != NULL; first = json_next(first))
		out->warnings++;
	if (out->warnings == 0 && !json_is_unset(warnings) &&
	    !json_is_array(warnings))
		out->warnings = 1;
	if (!json_is_unset(json_member(root, "error")))
		out->warnings++;
	if (json_is_unset(partial) || json_is_false(partial))
		return;
	out->warnings++;
	if (out->text[0] == '\0')
		str_cut(out->text, sizeof(out->text), "isPartial is set");
}

void
matrix_answer(const char *bytes, size_t n, struct matrix_answer *out)
{
	AUTO_JSON root =
		json_pick(bytes, n, envelope, &json_bounds_stored, NULL);
	const char *result = result_type(root);

	matrix_answer_object(root, out);
	if (root == NULL)
		take_plain(bytes, n, out);
	out->matrix = result != NULL && strcmp(result, "matrix") == 0;
	out->vector = result != NULL && strcmp(result, "vector") == 0;
}

void
matrix_answer_object(const struct json *root, struct matrix_answer *out)
{
	const struct json *data = json_member(root, "data");
	const char *type = json_string(json_member(root, "errorType"));
	const char *error = json_string(json_member(root, "error"));

	*out = (struct matrix_answer){
		.matrix = json_says(data, "resultType", "matrix"),
		.vector = json_says(data, "resultType", "vector")};
	take_warnings(root, out);
	take_infos(root, out);
	if (error != NULL)
		(void)snprintf(out->text, sizeof(out->text), "%s%s%s",
			       type != NULL ? type : "",
			       type != NULL ? ": " : "", error);
}

bool
matrix_is_sample(const char *bytes, size_t n)
{
	AUTO_JSON root = json_pick(bytes, n, sample, &json_bounds_stored, NULL);

	return json_is_object(json_member(root, "metric")) &&
	       (json_is_array(json_member(root, "value")) ||
		json_is_array(json_member(root, "histogram")));
}
