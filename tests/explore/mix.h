/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_EXPLORE_MIX_H
#define TESTS_EXPLORE_MIX_H

#include "history.h"

/* What a state is made of goes into it field by field: a hash. */
#define LABELS 256

struct mix {
	uint64_t a, b;
	int64_t now, server, boot;	/* … of the replica at hand */
	const struct holder *holders;
	int holders_n;
	/* Names that say nothing but which is which, in the order in which
	 * they come. */
	char labels[LABELS][32];
	unsigned labels_n;
};

void mix(struct mix *m, uint64_t v);
void mix_text(struct mix *m, const char *s);
/* A text with stamps in it: soft state, an annotation. */
void mix_stamped(struct mix *m, const char *s);
void mix_label(struct mix *m, const char *s);
void mix_version(struct mix *m, uint64_t rv);

/* Moments, as they lie before or ahead of now; those of which no rule would
 * know any more are all one.  Each on its clock: the API server's as the
 * replica has it, its boot time (0: never), virtual time (-1: never). */
void mix_moment(struct mix *m, int64_t v, int64_t now);
void mix_server(struct mix *m, int64_t v);
void mix_boot(struct mix *m, int64_t v);
void mix_when(struct mix *m, int64_t v);
/* Only what lies ahead counts. */
void mix_until(struct mix *m, int64_t v, int64_t now);
/* Only as long as it is not longer ago than that. */
void mix_within(struct mix *m, int64_t v, int64_t now, int64_t ms);

/* state_core.c */
struct nodepool;
void mix_controller(struct mix *m, const struct controller *s);
void mix_flight(struct mix *m, const struct controller *s,
		const struct flight *f);
/* state_truth.c */
void mix_truth(struct mix *m, const struct run *r);

#endif
