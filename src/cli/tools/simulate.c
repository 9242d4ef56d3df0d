/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/simulate/simulate.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "core/base/buf.h"
#include "core/base/limits.h"
#include "core/base/utf8.h"
#include "edge/clock.h"
#include "edge/file.h"
#include "cli/options.h"
#include "core/base/duration.h"
#include "core/base/str.h"
#include "prometheus_flags.h"
#include "recommend_flags.h"

/*
 * The command `simulate`: its flags, and the settings that it compares.  Each
 * flag in `keys` takes several values, and --config may be given several times.
 * make_settings makes one setting of each combination.  The label of a setting
 * shows how it differs from the others.
 *
 * All input is checked before any log is read.  wire/config checks the values.
 * check_places refuses to overwrite a file that is an input.
 * src/tools/simulate reads the logs and compares the settings.
 */

static const char usage[] =
	"simulate [flags] [FILE...]\n"
	"\n"
	"Calculates from past events what the holder would have held, and "
	"which of\n"
	"Karpenter's disruptions would have waited. It reads Karpenter's "
	"log (lines of JSON;\n"
	"gzip, too; \"-\" is stdin), the API server's audit log, a saved "
	"range query of\n"
	"Prometheus, or a record. If you add a holder's /status, it also "
	"shows what that\n"
	"holder did hold. With --prometheus it asks a Prometheus, and "
	"needs no FILE. It asks\n"
	"no cluster and starts nothing.\n"
	"\n"
	"The first of these flags may be repeated, and each of the next "
	"eight takes several\n"
	"values (5m,10m,20m). All combinations are compared:\n";

/* The keys of the configuration that can be compared: the flag of each key, and
 * the word that stands for the key in labels. */
static const struct {
	const char *flag, *label;
} keys[] = {
	{"scope", ""},
	{"hold-duration", ""},
	{"max-hold-duration", "max "},
	{"release-window", "window "},
	{"startup-timeout", "startup "},
	{"min-scale-up", "minScaleUp "},
	{"replacements", "replacements "},
	{"drift", "drift "},
};
#define KEYS_N (sizeof(keys) / sizeof(keys[0]))
#define VALUE_ROOM 64 /* Size of a buffer for a value as text. */
/* Maximum number of bytes of a file's name that a label shows. */
#define FILE_SHOWN 60

struct values {
	char at[SIMULATE_SETTINGS_MAX][VALUE_ROOM];
	size_t n; /* 0 if the flag was not given. */
};

struct request {
	struct simulate_setup setup;
	struct prometheus_flags flags;
	struct prometheus_setup prometheus;
	const char *files[SIMULATE_FILES_MAX];
	const char *configs[SIMULATE_SETTINGS_MAX];
	size_t configs_n;
	struct values values[KEYS_N];
	struct setting settings[SIMULATE_SETTINGS_MAX];
};

/* --- flags ---------------------------------------------------------------- */

static int
split(struct values *v, const char *flag, const char *text, struct err *e)
{
	const char *comma;

	for (;; text = comma + 1) {
		size_t n;

		comma = strchr(text, ',');
		n = comma == NULL ? strlen(text) : (size_t)(comma - text);
		if (n == 0 || n >= VALUE_ROOM)
			return err_set(e, ERR_INPUT,
				       "--%s: expected values with commas "
				       "between them, such as 5m,10m",
				       flag);
		if (v->n == SIMULATE_SETTINGS_MAX)
			return err_set(e, ERR_LIMIT,
				       "--%s: more than %d values", flag,
				       SIMULATE_SETTINGS_MAX);
		memcpy(v->at[v->n], text, n);
		v->at[v->n++][n] = '\0';
		if (comma == NULL)
			return 0;
	}
}

static int
take_config(struct request *q, const char *file, struct err *e)
{
	if (q->configs_n == SIMULATE_SETTINGS_MAX)
		return err_set(e, ERR_LIMIT, "--config: more than %d files",
			       SIMULATE_SETTINGS_MAX);
	q->configs[q->configs_n++] = file;
	return 0;
}

static int
take_output(struct request *q, const char *name, struct err *e)
{
	static const char *const names[] = {
		[SIMULATE_TABLE] = "table",
		[SIMULATE_JSON] = "json",
		[SIMULATE_CSV] = "csv",
		[SIMULATE_RECORD] = "record",
	};

	for (int i = 0; i <= SIMULATE_RECORD; i++)
		if (strcmp(name, names[i]) == 0) {
			q->setup.output = (enum simulate_output)i;
			return 0;
		}
	return err_set(e, ERR_INPUT,
		       "--output: \"%.60s\", expected table, json, csv or "
		       "record",
		       name);
}

