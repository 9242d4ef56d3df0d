/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FUZZ_RULES_H
#define TESTS_FUZZ_RULES_H

#include "core/base/limits.h"
#include "core/rules/rules.h"

/* By which reviews are answered: with the default hold, and with one whose key
 * and value have to be escaped. */
static const struct rules rules[] = {
	{.hold = {DEFAULT_HOLD_KEY, DEFAULT_HOLD_VALUE},
	 .include = {1, {"*"}},
	 .exclude = {1, {"batch-*"}}},
	{.hold = {"example.com/keep.it", "yes=1"}, .include = {1, {"*"}}},
};

#endif
