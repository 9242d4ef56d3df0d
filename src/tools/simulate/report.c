/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/duration.h"
#include "core/base/stamp.h"
#include "core/base/str.h"
#include "core/base/utf8.h"
#include "report_advice.h"
#include "wire/json/json_printf.h"

/*
 * Prints the results of a simulation: as a table, as CSV, as JSON, and for
 * --explain as a list of each decision in each setting.  The table goes to a
 * FILE of the caller, because the HTML page contains it too.  All other formats
 * go to stdout.  Write errors show when the caller flushes.
 *
 * All formats take their figures from tally (what was read), replay_report (one
 * setting) and history_happened (what a holder did).  Names from the log are
 * escaped by utf8_shown or by JSON, so they cannot control the terminal.
 */

/* --- figures as text ------------------------------------------------------ */

static const char *
seconds_text(int64_t ms, char out[DURATION_BYTES])
{
	duration_format(ms / 1000 * 1000, out);
	return out;
}

/* Writes the number with commas between thousands. */
static const char *
number_text(uint64_t n, char out[32])
{
	char digits[24];
	int len =
		snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n);
	char *to = out;

	for (int i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = '\0';
	return out;
}

#define COUNT_BYTES 64
#define HAPPENED "happened" /* label of the row that shows what a holder did */

/* Writes a count such as "1 node" or "2 nodes". */
static const char *
count_text(uint64_t n, const char *what, const char *more,
	   char out[COUNT_BYTES])
{
	char number[32];

	(void)snprintf(out, COUNT_BYTES, "%s %s%s", number_text(n, number),
		       what, n == 1 ? "" : more);
	return out;
}

static int64_t
period_ms(const struct tally *t)
{
	return t->to_ms - t->from_ms;
}

static double
percent(int64_t part_ms, int64_t of_ms)
{
	return of_ms == 0 ? 0 : 100.0 * (double)part_ms / (double)of_ms;
}

static double
share_of(const struct tally *t, const struct replay_sums *r)
{
	return percent(r->held_ms, period_ms(t));
}

/* Returns for how many percent of the time the holder held anything.  Only the
 * time that its reports cover counts. */
static double
happened_share(const struct history *h, const struct replay_sums *r)
{
	return percent(r->held_ms,
		       h->watched_to_ms - h->watched_from_ms - h->unwatched_ms);
}

static uint64_t
facts_of(const struct tally *t)
{
	uint64_t n = 0;

	for (int k = 0; k < FACT_COUNT; k++)
		n += t->facts[k];
	return n;
}

/* Returns whether the input has only objects, none of which is an Event on a
 * decision. */
static bool
cannot_decide(const struct tally *t)
{
	return t->what[READ_OBJECT] > 0 && t->what[READ_FACT] == 0 &&
	       t->step_ms == 0 && t->facts[FACT_DECIDED] == 0;
}

/* --- the table ------------------------------------------------------------ */

/* Tells what the figures may lack. */
static void
print_missing(FILE *out, const struct tally *t)
{
	char n[COUNT_BYTES], message[SIMULATE_MESSAGE_BYTES];

	if (t->what[READ_UNDECIDED] > 0) {
		str_cut(message, sizeof(message), t->undecided);
		utf8_make_shown(message);
		(void)fprintf(out,
			      "The figures leave out %s, in words that are not "
			      "known: \"%s\".\n",
			      count_text(t->what[READ_UNDECIDED],
					 "more decision", "s", n),
			      message);
	}
	if (t->undecided_nodes > 0 && !cannot_decide(t))
		(void)fprintf(out,
			      "%llu of %s %s no decision in the input. If "
			      "Karpenter decided that, no figure has it.\n",
			      (unsigned long long)t->undecided_nodes,
			      count_text(t->deleted, "deleted node", "s", n),
			      t->undecided_nodes == 1 ? "has" : "have");
	if (period_ms(t) == 0 && facts_of(t) > 1)
		(void)fputs("All facts have the same time, so no figure says "
			    "anything: is it the time of the download?\n",
			    out);
	if (t->late > 0)
		(void)fprintf(out,
			      "The figures leave out %s that the input has too "
			      "late: sort its lines by time.\n",
			      count_text(t->late, "fact", "s", n));
}

