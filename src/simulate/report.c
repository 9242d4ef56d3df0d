/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/stamp.h"

/* --- pieces ----------------------------------------------------------------------- */

static const char *
seconds_text(int64_t ms, char out[DURATION_BYTES])
{
	duration_format(ms / 1000 * 1000, out);
	return out;
}

/* With commas between thousands. */
static const char *
number_text(uint64_t n, char out[32])
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%llu",
			   (unsigned long long)n);
	char *to = out;

	for (int i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = '\0';
	return out;
}

static void
print_string(const char *s)
{
	char storage[6 * NAME_BYTES + 3];
	struct buf b;

	buf_init(&b, storage, sizeof(storage));
	buf_json(&b, s);
	(void)fputs(b.full ? "\"\"" : storage, stdout);
}

static int64_t
period_ms(const struct tally *t)
{
	return t->to_ms - t->from_ms;
}

static double
share_of(const struct tally *t, const struct replay_sums *r)
{
	return period_ms(t) == 0 ? 0
				 : 100.0 * (double)r->held_ms /
					   (double)period_ms(t);
}

static uint64_t
facts_of(const struct tally *t)
{
	uint64_t n = 0;

	for (int k = 0; k < FACT_COUNT; k++)
		n += t->facts[k];
	return n;
}

/* --- the table ---------------------------------------------------------------------- */

static void
print_head(FILE *out, const struct simulate_setup *s, const struct tally *t)
{
	char from[STAMP_BYTES], to[STAMP_BYTES], text[DURATION_BYTES];
	char a[32], b[32], c[32], d[32];

	stamp_format(t->from_ms, from);
	stamp_format(t->to_ms, to);
	(void)fprintf(out, "%s to %s (%s), %s lines of %zu file%s\n", from, to,
		     seconds_text(period_ms(t), text), number_text(t->lines, a),
		     s->files_n, s->files_n == 1 ? "" : "s");
	(void)fprintf(out, "Karpenter created %s machines: %s scale-ups, %s "
		     "replacements, %s of static NodePools.\n",
		     number_text(tally_created(t), a),
		     number_text(t->makers[MAKER_PROVISIONER] +
					 t->makers[MAKER_UNKNOWN],
				 b),
		     number_text(t->makers[MAKER_DISRUPTION], c),
		     number_text(t->makers[MAKER_STATIC], d));
	(void)fprintf(out, "It decided %s times to disrupt nodes: %s nodes with %s "
		     "pods.\n\n",
		     number_text(t->facts[FACT_DECIDED], a),
		     number_text(t->disrupted, b), number_text(t->pods, c));
}

static int
label_width(const struct simulate_setup *s)
{
	size_t width = 7;

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
	(void)fprintf(out, "%-*s %7llu %6.1f%% %9s %5llu  %9llu %6llu %6llu %6llu  "
		     "%18s  %s\n",
		     width, setting->label, (unsigned long long)r->holds,
		     share_of(t, r), seconds_text(r->longest_ms, longest),
		     (unsigned long long)r->caps,
		     (unsigned long long)w->decisions,
		     (unsigned long long)w->nodes, (unsigned long long)w->pods,
		     (unsigned long long)w->regret, hours, dollars);
}

static void
print_count(FILE *out, uint64_t n, const char *what)
{
	char text[32];

	if (n > 0)
		(void)fprintf(out, "  %s %s\n", number_text(n, text), what);
}

