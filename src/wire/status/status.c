/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/status/status.h"

#include <string.h>

#include "status_parts.h"

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

/* --- HTML: the text, escaped ----------------------------------------------- */

/* The last part of the room is for the text, and all others for what becomes of
 * it: no character becomes more than six. */
#define PARTS 8

static void
html_text(struct buf *b, const char *s)
{
	for (; *s != '\0' && !b->full; s++) {
		if (*s == '<')
			buf_puts(b, "&lt;");
		else if (*s == '>')
			buf_puts(b, "&gt;");
		else if (*s == '&')
			buf_puts(b, "&amp;");
		else if (*s == '"')
			buf_puts(b, "&quot;");
		else if (*s == '\'')
			buf_puts(b, "&#39;");
		else
			buf_add(b, s, 1);
	}
}

static struct buf
part_for_text(struct buf *b)
{
	size_t room = (b->cap - b->len) / PARTS;
	struct buf text;

	b->cap -= room;
	buf_init(&text, b->data + b->cap, room);
	return text;
}

/* The page may load nothing and run nothing. */
static void
html_page(struct buf *b, const struct buf *text)
{
	buf_puts(b,
		 "<!DOCTYPE html>\n<html lang=\"en\"><head>"
		 "<meta charset=\"utf-8\">"
		 "<meta http-equiv=\"Content-Security-Policy\" content=\""
		 "default-src 'none'; style-src 'unsafe-inline'\">"
		 "<meta name=\"viewport\" content=\"width=device-width\">"
		 "<title>karpenter-node-holder</title>"
		 "<style>:root{color-scheme:light dark}</style></head><body>"
		 "<main><h1>karpenter-node-holder</h1><pre>");
	html_text(b, text->data);
	buf_puts(b, "</pre></main></body></html>\n");
	b->full = b->full || text->full;
}

/* --- all formats -------------------------------------------------------------- */

void
status_write(struct buf *b, enum status_format f, const struct status_head *h,
	     const struct status_items *items)
{
	struct buf text;

	if (f == STATUS_JSON) {
		status_json(b, h, items);
	} else if (f == STATUS_TEXT) {
		status_text(b, h, items);
	} else {
		text = part_for_text(b);
		status_text(&text, h, items);
		html_page(b, &text);
	}
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
		text = part_for_text(b);
		status_text_machine(&text, h, name, m, scope);
		html_page(b, &text);
	}
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
		buf_puts(b, "{\"kind\":\"Status\",\"apiVersion\":\"v1\","
			    "\"metadata\":{},\"status\":\"Failure\","
			    "\"message\":");
		buf_json(b, message);
		buf_printf(b, ",\"reason\":\"%s\",\"code\":%d}\n",
			   reason_of(code), code);
		return;
	}
	text = f == STATUS_HTML ? part_for_text(b) : *b;
	status_text_line(&text, message);
	if (f == STATUS_HTML)
		html_page(b, &text);
	else
		*b = text;
}
