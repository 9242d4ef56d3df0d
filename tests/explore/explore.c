/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "arena.h"
#include "moves.h"
#include "state.h"

/*
 *     explore MINUTES DEPTH START.txt...
 *
 * Runs every history instead of samples.  From each start it runs all orders of
 * the events in moves.c, one event deeper at a time, until that many minutes of
 * processor time are over or the depth is reached (0: no bound).  It does not
 * go on from a state that it has met before in any way.  truth.c looks at each
 * step.
 *
 * The states form a tree of the moves by which each was met first.  To go one
 * event deeper, the program walks the tree from its roots and makes the move of
 * each state again.  Only the states on the way are kept as snapshots.
 */

#define DEPTH_MAX 24
#define STATES_MAX (12u << 20)
#define SLOTS (16u << 20)
#define CHECKS (1u << 16)
#define CHECKED 256	/* of so many states one is compared: do all ways to it
			   go on alike? */
#define SETTLED 1024	/* of so many states one is settled, and all at small
			   depth */
#define SETTLED_DEPTH 1
#define REPLAYED 16	/* of so many settled histories one runs as a file */
#define KINDS_MAX 24	/* kinds of breach; one of each is kept */
#define MOVES_MAX 64

struct node {
	uint32_t first;		/* the children lie side by side */
	uint8_t n, move;
	bool live;		/* some descendants are to be expanded */
	bool done;		/* it has been expanded */
};

/* What came next in a state when it was first met, and by which way it was
 * met. */
struct check {
	struct state of, next[MOVES_MAX];
	uint8_t path[DEPTH_MAX], depth, start;
};

struct kind_of {
	char words[96];
	uint64_t n;
};

static struct {
	const char *const *starts;
	int starts_n;
	struct node *nodes;
	uint32_t nodes_n;
	struct state *slots;
	struct check *checks;
	struct snapshot *at[DEPTH_MAX + 1];
	struct history *start;	/* the start as read */
	struct history *path;	/* the start and what has happened since */
	struct run *run;
	uint8_t moves[DEPTH_MAX];
	int which, depth, target;
	int64_t settling;	/* since when it settles; -1: not yet */
	struct timespec begun;
	double seconds;
	double until;		/* the end of this start's share of the time */
	bool over, full, cut;	/* cut: the start's time is over */
	uint64_t transitions, known, settled, replayed, checked, differing;
	uint64_t broken, expanded, of_level;
	struct kind_of kinds[KINDS_MAX];
	int kinds_n;
} x;

static double
elapsed(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)(now.tv_sec - x.begun.tv_sec) +
	       (double)(now.tv_nsec - x.begun.tv_nsec) / 1e9;
}

static void *
reserved(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED) {
		perror("mmap");
		exit(2);
	}
	return p;
}

/* --- what was found ------------------------------------------------------- */

static void
ways(FILE *out, const uint8_t *moves, int n)
{
	for (int i = 0; i < n; i++)
		fprintf(out, "%s%s", i > 0 ? ", " : "", move_name(moves[i]));
}

/* Runs the same history as a file would, from the beginning and without
 * snapshots.  Returns whether it breaks. */
static bool
replayed(struct outcome_of_run *out)
{
	arena_on(false);
	x.path->end = run_world(x.run)->now;
	(void)history_run(x.path, NULL, out);
	arena_on(true);
	return out->broken[0] != '\0';
}

/* Two breaches are of one kind if they differ only in numbers.  Returns whether
 * this is the first of its kind. */
static bool
is_new_kind(const char *why)
{
	struct kind_of k = {.n = 1};
	size_t n = 0;

	why = strstr(why, " s: ") != NULL ? strstr(why, " s: ") + 4 : why;
	/* Keeps the number of the invariant, as in "I10: …". */
	while (*why != '\0' && *why != ' ' && n + 1 < sizeof(k.words))
		k.words[n++] = *why++;
	for (; *why != '\0' && n + 1 < sizeof(k.words); why++)
		if (strchr("0123456789.", *why) == NULL)
			k.words[n++] = *why;
	for (int i = 0; i < x.kinds_n; i++) {
		if (strcmp(x.kinds[i].words, k.words) == 0) {
			x.kinds[i].n++;
			return false;
		}
	}
	if (x.kinds_n == KINDS_MAX) {
		x.over = true;
		return false;
	}
	x.kinds[x.kinds_n++] = k;
	return true;
}

