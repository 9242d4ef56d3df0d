/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/status/status.h"

#include "status_parts.h"
#include "wire/json/json_printf.h"

const char *
status_type(enum status_format f)
{
	static const char *const types[] = {
		[STATUS_TEXT] = "text/plain; charset=utf-8",
		[STATUS_JSON] = "application/json",
		[STATUS_HTML] = "text/html; charset=utf-8",
	};

	return types[f];
}

void
status_write(struct buf *b, enum status_format f, const struct status_head *h,
	     const struct status_items *items)
{
	if (f == STATUS_JSON)
		status_json(b, h, items);
	else if (f == STATUS_TEXT)
		status_text(b, h, items);
	else
		status_page(b, h, items);
}

void
status_write_machine(struct buf *b, enum status_format f,
		     const struct status_head *h, const char *name,
		     const struct machine_status *m,
		     const struct scope_status *scope)
{
	struct buf text;

	if (f == STATUS_JSON) {
		status_json_machine(b, h, name, m, scope);
	} else if (f == STATUS_TEXT) {
		status_text_machine(b, h, name, m, scope);
	} else {
		text = html_part(b);
		status_text_machine(&text, h, name, m, scope);
		html_of_text(b, &text, true);
	}
}

void
status_write_machines(struct buf *b, enum status_format f,
		      const struct status_head *h,
		      const struct status_machines *list)
{
	if (f == STATUS_JSON)
		status_json_machines(b, h, list);
	else if (f == STATUS_TEXT)
		status_text_machines(b, h, list);
	else
		status_page_machines(b, h, list);
}

static const char *
reason_of(int code)
{
	switch (code) {
	case 400:
		return "BadRequest";
	case 404:
		return "NotFound";
	case 503:
		return "ServiceUnavailable";
	default:
		return "InternalError";
	}
}

void
status_write_refusal(struct buf *b, enum status_format f, int code,
		     const char *message)
{
	struct buf text;

	if (f == STATUS_JSON) {
		json_printf(b,
			    "{'kind':'Status','apiVersion':'v1','metadata':{},"
			    "'status':'Failure','message':%s,'reason':%s,"
			    "'code':%d}\n",
			    message, reason_of(code), code);
		return;
	}
	text = f == STATUS_HTML ? html_part(b) : *b;
	status_text_line(&text, message);
	if (f == STATUS_HTML)
		html_of_text(b, &text, false);
	else
		*b = text;
}
