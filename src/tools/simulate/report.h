/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_SIMULATE_REPORT_H
#define TOOLS_SIMULATE_REPORT_H

#include <stdio.h>

#include "history.h"
#include "simulate.h"

/* Print what came of it, for people, and on stdout for programs. */
void report_table(FILE *out, const struct simulate_setup *s,
		  const struct history *h);
void report_json(const struct simulate_setup *s, const struct history *h);
void report_csv(const struct simulate_setup *s, const struct history *h);

/* --explain: prints what the decision that was taken last meets in each setting,
 * if it is about the machine named.  held: as history_take has set it.  Returns
 * whether it is. */
bool report_decision(const struct simulate_setup *s, const struct history *h,
		     const struct fact *f);

#endif
