/* SPDX-License-Identifier: Apache-2.0 */
#include "picture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/stamp.h"
#include "edge/file.h"
#include "report.h"

/*
 * Draws the picture of a comparison as SVG: the machines over time, a stroke
 * for each decision of Karpenter's, and a band for each setting with its holds.
 * The HTML page is the same picture above the table.
 *
 * All text from a log is escaped.  The file is written under a temporary name
 * and renamed when it is complete (edge/file), so nobody sees half a picture,
 * and a failure leaves the old file.  The x axis is linear in time.
 */

/* All sizes are in pixels. */
#define WIDTH 1000
#define LEFT 40
#define RIGHT 20
#define TOP 64
#define LINE 140 /* height of the curve of machines */
#define BAND 56	 /* height of one setting, with its label */
#define BAR 16

/* The same colours as in the picture that `make demo` draws. */
static const char style[] =
	"text{font:13px sans-serif;fill:#24292f}.s{font-size:11px}"
	".h{font-weight:bold;font-size:14px}.r{text-anchor:end}"
	".f{fill:#9db4c8}.o{fill:#2f7d5b}.x{stroke:#c0392b}"
	".w{stroke:#c9881f}.x,.w{stroke-width:1.5}.b{fill:#eef1f4}";

struct picture {
	FILE *out;
	struct file_draft draft;
	const struct simulate_setup *setup;
	const struct history *h;
	int64_t from_ms, length_ms;
};

static void
escaped(FILE *out, const char *s)
{
	for (; *s != '\0'; s++) {
		if (*s == '&')
			(void)fputs("&amp;", out);
		else if (*s == '<')
			(void)fputs("&lt;", out);
		else if (*s == '>')
			(void)fputs("&gt;", out);
		else
			(void)fputc(*s, out);
	}
}

static double
x_of(const struct picture *p, int64_t at_ms)
{
	double share = (double)(at_ms - p->from_ms) / (double)p->length_ms;

	if (share < 0)
		share = 0;
	if (share > 1)
		share = 1;
	return LEFT + share * (WIDTH - LEFT - RIGHT);
}

static void
draw_text(const struct picture *p, double x, int y, const char *class,
	  const char *text)
{
	(void)fprintf(p->out, "<text x=\"%.1f\" y=\"%d\" class=\"%s\">", x, y,
		      class);
	escaped(p->out, text);
	(void)fputs("</text>\n", p->out);
}

static void
draw_machines(const struct picture *p)
{
	const struct story *s = &p->h->story;
	int32_t most = 1;
	char text[32];

	for (uint32_t i = 0; i < s->steps_n; i++)
		if (story_machines(s, i) > most)
			most = story_machines(s, i);
	(void)fprintf(p->out, "<polygon class=\"f\" points=\"%d,%d", LEFT,
		      TOP + LINE);
	for (uint32_t i = 0; i < s->steps_n; i++) {
		int64_t at_ms = s->from_ms + i * s->step_ms;
		double y =
			TOP + LINE - (double)LINE * story_machines(s, i) / most;

		(void)fprintf(p->out, " %.1f,%.1f %.1f,%.1f", x_of(p, at_ms), y,
			      x_of(p, at_ms + s->step_ms), y);
	}
	(void)fprintf(p->out, " %d,%d\"/>\n", WIDTH - RIGHT, TOP + LINE);
	(void)snprintf(text, sizeof(text), "%d", most);
	draw_text(p, LEFT - 6, TOP + 10, "s r", text);
	draw_text(p, LEFT - 6, TOP + LINE, "s r", "0");
}

/* Draws a stroke for each decision.  The stroke is amber if the decision would
 * have waited in this setting, and otherwise red.  If setting is SIZE_MAX, all
 * strokes are red. */
static void
draw_marks(const struct picture *p, size_t setting, int y, int height)
{
	const struct story *s = &p->h->story;

	for (uint32_t i = 0; i < s->marks_n; i++) {
		bool waits = setting != SIZE_MAX &&
			     (s->marks[i].waits >> setting & 1) != 0;
		double x = x_of(p, s->marks[i].at_ms);

		(void)fprintf(p->out,
			      "<path class=\"%c\" d=\"M%.1f %dv%d\"/>\n",
			      waits ? 'w' : 'x', x, y, height);
	}
}

static void
draw_setting(const struct picture *p, size_t i, int y)
{
	struct replay_sums r;
	char text[SETTING_LABEL_BYTES + 120];

	replay_report(p->h->replays[i], &r);
	(void)snprintf(text, sizeof(text),
		       "%s: %llu hold%s; %llu of %llu decisions would have "
		       "waited",
		       p->setup->settings[i].label, (unsigned long long)r.holds,
		       r.holds == 1 ? "" : "s",
		       (unsigned long long)r.waits.decisions,
		       (unsigned long long)p->h->tally->facts[FACT_DECIDED]);
	draw_text(p, LEFT, y + 16, "", text);
	(void)fprintf(p->out,
		      "<rect class=\"b\" x=\"%d\" y=\"%d\" width=\"%d\" "
		      "height=\"%d\"/>\n",
		      LEFT, y + 24, WIDTH - LEFT - RIGHT, BAR);
	for (size_t k = 0; k < r.turns_n; k++) {
		double x = x_of(p, r.turns[k].from_ms);
		double width = x_of(p, r.turns[k].to_ms) - x;

		(void)fprintf(p->out,
			      "<rect class=\"o\" x=\"%.1f\" y=\"%d\" "
			      "width=\"%.1f\" height=\"%d\"/>\n",
			      x, y + 24, width < 0.5 ? 0.5 : width, BAR);
	}
	draw_marks(p, i, y + 20, BAR + 8);
}

