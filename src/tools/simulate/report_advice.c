/* SPDX-License-Identifier: Apache-2.0 */
#include "report_advice.h"

#include <string.h>

#include "advice.h"
#include "core/base/duration.h"
#include "wire/json/json_printf.h"

/*
 * Prints the recommendation of advice.c: the setting, the reason, and how
 * certain the verdict is.  The functions put_… write pieces of sentences into a
 * buffer, and all verdicts share these pieces.  Lines are broken afterwards,
 * because the label of a setting may be short or long.
 *
 * In JSON the verdict is a word, and each figure is a member.
 */

#define TEXT_BYTES 2048 /* room for all sentences and two labels */
#define COLUMNS 88
#define DOLLAR 1000000.0

typedef unsigned long long ull;

static uint64_t
most(const struct simulate_setup *s, const struct advice_pick *p)
{
	return s->advice.percent ? s->advice.regret * p->decisions / 100
				 : s->advice.regret;
}

/* Writes the label of the setting.  If the verdict names no setting, writes
 * what to do instead. */
static void
put_pick(struct buf *b, const struct simulate_setup *s,
	 const struct advice_pick *p)
{
	switch (p->verdict) {
	case ADVICE_LITTLE:
		buf_puts(b, "nothing, there is too little to say");
		break;
	case ADVICE_ALONE:
		buf_puts(b, "no hold");
		break;
	case ADVICE_SETTING:
		buf_puts(b, s->settings[p->setting].label);
		break;
	case ADVICE_NONE:
		buf_puts(b, "none of the settings");
		break;
	}
}

static void
put_regret(struct buf *b, const struct simulate_setup *s,
	   const struct advice_pick *p)
{
	char window[DURATION_BYTES];

	duration_format(s->waits.regret_ms, window);
	buf_printf(b,
		   "Why: of %llu decisions of Karpenter alone %llu brought "
		   "regret: the NodePool scaled up within %s. At most %llu ",
		   (ull)p->decisions, (ull)p->regret, window, (ull)most(s, p));
	if (s->advice.percent)
		buf_printf(b, "(%llu%%) ", (ull)s->advice.regret);
	buf_puts(b, "may be left. ");
}

static void
put_little(struct buf *b, const struct simulate_setup *s,
	   const struct history *h, const struct advice *a)
{
	uint64_t others =
		h->tally->facts[FACT_DECIDED] - a->all.decisions - a->early;
	char window[DURATION_BYTES];

	if (a->no_makers) {
		buf_puts(b, "Why: the input does not say which machines were "
			    "scale-ups, so regret is not known.");
		return;
	}
	duration_format(s->waits.regret_ms, window);
	buf_printf(b,
		   "Why: it would rest on %llu decision%s about empty or "
		   "underutilized nodes, and %d are needed.",
		   (ull)a->all.decisions, a->all.decisions == 1 ? "" : "s",
		   ADVICE_DECISIONS);
	if (a->early > 0)
		buf_printf(b,
			   " %llu more came less than %s before the end, so "
			   "their regret is not known.",
			   (ull)a->early, window);
	if (others > 0)
		buf_printf(b,
			   " %llu %s about drift or repair, which %s again "
			   "whatever the load does.",
			   (ull)others, others == 1 ? "was" : "were",
			   others == 1 ? "comes" : "come");
}

static void
put_setting(struct buf *b, const struct simulate_setup *s,
	    const struct advice_pick *p)
{
	buf_printf(
		b,
		"With this setting %llu of them would still have waited "
		"then, so %llu are left. Of %zu settings %zu leave%s no more",
		(ull)(p->regret - p->left), (ull)p->left, s->settings_n, p->fit,
		p->fit == 1 ? "s" : "");
	if (s->advice.price >= 0)
		buf_printf(b, ", %zu of them within the price of $%.2f",
			   p->cheap, (double)s->advice.price / DOLLAR);
	buf_puts(b, "; this one needs the fewest node-hours by the dearest "
		    "assumption.");
}

static void
put_none(struct buf *b, const struct simulate_setup *s,
	 const struct advice_pick *p)
{
	const char *label = s->settings[p->setting].label;

	if (p->fit == 0) {
		buf_printf(b,
			   "No setting leaves so little; \"%s\" comes nearest, "
			   "with %llu.",
			   label, (ull)p->left);
		return;
	}
	buf_printf(b,
		   "Of %zu settings %zu leave%s no more, but not within the "
		   "price of $%.2f: ",
		   s->settings_n, p->fit, p->fit == 1 ? "s" : "",
		   (double)s->advice.price / DOLLAR);
	if (p->unpriced)
		buf_puts(b, "the price of some decisions is not known; see "
			    "--price-per-node-hour.");
	else
		buf_printf(b,
			   "the one with the fewest "
			   "node-hours, \"%s\", costs up to $%.2f.",
			   label, p->dollars);
}

