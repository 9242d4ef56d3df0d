/* SPDX-License-Identifier: Apache-2.0 */
#include "svg.h"

#include <stdarg.h>

#define TEXT_BYTES 320

void
svg_number(FILE *out, int tenths)
{
	if (tenths % 10 == 0)
		fprintf(out, "%d", tenths / 10);
	else
		fprintf(out, "%d.%d", tenths / 10, tenths % 10);
}

void
svg_escaped(FILE *out, const char *s)
{
	for (; *s != '\0'; s++) {
		if (*s == '&')
			fputs("&amp;", out);
		else if (*s == '<')
			fputs("&lt;", out);
		else
			fputc(*s, out);
	}
}

void
svg_text(FILE *out, int x, int y, const char *class, const char *fmt, ...)
{
	char words[TEXT_BYTES];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(words, sizeof(words), fmt, args);
	va_end(args);
	fprintf(out, "<text x=\"");
	svg_number(out, x);
	fprintf(out, "\" y=\"%d\" class=\"%s\">", y, class);
	svg_escaped(out, words);
	fprintf(out, "</text>\n");
}

void
svg_box(FILE *out, const char *class, int x, int to, int y, int high)
{
	fprintf(out, "<path class=\"%s\" d=\"M", class);
	svg_number(out, x);
	fprintf(out, " %dh", y - high / 2);
	svg_number(out, to - x);
	fprintf(out, "v%dH", high);
	svg_number(out, x);
	fprintf(out, "z\"/>\n");
}

void
svg_upright(FILE *out, const char *class, int x, int from, int to)
{
	fprintf(out, "<path class=\"%s\" d=\"M", class);
	svg_number(out, x);
	fprintf(out, " %dV%d\"/>\n", from, to);
}

void
svg_bracket(FILE *out, const char *class, int x, int to, int y, bool ends)
{
	fprintf(out, "<path class=\"%s\" d=\"M", class);
	svg_number(out, x);
	fprintf(out, " %d.5H", y);
	svg_number(out, to);
	if (ends)
		fprintf(out, "m0 -4v8");
	fprintf(out, "\"/>\n");
}
