/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CORE_OBJECTS_H
#define TESTS_CORE_OBJECTS_H

#include "core/base/object.h"
#include "core/base/ticket.h"

/* Objects as a watch shows them, and our annotations on them.  They belong to
 * NodePool "web", Karpenter made them, and nothing has happened to them yet. */

struct object object_new(enum kind kind, const char *name, const char *uid,
			 int64_t created_ms);

/* A NodeClaim; its name is its uid. */
struct object claim_new(const char *uid, int64_t created_ms);

/* A Node of the claim with that uid; its own uid is its name. */
struct object node_new(const char *name, const char *owner_uid,
		       int64_t created_ms);

/* A ticket of "tester" that was renewed at that moment.  Its uid is its name.
 * `patterns` is the annotation's value, or NULL. */
struct ticket ticket_new(const char *name, const char *patterns,
			 int64_t renewed_ms, int64_t lasts_ms);

/* Gives it our hold and our mark, which has whole seconds. */
void object_hold(struct object *o, int64_t mark_ms);

#endif
