/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/base/buf.h"
#include "core/base/duration.h"
#include "core/base/stamp.h"
#include "status_parts.h"

/* Writes what every answer in HTML has: its head with the style, escaped names,
 * and times.  The output is well-formed XML, too. */

/* status_policy forbids the page to load or run anything, and to apply any
 * style but this one.  STYLE_HASH is the SHA-256 of STYLE in base64;
 * tests/edge/test_daemon_page.py checks this. */
#define STYLE                                                                    \
	":root{color-scheme:light dark;--bg:#fff;--fg:#24292f;--dim:#57606a;"    \
	"--line:#d8dee4;--free:#7590a8;--held:#2f7d5b;--hand:#c07f16;"           \
	"--bad:#b3261e;--link:#0a58a6;--none:#e9edf1}"                           \
	"@media(prefers-color-scheme:dark){:root{--bg:#0d1117;--fg:#e6edf3;"     \
	"--dim:#a3acb6;--line:#30363d;--free:#5c7083;--held:#46a67c;"            \
	"--hand:#d9a03c;--bad:#ff8f84;--link:#79b8ff;--none:#21272f}}"           \
	"body{margin:0 auto;max-width:62rem;padding:1rem;background:var(--bg);"  \
	"color:var(--fg);font:15px/1.45 system-ui,sans-serif;"                   \
	"overflow-wrap:anywhere}"                                                \
	"h1{font-size:1rem;margin:0;color:var(--dim)}"                           \
	"h2{font-size:1.1rem;margin:2rem 0 .5rem}h3{font-size:1rem;margin:0}"    \
	"p{margin:.2rem 0}a{color:var(--link)}ul,ol{list-style:none;margin:0;"   \
	"padding:0}pre{white-space:pre-wrap}code{font-size:.9em}"                \
	".v{font-size:1.35rem;line-height:1.3;margin:.4rem 0;"                   \
	"border-left:.35rem solid var(--free);padding-left:.6rem}"               \
	".v.held{border-color:var(--held)}.v.released{border-color:var(--hand)}" \
	".d{color:var(--dim)}.x{color:var(--bad)}"                               \
	".s{border-top:1px solid var(--line);padding:.5rem 0}"                   \
	".b{font-weight:400;font-size:.85rem;border:1px solid var(--free);"      \
	"border-radius:1rem;padding:0 .5rem}.b.held{border-color:var(--held);"   \
	"background:var(--held);color:var(--bg)}"                                \
	".b.released{border:1px dashed var(--held)}"                             \
	".k{display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;font-size:.85rem}"      \
	".k svg{width:26px;height:14px;vertical-align:-2px}"                     \
	".t li{padding:.35rem 0}.t svg{display:block;height:30px;"               \
	"width:calc(100% - 4.5rem);overflow:visible}.t svg.ax{height:18px}"      \
	"svg text{font:11px sans-serif;fill:var(--dim)}.m{text-anchor:middle}"   \
	"footer{margin-top:2rem}"                                                \
	".f{fill:var(--free)}.o{fill:var(--held)}.p{fill:var(--hand)}"           \
	".c,.e{fill:none;stroke:var(--held);stroke-width:1.5;"                   \
	"stroke-dasharray:4 3}.e{stroke:var(--hand)}.u{fill:var(--none);"        \
	"stroke:var(--dim);stroke-dasharray:1 3}"                                \
	".g{stroke:var(--line)}"                                                 \
	"table{border-collapse:collapse;width:100%}th,td{text-align:left;"       \
	"vertical-align:top;padding:.3rem .4rem .3rem 0;font-weight:400;"        \
	"border-top:1px solid var(--line)}thead th{border:0;color:var(--dim);"   \
	"font-size:.85rem;overflow-wrap:normal}.r{text-align:right}"             \
	"tr.i td{border:0;padding-top:0;font-size:.9rem}"                        \
	"time{white-space:nowrap}dl{display:grid;grid-template-columns:"         \
	"minmax(6rem,auto) 1fr;gap:.2rem 1rem;margin:0}dt{color:var(--dim)}"     \
	"dd{margin:0}"                                                           \
	"@media(min-width:45rem){.t li{display:grid;grid-template-columns:"      \
	"13rem 1fr;gap:1rem;align-items:center}.t span{display:block}}"