static void
print_rest(FILE *out, const struct tally *t)
{
	char a[32], b[32];

	(void)fprintf(out, "\nOf %s lines, %s were used. Not used:\n",
		     number_text(t->lines, a), number_text(facts_of(t), b));
	print_count(out, t->what[LINE_OTHER], "with other messages");
	print_count(out, t->what[LINE_INCOMPLETE],
		    "with a message of use, but incomplete or odd");
	print_count(out, t->what[LINE_BROKEN], "that are no JSON");
	print_count(out, t->what[LINE_TEXT],
		    "in zap's text format, which cannot be read");
	print_count(out, t->too_long, "that are too long");
	print_count(out, t->late, "too late in their file");
	print_count(out, t->odd_times, "with a time that nothing confirms");
	print_count(out, t->duplicates, "that stood in several files");
	print_count(out, t->damaged, "files that are damaged at their end");
	print_count(out, t->unknown,
		    "machines were there before the log, or it has gaps");
	print_count(out, t->no_room, "machines had no room");
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
	(void)fprintf(out, "%-*s %7s %7s %9s %5s  %9s %6s %6s %6s  %18s  %s\n", width,
		     "setting", "holds", "share", "longest", "caps",
		     "decisions", "nodes", "pods", "regret", "node-hours",
		     "price");
	for (size_t i = 0; i < s->settings_n; i++) {
		struct replay_sums r;

		replay_report(h->replays[i], &r);
		print_row(out, &s->settings[i], width, t, &r);
		partly = partly || (r.waits.unpriced > 0 &&
				    r.waits.unpriced < r.waits.decisions);
	}
	(void)fputs("\nWhat Karpenter would have decided after it had waited "
		   "is not known. The intervals are\nthose between the "
		   "cheapest and the dearest assumption (docs/what-if.md).\n", out);
	if (partly)
		(void)fputs("* without the decisions whose price is unknown; "
			   "see --price-per-node-hour\n", out);
	print_rest(out, t);
}

/* --- CSV ------------------------------------------------------------------------------ */

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
		(void)printf("\",%llu,%.3f,%.3f,%llu,%llu,%llu,%llu,%llu,%.4f,"
			     "%.4f,%.4f,%.4f,%llu\n",
			     (unsigned long long)r.holds, share_of(h->tally, &r),
			     (double)r.longest_ms / 1000,
			     (unsigned long long)r.caps,
			     (unsigned long long)w->decisions,
			     (unsigned long long)w->nodes,
			     (unsigned long long)w->pods,
			     (unsigned long long)w->regret, w->hours_low,
			     w->hours_high, w->dollars_low, w->dollars_high,
			     (unsigned long long)w->unpriced);
	}
}

/* --- JSON ----------------------------------------------------------------------------- */

static void
print_time(const char *key, int64_t ms)
{
	char text[STAMP_US_BYTES];

	if (ms == STAMP_NONE) {
		(void)printf("\"%s\":null", key);
		return;
	}
	stamp_format_us(ms * 1000, text);
	(void)printf("\"%s\":\"%s\"", key, text);
}

static void
print_input(const struct simulate_setup *s, const struct tally *t)
{
	const struct {
		const char *key;
		uint64_t n;
	} counts[] = {
		{"lines", t->lines},
		{"bytes", t->bytes},
		{"used", facts_of(t)},
		{"otherMessages", t->what[LINE_OTHER]},
		{"incomplete", t->what[LINE_INCOMPLETE]},
		{"notJSON", t->what[LINE_BROKEN]},
		{"textFormat", t->what[LINE_TEXT]},
		{"tooLong", t->too_long},
		{"late", t->late},
		{"oddTimes", t->odd_times},
		{"duplicates", t->duplicates},
		{"damagedFiles", t->damaged},
		{"unknownMachines", t->unknown},
		{"machinesWithoutRoom", t->no_room},
	};

	(void)printf("\"input\":{\"files\":%zu", s->files_n);
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		(void)printf(",\"%s\":%llu", counts[i].key,
			     (unsigned long long)counts[i].n);
	(void)fputs(",\"messages\":[", stdout);
	for (size_t i = 0; i < t->messages_n; i++) {
		(void)fputs(i > 0 ? ",{\"message\":" : "{\"message\":", stdout);
		print_string(t->messages[i].text);
		(void)printf(",\"lines\":%llu}",
			     (unsigned long long)t->messages[i].n);
	}
	(void)printf("],\"messagesBeyond\":%llu}",
		     (unsigned long long)t->messages_rest);
}

