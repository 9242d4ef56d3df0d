/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "edge/kube/answer.h"
#include "lease_session.h"
#include "wire/api/resource.h"
#include "wire/api/object.h"
#include "wire/api/list.h"

#define PAGE 250	/* metadata only: about a megabyte; at most
			   ITEM_BYTES_MAX */

/* One page; cont: of the next. */
static int
take_page(const struct lease_session_list *list, const struct kube_reply *r,
	  char cont[CONTINUE_BYTES], struct err *e)
{
	struct split *s = split_new(SPLIT_LIST, list->item, list->ctx);
	char rv[RV_BYTES];
	const char *envelope;
	size_t n;
	int rc = -1;

	if (s == NULL) {
		(void)err_set(e, ERR_SYSTEM, "out of memory");
	} else if (split_feed(s, r->body, r->body_bytes, e) == 0 &&
		   split_end(s, e) == 0) {
		envelope = split_envelope(s, &n);
		rc = list_meta_decode(envelope, n, rv, cont, e);
	}
	split_free(s);
	return rc;
}

static void
page_path(struct buf *b, const struct lease_session_list *list, unsigned limit,
	  const char *cont)
{
	buf_printf(b, "%s%climit=%u", list->path,
		   strchr(list->path, '?') == NULL ? '?' : '&', limit);
	if (cont[0] == '\0')
		return;
	buf_puts(b, "&continue=");
	query_text(b, cont);
}

static int
refused(const struct kube_reply *r, struct err *e)
{
	char text[ANSWER_TEXT];

	if (answer_unserved(r))
		return 1;
	return err_set(e, ERR_SYSTEM, "%d: %s", r->status,
		       answer_text(r, text));
}

int
lease_session_list(struct lease_session *l,
		   const struct lease_session_list *list, struct err *e)
{
	char path[PATH_BYTES], cont[CONTINUE_BYTES] = "";
	struct kube_request q = {.method = "GET",
				 .path = path,
				 .accept = list->accept};
	struct kube_reply r;
	unsigned pages = 0, limit = PAGE;
	struct buf b;

	do {
		if (cont[0] == '\0' && list->begin != NULL)
			list->begin(list->ctx);
		buf_init(&b, path, sizeof(path));
		page_path(&b, list, limit, cont);
		if (lease_session_ask(l, &q, &r, e)) {
			if (!list_smaller(&limit, e))
				return -1;
			continue;
		}
		if (r.status == 410 && cont[0] != '\0') {
			cont[0] = '\0';
			if (list_goes_on(&pages, "410", e))
				return -1;
			continue;
		}
		if (r.status != 200)
			return refused(&r, e);
		if (take_page(list, &r, cont, e) ||
		    list_goes_on(&pages, cont, e))
			return -1;
		if (cont[0] == '\0')
			return 0;
	} while (true);
}
