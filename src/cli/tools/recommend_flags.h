/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_TOOLS_RECOMMEND_FLAGS_H
#define CLI_TOOLS_RECOMMEND_FLAGS_H

#include "core/base/err.h"
#include "tools/simulate/simulate.h"

/* The flags of `simulate` that ask for a recommendation. */

/* The settings that a recommendation compares if no flag names any. */
#define RECOMMEND_HOLDS "1m,2m,5m,10m,20m"
#define RECOMMEND_SCOPES "cluster,nodepool,node"

/* The limits of a recommendation without flags.  `asked` is false. */
extern const struct advice_setup recommend_flags_defaults;

/* Takes a flag and its value, and notes in *a that a recommendation is asked
 * for.  Returns 1, or 0 if it is another flag, or -1 with *e set.  If value is
 * NULL, it only returns whether it is one of these flags. */
int recommend_flags_take(struct advice_setup *a, const char *name,
			 const char *value, struct err *e);
void recommend_flags_help(void); /* prints them */

#endif
