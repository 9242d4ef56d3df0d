/* SPDX-License-Identifier: Apache-2.0 */
#include "older.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER "tests/golden/older"
#define CLASS_KEY OWN_PREFIX "replacement"

static void
thing_left(const struct thing *t, FILE *out)
{
	bool any = t->class[0] != '\0';

	for (int a = 0; a < ANN_COUNT; a++)
		any |= t->notes.at[a][0] != '\0';
	if (!t->used || !any || t->kind > KIND_NODECLAIM)
		return;
	fprintf(out, "%s %s", t->kind == KIND_NODE ? "node" : "claim", t->name);
	for (int a = 0; a < ANN_COUNT; a++)
		if (t->notes.at[a][0] != '\0')
			fprintf(out, " %s=%s", ann_keys[a], t->notes.at[a]);
	if (t->class[0] != '\0')
		fprintf(out, " " CLASS_KEY "=%s " CLASS_KEY "-uid=%s", t->class,
			t->class_uid);
	fprintf(out, "\n");
}

void
older_write(const struct world *w, FILE *out)
{
	fprintf(out, "lease %s\n", w->lease.state);
	for (int i = 0; i < w->things_n; i++)
		thing_left(&w->things[i], out);
}

/* Are the two the same, if all numbers in them are? */
static bool
is_like(const char *a, const char *b)
{
	while (*a != '\0' && *b != '\0') {
		if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
			a += strspn(a, "0123456789");
			b += strspn(b, "0123456789");
		} else if (*a++ != *b++) {
			return false;
		}
	}
	return *a == *b;
}

static char *
read_all(const char *name)
{
	char path[128], *text = NULL, line[1024];
	size_t n = 0;
	FILE *in, *out = open_memstream(&text, &n);

	snprintf(path, sizeof(path), FOLDER "/%s", name);
	in = fopen(path, "r");
	while (in != NULL && fgets(line, sizeof(line), in) != NULL)
		if (line[0] != '#')
			fputs(line, out);
	if (in != NULL)
		fclose(in);
	fclose(out);
	return text;
}

static void
note_take(struct thing *t, char *word)
{
	char *value = strchr(word, '=');

	*value++ = '\0';
	for (int a = 0; a < ANN_COUNT; a++)
		if (strcmp(word, ann_keys[a]) == 0)
			snprintf(t->notes.at[a], TEXT, "%s", value);
	if (strcmp(word, CLASS_KEY) == 0)
		snprintf(t->class, sizeof(t->class), "%s", value);
	if (strcmp(word, CLASS_KEY "-uid") == 0)
		snprintf(t->class_uid, sizeof(t->class_uid), "%s", value);
}

static void
line_take(struct world *w, char *line)
{
	char *save, *word = strtok_r(line, " ", &save);
	enum kind kind = word[0] == 'n' ? KIND_NODE : KIND_NODECLAIM;
	struct thing *t;

	if (strcmp(word, "lease") == 0) {
		snprintf(w->lease.state, sizeof(w->lease.state), "%s", save);
		return;
	}
	t = thing_named(w, kind, strtok_r(NULL, " ", &save));
	memset(t->notes.at, 0, sizeof(t->notes.at));
	while ((word = strtok_r(NULL, " ", &save)) != NULL)
		note_take(t, word);
	thing_changed(w, t);
}

void
older_take(struct world *w, const char *name)
{
	char *theirs = read_all(name), *ours, *save;
	size_t n;
	FILE *out = open_memstream(&ours, &n);

	older_write(w, out);
	fclose(out);
	if (!is_like(theirs, ours))
		broken(w, "V: " FOLDER "/%s is not like what is written today:"
		       "\n%.200s", name, ours);
	for (char *line = strtok_r(theirs, "\n", &save);
	     line != NULL && w->broken[0] == '\0';
	     line = strtok_r(NULL, "\n", &save))
		line_take(w, line);
	free(theirs);
	free(ours);
}
