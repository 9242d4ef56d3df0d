/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_SIMULATE_PICTURE_H
#define TOOLS_SIMULATE_PICTURE_H

#include <stdio.h>

#include "core/base/err.h"
#include "history.h"
#include "simulate.h"

/* Both functions draw a timeline: the number of machines, and for each setting
 * when it holds and which decisions would have waited.  picture_svg writes the
 * picture only.  picture_html writes one page that contains the picture and the
 * table.  Both return -1 with *e set if the file cannot be written.  An older
 * file of that name then stays as it is (edge/file). */
int picture_svg(const char *file, const struct simulate_setup *s,
		const struct history *h, struct err *e);
int picture_html(const char *file, const struct simulate_setup *s,
		 const struct history *h, struct err *e);

#endif