/* The same history has the same file name in each run. */
static uint32_t
name_of_path(void)
{
	uint32_t v = 2166136261u;

	for (const char *s = x.starts[x.which]; *s != '\0'; s++)
		v = (v ^ (unsigned char)*s) * 16777619u;
	for (int i = 0; i < x.depth; i++)
		v = (v ^ x.moves[i]) * 16777619u;
	return v;
}

static void
keep(const char *why)
{
	const char *folder = getenv("SIM_SEEDS");
	char path[512];
	FILE *out;

	arena_on(false);
	snprintf(path, sizeof(path), "%s/explore-%08x.txt",
		 folder != NULL ? folder : ".", name_of_path());
	fprintf(stderr, "explore: %s\nexplore: after %s: ", why,
		x.starts[x.which]);
	ways(stderr, x.moves, x.depth);
	fprintf(stderr, "\nexplore: kept in %s\n", path);
	out = fopen(path, "w");
	if (out == NULL) {
		perror(path);
	} else {
		x.path->end = x.settling >= 0 ? x.settling
					      : run_world(x.run)->now;
		fprintf(out, "# %s\n# ", why);
		ways(out, x.moves, x.depth);
		fprintf(out, "\n");
		history_write(x.path, out);
		fclose(out);
	}
	arena_on(true);
}

static void
found(const char *why)
{
	struct outcome_of_run o;

	x.broken++;
	if (!is_new_kind(why))
		return;
	keep(why);
	if (!replayed(&o))
		fprintf(stderr, "explore: as a file it is sound!\n");
}

/* An assertion of the core has failed, or a bad pointer was followed.  Says how
 * it came to that. */
static void
crashed(int number)
{
	char why[64];

	signal(number, SIG_DFL);
	snprintf(why, sizeof(why), "it crashes by signal %d", number);
	x.broken++;
	(void)is_new_kind(why);
	keep(why);
	raise(number);
}

/* --- states that are known ------------------------------------------------ */

static bool
same(struct state a, struct state b)
{
	return a.a == b.a && a.b == b.b;
}

/* Remembers the state.  Returns whether it is new. */
static bool
learn(struct state s)
{
	size_t i = s.a & (SLOTS - 1);

	for (; x.slots[i].a != 0 || x.slots[i].b != 0; i = (i + 1) & (SLOTS - 1))
		if (same(x.slots[i], s))
			return false;
	x.slots[i] = s;
	return true;
}

static void
grow(int move)
{
	if (x.nodes_n == STATES_MAX) {
		x.over = x.full = true;
		return;
	}
	x.nodes[x.nodes_n++] = (struct node){.move = (uint8_t)move,
					     .live = true};
}

/* --- one step ------------------------------------------------------------- */

/* Does with the event what history_run does with it. */
static bool
happens(const struct op *o)
{
	x.path->ops[x.path->ops_n++] = *o;
	run_pass(x.run, o->at);
	if (run_broken(x.run) == NULL)
		run_apply(x.run, o);
	return run_broken(x.run) == NULL;
}

/* Makes a move.  Returns false if it cannot happen here. */
static bool
step(int move, bool *sound)
{
	struct op o;

	if (!move_make(move, x.run, &o))
		return false;
	x.moves[x.depth++] = (uint8_t)move;
	x.transitions++;
	*sound = happens(&o);
	return true;
}

/* Brings back the state that was saved at that depth. */
static void
back(int depth)
{
	snapshot_restore(x.at[depth]);
	x.depth = depth;
	x.path->ops_n = x.start->ops_n + depth;
}

/* The faults stop here.  Does everything get quiet and clear? */
static void
settle(void)
{
	struct outcome_of_run o;

	x.settled++;
	x.settling = run_world(x.run)->now;
	run_pass(x.run, x.settling);
	if (run_broken(x.run) == NULL)
		run_settle(x.run);
	if (run_broken(x.run) != NULL)
		found(run_broken(x.run));
	else if (x.settled % REPLAYED == 0) {
		uint64_t digest = run_world(x.run)->digest;

		x.replayed++;
		back(x.depth);
		if (replayed(&o) || o.digest != digest) {
			found("from a file it is another one");
		}
	}
	x.settling = -1;
}

