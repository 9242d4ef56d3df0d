/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_SIMULATE_PICTURE_H
#define TOOLS_SIMULATE_PICTURE_H

#include <stdio.h>

#include "core/base/err.h"
#include "history.h"
#include "simulate.h"

/* Draw the timeline: the machines, and for each setting when it holds and which
 * decisions would have waited.  picture_svg writes the picture alone.
 * picture_html writes a page with the picture and the table, which needs no
 * other file.  Both return -1 with *e set if the file cannot be written.  An
 * older file of that name then stays as it is (edge/file). */
int picture_svg(const char *file, const struct simulate_setup *s,
		const struct history *h, struct err *e);
int picture_html(const char *file, const struct simulate_setup *s,
		 const struct history *h, struct err *e);

#endif
