/* SPDX-License-Identifier: Apache-2.0 */
#include "simulate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "merge.h"
#include "picture.h"
#include "report.h"
#include "wire/karpenter/record.h"

/*
 * The command opens the sources and takes one fact after the other from the
 * merge.  It passes each fact to the history, or prints it as a line of a
 * record.  The replays are made when the first fact about machines comes,
 * because they begin at the time of that fact.
 *
 * At the end it prints the report and draws the pictures.  If nothing of use
 * was read, refuse_nothing says what the input seems to be and what was
 * expected.  Progress and warnings go to stderr during the reading.
 */

/* Size of the buffer for a fact as a line. */
#define RECORD_BYTES (2u * ITEM_BYTES_MAX)

struct run {
	const struct simulate_setup *setup;
	struct tally tally;
	struct history history;
	struct merge *merge;
	char *record; /* buffer of RECORD_BYTES bytes */
	time_t told;
	uint64_t explained; /* number of decisions that were explained */
	/* Whether any fact has named the machine to explain. */
	bool known;
};

/* --- reading -------------------------------------------------------------- */

static void
tell_progress(struct run *r)
{
	struct timespec now;

	if (!r->setup->progress)
		return;
	(void)clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	if (now.tv_sec == r->told)
		return;
	r->told = now.tv_sec;
	(void)fprintf(stderr, "\r%llu MiB, %llu lines",
		      (unsigned long long)(r->tally.bytes >> 20),
		      (unsigned long long)r->tally.lines);
}

static void
warn(const char *text)
{
	(void)fprintf(stderr, "holderctl: warning: %s\n", text);
}

static void
tell_warning(struct run *r)
{
	const char *warning = merge_warning(r->merge);

	if (warning != NULL)
		warn(warning);
}

/* Writes a line of a record: the fact, or if f is NULL the head or the end. */
static void
write_line(struct run *r, const struct fact *f, bool head)
{
	struct buf b;

	buf_init(&b, r->record, RECORD_BYTES);
	if (f != NULL)
		record_write(&b, f);
	else if (head)
		record_head(&b);
	else if (r->tally.to_ms != STAMP_NONE)
		record_end(&b, r->tally.to_ms);
	if (!b.full)
		(void)fputs(r->record, stdout);
}

static int
begin(struct run *r, int64_t at_ms, struct err *e)
{
	for (size_t i = 0; i < r->setup->settings_n; i++)
		if (history_setting(&r->history, &r->setup->settings[i].rules,
				    &r->setup->waits, at_ms))
			return err_set(e, ERR_SYSTEM, "out of memory");
	return 0;
}

/* Returns whether the fact names the machine. */
static bool
is_about(const struct fact *f, const char *name)
{
	size_t i = 0;

	while (i < f->nodes_n && strcmp(f->nodes[i].node, name) != 0 &&
	       strcmp(f->nodes[i].claim, name) != 0)
		i++;
	return i < f->nodes_n || strcmp(f->claim, name) == 0 ||
	       strcmp(f->node, name) == 0;
}

static int
take_fact(struct run *r, const struct fact *f, struct err *e)
{
	if (r->setup->output == SIMULATE_RECORD) {
		r->tally.facts[f->kind]++;
		write_line(r, f, false);
		return 0;
	}
	if (r->history.replays_n == 0 && f->kind < FACT_HELD &&
	    begin(r, f->at_ms, e))
		return -1;
	if (history_take(&r->history, f))
		return err_set(e, ERR_SYSTEM, "out of memory");
	if (r->setup->explain != NULL && is_about(f, r->setup->explain))
		r->known = true;
	if (f->kind == FACT_DECIDED && r->setup->explain != NULL)
		r->explained += report_decision(r->setup, &r->history, f);
	return 0;
}

static int
read_all(struct run *r, struct err *e)
{
	const struct fact *f = NULL;
	int rc;

	if (r->setup->output == SIMULATE_RECORD)
		write_line(r, NULL, true);
	while ((rc = merge_next(r->merge, &f, e)) > 0) {
		if (f != NULL && take_fact(r, f, e))
			return -1;
		tell_progress(r);
		tell_warning(r);
	}
	tell_warning(r);
	if (r->setup->progress && r->told != 0)
		(void)fputs("\r\033[K", stderr);
	return rc;
}

/* --- after the reading ---------------------------------------------------- */

#define SHAPE "(an object with the members"
#define EXPECTED                                                               \
	"expected its log, as kubectl logs -n kube-system -l "                 \
	"app.kubernetes.io/name=karpenter --tail=-1 writes it, an audit log, " \
	"or metrics of Prometheus"

/* Refuses an input in which nothing was recognized, and names the objects that
 * it has most often. */
static int
refuse_shape(struct tally *t, struct err *e)
{
	const struct tally_message *m = t->messages, *end;
	bool audit;

	tally_sort(t);
	end = m + t->messages_n;
	audit = m < end && strncmp(m->text, "(an audit event", 15) == 0;
	while (m < end && strncmp(m->text, SHAPE, sizeof(SHAPE) - 1) != 0)
		m++;
	if (m == end)
		return err_set(
			e, ERR_INPUT,
			"nothing of Karpenter's in %llu line%s%s%s, " EXPECTED,
			(unsigned long long)t->lines, t->lines == 1 ? "" : "s",
			audit ? ", most often " : "",
			audit ? t->messages[0].text : "");
	return err_set(e, ERR_INPUT,
		       "nothing of Karpenter's in %llu object%s with the "
		       "members%.*s: " EXPECTED,
		       (unsigned long long)m->n, m->n == 1 ? "" : "s",
		       (int)(strlen(m->text) - sizeof(SHAPE)),
		       m->text + sizeof(SHAPE) - 1);
}

