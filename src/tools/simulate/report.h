/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_SIMULATE_REPORT_H
#define TOOLS_SIMULATE_REPORT_H

#include <stdio.h>

#include "history.h"
#include "simulate.h"

/* These functions print the report: as a table for people, or on stdout as JSON
 * or CSV for programs. */
void report_table(FILE *out, const struct simulate_setup *s,
		  const struct history *h);
void report_json(const struct simulate_setup *s, const struct history *h);
void report_csv(const struct simulate_setup *s, const struct history *h);

/* For --explain: if the latest decision is about the named machine, prints
 * whether it would have waited in each setting, and returns true. */
bool report_decision(const struct simulate_setup *s, const struct history *h,
		     const struct fact *f);

#endif
