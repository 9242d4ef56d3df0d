/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CORE_TICKET_SCENE_H
#define TESTS_CORE_TICKET_SCENE_H

#include "scene.h"

/*
 * What the scenarios of test_controller_tickets*.c have in common beside the
 * scene: two NodePools, web and batch, and tickets that hold them.
 */

/* A checked fixture: a world in which tickets hold NodePools. */
void ticket_setup(void);

/* Makes the world anew, with this scope, this cap and a window of 5 minutes. */
void use_scope(enum scope_kind scope, int64_t max_ms);

/* A NodePool as it is made, and such a NodePool in the world. */
struct nodepool pool_of(const char *name);
void pool(const char *name);
/* It is deleted, and the watch says so. */
void pool_gone(const char *name);

/* The NodePools web and batch, each with two old machines; nothing is held. */
void open_pools(void);

/* How many of the NodePool's Nodes are held by us? */
unsigned held_in(const char *nodepool);

/* Asserts how many Nodes are held, a moment later. */
void holds(unsigned web, unsigned batch);

/* Somebody writes or renews a ticket.  Returns until when it holds. */
int64_t ticket(const char *name, const char *patterns, int64_t lasts_ms);

struct controller_report report(void);

/* What a new leader lists, besides tickets. */
void list_machines(void);
void list_nodepools(void);
void list_events(void);

#endif
