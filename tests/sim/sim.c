/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "picture.h"

/*
 *     sim seeds FIRST COUNT [JOBS]   runs the histories of these seeds, some of
 *                                    them twice.  One that fails is shrunk,
 *                                    told and written to $SIM_SEEDS
 *     sim uninstall FIRST COUNT [JOBS]
 *                                    the same, with a `cleanup` in each
 *     sim spec FIRST COUNT [JOBS]    the same, with NodePools whose spec changes
 *     sim large FIRST COUNT [JOBS]   the same, with claims that are too large to
 *                                    be read
 *     sim observe FIRST COUNT [JOBS] the same, with mode observe
 *     sim seed N                     runs the history of a seed and tells it
 *     sim write N                    writes the history of a seed as a file
 *     sim run FILE...                runs histories from files
 *     sim tell FILE                  runs a history from a file and tells it
 *     sim picture FILE               draws a history
 *     sim pictures FOLDER FILE...    draws rule-NAME.txt as FOLDER/NAME.svg
 *     sim same FOLDER FILE...        compares the files with such pictures
 */

struct total {
	uint64_t runs, twice, broken, days_ms, events, writes;
	uint64_t ops[OP_COUNT], faults[4];
	struct meter meter;
};

static void
add_meter(struct meter *all, const struct meter *m)
{
	for (int i = 0; i < METERED; i++)
		all->ms[i] += m->ms[i];
}

static void
add(struct total *t, const struct outcome_of_run *o)
{
	add_meter(&t->meter, &o->meter);
	t->runs++;
	t->days_ms += o->days_ms;
	t->events += o->events;
	t->writes += o->writes;
	for (int i = 0; i < OP_COUNT; i++)
		t->ops[i] += o->ops[i];
	for (int i = 0; i < 4; i++)
		t->faults[i] += o->faults[i];
}

/* --- shrinking ------------------------------------------------------------ */

static bool
fails_alike(const struct history *h, const char *why)
{
	struct outcome_of_run o;
	const char *a = strchr(why, 'I'), *b;

	if (!history_run(h, NULL, &o))
		return false;
	b = strchr(o.broken, 'I');
	return a == NULL || b == NULL ||
	       strncmp(a, b, strcspn(a, ":") + 1) == 0;
}

static void
without(const struct history *h, int first, int n, struct history *out)
{
	*out = *h;
	memmove(&out->ops[first], &out->ops[first + n],
		(size_t)(h->ops_n - first - n) * sizeof(h->ops[0]));
	out->ops_n -= n;
}

/* Leaves out more and more of the history's events, as long as it still
 * fails. */
static void
shrink(struct history *h, const char *why)
{
	struct history *less = malloc(sizeof(*less));

	if (less == NULL)
		abort();
	for (int n = h->ops_n / 2; n >= 1;) {
		bool any = false;

		for (int i = 0; i + n <= h->ops_n;) {
			without(h, i, n, less);
			if (fails_alike(less, why)) {
				*h = *less;
				any = true;
			} else {
				i += n;
			}
		}
		if (!any || n > 1)
			n = n > 1 ? n / 2 : 0;
	}
	free(less);
}

#define TOLD_LINES 30		/* the last lines of a story are shown */

/* Writes the history and its end in one piece, because other processes write
 * there, too. */
static void
show(const struct history *h, uint64_t seed, const char *why, const char *path)
{
	struct outcome_of_run o;
	char *story = NULL, *text = NULL, *last;
	size_t story_n, text_n;
	FILE *out = open_memstream(&story, &story_n);
	int lines = 0;

	if (out == NULL)
		abort();
	(void)history_run(h, out, &o);
	fclose(out);
	for (last = story + story_n; last > story; last--)
		if (last[-1] == '\n' && lines++ == TOLD_LINES)
			break;
	out = open_memstream(&text, &text_n);
	if (out == NULL)
		abort();
	fprintf(out, "sim: seed %llu: %s\nsim: its %d events, kept in %s:\n",
		(unsigned long long)seed, why, h->ops_n, path);
	history_write(h, out);
	fprintf(out, "sim: how it ends:\n%s", last);
	fclose(out);
	(void)fwrite(text, 1, text_n, stderr);
	free(story);
	free(text);
}

