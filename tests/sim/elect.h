/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SIM_ELECT_H
#define TESTS_SIM_ELECT_H

#include "holder.h"

void elect_init(struct holder *h, uint64_t seed);
int64_t elect_step(struct holder *h);
/* Delivers what is on its way, even while the replica sleeps. */
void elect_serve(struct holder *h);

#endif
