/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CONTROLLER_FIGURES_H
#define CORE_CONTROLLER_FIGURES_H

#include "core/controller/status.h"
#include "core/table/nodepools.h"
#include "core/table/timers.h"

/* status.c reads the counts with these functions. */

/* Returns the figures of the machines whose NodePool's name has this reference.
 * They are zeros if there are no such machines. */
struct nodepool_figures figures_nodepool(const struct figures *f, uint32_t ref);
/* Counts the NodePools of the scope that a hold-until or tickets hold.  Returns
 * whether all are held. */
bool figures_scope_hand(const struct controller *s, const struct figures *f,
			uint32_t scope, int64_t now_ms, struct hand_holds *out);
/* Returns which machine of the scope has the latest deadline, in the past or in
 * the future, and when the scope becomes quiet because of that deadline. */
struct quiet figures_scope(const struct figures *f, uint32_t scope);
/* Returns the latest deadline of those machines of the scope that count, or
 * STAMP_NONE if none counts.  The deadline may be in the past. */
int64_t figures_deadline_ms(const struct figures *f, uint32_t scope);

#endif