static int
refuse_nothing(struct tally *t, struct err *e)
{
	if (t->what[READ_BARE] > 0)
		return err_set(e, ERR_INPUT,
			       "an audit log without objects in %llu writes of "
			       "NodeClaims and Nodes, expected level "
			       "RequestResponse for nodes, and better for "
			       "nodeclaims too",
			       (unsigned long long)t->what[READ_BARE]);
	if (t->odd_times > 0)
		return err_set(e, ERR_INPUT,
			       "%s: nothing but times that nothing confirms "
			       "(line %llu), expected when each line was "
			       "written",
			       t->odd_file, (unsigned long long)t->odd_line);
	if (t->answers > 0 && t->lines == 0)
		return err_set(e, ERR_INPUT,
			       "Prometheus shows no Node that came or went in "
			       "that time: does it have "
			       "karpenter_nodes_current_lifetime_seconds of it "
			       "(Karpenter 1.2 or newer)?");
	if (t->what[READ_INCOMPLETE] + t->what[READ_UNDECIDED] > 0)
		return err_set(
			e, ERR_INPUT,
			"nothing of use in %llu line%s, %llu of them "
			"with messages of Karpenter's, but incomplete or "
			"odd: expected its log as it writes it, with a time",
			(unsigned long long)t->lines, t->lines == 1 ? "" : "s",
			(unsigned long long)(t->what[READ_INCOMPLETE] +
					     t->what[READ_UNDECIDED]));
	return refuse_shape(t, e);
}

/* If the input only shows what a holder did, there is nothing to replay.  Then
 * this refuses the flags that need a replay. */
static int
refuse_happened(const struct simulate_setup *s, struct err *e)
{
	if (!s->compares && !s->advice.asked && s->svg == NULL &&
	    s->html == NULL && s->explain == NULL)
		return 0;
	return err_set(
		e, ERR_INPUT,
		"a holder's /status alone says what it held, and not "
		"which machines there were: settings, --recommend, "
		"--explain, --svg and --html need Karpenter's log, an audit log or a "
		"record of the same time beside it");
}

static void
print(struct run *r)
{
	struct simulate_setup s = *r->setup;

	tally_sort(&r->tally);
	s.settings_n = r->history.replays_n;
	switch (s.output) {
	case SIMULATE_TABLE:
		report_table(stdout, &s, &r->history);
		break;
	case SIMULATE_JSON:
		report_json(&s, &r->history);
		break;
	case SIMULATE_CSV:
		report_csv(&s, &r->history);
		break;
	case SIMULATE_RECORD:
		write_line(r, NULL, false);
		break;
	}
}

static int
run(struct run *r, struct err *e)
{
	uint64_t facts = 0;
	struct err none;

	r->merge = merge_open(r->setup->files, r->setup->files_n, &r->tally, e);
	if (r->merge == NULL)
		return -1;
	if (r->setup->ask != NULL &&
	    merge_ask(r->merge, r->setup->ask, r->setup->ask_ctx, e))
		return -1;
	if (read_all(r, e))
		return -1;
	for (int k = 0; k < FACT_COUNT; k++)
		facts += r->tally.facts[k];
	if (facts == 0)
		return refuse_nothing(&r->tally, e);
	if (r->setup->output != SIMULATE_RECORD &&
	    !history_replays(&r->history) && refuse_happened(r->setup, e))
		return -1;
	if (r->setup->explain != NULL && !r->known)
		return err_set(
			e, ERR_INPUT,
			"--explain: nothing is about \"%.253s\", expected "
			"the name of a Node or NodeClaim of the input",
			r->setup->explain);
	if (r->setup->explain != NULL && r->explained == 0) {
		(void)err_set(&none, ERR_INPUT,
			      "--explain: no decision is about \"%.200s\"",
			      r->setup->explain);
		warn(none.text);
	}
	if (r->setup->output != SIMULATE_RECORD)
		history_end(&r->history, r->tally.to_ms);
	print(r);
	if (r->setup->svg != NULL &&
	    picture_svg(r->setup->svg, r->setup, &r->history, e))
		return -1;
	if (r->setup->html != NULL &&
	    picture_html(r->setup->html, r->setup, &r->history, e))
		return -1;
	return 0;
}

int
simulate_run(const struct simulate_setup *s, struct err *e)
{
	struct run *r = calloc(1, sizeof(*r));
	int rc = -1;

	if (r != NULL)
		r->record = malloc(RECORD_BYTES);
	if (r == NULL || r->record == NULL ||
	    history_init(&r->history, &r->tally)) {
		(void)err_set(e, ERR_SYSTEM, "out of memory");
	} else {
		r->setup = s;
		tally_init(&r->tally);
		rc = run(r, e);
		merge_close(r->merge);
		history_done(&r->history);
	}
	if (r != NULL)
		free(r->record);
	free(r);
	return rc;
}
