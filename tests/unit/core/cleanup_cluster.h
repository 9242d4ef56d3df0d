/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CORE_CLEANUP_CLUSTER_H
#define TESTS_CORE_CLEANUP_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/protocol/cleanup.h"
#include "objects.h"
#include "run.h"

/*
 * A small cluster for the tests of core/protocol/cleanup: its objects, an API
 * server that serves lists and writes, and the caller that performs the steps.
 * There is one, and each test begins with cluster_init.  Unlike the simulator's
 * it has no time of its own, so that a test says what comes when.
 */

#define EPOCH INT64_C(1767323045000)	/* server time at boot time 0 */
#define SETTLE 5000
#define THINGS 40
#define LANES 8

enum what {
	BARE,
	OURS,		/* our hold and our mark */
	ODD,		/* our hold, and a mark without a time */
	YIELDED,	/* our mark on a hold of another value */
	PERSONS,	/* a hold without a mark */
};

struct thing {
	bool there;
	struct object o;
	unsigned version;
	/* What its mark stands for: the configured hold if this is empty, and
	 * nothing if only the key is "". */
	struct hold_key marked;
	bool persons;	/* a person set or copied the hold that stands there */
	bool unowned;	/* no person is on record as the writer of its hold */
	bool ours;	/* the hold is ours alone, also by its other half */
	bool under_way;
	enum cleanup_code answer;	/* instead, `times` times */
	unsigned times;
};

struct sent {		/* a write under way, as it left */
	struct cleanup_write w;
	struct entry object;
	char name[NAME_BYTES];
};

struct cluster {
	struct thing at[THINGS];
	int n;
	unsigned registered;
	unsigned unread[KIND_COUNT];	/* marked, and cannot be decoded */
	struct cleanup *x;
	struct hold_key hold;	/* the configured one */
	int64_t now;
	unsigned lists;		/* so many have begun */
	struct sent sent[LANES];
	unsigned sent_n, lanes;
	char walk[4000];	/* what it did */
};

extern struct cluster cluster;
extern const struct hold_key cluster_hold;		/* today's */
extern const struct cleanup_config cluster_plain;	/* no timeout */

/* --- the cluster ---------------------------------------------------------- */

/* Empties the cluster.  One write at a time may be under way. */
void cluster_init(void);
struct now cluster_at(int64_t ms);
struct now cluster_now(void);
/* Adds a registered object, marked and held as `what` says. */
struct thing *cluster_add(enum kind kind, const char *name, const char *owner,
			  enum what what);
struct thing *cluster_find(enum kind kind, const char *name);
void cluster_put(struct thing *t, enum what what);
/* Gives the object a new version. */
void cluster_changed(struct thing *t);
/* Does what the API server does with a write of ours. */
enum cleanup_code cluster_apply(const struct sent *s);

/* --- the caller ----------------------------------------------------------- */

/* Starts the command anew; what was under way is forgotten. */
void cluster_start(const struct cleanup_config *config);
void cluster_done(const struct cleanup_outcome *o);
/* Passes all objects of that kind. */
void cluster_list(enum kind kind);
/* Performs a step that is neither WAIT nor WRITE, and answers it with o. */
void cluster_ask(const struct cleanup_todo *t,
		 const struct cleanup_outcome *o);
/* Sends a write. */
void cluster_send(const struct cleanup_write *w);
/* Answers the i-th write under way with what the API server says, or with the
 * object's own `answer`. */
void cluster_answer(unsigned i);
/* Performs all steps up to the next WRITE or the END, which it returns. */
struct cleanup_todo cluster_go_on(void);
/* Adds a word to the walk. */
void cluster_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
