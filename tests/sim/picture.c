/* SPDX-License-Identifier: Apache-2.0 */
#include "picture_parts.h"

#include <stdlib.h>
#include <string.h>

/* --- rows ----------------------------------------------------------------- */

static struct row *
row_add(struct picture *p, enum row_kind kind, int number, const char *name,
	const char *nodepool)
{
	struct row *r = &p->rows[p->rows_n];

	if (p->rows_n == ROWS)
		return NULL;
	p->rows_n++;
	*r = (struct row){.kind = kind, .number = number, .born = -1,
			  .launched = -1, .ready = -1, .gone = -1,
			  .said = -1};
	snprintf(r->name, sizeof(r->name), "%s", name);
	snprintf(r->nodepool, sizeof(r->nodepool), "%s", nodepool);
	return r;
}

static int
row_named(const struct picture *p, const char *name)
{
	for (int i = 0; i < p->rows_n; i++)
		if (strcmp(p->rows[i].name, name) == 0)
			return i;
	return -1;
}

int
row_of_nodepool(const struct picture *p, const char *nodepool)
{
	for (int i = 0; i < p->rows_n; i++)
		if (p->rows[i].kind == ROW_NODEPOOL &&
		    strcmp(p->rows[i].nodepool, nodepool) == 0)
			return i;
	return -1;
}

int
row_of(const struct picture *p, enum row_kind kind, int number)
{
	for (int i = 0; i < p->rows_n; i++)
		if (p->rows[i].kind == kind && p->rows[i].number == number)
			return i;
	return -1;
}

/* --- the lines of the file ------------------------------------------------ */

static void
line_read(struct picture *p, const char *line)
{
	double a, b;
	char row[24];
	int n = 0;

	if (sscanf(line, "#: picture %lf %lf %n", &a, &b, &n) == 2 && n > 0) {
		p->from = (int64_t)(a * 1000 + 0.5);
		p->to = (int64_t)(b * 1000 + 0.5);
		snprintf(p->title, WORDS, "%s", line + n);
	} else if (sscanf(line, "#: say %lf %23s %n", &a, row, &n) == 2 &&
		   n > 0) {
		if (row_named(p, row) < 0)
			fprintf(stderr, "sim: %s: no row %s\n", p->file, row);
		picture_say(p, (int64_t)(a * 1000 + 0.5), row_named(p, row),
			    line + n, false);
	}
}

static void
option_read(struct picture *p, const char *line)
{
	p->debt |= strcmp(line, "#: debt") == 0;
	p->claims |= strcmp(line, "#: claims") == 0;
}

static void
file_read(struct picture *p, void (*read)(struct picture *, const char *))
{
	FILE *in = fopen(p->file, "r");
	char line[512];

	if (in == NULL) {
		perror(p->file);
		return;
	}
	while (fgets(line, sizeof(line), in) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		read(p, line);
	}
	fclose(in);
}

static void
rows_around(struct picture *p)
{
	const struct history *h = p->h;
	bool holders = h->holders > 1, server = false, watches = false;
	char name[24];

	for (int i = 0; i < h->ops_n; i++) {
		holders |= on_holder(h->ops[i].type);
		server |= on_server(h->ops[i].type);
		watches |= on_watches(h->ops[i].type);
	}
	for (int i = 0; i < h->holders && holders; i++) {
		snprintf(name, sizeof(name), "replica %d", i);
		row_add(p, ROW_HOLDER, i, h->holders > 1 ? name : "holder", "");
	}
	if (server)
		row_add(p, ROW_SERVER, 0, "server", "");
	if (watches)
		row_add(p, ROW_WATCHES, 0, "watches", "");
	for (int i = 0; i < h->ops_n; i++) {
		if (!on_nodepool(h->ops[i].type) ||
		    row_of_nodepool(p, h->ops[i].nodepool) >= 0)
			continue;
		snprintf(name, sizeof(name), "pool-%s", h->ops[i].nodepool);
		row_add(p, ROW_NODEPOOL, i, name, h->ops[i].nodepool);
	}
}

static void
rows_of_scopes(struct picture *p)
{
	const struct history *h = p->h;

	if (h->scope == SCOPE_CLUSTER) {
		row_add(p, ROW_SCOPE, 0, "cluster", "");
		if (p->debt)
			row_add(p, ROW_DEBT, p->rows_n - 1, "debt", "");
	}
	for (int i = 0; i < h->ops_n && h->scope == SCOPE_NODEPOOL; i++)
		if (h->ops[i].type == OP_CREATE &&
		    row_named(p, h->ops[i].nodepool) < 0)
			row_add(p, ROW_SCOPE, i, h->ops[i].nodepool,
				h->ops[i].nodepool);
}

static void
rows_of_machines(struct picture *p)
{
	const struct history *h = p->h;
	char name[24];
	int n = 0;

	for (int i = 0; i < h->ops_n; i++) {
		for (int k = 0; h->ops[i].type == OP_CREATE && k < h->ops[i].n;
		     k++, n++) {
			snprintf(name, sizeof(name), "n%d", n);
			row_add(p, ROW_MACHINE, n, name, h->ops[i].nodepool);
			snprintf(name, sizeof(name), "n%d-claim", n);
			if (p->claims)
				row_add(p, ROW_CLAIM, n, name, "");
		}
	}
}

struct picture *
picture_new(const struct history *h, const char *file)
{
	struct picture *p = calloc(1, sizeof(*p));

	if (p == NULL)
		abort();
	p->h = h;
	p->file = file;
	snprintf(p->title, WORDS, "%s", file);
	for (int i = 0; i < h->ops_n; i++)
		if (h->ops[i].at > p->to)
			p->to = h->ops[i].at;
	p->to += h->startup_ms + h->hold_ms;
	file_read(p, option_read);
	rows_around(p);
	rows_of_scopes(p);
	rows_of_machines(p);
	file_read(p, line_read);
	for (int i = 0; i < p->words_n; i++)
		p->words[i].said = true;
	picture_events(p);
	return p;
}

void
picture_free(struct picture *p)
{
	free(p);
}
