/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "edge/kube/answer.h"
#include "edge/kube/kube_parts.h"

/* The head of an API server's answer, line by line as libcurl gives it, and
 * then its body. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char text[ANSWER_TEXT];
	struct kube_reply r = {.retry_after_ms = -1};
	struct kube_head h;
	struct err e = {0};
	size_t at = 0;
	char *body;

	kube_head_init(&h);
	while (at < n && !h.whole) {
		const uint8_t *end = memchr(data + at, '\n', n - at);
		size_t len = end == NULL ? n - at
					 : (size_t)(end - data) - at + 1;
		char *line = malloc(len);

		PROMISE(line != NULL);
		memcpy(line, data + at, len);
		PROMISE(kube_head_line(&h, line, len, &e) == 0 ||
			e.code == ERR_LIMIT);
		free(line);
		at += len;
	}
	PROMISE(h.status >= 0 && h.status < 1000);
	PROMISE(kube_head_retry(&h, INT64_C(1767323045000)) >= -1);
	PROMISE(kube_head_retry(&h, INT64_C(1767323045000)) <= 300000);
	body = text_of_input(data + at, n - at);
	r.status = h.status;
	r.body = body;
	r.body_bytes = strlen(body);
	PROMISE(answer_class(&r) <= ANSWER_REFUSED);
	PROMISE(h.status != 0 || answer_class(&r) == ANSWER_FAILED);
	PROMISE(answer_text(&r, text) == text && text[0] != '\0');
	(void)answer_unserved(&r);
	free(body);
	return 0;
}
