/* SPDX-License-Identifier: Apache-2.0 */
#include "core/controller/notes.h"

#include "core/base/str.h"

struct note *
notes_put(struct notes *t, enum note_type type, const char *name)
{
	struct note *n;

	if (t->n == NOTES_MAX) {
		t->first = (t->first + 1) % NOTES_MAX;
		t->n--;
	}
	n = &t->at[(t->first + t->n++) % NOTES_MAX];
	*n = (struct note){.type = type};
	(void)str_copy(n->name, sizeof(n->name), name);
	return n;
}

bool
notes_take(struct notes *t, struct note *out)
{
	if (t->n == 0)
		return false;
	*out = t->at[t->first];
	t->first = (t->first + 1) % NOTES_MAX;
	t->n--;
	return true;
}