static void
print_head(FILE *out, const struct simulate_setup *s, const struct tally *t)
{
	char from[STAMP_BYTES], to[STAMP_BYTES], text[DURATION_BYTES];
	char a[COUNT_BYTES], b[COUNT_BYTES], c[COUNT_BYTES], d[COUNT_BYTES];

	if (t->from_ms == STAMP_NONE) {
		(void)fputs("A holder's /status alone: it says what was held, "
			    "and nothing of machines and\ndecisions.\n\n",
			    out);
		return;
	}
	stamp_format(t->from_ms, from);
	stamp_format(t->to_ms, to);
	(void)fprintf(out, "%s to %s (%s)", from, to,
		      seconds_text(period_ms(t), text));
	if (s->files_n > 0)
		(void)fprintf(out, ", %s of %s",
			      count_text(t->lines, "line", "s", a),
			      count_text(s->files_n, "file", "s", b));
	if (t->answers > 0)
		(void)fprintf(out, ", %s of Prometheus",
			      count_text(t->answers, "answer", "s", a));
	(void)fputc('\n', out);
	(void)fprintf(
		out,
		"Karpenter created %s: %s, %s, %s of static "
		"NodePools.\n",
		count_text(tally_created(t), "machine", "s", a),
		count_text(t->makers[MAKER_PROVISIONER] +
				   t->makers[MAKER_UNKNOWN],
			   "scale-up", "s", b),
		count_text(t->makers[MAKER_DISRUPTION], "replacement", "s", c),
		number_text(t->makers[MAKER_STATIC], d));
	if (t->makers[MAKER_UNKNOWN] > 0)
		(void)fprintf(out,
			      "Whether a machine replaced another is not "
			      "known of %s: they count as scale-ups.\n",
			      number_text(t->makers[MAKER_UNKNOWN], a));
	if (t->step_ms > 0)
		(void)fprintf(out,
			      "The times of Prometheus are good to %s. "
			      "Which Nodes a counter counted is "
			      "concluded from what came\nand went next.\n",
			      seconds_text(t->step_ms, text));
	if (cannot_decide(t))
		(void)fputs("Decisions are not read from NodeClaims, so no "
			    "figure has them: add Karpenter's log,\nor the "
			    "Events of NodeClaims.\n",
			    out);
	else
		(void)fprintf(
			out, "It decided %s to disrupt nodes: %s with %s%s.\n",
			count_text(t->facts[FACT_DECIDED], "time", "s", a),
			count_text(t->disrupted, "node", "s", b),
			count_text(t->pods, "pod", "s", c),
			t->podless > 0 ? ", as far as is known" : "");
	print_missing(out, t);
	(void)fputc('\n', out);
}

static int
label_width(const struct simulate_setup *s)
{
	size_t width = sizeof(HAPPENED) - 1;

	for (size_t i = 0; i < s->settings_n; i++)
		if (strlen(s->settings[i].label) > width)
			width = strlen(s->settings[i].label);
	return (int)width;
}

static void
print_row(FILE *out, const struct setting *setting, int width,
	  const struct tally *t, const struct replay_sums *r)
{
	const struct waits_sums *w = &r->waits;
	char longest[DURATION_BYTES], hours[64], dollars[64] = "-";

	(void)snprintf(hours, sizeof(hours), "%.2f to %.2f", w->hours_low,
		       w->hours_high);
	if (w->unpriced < w->decisions)
		(void)snprintf(dollars, sizeof(dollars), "$%.2f to %.2f%s",
			       w->dollars_low, w->dollars_high,
			       w->unpriced > 0 ? " *" : "");
	(void)fprintf(out,
		      "%-*s %7llu %6.1f%% %9s %5llu  %9llu %6llu %6llu %6llu  "
		      "%18s  %s\n",
		      width, setting->label, (unsigned long long)r->holds,
		      share_of(t, r), seconds_text(r->longest_ms, longest),
		      (unsigned long long)r->caps,
		      (unsigned long long)w->decisions,
		      (unsigned long long)w->nodes, (unsigned long long)w->pods,
		      (unsigned long long)w->regret, hours, dollars);
}

/* Prints the row that shows what a holder did, below the rows of the
 * settings. */