#define STYLE_HASH "270e5FHx50EKec45rB+uf4+o9cDa3yn96cFuEdP5aao="

const char status_policy[] =
	"default-src 'none'; style-src 'sha256-" STYLE_HASH "'; "
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

#define SHOWN_BYTES 1024 /* how much of a name or value is shown */

void
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

void
html_name(struct buf *b, const char *s)
{
	char shown[SHOWN_BYTES];
	struct buf t;

	buf_init(&t, shown, sizeof(shown));
	(void)status_text_safe(&t, s);
	buf_puts(b, "<bdi>");
	html_text(b, shown);
	buf_puts(b, "</bdi>");
}

void
html_machine(struct buf *b, const char *path, const char *name)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz0123456789-._~"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	buf_printf(b, "<a href=\"%s/", path);
	for (const char *s = name; *s != '\0'; s++) {
		if (strchr(plain, *s) != NULL)
			buf_add(b, s, 1);
		else
			buf_printf(b, "%%%02X", (unsigned char)*s);
	}
	buf_puts(b, "?format=html\">");
	html_name(b, name);
	buf_puts(b, "</a>");
}

void
html_span(struct buf *b, int64_t ms)
{
	int64_t unit = ms < 120000 ? 1000 : ms < 172800000 ? 60000 : 3600000;
	char text[DURATION_BYTES];

	duration_format((ms + unit / 2) / unit * unit, text);
	buf_puts(b, text);
}

void
html_time(struct buf *b, int64_t ms, int64_t now_ms)
{
	char stamp[STAMP_BYTES], today[STAMP_BYTES];

	stamp_format(ms, stamp);
	stamp_format(now_ms, today);
	buf_printf(b, "<time datetime=\"%s\">", stamp);
	if (strncmp(stamp, today, 10) != 0)
		buf_printf(b, "%.10s ", stamp);
	buf_printf(b, "%.8s</time>", stamp + 11);
}

void
html_moment(struct buf *b, int64_t ms, int64_t now_ms)
{
	/* now_ms is when the page was begun, so a moment may be slightly later
	 * without being in the future. */
	bool ahead = ms >= now_ms + 500;

	if (ms == STAMP_NONE) {
		buf_puts(b, "unknown");
		return;
	}
	html_time(b, ms, now_ms);
	buf_puts(b, ahead ? " (in " : " (");
	html_span(b, ms > now_ms ? ms - now_ms : now_ms - ms);
	buf_puts(b, ahead ? ")" : " ago)");
}

void
html_begin(struct buf *b, const char *title)
{
	buf_puts(b, "<!DOCTYPE html>\n<html lang=\"en\"><head>"
		    "<meta charset=\"utf-8\"/>"
		    "<meta name=\"viewport\" content=\"width=device-width\"/>"
		    "<title>");
	html_text(b, title);
	buf_puts(b, "</title><style>" STYLE "</style></head><body>\n");
}

void
html_end(struct buf *b)
{
	buf_puts(b, "</body></html>\n");
}

/* --- answers that consist of a text --------------------------------------- */

/* The free room of the buffer is divided into this many parts.  The last part
 * is for the plain text.  The others are for the escaped text, in which one
 * byte becomes at most six. */
#define PARTS 8

struct buf
html_part(struct buf *b)
{
	size_t room = (b->cap - b->len) / PARTS;
	struct buf text;

	b->cap -= room;
	buf_init(&text, b->data + b->cap, room);
	return text;
}

void
html_of_text(struct buf *b, const struct buf *text, bool linked)
{
	html_begin(b, "karpenter-node-holder");
	buf_puts(b, "<main><h1>karpenter-node-holder</h1><pre>");
	html_text(b, text->data);
	buf_puts(b, "</pre>");
	if (linked)
		buf_puts(b, "<p><a href=\"../../\">All</a></p>");
	buf_puts(b, "</main>");
	html_end(b);
	b->full = b->full || text->full;
}