static int
take_price(struct request *q, const char *text, struct err *e)
{
	if (fact_dollars_parse(text, strlen(text), &q->setup.waits.price) ==
		    0 &&
	    q->setup.waits.price >= 0)
		return 0;
	return err_set(
		e, ERR_INPUT,
		"--price-per-node-hour: \"%.60s\", expected dollars such "
		"as 0.192",
		text);
}

/* Stores the value of a flag that needs no check.  Returns false if `name` is
 * not such a flag. */
static bool
take_name_of(struct request *q, const char *name, const char *value)
{
	const char **to = strcmp(name, "explain") == 0 ? &q->setup.explain
			  : strcmp(name, "svg") == 0   ? &q->setup.svg
			  : strcmp(name, "html") == 0  ? &q->setup.html
						       : NULL;

	if (to != NULL)
		*to = value[0] == '\0' ? NULL : value;
	return to != NULL;
}

static int
take_flag(struct request *q, const char *name, const char *value, struct err *e)
{
	int rc;

	for (size_t i = 0; i < KEYS_N; i++)
		if (strcmp(name, keys[i].flag) == 0)
			return split(&q->values[i], name, value, e);
	if (strcmp(name, "config") == 0)
		return take_config(q, value, e);
	if (strcmp(name, "output") == 0)
		return take_output(q, value, e);
	if (strcmp(name, "price-per-node-hour") == 0)
		return take_price(q, value, e);
	if (take_name_of(q, name, value) ||
	    prometheus_flags_take(&q->flags, name, value))
		return 0;
	rc = recommend_flags_take(&q->setup.advice, name, value, e);
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	if (duration_parse(value, &q->setup.waits.regret_ms))
		return err_set(e, ERR_INPUT,
			       "--regret: \"%.60s\", expected a duration such "
			       "as 15m",
			       value);
	return 0;
}

static bool
is_flag(const char *name)
{
	static const char *const others[] = {
		"config",  "output", "regret", "price-per-node-hour",
		"explain", "svg",    "html"};

	for (size_t i = 0; i < KEYS_N; i++)
		if (strcmp(name, keys[i].flag) == 0)
			return true;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strcmp(name, others[i]) == 0)
			return true;
	/* Without a value, these calls only check the name. */
	return prometheus_flags_take(&(struct prometheus_flags){NULL}, name,
				     NULL) ||
	       recommend_flags_take(&(struct advice_setup){0}, name, NULL,
				    NULL) > 0;
}

static void
print_help(void)
{
	const char *name, *help;
	char def[64];

	(void)printf("Usage: %s %s", PROGRAM, usage);
	(void)puts("    --config='':\n        a configuration file; each "
		   "further file is another setting");
	for (size_t k = 0; k < KEYS_N; k++)
		for (size_t i = 0; config_flag_help(i, &name, &help, def); i++)
			if (strcmp(name, keys[k].flag) == 0)
				(void)printf("    --%s='%s':\n        %s\n",
					     name, def, help);
	prometheus_flags_help();
	recommend_flags_help();
	(void)puts(
		"    --regret='15m':\n"
		"        a decision counts as churn if the same NodePool scales up "
		"within this time\n"
		"    --price-per-node-hour='':\n"
		"        dollars, used where the log does not say what a decision "
		"saves\n"
		"    --explain='':\n"
		"        the name of a Node or NodeClaim: explain each decision "
		"about it\n"
		"    --svg='':\n"
		"        write a picture to this file: when what was held, and "
		"what would have waited\n"
		"    --html='':\n"
		"        write a page with this picture and the table to this "
		"file\n"
		"    -o, --output='table':\n"
		"        table, json, csv, or record (what was read, as a record)\n"
		"    -h, --help:\n"
		"        print this text");
}

static int
take_file(struct request *q, const char *file, struct err *e)
{
	if (q->setup.files_n == SIMULATE_FILES_MAX)
		return err_set(e, ERR_LIMIT, "more than %d files",
			       SIMULATE_FILES_MAX);
	q->files[q->setup.files_n++] = file;
	return 0;
}

/* Reads the flags and the names of files into *q.  Returns 1 for --help, 0 at
 * the end, and -1 on failure. */