static void
print_happened(FILE *out, const struct history *h, int width)
{
	char longest[DURATION_BYTES];
	struct replay_sums r;

	history_happened(h, &r);
	(void)fprintf(out,
		      "%-*s %7llu %6.1f%% %9s %5llu  %9s %6s %6s %6s  %18s  "
		      "-\n",
		      width, HAPPENED, (unsigned long long)r.holds,
		      happened_share(h, &r),
		      seconds_text(r.longest_ms, longest),
		      (unsigned long long)r.caps, "-", "-", "-", "-", "-");
}

static void
explain_happened(FILE *out, const struct history *h)
{
	char from[STAMP_BYTES], to[STAMP_BYTES];

	stamp_format(h->watched_from_ms, from);
	stamp_format(h->watched_to_ms, to);
	(void)fprintf(out,
		      "\n\"" HAPPENED "\" is what the holder held from %s to "
		      "%s,\nas its /status says. What people held with "
		      "hold-until is not in it, and what Karpenter\nwould have "
		      "decided without these holds is not known.\n",
		      from, to);
}

#define ODD_BYTES 200
/* Maximum number of bytes of a file's name that are shown. */
#define FILE_BYTES 120

/* Writes the file and the number of the first line whose time was not
 * accepted. */
static void
tell_odd(const struct tally *t, char out[ODD_BYTES])
{
	char file[FILE_BYTES];
	struct buf b;

	buf_init(&b, out, ODD_BYTES);
	buf_puts(&b, "with a time that nothing confirms");
	if (t->odd_times == 0)
		return;
	str_cut(file, sizeof(file), t->odd_file);
	utf8_make_shown(file);
	buf_puts(&b, t->odd_times == 1 ? " (" : ", the first ");
	if (t->odd_line > 0)
		buf_printf(&b, "line %llu ", (unsigned long long)t->odd_line);
	buf_printf(&b, "of %s%s", file, t->odd_times == 1 ? ")" : "");
}

static void
print_rest(FILE *out, const struct tally *t)
{
	char lines[COUNT_BYTES], facts[COUNT_BYTES], odd[ODD_BYTES];
	const struct {
		uint64_t n;
		const char *one, *many;
	} rest[] = {
		{t->what[READ_OTHER], "with another message",
		 "with other messages"},
		{t->what[READ_INCOMPLETE],
		 "with a message of use, but incomplete or odd", NULL},
		{t->what[READ_BARE],
		 "of the audit log about machines, without the object (a level "
		 "below RequestResponse)",
		 NULL},
		{t->what[READ_BROKEN], "that is no JSON", "that are no JSON"},
		{t->what[READ_UNDECIDED],
		 "about a decision, in words that are not known: the figures "
		 "leave it out",
		 "about decisions, in words that are not known: the figures "
		 "leave them out"},
		{t->too_long, "that is too long", "that are too long"},
		{t->late, "too late in its file", "too late in their file"},
		{t->odd_times, odd, NULL},
		{t->duplicates, "that the input has several times", NULL},
		{t->damaged, "file that is damaged at its end",
		 "files that are damaged at their end"},
		{t->unknown, "machine was there before the log, or it has gaps",
		 "machines were there before the log, or it has gaps"},
		{t->warnings,
		 "warning of Prometheus: its answer may be partial",
		 "warnings of Prometheus: its answers may be partial"},
		{t->lost, "disruption of a Node that Prometheus does not show",
		 "disruptions of Nodes that Prometheus does not show"},
		{t->no_room, "machine had no room", "machines had no room"},
	};
	bool any = false;

	tell_odd(t, odd);
	(void)fprintf(out, "\n%s told %s.",
		      t->lines > 0 || t->answers == 0
			      ? count_text(t->lines, "line", "s", lines)
			      : count_text(t->answers, "answer", "s", lines),
		      count_text(facts_of(t), "fact", "s", facts));
	for (size_t i = 0; i < sizeof(rest) / sizeof(rest[0]); i++) {
		bool one = rest[i].n == 1 || rest[i].many == NULL;

		if (rest[i].n == 0)
			continue;
		(void)fprintf(out, "%s  %s %s\n", any ? "" : " Not used:\n",
			      number_text(rest[i].n, lines),
			      one ? rest[i].one : rest[i].many);
		any = true;
	}
	if (!any)
		(void)fputc('\n', out);
}