static bool
is_settled(struct state s)
{
	return x.depth <= SETTLED_DEPTH || s.b % SETTLED == 0;
}

/* --- do all ways to one state go on alike? -------------------------------- */

static bool
is_checked(struct state s)
{
	return s.b / SETTLED % CHECKED == 0;
}

static struct state
after(int depth, int move)
{
	struct state s = {0, 0};
	bool sound;

	back(depth);
	if (step(move, &sound))
		s = sound ? state_of(x.run) : (struct state){1, 1};
	return s;
}

static void
differ(const struct check *c, int move)
{
	arena_on(false);
	x.differing++;
	fprintf(stderr, "explore: one state, and after \"%s\" two: %s: ",
		move_name(move), x.starts[c->start]);
	ways(stderr, c->path, c->depth);
	fprintf(stderr, "; and %s: ", x.starts[x.which]);
	ways(stderr, x.moves, x.depth);
	fprintf(stderr, "\n");
	arena_on(true);
	x.over = x.over || x.differing >= KINDS_MAX;
}

/* Compares what comes next with what came next the first time.  The run is in
 * that state, which has not been saved yet. */
static void
check(struct state s)
{
	struct check *c = &x.checks[s.a % CHECKS];
	bool first = c->of.a == 0;
	int depth = x.depth, bad = -1;

	if (depth == DEPTH_MAX || (!first && !same(c->of, s)))
		return;
	snapshot_save(x.at[depth]);
	if (first) {
		c->of = s;
		c->depth = (uint8_t)depth;
		c->start = (uint8_t)x.which;
		memcpy(c->path, x.moves, sizeof(c->path));
	} else {
		x.checked++;
	}
	for (int i = 0; i < moves_n; i++) {
		struct state next = after(depth, i);

		if (first)
			c->next[i] = next;
		else if (!same(c->next[i], next) && bad < 0)
			bad = i;
	}
	back(depth);
	if (bad >= 0)
		differ(c, bad);
}

/* --- the walk ------------------------------------------------------------- */

static void
meet(uint32_t parent, int move)
{
	struct state s = state_of(x.run);
	bool new = learn(s);

	if (is_checked(s))
		check(s);
	if (!new) {
		x.known++;
		return;
	}
	grow(move);
	x.nodes[parent].n++;
	if (is_settled(s)) {
		snapshot_save(x.at[x.depth]);
		settle();
	}
}

static void
expand(uint32_t node)
{
	int depth = x.depth;
	bool sound;

	x.expanded++;
	x.nodes[node].first = x.nodes_n;
	x.nodes[node].done = true;
	for (int i = 0; i < moves_n && !x.over; i++) {
		if (!step(i, &sound))
			continue;
		if (sound)
			meet(node, i);
		else
			found(run_broken(x.run));
		back(depth);
	}
	x.cut = x.seconds > 0 && elapsed() > x.until;
}

/* The run has to be in the node's state. */
static void
walk(uint32_t node)
{
	const struct node *n = &x.nodes[node];
	int depth = x.depth;
	bool sound, live = false;

	snapshot_save(x.at[depth]);
	if (depth == x.target) {
		if (!x.nodes[node].done)
			expand(node);
		live = x.nodes[node].n > 0;
	} else {
		for (uint32_t c = n->first;
		     c < n->first + n->n && !x.over && !x.cut; c++) {
			if (!x.nodes[c].live)
				continue;
			if (x.nodes[c].done && depth + 1 == x.target) {
				live = true;	/* in an earlier pass */
				continue;
			}
			(void)step(x.nodes[c].move, &sound);
			x.transitions--;	/* it was counted when it was
						   new */
			walk(c);
			back(depth);
			live = live || x.nodes[c].live;
		}
	}
	x.nodes[node].live = live || x.cut;
}

/* Makes the run and brings it to the end of the start.  Returns false if it is
 * broken by then. */
static bool
begin(int which)
{
	x.which = which;
	x.depth = 0;
	arena_clear();
	if (history_read(x.start, x.starts[which]))
		exit(2);
	*x.path = *x.start;
	x.path->ops_n = 0;
	arena_on(true);
	x.run = run_new(x.path, NULL);
	/* Adds a look at the end, so that a file has it as well. */
	x.start->ops[x.start->ops_n++] =
		(struct op){.type = OP_LOOK, .at = x.start->end};
	for (int i = 0; i < x.start->ops_n; i++)
		if (run_broken(x.run) == NULL)
			(void)happens(&x.start->ops[i]);
	arena_base();
	if (run_broken(x.run) == NULL)
		return true;
	found(run_broken(x.run));
	return false;
}