/* Writes a note if the picture does not show everything. */
static void
draw_rest(const struct picture *p)
{
	bool rest = p->h->story.marks_beyond > 0;
	char text[120];

	for (size_t i = 0; i < p->h->replays_n; i++) {
		struct replay_sums r;

		replay_report(p->h->replays[i], &r);
		rest = rest || r.holds > r.turns_n;
	}
	if (!rest)
		return;
	(void)snprintf(text, sizeof(text),
		       "Only the first %d decisions and %d holds are shown.",
		       SIMULATE_MARKS_MAX, SIMULATE_TURNS_MAX);
	draw_text(p, WIDTH - RIGHT, 42, "s r", text);
}

static int
height_of(const struct simulate_setup *s)
{
	return TOP + LINE + 32 + (int)s->settings_n * BAND + 12;
}

static void
draw(const struct picture *p)
{
	char from[STAMP_BYTES], to[STAMP_BYTES];
	int y = TOP + LINE;

	stamp_format(p->from_ms, from);
	stamp_format(p->from_ms + p->length_ms, to);
	(void)fprintf(p->out,
		      "<svg xmlns=\"http://www.w3.org/2000/svg\" "
		      "viewBox=\"0 0 %d %d\" width=\"%d\">\n<style>%s</style>\n"
		      "<rect width=\"100%%\" height=\"100%%\" "
		      "fill=\"#fff\"/>\n",
		      WIDTH, height_of(p->setup), WIDTH, style);
	draw_text(p, LEFT, 22, "h",
		  "What the holder would have held, from Karpenter's log");
	draw_text(p, LEFT, 42, "s",
		  "Machines; green: held; red: a decision of Karpenter's; "
		  "amber: one that would have waited");
	draw_rest(p);
	draw_machines(p);
	draw_marks(p, SIZE_MAX, TOP, LINE);
	draw_text(p, LEFT, y + 16, "s", from);
	draw_text(p, WIDTH - RIGHT, y + 16, "s r", to);
	for (size_t i = 0; i < p->setup->settings_n; i++)
		draw_setting(p, i, y + 28 + (int)i * BAND);
	(void)fputs("</svg>\n", p->out);
}

/* Returns the mode of the existing file, or the mode that the umask gives to a
 * new file. */
static mode_t
mode_of(const char *file)
{
	struct stat st;
	mode_t mask;

	if (lstat(file, &st) == 0 && S_ISREG(st.st_mode))
		return st.st_mode & 0777;
	mask = umask(0);
	(void)umask(mask);
	return 0666 & ~mask;
}

static int
begin(struct picture *p, const char *file, const struct simulate_setup *s,
      const struct history *h, struct err *e)
{
	const struct tally *t = h->tally;
	int fd;

	*p = (struct picture){.setup = s, .h = h, .from_ms = t->from_ms};
	p->length_ms = t->to_ms > t->from_ms ? t->to_ms - t->from_ms : 1;
	fd = file_draft(&p->draft, AT_FDCWD, file, mode_of(file), e);
	if (fd < 0)
		return -1;
	p->out = fdopen(fd, "w");
	if (p->out != NULL)
		return 0;
	(void)close(fd);
	file_draft_done(&p->draft);
	return err_set(e, ERR_SYSTEM, "out of memory");
}

static int
finish(struct picture *p, const char *file, struct err *e)
{
	bool whole;
	int rc;

	errno = EIO;
	whole = fflush(p->out) == 0 && !ferror(p->out) &&
		fsync(fileno(p->out)) == 0;
	rc = whole ? file_draft_move(&p->draft, e)
		   : err_set(e, ERR_SYSTEM, "%.180s: %s", file,
			     strerror(errno));
	(void)fclose(p->out);
	file_draft_done(&p->draft);
	return rc;
}

int
picture_svg(const char *file, const struct simulate_setup *s,
	    const struct history *h, struct err *e)
{
	struct picture p;

	if (begin(&p, file, s, h, e))
		return -1;
	draw(&p);
	return finish(&p, file, e);
}

static void
write_table(const struct picture *p)
{
	char *text = NULL;
	size_t n = 0;
	FILE *to = open_memstream(&text, &n);

	if (to == NULL)
		return;
	report_table(to, p->setup, p->h);
	if (fclose(to) == 0)
		escaped(p->out, text);
	free(text);
}

int
picture_html(const char *file, const struct simulate_setup *s,
	     const struct history *h, struct err *e)
{
	struct picture p;

	if (begin(&p, file, s, h, e))
		return -1;
	(void)fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<meta "
		    "charset=\"utf-8\">\n<title>What the holder would have "
		    "held</title>\n<body style=\"font-family:sans-serif;"
		    "margin:2em\">\n",
		    p.out);
	draw(&p);
	(void)fputs("<pre>\n", p.out);
	write_table(&p);
	(void)fputs("</pre>\n</body>\n</html>\n", p.out);
	return finish(&p, file, e);
}