static int
parse(struct request *q, struct flags *f, struct err *e)
{
	while (f->at + 1 < f->argc) {
		const char *arg = f->argv[f->at + 1], *value;
		int rc;

		if (arg[0] != '-' || strcmp(arg, "-") == 0) {
			f->at++;
			if (take_file(q, arg, e))
				return -1;
			continue;
		}
		rc = flags_next(f, e);
		if (rc <= 0)
			return rc;
		if (strcmp(f->name, "help") == 0)
			return 1;
		if (strcmp(f->name, "recommend") == 0) {
			q->setup.advice.asked = true;
			if (flags_no_value(f, e))
				return -1;
			continue;
		}
		if (!is_flag(f->name))
			return flags_unknown(f, e);
		if (flags_value(f, &value, e) ||
		    take_flag(q, f->name, value, e))
			return -1;
	}
	return 0;
}

/* --- settings ------------------------------------------------------------- */

static int
read_config(const char *file, struct config *c, struct config_places *places,
	    struct err *e)
{
	char *bytes;
	size_t n;
	int rc;

	config_defaults(c);
	if (file == NULL)
		return 0;
	places->file = file;
	if (file_read(file, CONFIG_BYTES_MAX, &bytes, &n, e)) {
		e->code = ERR_INPUT;
		return err_wrap(e, "--config");
	}
	rc = config_file(c, file, bytes, n, places, e);
	free(bytes);
	return rc;
}

/* Writes a file's name for tables and pictures.  A long name loses its
 * beginning, because the end says more about the file. */
static void
put_file(struct buf *b, const char *file)
{
	char shown[FILE_SHOWN + 1];
	size_t n = strlen(file);

	if (n > FILE_SHOWN) {
		file += n - FILE_SHOWN;
		buf_puts(b, "...");
	}
	str_cut(shown, sizeof(shown), file);
	utf8_make_shown(shown);
	buf_puts(b, shown);
}

static void
describe(struct setting *s, const struct request *q, const struct config *c,
	 const char *file, const size_t chosen[KEYS_N])
{
	static const char *const scopes[] = {[SCOPE_CLUSTER] = "cluster",
					     [SCOPE_NODEPOOL] = "nodepool",
					     [SCOPE_NODE] = "node"};
	char hold[DURATION_BYTES], max[DURATION_BYTES];
	struct buf b;

	buf_init(&b, s->label, sizeof(s->label));
	duration_format(c->rules.hold_ms, hold);
	duration_format(c->rules.cap.max_ms, max);
	buf_printf(&b, "%s %s, max %s", scopes[c->rules.scope], hold, max);
	for (size_t k = 3; k < KEYS_N; k++)
		if (q->values[k].n > 0)
			buf_printf(&b, ", %s%s", keys[k].label,
				   q->values[k].at[chosen[k]]);
	if (q->configs_n > 1) {
		buf_puts(&b, ", ");
		put_file(&b, file);
	}
	s->rules = c->rules;
}

static int
add_setting(struct request *q, const char *file, const size_t chosen[KEYS_N],
	    struct err *e)
{
	static struct config c; /* Too large for the stack. */
	struct config_places places = {.file = NULL};
	bool known;

	if (q->setup.settings_n == SIMULATE_SETTINGS_MAX)
		return err_set(e, ERR_LIMIT, "more than %d settings to compare",
			       SIMULATE_SETTINGS_MAX);
	if (read_config(file, &c, &places, e))
		return -1;
	for (size_t k = 0; k < KEYS_N; k++)
		if (q->values[k].n > 0 &&
		    config_flag(&c, keys[k].flag, q->values[k].at[chosen[k]],
				&places, &known, e))
			return -1;
	if (config_validate(&c, &places, e))
		return -1;
	/* Simulate as if the holder wrote, even if the file says mode
	 * observe. */
	c.rules.mode = MODE_ENFORCE;
	describe(&q->settings[q->setup.settings_n++], q, &c, file, chosen);
	return 0;
}

/* Chooses the next combination of one value for each key.  Returns false after
 * the last combination. */
static bool
choose(const struct request *q, size_t chosen[KEYS_N])
{
	for (size_t k = KEYS_N; k-- > 0;) {
		if (++chosen[k] < q->values[k].n)
			return true;
		chosen[k] = 0;
	}
	return false;
}

