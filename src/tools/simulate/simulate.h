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

/* The command `simulate` (docs/what-if.md): reads what Karpenter did and
 * reports what the holder would have held meanwhile, under each of several
 * settings. */

#define SETTING_LABEL_BYTES 200

struct setting {
	char label[SETTING_LABEL_BYTES];
	struct rules rules;
};

enum simulate_output {
	SIMULATE_TABLE,
	SIMULATE_JSON,
	SIMULATE_CSV,
	SIMULATE_RECORD, /* no replay: the facts, as a record */
};

/* What a recommendation has to keep to. */
struct advice_setup {
	bool asked;
	bool percent;	 /* regret is a share of the decisions */
	uint64_t regret; /* how many decisions with regret may be left */
	int64_t price;	 /* what it may cost, in millionths of a dollar; -1:
			    whatever it does */
};

struct simulate_setup {
	const char *const *files; /* "-": stdin */
	size_t files_n;
	matrix_ask_fn *ask; /* for Prometheus' series, or NULL if nobody */
	void *ask_ctx;
	const struct setting *settings;
	size_t settings_n;
	bool compares; /* somebody has asked for these settings */
	struct waits_setup waits;
	struct advice_setup advice;
	enum simulate_output output;
	const char *svg, *html; /* files for pictures, or NULL if none */
	const char *explain;	/* a Node or NodeClaim, or NULL if none */
	bool progress;		/* tell on stderr how far it is */
};

/* Prints the report on stdout.  Returns -1 with *e set: ERR_INPUT if a file
 * cannot be opened, or if none has anything of Karpenter's. */
int simulate_run(const struct simulate_setup *s, struct err *e);

#endif