void
report_table(FILE *out, const struct simulate_setup *s, const struct history *h)
{
	const struct tally *t = h->tally;
	int width = label_width(s);
	bool partly = false;

	print_head(out, s, t);
	(void)fprintf(out, "%-*s %-31s  %-30s  %s\n", width, "", "held",
		      "would have waited", "beyond the decision");
	(void)fprintf(out, "%-*s %7s %7s %9s %5s  %9s %6s %6s %6s  %18s  %s\n",
		      width, "setting", "holds", "share", "longest", "caps",
		      "decisions", "nodes", "pods", "regret", "node-hours",
		      "price");
	for (size_t i = 0; i < s->settings_n; i++) {
		struct replay_sums r;

		replay_report(h->replays[i], &r);
		print_row(out, &s->settings[i], width, t, &r);
		partly = partly || (r.waits.unpriced > 0 &&
				    r.waits.unpriced < r.waits.decisions);
	}
	if (h->watched_from_ms != STAMP_NONE)
		print_happened(out, h, width);
	if (s->settings_n > 0)
		(void)fputs("\nWhat Karpenter would have decided after it had "
			    "waited is not known. The intervals are\nthose "
			    "between the cheapest and the dearest assumption "
			    "(docs/what-if.md).\n",
			    out);
	if (h->watched_from_ms != STAMP_NONE)
		explain_happened(out, h);
	if (partly)
		(void)fputs("* without the decisions whose price is unknown; "
			    "see --price-per-node-hour\n",
			    out);
	report_advice(out, s, h);
	print_rest(out, t);
}

/* --- CSV ------------------------------------------------------------------ */

void
report_csv(const struct simulate_setup *s, const struct history *h)
{
	(void)puts("setting,holds,share_percent,longest_seconds,caps,decisions,"
		   "nodes,pods,regret,node_hours_cheapest,node_hours_dearest,"
		   "dollars_cheapest,dollars_dearest,unpriced");
	for (size_t i = 0; i < s->settings_n; i++) {
		struct replay_sums r;
		const struct waits_sums *w = &r.waits;

		replay_report(h->replays[i], &r);
		(void)putchar('"');
		for (const char *c = s->settings[i].label; *c != '\0'; c++)
			(void)printf(*c == '"' ? "\"\"" : "%c", *c);
		(void)printf(
			"\",%llu,%.3f,%.3f,%llu,%llu,%llu,%llu,%llu,%.4f,"
			"%.4f,%.4f,%.4f,%llu\n",
			(unsigned long long)r.holds, share_of(h->tally, &r),
			(double)r.longest_ms / 1000, (unsigned long long)r.caps,
			(unsigned long long)w->decisions,
			(unsigned long long)w->nodes,
			(unsigned long long)w->pods,
			(unsigned long long)w->regret, w->hours_low,
			w->hours_high, w->dollars_low, w->dollars_high,
			(unsigned long long)w->unpriced);
	}
	if (h->watched_from_ms != STAMP_NONE) {
		struct replay_sums r;

		history_happened(h, &r);
		(void)printf("\"" HAPPENED "\",%llu,%.3f,%.3f,%llu,,,,,,,,,\n",
			     (unsigned long long)r.holds, happened_share(h, &r),
			     (double)r.longest_ms / 1000,
			     (unsigned long long)r.caps);
	}
}

/* --- JSON ----------------------------------------------------------------- */

#define JSON_BYTES 65536 /* more than is written between two flushes */
#define TIME(ms) time_text(ms, (char[STAMP_US_BYTES]){""})

static const char *
time_text(int64_t ms, char out[STAMP_US_BYTES])
{
	if (ms == STAMP_NONE)
		return NULL;
	stamp_format_us(ms * 1000, out);
	return out;
}

/* Prints everything except the last byte.  The last byte stays in the buffer,
 * because json_printf needs it to decide whether the next member gets a
 * comma. */
static void
flush(struct buf *b)
{
	(void)fwrite(b->data, 1, b->len - 1, stdout);
	memmove(b->data, b->data + b->len - 1, 2);
	b->len = 1;
}