/* Where histories of one sort come from, and how their files begin. */
struct sort {
	void (*make)(struct history *h, uint64_t seed);
	const char *prefix;
};

static void
keep(struct history *h, const struct sort *sort, uint64_t seed,
     const char *why)
{
	const char *folder = getenv("SIM_SEEDS");
	char path[512];
	FILE *out;

	shrink(h, why);
	snprintf(path, sizeof(path), "%s/%s%llu.txt",
		 folder != NULL ? folder : ".", sort->prefix,
		 (unsigned long long)seed);
	out = fopen(path, "w");
	if (out == NULL) {
		perror(path);
		return;
	}
	fprintf(out, "# %s\n", why);
	history_write(h, out);
	fclose(out);
	show(h, seed, why, path);
}

/* --- many ----------------------------------------------------------------- */

#define KEPT_MAX 5	/* failing seeds that one job keeps; then it stops */
#define TWICE 50	/* of so many seeds one runs twice */

static unsigned
differs(uint64_t seed, const struct outcome_of_run *a,
	const struct outcome_of_run *b)
{
	if (a->digest == b->digest)
		return 0;
	fprintf(stderr, "sim: seed %llu: not the same twice\n",
		(unsigned long long)seed);
	return 1;
}

static void
stripe(const struct sort *sort, uint64_t first, uint64_t count, unsigned job,
       unsigned jobs, struct total *t)
{
	struct history *h = malloc(sizeof(*h));
	struct outcome_of_run o, again;

	if (h == NULL)
		abort();
	for (uint64_t i = job; i < count && t->broken < KEPT_MAX; i += jobs) {
		sort->make(h, first + i);
		if (history_run(h, NULL, &o)) {
			t->broken++;
			keep(h, sort, first + i, o.broken);
		} else if ((first + i) % TWICE == 0) {
			t->twice++;
			(void)history_run(h, NULL, &again);
			t->broken += differs(first + i, &o, &again);
		}
		add(t, &o);
	}
	free(h);
}

static void
merge(struct total *t, const struct total *part)
{
	add_meter(&t->meter, &part->meter);
	t->runs += part->runs;
	t->twice += part->twice;
	t->broken += part->broken;
	t->days_ms += part->days_ms;
	t->events += part->events;
	t->writes += part->writes;
	for (int i = 0; i < OP_COUNT; i++)
		t->ops[i] += part->ops[i];
	for (int i = 0; i < 4; i++)
		t->faults[i] += part->faults[i];
}

static double
percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 100;
}

/* Of the time before runs settle. */
static void
report_meter(const struct meter *m)
{
	double machines = m->ms[METER_MACHINES], caps = m->ms[METER_CAPS];

	printf("\nsim: before runs settle, judged %.1f %% of the machines' time (not: unsure %.1f, "
	       "trouble %.1f, just turned %.1f, out of sight %.1f), %.1f %% of the "
	       "caps' (not: unknown %.1f, trouble %.1f, a window may be open "
	       "%.1f)",
	       percent(m->ms[METER_MACHINES_JUDGED], machines),
	       percent(m->ms[METER_UNSURE], machines),
	       percent(m->ms[METER_TROUBLE], machines),
	       percent(m->ms[METER_TURNED], machines),
	       percent(m->ms[METER_UNSEEN], machines),
	       percent(m->ms[METER_CAPS_JUDGED], caps),
	       percent(m->ms[METER_CAP_UNKNOWN], caps),
	       percent(m->ms[METER_CAP_TROUBLE], caps),
	       percent(m->ms[METER_CAP_OPEN], caps));
}

