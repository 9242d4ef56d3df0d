/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_SIMULATE_SIMULATE_H
#define TOOLS_SIMULATE_SIMULATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/rules/rules.h"
#include "waits.h"
#include "wire/karpenter/matrix.h"

/* The command `simulate` (docs/what-if.md).  It reads what Karpenter did, and
 * reports what the holder would have held under each of several settings. */

#define SETTING_LABEL_BYTES 200

struct setting {
	char label[SETTING_LABEL_BYTES];
	struct rules rules;
};

enum simulate_output {
	SIMULATE_TABLE,
	SIMULATE_JSON,
	SIMULATE_CSV,
	SIMULATE_RECORD, /* Print the facts as a record, without a replay. */
};

/* The limits that a recommended setting has to keep. */
struct advice_setup {
	bool asked;
	/* How many decisions with regret may remain: a number or, if `percent`,
	 * a share of all decisions. */
	bool percent;
	uint64_t regret;
	/* Highest cost in millionths of a dollar; -1: no limit. */
	int64_t price;
};

struct simulate_setup {
	const char *const *files; /* "-" stands for stdin */
	size_t files_n;
	/* Fetches series from Prometheus; NULL if none is queried. */
	matrix_ask_fn *ask;
	void *ask_ctx;
	const struct setting *settings;
	size_t settings_n;
	/* Whether flags chose the settings.  If not, there is one default
	 * setting. */
	bool compares;
	struct waits_setup waits;
	struct advice_setup advice;
	enum simulate_output output;
	const char *svg, *html; /* files for pictures, or NULL if none */
	/* Name of the Node or NodeClaim to explain, or NULL. */
	const char *explain;
	bool progress; /* Whether stderr gets the progress. */
};

/* Prints the report on stdout.  Returns -1 with *e set on failure.  The code is
 * ERR_INPUT if the input is to blame, for example if a file cannot be opened or
 * nothing in it is about Karpenter. */
int simulate_run(const struct simulate_setup *s, struct err *e);

#endif