/* Where there is not enough time for all, each start has its share of it. */
static bool
pass(bool *again)
{
	bool cut = false;

	for (int i = 0; i < x.starts_n && !x.over; i++) {
		if (!x.nodes[i].live || !again[i])
			continue;
		x.until = elapsed() +
			  (x.seconds - elapsed()) / (x.starts_n - i);
		x.cut = false;
		if (begin(i))
			walk((uint32_t)i);
		else
			x.nodes[i].live = false;
		arena_on(false);
		again[i] = x.cut;
		cut = cut || x.cut;
	}
	return cut;
}

static void
level(void)
{
	uint32_t before = x.nodes_n;
	uint64_t transitions = x.transitions;
	double since = elapsed();
	bool *again = malloc((size_t)x.starts_n * sizeof(*again));

	if (again == NULL)
		exit(2);
	memset(again, true, (size_t)x.starts_n * sizeof(*again));
	x.of_level = x.target == 0 ? (uint64_t)x.starts_n : x.of_level;
	x.expanded = 0;
	/* The others take the time that one of them leaves over. */
	while (pass(again) && !x.over)
		x.over = elapsed() > x.seconds - 1;
	free(again);
	printf("explore: depth %2d: %llu of %llu states gone into, %llu "
	       "steps, %u new states, %.0f s (%zu KiB a snapshot)\n",
	       x.target + 1, (unsigned long long)x.expanded,
	       (unsigned long long)x.of_level,
	       (unsigned long long)(x.transitions - transitions),
	       x.nodes_n - before, elapsed() - since, arena_bytes() >> 10);
	fflush(stdout);
}

static int
report(int depth)
{
	printf("explore: %d events, all orders of %d of them from each of %d "
	       "starts", moves_n, depth, x.starts_n);
	if (x.expanded > 0)
		printf(", and one more in %.1f %% of the states there",
		       100 * (double)x.expanded / (double)x.of_level);
	printf("\nexplore: %u states, %llu steps, %llu of them to a state "
	       "already known; %llu states settled, %llu of them from a file "
	       "as well; %llu states met twice go on alike, %llu do not\n"
	       "explore: invariants %llu broken; %.0f s\n", x.nodes_n,
	       (unsigned long long)x.transitions, (unsigned long long)x.known,
	       (unsigned long long)x.settled, (unsigned long long)x.replayed,
	       (unsigned long long)x.checked, (unsigned long long)x.differing,
	       (unsigned long long)x.broken, elapsed());
	for (int i = 0; i < x.kinds_n; i++)
		printf("explore: %llu times %s\n",
		       (unsigned long long)x.kinds[i].n, x.kinds[i].words);
	if (x.full)
		printf("explore: no room for more states\n");
	return x.broken > 0 || x.differing > 0;
}

int
main(int argc, char **argv)
{
	int most;

	if (argc < 4) {
		fprintf(stderr, "usage: explore MINUTES DEPTH START.txt...\n");
		return 2;
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &x.begun);
	x.seconds = 60 * atof(argv[1]);
	x.settling = -1;
	most = atoi(argv[2]) > 0 ? atoi(argv[2]) : DEPTH_MAX - 1;
	x.starts = (const char *const *)argv + 3;
	x.starts_n = argc - 3;
	x.nodes = reserved(STATES_MAX * sizeof(*x.nodes));
	x.slots = reserved(SLOTS * sizeof(*x.slots));
	x.checks = reserved(CHECKS * sizeof(*x.checks));
	x.start = reserved(sizeof(*x.start));
	x.path = reserved(sizeof(*x.path));
	arena_new();
	for (int i = 0; i <= DEPTH_MAX; i++)
		x.at[i] = snapshot_new();
	signal(SIGABRT, crashed);
	for (int i = 0; i < x.starts_n; i++)
		grow(0);
	for (x.target = 0; x.target < most && !x.over; x.target++) {
		uint32_t before = x.nodes_n;

		level();
		if (x.over)
			break;
		x.of_level = x.nodes_n - before;
		x.expanded = 0;
		if (x.of_level == 0)
			break;
	}
	return report(x.target);
}