static void
report(const struct total *t, double seconds)
{
	printf("sim: %llu seeds, %llu of them twice, %.0f virtual days, "
	       "%llu events, %llu writes, %.0f s\nsim:",
	       (unsigned long long)t->runs, (unsigned long long)t->twice,
	       (double)t->days_ms / 86400000,
	       (unsigned long long)t->events, (unsigned long long)t->writes,
	       seconds);
	for (int i = 0; i < OP_COUNT; i++)
		if (i != OP_EXPECT)
			printf(" %s %llu", op_names[i],
			       (unsigned long long)t->ops[i]);
	report_meter(&t->meter);
	printf("\nsim: answers lost %llu, done after the timeout %llu, "
	       "errors %llu\nsim: %llu broken\n",
	       (unsigned long long)t->faults[1],
	       (unsigned long long)t->faults[2],
	       (unsigned long long)t->faults[3],
	       (unsigned long long)t->broken);
}

static int
seeds(const struct sort *sort, uint64_t first, uint64_t count, unsigned jobs)
{
	struct timespec a, b;
	struct total all = {0};
	int pipes[64][2];

	clock_gettime(CLOCK_MONOTONIC, &a);
	for (unsigned j = 0; j < jobs; j++) {
		struct total part = {0};

		if (pipe(pipes[j]) != 0)
			abort();
		if (fork() != 0)
			continue;
		stripe(sort, first, count, j, jobs, &part);
		_exit(write(pipes[j][1], &part, sizeof(part)) !=
		      (ssize_t)sizeof(part));
	}
	for (unsigned j = 0; j < jobs; j++) {
		struct total part = {0};

		close(pipes[j][1]);
		if (read(pipes[j][0], &part, sizeof(part)) !=
		    (ssize_t)sizeof(part)) {
			fprintf(stderr, "sim: a job crashed\n");
			part.broken = 1;
		}
		merge(&all, &part);
	}
	while (wait(NULL) > 0)
		;
	clock_gettime(CLOCK_MONOTONIC, &b);
	report(&all, (double)(b.tv_sec - a.tv_sec) +
			     (double)(b.tv_nsec - a.tv_nsec) / 1e9);
	return all.broken != 0;
}

/* --- one ------------------------------------------------------------------ */

static int
told(const struct history *h)
{
	struct outcome_of_run o;
	int rc = history_run(h, stdout, &o);

	printf("%s%s\ndigest %016llx\n", rc != 0 ? "BROKEN " : "sound",
	       o.broken, (unsigned long long)o.digest);
	return rc;
}

static int
files(int n, char **names, bool tell_it)
{
	struct history *h = malloc(sizeof(*h));
	struct outcome_of_run o, again;
	int bad = 0;

	if (h == NULL)
		abort();
	for (int i = 0; i < n; i++) {
		if (history_read(h, names[i])) {
			bad++;
		} else if (tell_it) {
			bad += told(h);
		} else if (history_run(h, NULL, &o)) {
			bad++;
			printf("sim: %s: %s\n", names[i], o.broken);
		} else if (history_run(h, NULL, &again) ||
			   again.digest != o.digest) {
			bad++;
			printf("sim: %s: not the same twice\n", names[i]);
		}
	}
	if (!tell_it)
		printf("sim: %d histories from files, %d broken\n", n, bad);
	free(h);
	return bad != 0;
}

/* --- drawn ---------------------------------------------------------------- */

/* Returns the picture as text, which the caller frees.  NULL: stderr says
 * why. */
static char *
drawn(const char *file)
{
	struct history *h = malloc(sizeof(*h));
	struct outcome_of_run o;
	char *svg = NULL;
	size_t n = 0;
	FILE *out;

	if (h == NULL)
		abort();
	if (history_read(h, file) == 0) {
		h->picture = picture_new(h, file);
		if (history_run(h, NULL, &o)) {
			fprintf(stderr, "sim: %s: %s\n", file, o.broken);
		} else if ((out = open_memstream(&svg, &n)) != NULL) {
			picture_draw(h->picture, out);
			fclose(out);
		}
		picture_free(h->picture);
	}
	free(h);
	return svg;
}

