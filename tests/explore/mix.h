/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_EXPLORE_MIX_H
#define TESTS_EXPLORE_MIX_H

#include "history.h"

/* Everything that a state is made of goes field by field into a hash. */
#define LABELS 256

struct mix {
	uint64_t a, b;
	int64_t now, server, boot;	/* the last two as the replica at hand
					   has them */
	const struct holder *holders;
	int holders_n;
	/* Names that only tell one thing from another, in the order in which
	 * they come. */
	char labels[LABELS][32];
	unsigned labels_n;
};

void mix(struct mix *m, uint64_t v);
void mix_text(struct mix *m, const char *s);
/* Mixes a text with stamps in it: soft state or an annotation. */
void mix_stamped(struct mix *m, const char *s);
void mix_label(struct mix *m, const char *s);
void mix_version(struct mix *m, uint64_t rv);

/* Moments are mixed by how far they lie before or ahead of now.  Those that are
 * so long ago that no rule looks back to them are all the same.  Each function
 * has a clock of its own: the API server's as the replica has it, the replica's
 * boot time (0: never), virtual time (-1: never). */
void mix_moment(struct mix *m, int64_t v, int64_t now);
void mix_server(struct mix *m, int64_t v);
void mix_boot(struct mix *m, int64_t v);
void mix_when(struct mix *m, int64_t v);
/* A moment that has passed does not count. */
void mix_until(struct mix *m, int64_t v, int64_t now);
/* A moment that is longer ago than ms does not count. */
void mix_within(struct mix *m, int64_t v, int64_t now, int64_t ms);

/* state_core.c */
struct nodepool;
void mix_controller(struct mix *m, const struct controller *s);
void mix_flight(struct mix *m, const struct controller *s,
		const struct flight *f);
/* state_truth.c */
void mix_truth(struct mix *m, const struct run *r);

#endif
