/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "edge/kube/answer.h"
#include "core/base/limits.h"
#include "lease_session.h"
#include "wire/api/pager.h"
#include "wire/api/resource.h"

static void
page_path(struct buf *b, const struct lease_session_list *list,
	  const struct pager *p)
{
	buf_printf(b, "%s%c", list->path,
		   strchr(list->path, '?') == NULL ? '?' : '&');
	list_query(b, p->limit, p->cont);
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
	char path[PATH_BYTES];
	struct kube_request q = {.method = "GET",
				 .path = path,
				 .accept = list->accept};
	struct kube_reply r;
	struct pager p;
	struct buf b;

	pager_init(&p, LIST_METADATA_PAGE);
	do {
		if (p.cont[0] == '\0' && list->begin != NULL)
			list->begin(list->ctx);
		buf_init(&b, path, sizeof(path));
		page_path(&b, list, &p);
		if (lease_session_ask(l, &q, &r, e)) {
			if (!pager_smaller(&p, e))
				return -1;
			continue;
		}
		if (r.status == 410 && p.cont[0] != '\0') {
			if (pager_restart(&p, e))
				return -1;
			continue;
		}
		if (r.status != 200)
			return refused(&r, e);
		if (pager_page(&p, r.body, r.body_bytes, list->item, list->ctx,
			       e))
			return -1;
		if (p.cont[0] == '\0')
			return 0;
	} while (true);
}