static bool
is_same(const char *path, const char *svg)
{
	FILE *in = fopen(path, "r");
	bool same = in != NULL;

	while (same && *svg != '\0')
		same = fgetc(in) == (unsigned char)*svg++;
	same = same && fgetc(in) == EOF;
	if (in != NULL)
		fclose(in);
	return same;
}

static bool
draw_to(const char *path, const char *svg)
{
	FILE *out = fopen(path, "w");

	if (out == NULL || fputs(svg, out) == EOF || fclose(out) != 0) {
		perror(path);
		return false;
	}
	return true;
}

static int
pictures(const char *folder, int n, char **names, bool compare)
{
	int bad = 0;

	for (int i = 0; i < n; i++) {
		const char *base = strstr(names[i], "rule-");
		char path[512], *svg = drawn(names[i]);

		base = base != NULL ? base + strlen("rule-") : names[i];
		snprintf(path, sizeof(path), "%s/%.*s.svg", folder,
			 (int)strcspn(base, "."), base);
		if (svg == NULL) {
			bad++;
		} else if (!compare) {
			bad += !draw_to(path, svg);
		} else if (!is_same(path, svg)) {
			bad++;
			printf("sim: %s is not what %s draws now: run `make "
			       "pictures` and see whether docs/rules.md still "
			       "fits\n", path, names[i]);
		}
		free(svg);
	}
	printf("sim: %d pictures, %d %s\n", n, bad,
	       compare ? "out of date" : "not drawn");
	return bad != 0;
}

static int
picture(const char *file)
{
	char *svg = drawn(file);

	if (svg != NULL)
		fputs(svg, stdout);
	free(svg);
	return svg == NULL;
}

int
main(int argc, char **argv)
{
	static const struct sort random = {history_random, ""},
				 cleanup = {history_random_cleanup,
					    "uninstall-"},
				 large = {history_random_large, "large-"},
				 spec = {history_random_spec, "spec-"},
				 observe = {history_random_observe,
					    "observe-"},
				 tickets = {history_random_tickets,
					    "tickets-"};
	static struct history h;
	const char *verb = argc > 2 ? argv[1] : "";
	const struct sort *sort = strcmp(verb, "seeds") == 0	   ? &random
				  : strcmp(verb, "uninstall") == 0 ? &cleanup
				  : strcmp(verb, "large") == 0	   ? &large
				  : strcmp(verb, "spec") == 0	   ? &spec
				  : strcmp(verb, "observe") == 0   ? &observe
				  : strcmp(verb, "tickets") == 0   ? &tickets
								   : NULL;

	if (sort != NULL && argc > 3) {
		int jobs = argc > 4 ? atoi(argv[4]) : 1;

		return seeds(sort, strtoull(argv[2], NULL, 10),
			     strtoull(argv[3], NULL, 10),
			     (unsigned)(jobs < 1 ? 1 : jobs > 64 ? 64 : jobs));
	}
	if (strcmp(verb, "run") == 0)
		return files(argc - 2, argv + 2, false);
	if (strcmp(verb, "tell") == 0)
		return files(1, argv + 2, true);
	if (strcmp(verb, "picture") == 0)
		return picture(argv[2]);
	if (strcmp(verb, "pictures") == 0 || strcmp(verb, "same") == 0)
		return pictures(argv[2], argc - 3, argv + 3,
				strcmp(verb, "same") == 0);
	if (strcmp(verb, "seed") == 0 || strcmp(verb, "write") == 0) {
		history_random(&h, strtoull(argv[2], NULL, 10));
		if (strcmp(verb, "seed") == 0)
			return told(&h);
		history_write(&h, stdout);
		return 0;
	}
	fprintf(stderr, "usage: sim seeds FIRST COUNT [JOBS] | "
			"uninstall FIRST COUNT [JOBS] | "
			"large FIRST COUNT [JOBS] | "
			"spec FIRST COUNT [JOBS] | "
			"observe FIRST COUNT [JOBS] | "
			"tickets FIRST COUNT [JOBS] | seed N | write N | "
			"run FILE... | tell FILE | picture FILE | "
			"pictures FOLDER FILE... | same FOLDER FILE...\n");
	return 2;
}
