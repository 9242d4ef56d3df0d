/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SIM_SVG_H
#define TESTS_SIM_SVG_H

#include <stdbool.h>
#include <stdio.h>

/*
 * The elements of the pictures, as SVG.  x is in tenths of a pixel and y in
 * pixels, both whole numbers, so that a picture is the same on every machine.
 * `class` names styles of SVG_STYLE, separated by spaces.
 */

/* The colours are those of tests/e2e/lib/chart.py. */
#define SVG_FREE "#9db4c8"
#define SVG_HELD "#2f7d5b"
#define SVG_DARK "#444c56"
#define SVG_BAD "#c0392b"
#define SVG_PERSONS "#c9881f"
#define SVG_STYLE                                                              \
	"text{font:13px sans-serif;fill:#24292f}.s{font-size:11px}"            \
	".h{font-weight:bold;font-size:14px}.r{text-anchor:end}"               \
	".b{font-weight:bold}"                                                 \
	".a{paint-order:stroke;stroke:#fff;stroke-width:3px}"                  \
	".m{text-anchor:middle}.w{fill:" SVG_BAD "}.l{fill:#57606a}"           \
	".f{fill:" SVG_FREE "}.o{fill:" SVG_HELD "}.p{fill:" SVG_PERSONS "}"   \
	".k{fill:" SVG_FREE ";stroke:" SVG_HELD ";stroke-width:2}"             \
	".u{fill:" SVG_DARK "}.x{fill:" SVG_BAD "}"                            \
	".c{fill:none;stroke:" SVG_HELD                                        \
	";stroke-width:1.5;stroke-dasharray:4 3}"                              \
	".e{stroke:" SVG_BAD ";stroke-width:1.5}"                              \
	".q{fill:none;stroke:" SVG_DARK "}"                                    \
	".t{fill:none;stroke:" SVG_DARK ";stroke-dasharray:1 3}"               \
	".d{fill:none;stroke:" SVG_DARK ";stroke-width:1.5}"                   \
	".g{stroke:#e3e8ed}.v{stroke:#8b949e;stroke-dasharray:2 3}"

void svg_number(FILE *out, int tenths);
/* Writes s with & and < escaped. */
void svg_escaped(FILE *out, const char *s);
void svg_text(FILE *out, int x, int y, const char *class, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
/* A box `high` pixels high from x to `to`, with its middle at y. */
void svg_box(FILE *out, const char *class, int x, int to, int y, int high);
void svg_upright(FILE *out, const char *class, int x, int from, int to);
/* A horizontal line; with `ends`, a tick stands at its right end. */
void svg_bracket(FILE *out, const char *class, int x, int to, int y, bool ends);

#endif