static void
json_input(struct buf *b, const struct simulate_setup *s, const struct tally *t)
{
	const struct {
		const char *key;
		uint64_t n;
	} counts[] = {
		{"lines", t->lines},
		{"bytes", t->bytes},
		{"used", facts_of(t)},
		{"otherMessages", t->what[READ_OTHER]},
		{"incomplete", t->what[READ_INCOMPLETE]},
		{"withoutObject", t->what[READ_BARE]},
		{"notJSON", t->what[READ_BROKEN]},
		{"decisionsNotRead", t->what[READ_UNDECIDED]},
		{"deletionsWithoutDecision", t->undecided_nodes},
		{"tooLong", t->too_long},
		{"late", t->late},
		{"oddTimes", t->odd_times},
		{"duplicates", t->duplicates},
		{"damagedFiles", t->damaged},
		{"unknownMachines", t->unknown},
		{"disruptionsOfUnknown", t->lost},
		{"answers", t->answers},
		{"warnings", t->warnings},
		{"machinesWithoutRoom", t->no_room},
	};

	json_printf(b, "'input':{'files':%llu,'precisionSeconds':%.3f",
		    (unsigned long long)s->files_n, (double)t->step_ms / 1000);
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		json_printf(b, ",%s:%llu", counts[i].key,
			    (unsigned long long)counts[i].n);
	if (t->odd_times == 0)
		json_printf(b, ",'firstOddTime':null");
	else
		json_printf(b, ",'firstOddTime':{'file':%s,'line':%llu}",
			    t->odd_file, (unsigned long long)t->odd_line);
	json_printf(b, ",'messages':[");
	for (size_t i = 0; i < t->messages_n; i++) {
		json_printf(b, ",{'message':%s,'lines':%llu}",
			    t->messages[i].text,
			    (unsigned long long)t->messages[i].n);
		flush(b);
	}
	json_printf(b, "],'messagesBeyond':%llu},\n",
		    (unsigned long long)t->messages_rest);
}

static void
json_turns(struct buf *b, const struct replay_sums *r)
{
	json_printf(b, ",'turns':[");
	for (size_t i = 0; i < r->turns_n; i++) {
		const struct turn *t = &r->turns[i];

		json_printf(b,
			    ",\n{'scope':%s,'from':%s,'to':%s,'machine':%s,"
			    "'capped':%s}",
			    t->scope, TIME(t->from_ms), TIME(t->to_ms),
			    t->machine, json_bool(t->capped));
		flush(b);
	}
	buf_puts(b, "]}");
}

/* Writes the members that a setting and "happened" have in common. */
static void
json_holds(struct buf *b, const struct replay_sums *r, double share)
{
	json_printf(b,
		    ",'holds':%llu,'heldSeconds':%.3f,'sharePercent':%.3f,"
		    "'longestSeconds':%.3f,'caps':%llu",
		    (unsigned long long)r->holds, (double)r->held_ms / 1000,
		    share, (double)r->longest_ms / 1000,
		    (unsigned long long)r->caps);
}

static void
json_setting(struct buf *b, const struct setting *setting,
	     const struct tally *t, const struct replay_sums *r)
{
	const struct waits_sums *w = &r->waits;

	json_printf(b, ",\n{'setting':%s", setting->label);
	json_holds(b, r, share_of(t, r));
	json_printf(b,
		    ",'wouldHaveWaited':{'decisions':%llu,'nodes':%llu,"
		    "'pods':%llu,'regret':%llu,'spared':%llu,"
		    "'openAtTheEnd':%llu,"
		    "'longestSeconds':%.3f}",
		    (unsigned long long)w->decisions,
		    (unsigned long long)w->nodes, (unsigned long long)w->pods,
		    (unsigned long long)w->regret,
		    (unsigned long long)w->spared, (unsigned long long)w->open,
		    (double)w->longest_ms / 1000);
	json_printf(b,
		    ",'nodeHours':{'cheapest':%.4f,'dearest':%.4f},"
		    "'dollars':{'cheapest':%.4f,'dearest':%.4f,"
		    "'unpricedDecisions':%llu}",
		    w->hours_low, w->hours_high, w->dollars_low,
		    w->dollars_high, (unsigned long long)w->unpriced);
	json_turns(b, r);
}

static void
json_happened(struct buf *b, const struct history *h)
{
	struct replay_sums r;

	if (h->watched_from_ms == STAMP_NONE) {
		json_printf(b, ",\n'happened':null");
		return;
	}
	history_happened(h, &r);
	json_printf(b, ",\n'happened':{'from':%s,'to':%s",
		    TIME(h->watched_from_ms), TIME(h->watched_to_ms));
	json_holds(b, &r, happened_share(h, &r));
	json_turns(b, &r);
}

