/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_TOOLS_RECOMMEND_FLAGS_H
#define CLI_TOOLS_RECOMMEND_FLAGS_H

#include "core/base/err.h"
#include "tools/simulate/simulate.h"

/* The flags of `simulate` that ask for a recommendation. */

/* What there is to choose from, where nobody says so. */
#define RECOMMEND_HOLDS "1m,2m,5m,10m,20m"
#define RECOMMEND_SCOPES "cluster,nodepool,node"

/* What a recommendation keeps to without flags; it is not asked for. */
extern const struct advice_setup recommend_flags_defaults;

/* Takes a flag with its value, which asks for a recommendation.  Returns 1; 0
 * if it is none of these flags; -1 with *e set.  value: NULL only asks whether
 * it is one of them. */
int recommend_flags_take(struct advice_setup *a, const char *name,
			 const char *value, struct err *e);
void recommend_flags_help(void); /* prints them */

#endif
