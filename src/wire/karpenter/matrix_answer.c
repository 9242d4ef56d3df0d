/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "core/base/str.h"
#include "wire/json/json.h"
#include "wire/karpenter/matrix.h"

static const struct json_keep kind[] = {{"resultType", NULL}, {NULL, NULL}};
static const struct json_keep envelope[] = {
	{"status", NULL},   {"errorType", NULL}, {"error", NULL},
	{"warnings", NULL}, {"data", kind},	 {NULL, NULL}};

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

void
matrix_answer(const char *bytes, size_t n, struct matrix_answer *out)
{
	AUTO_JSON root =
		json_pick(bytes, n, envelope, &json_bounds_stored, NULL);
	const char *type = json_string(json_member(root, "errorType"));
	const char *error = json_string(json_member(root, "error"));
	const struct json *warning = json_member(root, "warnings"), *data;

	*out = (struct matrix_answer){.matrix = false};
	if (root == NULL) {
		take_plain(bytes, n, out);
		return;
	}
	warning = json_is_array(warning) ? json_first(warning) : NULL;
	if (json_says(root, "status", "success")) {
		data = json_member(root, "data");
		out->matrix = json_says(data, "resultType", "matrix");
		out->vector = json_says(data, "resultType", "vector");
	}
	if (error != NULL)
		(void)snprintf(out->text, sizeof(out->text), "%s%s%s",
			       type != NULL ? type : "",
			       type != NULL ? ": " : "", error);
	else
		str_cut(out->text, sizeof(out->text), json_string(warning));
	for (; warning != NULL; warning = json_next(warning))
		out->warnings++;
}
