/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_SIMULATE_REPORT_ADVICE_H
#define TOOLS_SIMULATE_REPORT_ADVICE_H

#include <stdio.h>

#include "core/base/buf.h"
#include "history.h"
#include "simulate.h"

/* report_advice prints the recommendation (advice.h) as text.
 * report_advice_json writes it as a member of the JSON output, which is null if
 * no recommendation was asked for. */
void report_advice(FILE *out, const struct simulate_setup *s,
		   const struct history *h);
void report_advice_json(struct buf *b, const struct simulate_setup *s,
			const struct history *h);

#endif