static void
print_turns(const struct replay_sums *r)
{
	(void)fputs("\"turns\":[", stdout);
	for (size_t i = 0; i < r->turns_n; i++) {
		const struct turn *t = &r->turns[i];

		(void)fputs(i > 0 ? ",\n{\"scope\":" : "\n{\"scope\":", stdout);
		print_string(t->scope);
		(void)putchar(',');
		print_time("from", t->from_ms);
		(void)putchar(',');
		print_time("to", t->to_ms);
		(void)fputs(",\"machine\":", stdout);
		print_string(t->machine);
		(void)printf(",\"capped\":%s}", t->capped ? "true" : "false");
	}
	(void)putchar(']');
}

static void
print_setting(const struct setting *setting, const struct tally *t,
	      const struct replay_sums *r)
{
	const struct waits_sums *w = &r->waits;

	(void)fputs("{\"setting\":", stdout);
	print_string(setting->label);
	(void)printf(",\"holds\":%llu,\"heldSeconds\":%.3f,\"sharePercent\":"
		     "%.3f,\"longestSeconds\":%.3f,\"caps\":%llu",
		     (unsigned long long)r->holds, (double)r->held_ms / 1000,
		     share_of(t, r), (double)r->longest_ms / 1000,
		     (unsigned long long)r->caps);
	(void)printf(",\"wouldHaveWaited\":{\"decisions\":%llu,\"nodes\":%llu,"
		     "\"pods\":%llu,\"regret\":%llu,\"openAtTheEnd\":%llu,"
		     "\"longestSeconds\":%.3f}",
		     (unsigned long long)w->decisions,
		     (unsigned long long)w->nodes, (unsigned long long)w->pods,
		     (unsigned long long)w->regret, (unsigned long long)w->open,
		     (double)w->longest_ms / 1000);
	(void)printf(",\"nodeHours\":{\"cheapest\":%.4f,\"dearest\":%.4f},"
		     "\"dollars\":{\"cheapest\":%.4f,\"dearest\":%.4f,"
		     "\"unpricedDecisions\":%llu},",
		     w->hours_low, w->hours_high, w->dollars_low,
		     w->dollars_high, (unsigned long long)w->unpriced);
	print_turns(r);
	(void)putchar('}');
}

void
report_json(const struct simulate_setup *s, const struct history *h)
{
	const struct tally *t = h->tally;

	(void)fputs("{\"simulate\":\"karpenter-node-holder.io/simulate/v1\",\n"
		    "\"period\":{",
		    stdout);
	print_time("from", t->from_ms);
	(void)putchar(',');
	print_time("to", t->to_ms);
	(void)printf(",\"seconds\":%.3f},\n", (double)period_ms(t) / 1000);
	print_input(s, t);
	(void)printf(",\n\"karpenter\":{\"created\":%llu,\"scaleUps\":%llu,"
		     "\"replacements\":%llu,\"static\":%llu,\"unknown\":%llu,"
		     "\"decisions\":%llu,\"nodes\":%llu,\"pods\":%llu},\n"
		     "\"settings\":[",
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
		(void)fputs(i > 0 ? ",\n" : "\n", stdout);
		print_setting(&s->settings[i], t, &r);
	}
	(void)puts("]}");
}

/* --- --explain ------------------------------------------------------------------------ */

static void
explain_setting(const struct setting *setting, const struct replay *r,
		uint32_t id)
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
	if (machine[0] != '\0')
		(void)printf(", its scope because of %s", machine);
	(void)puts(": would have waited");
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
	(void)printf("%s: Karpenter decides to %s %zu node%s (%s)\n", at,
		     f->action[0] != '\0' ? f->action : "disrupt", f->nodes_n,
		     f->nodes_n == 1 ? "" : "s",
		     f->reason[0] != '\0' ? f->reason : "reason unknown");
	id = roster_find(&h->roster, f->nodes[i].claim, f->nodes[i].node);
	for (size_t k = 0; id != NO_ID && k < s->settings_n; k++)
		explain_setting(&s->settings[k], h->replays[k], id);
	(void)putchar('\n');
	return true;
}
