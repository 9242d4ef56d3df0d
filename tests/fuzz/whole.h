/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FUZZ_WHOLE_H
#define TESTS_FUZZ_WHOLE_H

#include <stddef.h>

/*
 * The decoders keep a few members of a text (json_pick) and build a tree of
 * them.  whole_promise promises that nothing is lost by that: the tree of all
 * of the text is cJSON's, and each decoder makes the same of the text, value or
 * error, if everything is kept.  It returns how many of them could decode it.  Its
 * program is linked with --wrap=json_pick.
 */
unsigned whole_promise(const char *text, size_t n);

#endif
