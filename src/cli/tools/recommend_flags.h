/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_TOOLS_RECOMMEND_FLAGS_H
#define CLI_TOOLS_RECOMMEND_FLAGS_H

#include "core/base/err.h"
#include "tools/simulate/simulate.h"

/* The flags of `simulate` that ask for a recommendation. */

/* The settings that a recommendation compares if no flag names any. */
#define RECOMMEND_HOLDS "1m,2m,5m,10m,20m"
#define RECOMMEND_SCOPES "cluster,nodepool,node"

/* The limits of a recommendation if no flag sets them.  `asked` is false. */
extern const struct advice_setup recommend_flags_defaults;

/* Stores the value of a flag, and sets a->asked.  Returns 1 on success, 0 if
 * `name` is none of these flags, and -1 with *e set on failure.  If value is
 * NULL, it checks only the name. */
int recommend_flags_take(struct advice_setup *a, const char *name,
			 const char *value, struct err *e);
void recommend_flags_help(void); /* Prints the help of these flags. */

#endif