static int
make_settings(struct request *q, struct err *e)
{
	size_t configs = q->configs_n > 0 ? q->configs_n : 1;
	static const char *const choice[] = {RECOMMEND_SCOPES, RECOMMEND_HOLDS};

	q->setup.compares = q->configs_n > 0;
	for (size_t k = 0; k < KEYS_N; k++)
		q->setup.compares = q->setup.compares || q->values[k].n > 0;
	if (q->setup.advice.asked && !q->setup.compares)
		for (size_t k = 0; k < 2; k++)
			(void)split(&q->values[k], keys[k].flag, choice[k], e);
	for (size_t i = 0; i < configs; i++) {
		size_t chosen[KEYS_N] = {0};

		do {
			if (add_setting(q, q->configs[i], chosen, e))
				return -1;
		} while (choose(q, chosen));
	}
	return 0;
}

/* Finds out where the input comes from: files, a Prometheus, or both. */
static int
find_input(struct request *q, const struct timing *t, struct err *e)
{
	int rc = prometheus_flags_end(&q->flags, clock_wall_ms(),
				      &q->prometheus, e);

	if (rc < 0)
		return -1;
	if (rc == 0 && q->setup.files_n == 0)
		return err_set(e, ERR_INPUT,
			       "expected a file, or - for stdin; see '%s "
			       "simulate --help'",
			       PROGRAM);
	if (rc > 0) {
		q->prometheus.timing = t;
		q->setup.ask = prometheus_ask;
		q->setup.ask_ctx = &q->prometheus;
	}
	return 0;
}

/* Checks that the file for --svg or --html would not overwrite a file that is
 * read. */
static int
check_place(const struct request *q, const char *flag, const char *file,
	    struct err *e)
{
	const char *others[SIMULATE_FILES_MAX + SIMULATE_SETTINGS_MAX + 2];
	size_t n = 0;

	if (file == NULL)
		return 0;
	for (size_t i = 0; i < q->setup.files_n; i++)
		others[n++] = q->files[i];
	for (size_t i = 0; i < q->configs_n; i++)
		others[n++] = q->configs[i];
	if (q->flags.ca_file != NULL)
		others[n++] = q->flags.ca_file;
	if (q->flags.token_file != NULL)
		others[n++] = q->flags.token_file;
	if (file_place(file, others, n, e) == 0)
		return 0;
	return err_wrap(e, "--%s", flag);
}

static int
check_places(const struct request *q, struct err *e)
{
	const char *svg = q->setup.svg, *html = q->setup.html;

	if (svg != NULL && html != NULL && file_same_place(svg, html))
		return err_set(e, ERR_INPUT,
			       "--svg and --html: \"%.150s\" is both, expected "
			       "two files",
			       svg);
	return check_place(q, "svg", svg, e) || check_place(q, "html", html, e)
		       ? -1
		       : 0;
}

int
cmd_simulate(int argc, char **argv, const struct timing *t)
{
	static struct request q; /* Too large for the stack. */
	struct flags f = {.argc = argc, .argv = argv};
	struct err e = {0};
	int rc;

	q = (struct request){.setup.waits = {.regret_ms = 900000, .price = -1},
			     .setup.advice = recommend_flags_defaults};
	rc = parse(&q, &f, &e);
	if (rc == 1) {
		print_help();
		return say_flushed();
	}
	if (rc == 0)
		rc = find_input(&q, t, &e);
	if (rc == 0 && q.setup.explain != NULL &&
	    q.setup.output != SIMULATE_TABLE)
		rc = err_set(&e, ERR_INPUT,
			     "--explain: only with the table, not with another "
			     "--output");
	if (rc == 0 && q.setup.output == SIMULATE_RECORD &&
	    (q.setup.svg != NULL || q.setup.html != NULL))
		rc = err_set(
			&e, ERR_INPUT,
			"--svg and --html: not with --output=record, which "
			"replays nothing");
	if (rc == 0 && q.setup.advice.asked &&
	    q.setup.output != SIMULATE_TABLE && q.setup.output != SIMULATE_JSON)
		rc = err_set(&e, ERR_INPUT,
			     "--recommend: only with the table and with "
			     "--output=json");
	if (rc < 0 || check_places(&q, &e) || make_settings(&q, &e))
		return say_failure(&e);
	q.setup.files = q.files;
	q.setup.settings = q.settings;
	q.setup.progress = isatty(STDERR_FILENO);
	rc = simulate_run(&q.setup, &e);
	if (rc < 0) {
		(void)fflush(stdout);
		return say_failure(&e);
	}
	return say_flushed();
}
