/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "marks.h"

void
marks_say(const struct marks *m, bool whole)
{
	const struct marks_list *l = &m->last;
	unsigned left = l->left[KIND_NODE] + l->left[KIND_NODECLAIM];

	(void)printf("%s %u nodes and %u nodeclaims; of %u objects only the "
		     "mark removed; %u replacement annotations removed\n",
		     m->dry_run ? "would release" : "released",
		     m->cleared[KIND_NODE], m->cleared[KIND_NODECLAIM],
		     m->unmarked, m->declassified);
	if (whole || m->dry_run) {
		if (!m->dry_run)
			(void)printf("none is left\n");
		return;
	}
	if (m->rehold.text[0] != '\0')
		(void)fprintf(stderr,
			      "karpenter-node-holder: something still holds: "
			      "%s, after the start\n",
			      m->rehold.text);
	if (!m->listed) {
		(void)fprintf(stderr, "karpenter-node-holder: no list was "
				      "made: what is left is not known\n");
		return;
	}
	(void)fprintf(stderr,
		      "karpenter-node-holder: the last list showed %u nodes "
		      "and %u nodeclaims with a mark\n",
		      l->left[KIND_NODE], l->left[KIND_NODECLAIM]);
	for (unsigned i = 0; i < left && i < MARKS_NAMED; i++)
		(void)fprintf(stderr, "    %s\n", l->named[i]);
	if (left > MARKS_NAMED)
		(void)fprintf(stderr, "    and %u more\n", left - MARKS_NAMED);
}