static void
put_sure(struct buf *b, const struct simulate_setup *s, const struct advice *a)
{
	buf_printf(b, "\nHow sure: it rests on %llu decisions",
		   (ull)a->all.decisions);
	if (a->early > 0)
		buf_printf(b, " (%llu more came too late to be judged)",
			   (ull)a->early);
	if (a->sure) {
		buf_puts(b, ", and both halves of them say the same.");
		return;
	}
	if (a->unread > 0) {
		buf_printf(b,
			   ", but not sure: %llu more could not be read, and "
			   "may say something else.",
			   (ull)a->unread);
		return;
	}
	if (a->gaps) {
		buf_puts(b, ", but not sure: what the input lacks (see above) "
			    "may say something else.");
		return;
	}
	buf_puts(b, ", but not sure: the first half of them says \"");
	put_pick(b, s, &a->half[0]);
	buf_puts(b, "\", and the second \"");
	put_pick(b, s, &a->half[1]);
	buf_puts(b, "\". A longer log says more.");
}

/* Breaks lines at spaces. */
static void
print_wrapped(FILE *out, const char *text)
{
	while (*text != '\0') {
		size_t n = strcspn(text, "\n");

		if (n > COLUMNS) {
			n = COLUMNS;
			while (n > 1 && text[n] != ' ')
				n--;
		}
		(void)fprintf(out, "%.*s\n", (int)n, text);
		text += n;
		text += *text != '\0';
	}
}

void
report_advice(FILE *out, const struct simulate_setup *s,
	      const struct history *h)
{
	char text[TEXT_BYTES];
	struct advice a;
	struct buf b;

	if (!s->advice.asked)
		return;
	advice_make(s, h, &a);
	buf_init(&b, text, sizeof(text));
	buf_puts(&b, "\nRecommended: ");
	put_pick(&b, s, &a.all);
	buf_puts(&b, ".\n");
	if (a.all.verdict == ADVICE_LITTLE) {
		put_little(&b, s, h, &a);
	} else {
		put_regret(&b, s, &a.all);
		if (a.all.verdict == ADVICE_SETTING)
			put_setting(&b, s, &a.all);
		else if (a.all.verdict == ADVICE_NONE)
			put_none(&b, s, &a.all);
		else
			buf_puts(&b, "A hold would spare too little to cost "
				     "anything.");
		put_sure(&b, s, &a);
	}
	print_wrapped(out, text);
}

/* --- JSON ----------------------------------------------------------------- */

static const char *const verdicts[] = {
	[ADVICE_LITTLE] = "too-little",
	[ADVICE_ALONE] = "no-hold",
	[ADVICE_SETTING] = "setting",
	[ADVICE_NONE] = "none",
};

static void
json_said(struct buf *b, const struct simulate_setup *s,
	  const struct advice_pick *p)
{
	json_printf(b,
		    ",'verdict':%s,'setting':%s,'decisions':%llu,"
		    "'regretAlone':%llu,'regretLeft':%llu",
		    verdicts[p->verdict],
		    p->verdict == ADVICE_SETTING ? s->settings[p->setting].label
						 : NULL,
		    (ull)p->decisions, (ull)p->regret, (ull)p->left);
}

void
report_advice_json(struct buf *b, const struct simulate_setup *s,
		   const struct history *h)
{
	struct advice a;

	if (!s->advice.asked) {
		json_printf(b, ",\n'recommendation':null");
		return;
	}
	advice_make(s, h, &a);
	json_printf(b, ",\n'recommendation':{");
	json_said(b, s, &a.all);
	json_printf(b, ",'maxRegret':%llu,'maxPrice':", (ull)most(s, &a.all));
	if (s->advice.price < 0)
		buf_puts(b, "null");
	else
		json_printf(b, "%.6f", (double)s->advice.price / DOLLAR);
	json_printf(b,
		    ",'settingsThatFit':%llu,'decisionsTooLate':%llu,"
		    "'decisionsNeeded':%d,'sure':%s,'halves':[",
		    (ull)a.all.fit, (ull)a.early, ADVICE_DECISIONS,
		    json_bool(a.sure));
	for (int i = 0; i < 2; i++) {
		json_printf(b, ",{");
		json_said(b, s, &a.half[i]);
		buf_puts(b, "}");
	}
	buf_puts(b, "]}");
}