void
report_json(const struct simulate_setup *s, const struct history *h)
{
	static char storage[JSON_BYTES];
	const struct tally *t = h->tally;
	struct buf b;

	buf_init(&b, storage, sizeof(storage));
	json_printf(&b,
		    "{'simulate':'karpenter-node-holder.io/simulate/v1',\n"
		    "'period':{'from':%s,'to':%s,'seconds':%.3f},\n",
		    TIME(t->from_ms), TIME(t->to_ms),
		    t->from_ms == STAMP_NONE ? 0 : (double)period_ms(t) / 1000);
	json_input(&b, s, t);
	json_printf(&b,
		    "'karpenter':{'created':%llu,'scaleUps':%llu,"
		    "'replacements':%llu,'static':%llu,'unknown':%llu,"
		    "'decisions':%llu,'nodes':%llu,'pods':%llu},\n"
		    "'settings':[",
		    (unsigned long long)tally_created(t),
		    (unsigned long long)t->makers[MAKER_PROVISIONER],
		    (unsigned long long)t->makers[MAKER_DISRUPTION],
		    (unsigned long long)t->makers[MAKER_STATIC],
		    (unsigned long long)t->makers[MAKER_UNKNOWN],
		    (unsigned long long)t->facts[FACT_DECIDED],
		    (unsigned long long)t->disrupted,
		    (unsigned long long)t->pods);
	for (size_t i = 0; i < s->settings_n; i++) {
		struct replay_sums r;

		replay_report(h->replays[i], &r);
		json_setting(&b, &s->settings[i], t, &r);
	}
	buf_puts(&b, "]");
	json_happened(&b, h);
	report_advice_json(&b, s, h);
	buf_puts(&b, "}\n");
	(void)fwrite(b.data, 1, b.len, stdout);
}

/* --- --explain ------------------------------------------------------------ */

/* Prints a name from a log, with characters escaped that could control the
 * terminal. */
static void
print_name(const char *name)
{
	char shown[NAME_BYTES];

	str_cut(shown, sizeof(shown), name);
	utf8_make_shown(shown);
	(void)fputs(shown, stdout);
}

static void
explain_setting(const struct setting *setting, const struct replay *r,
		uint32_t id, bool heeds_hold)
{
	int64_t since_ms = 0;
	const char *why = replay_why(r, id, &since_ms);
	const char *machine = replay_because(r, id);
	char since[STAMP_BYTES];

	(void)printf("  %s: ", setting->label);
	if (why == NULL) {
		(void)puts("not held, so it would not have waited");
		return;
	}
	stamp_format(since_ms, since);
	(void)printf("held since %s (%s)", since, why);
	if (machine[0] != '\0') {
		(void)fputs(", its scope because of ", stdout);
		print_name(machine);
	}
	(void)puts(heeds_hold
			   ? ": would have waited"
			   : ", but Karpenter repairs held nodes, too: would "
			     "not have waited");
}

bool
report_decision(const struct simulate_setup *s, const struct history *h,
		const struct fact *f)
{
	char at[STAMP_BYTES];
	uint32_t id;
	size_t i = 0;

	while (i < f->nodes_n && strcmp(f->nodes[i].node, s->explain) != 0 &&
	       strcmp(f->nodes[i].claim, s->explain) != 0)
		i++;
	if (i == f->nodes_n)
		return false;
	stamp_format(f->at_ms, at);
	(void)printf("%s: Karpenter decides to ", at);
	print_name(f->action[0] != '\0' ? f->action : "disrupt");
	(void)printf(" %zu node%s (", h->ids_n, h->ids_n == 1 ? "" : "s");
	print_name(f->reason[0] != '\0' ? f->reason : "reason unknown");
	(void)puts(")");
	id = roster_find(&h->roster, f->nodes[i].claim, f->nodes[i].node);
	for (size_t k = 0; id != NO_ID && k < s->settings_n; k++)
		explain_setting(&s->settings[k], h->replays[k], id,
				fact_heeds_hold(f));
	(void)putchar('\n');
	return true;
}
