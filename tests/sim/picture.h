/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SIM_PICTURE_H
#define TESTS_SIM_PICTURE_H

#include "history.h"

/*
 * A history as an SVG timeline: what stands on each machine's objects, what
 * people say in a NodePool's annotations, which scopes the leader holds, who
 * leads and sees everything, and what people, Karpenter and faults do.  The
 * picture is filled while the history runs.  The file of the history may say
 * more, in lines that are comments to history_read (times are seconds of the
 * history):
 *
 *     #: picture FROM TO TITLE	shows that part; its axis begins with 0:00
 *     #: debt			a row with the debt of the cluster's cap
 *     #: claims		a row for each machine's NodeClaim
 *     #: say AT ROW WORDS	puts words on a row (n0, cluster, pool-web,
 *				watches, server, …), in place of those of an
 *				event at that moment
 */
struct picture;

/* Both arguments outlive the picture.  What cannot be read in the file is said
 * on stderr. */
struct picture *picture_new(const struct history *h, const char *file);
/* Looks at the world after a step of the run.  p may be NULL. */
void picture_look(struct picture *p, const struct world *w,
		  const struct holder *holders);
/* Writes the picture; called once, after the run. */
void picture_draw(struct picture *p, FILE *out);
void picture_free(struct picture *p);

#endif
