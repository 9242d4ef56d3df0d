/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CORE_LEASE_SCRIPT_H
#define TESTS_CORE_LEASE_SCRIPT_H

#include "core/protocol/lease.h"
#include "run.h"

/*
 * What test_lease*.c have in common: a configuration, and one candidate for
 * the Lease with scripted answers.  A test runs it with script() and looks at
 * the structures below, or drives it step by step.
 */

#define DURATION 15000
#define RENEW 10000
#define RETRY 2000
#define RETRY_MAX 4400	/* RETRY · (1 + 1.2) */
#define LOOK 600	/* instead, while another holds it */
#define LOOK_MAX 1320
#define EPOCH INT64_C(1767323045000)
#define HOUR INT64_C(3600000)

#define ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

/* With election; the times are those above. */
struct lease_config lease_config_of(const char *identity);

/* Both clocks, ms after the start. */
struct now at(int64_t ms);

/* The candidate, whose identity is "me"; its time; what it said last; the
 * Lease as the next answer shows it. */
extern struct lease l;
extern int64_t t;
extern struct lease_todo todo;
extern struct lease_record answer;

/* Checked fixtures, with and without election.  case_of makes a case with one
 * of them. */
void lease_setup(void);
void lease_setup_alone(void);
TCase *case_of(Suite *s, const char *name, void (*setup)(void));

/* What the candidate says now. */
struct lease_todo look(void);

/* Lets time pass until the next call, which must be that one.  Returns how
 * long that took; `name` is for the message. */
int64_t step(enum lease_step want, const char *name);

/* Makes `answer` a Lease of that holder, under a new resourceVersion. */
void record_of(const char *holder, int32_t duration_s);

/* The answer to the call under way.  done_write: what was written, under a
 * new resourceVersion.  done_word: one word of a script without its letter. */
void done(enum lease_code code);
void done_write(void);
void done_word(const char *word);

/* The call that a word of a script begins with. */
enum lease_step step_of(char letter);

/* Plays a script.  Each word is a letter for the call that must come (G C U)
 * and its answer: ok 404 409 429 fail; for G also who holds the Lease: me,
 * another name (its time has not run out), none.  A + after the name: and has
 * renewed it. */
void script(const char *text, const char *name);

/* The notes since the last call, a letter each: L we lead, O another one leads,
 * X not renewed in time, T taken from us, R given up, B the state is bad, W we
 * wait for one that does not renew, H the Lease has another hold than ours. */
const char *lease_notes(void);

#endif
