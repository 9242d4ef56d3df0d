/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CORE_SCENE_H
#define TESTS_CORE_SCENE_H

#include "world.h"

/*
 * What the scenarios of test_controller*.c have in common: the world in which
 * they play, the machines that were there before, what Karpenter does, calls
 * that go wrong, and what is asked of the world at the end.
 */

#define MINUTE 60000
#define SLACK 4000	/* 300 machines at 32 a time, 20 ms each */

/* The world of the test that runs, and the rules with which it is made. */
extern struct rules rules;
extern struct world *w;

/* A checked fixture: the default rules and a world without objects. */
void scene_setup(void);
void scene_teardown(void);

/* Makes the world anew, under the rules as they are now. */
void scene_again(void);

/* The same, and from then on tickets hold NodePools. */
void scene_tickets(void);

/* --- machines ------------------------------------------------------------- */

/* The API server's time as a stamp shows it: whole seconds. */
int64_t stamp_now(void);

/* Machines 0 to n - 1 of NodePool "web", a day old. */
void add_old(int n);

/* The same; opens the world, and asserts that nothing is held. */
void open_old(int n);

/* Old machines as add_old makes them, but their Nodes carry our hold and mark
 * still: they are due to be released at once. */
void add_due(int n);

/* Machine n becomes ready now.  Returns when its hold ends. */
int64_t machine_now(int n, const char *nodepool);

/* Machine n of "web" became ready so that its hold ends in settle_ms.  Returns
 * when that is. */
int64_t busy_until(int n, int64_t settle_ms);

/* Claim "cN" as Karpenter makes it: its condition says that it is not launched
 * yet. */
struct thing *claim_make(int n, const char *nodepool);

/* Claim "cN" of "web", seen for the first time when it has been launched. */
struct thing *claim_boot(int n);

void claim_launch(struct thing *c);

/* The claim shows that its Node is ready.  Returns when its hold ends. */
int64_t become_ready(struct thing *c);

/* The claim begins to be deleted. */
void claim_deleting(struct thing *c);

/* --- single actions ------------------------------------------------------- */

/* The controller's next action, which must be of that type. */
struct action act_next(enum act act);

/* What came of it. */
void act_answer(const struct action *a, enum controller_code code);

/* Both, one after the other. */
struct action act_done(enum act act, enum controller_code code);

/* Does the controller say that there is nothing to do? */
bool act_waits(void);

/* --- faults --------------------------------------------------------------- */

/* The next `times` actions of that type on the object of that name go wrong;
 * -1: all of them.  NULL: on any object. */
void go_wrong(const char *name, enum act act, enum reply_fault fault, int times);

/* --- what came of it ------------------------------------------------------ */

/* How many of the Nodes "n0" to "n(n - 1)" are held by us? */
unsigned count_spread(int n);

/* Asserts that so many Nodes are held until `quiet`, and nothing soon after. */
void held_until(int64_t quiet, unsigned nodes);

/* How many notes of that type since the last call, whatever else there was;
 * *last is the last of them (NULL: not wanted). */
unsigned notes(enum note_type type, struct note *last);

#endif
