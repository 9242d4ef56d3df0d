/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/hold/hold.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/access.h"
#include "cli/options.h"
#include "cmd.h"
#include "core/base/duration.h"
#include "core/base/limits.h"
#include "edge/output.h"

/*
 * The command line of `hold`.  There are three ways to hold: --for, --while and
 * --while-query.  Each flag has a row in the table `hold_flags`.  The row says
 * where the value of the flag is stored, and with which of the three ways the
 * flag may be given.  The words after "--" are the command for --while.  They
 * are cut off before the flags are read.
 */

#define NAMESPACE "karpenter-node-holder-tickets"
#define HOLDER "karpenter-node-holder"
#define LEASE_MS 60000
#define EVERY_MS 15000
#define LEAST_MS 1000 /* minimum of --for, --lease and --every */
/* With a query and without --lease, the ticket lasts at least this many times
 * --every. */
#define EVERY_PER_LEASE 4

static const char usage[] =
	"hold [--nodepool PATTERN]... [--reason TEXT] --for 2h\n"
	"       " PROGRAM
	" hold [flags] --while [--strict] -- COMMAND [ARG...]\n"
	"       " PROGRAM
	" hold [flags] --while-query PROMQL --prometheus URL\n"
	"\n"
	"Holds NodePools by a ticket, which is a Lease that the holder "
	"reads: for a time,\n"
	"while COMMAND runs, or while a query of Prometheus finds "
	"something. With --while\n"
	"the exit code is that of COMMAND. If this program is killed, the "
	"ticket ends by\n"
	"itself.\n"
	"\n"
	"    --nodepool='':\n"
	"        a shell pattern of NodePools; may be repeated; without it "
	"all NodePools\n"
	"    --reason='':\n"
	"        the reason, which is shown to people\n"
	"    --for='':\n"
	"        hold for this long: 1s to 168h\n"
	"    --while:\n"
	"        renew the ticket until COMMAND has ended, and then delete "
	"it\n"
	"    --strict:\n"
	"        start COMMAND only if the leader confirms the hold; "
	"otherwise exit with 3\n"
	"    --while-query='':\n"
	"        hold while this expression of Prometheus finds a series, "
	"as an alert does\n"
	"    --every='15s':\n"
	"        the time between two queries\n"
	"    --prometheus='':\n"
	"        the URL of Prometheus, or of a server that has its API\n"
	"    --prometheus-ca='':\n"
	"        a file of CAs to trust instead of the system's\n"
	"    --prometheus-token-file='':\n"
	"        a file with a bearer token\n"
	"    --prometheus-header='':\n"
	"        a header for each request, such as \"X-Scope-OrgID: "
	"TENANT\"\n"
	"    --lease='60s':\n"
	"        how long the ticket lasts if nobody renews it; it is "
	"renewed three times in\n"
	"        this time\n"
	"    --name='':\n"
	"        the name of the ticket; the default is hold-HOST and "
	"random digits\n"
	"    --namespace='" NAMESPACE "':\n"
	"        the namespace of the tickets, which is the holder's "
	"tickets.namespace\n"
	"    --holder-namespace='" HOLDER "', --holder-lease='" HOLDER "':\n"
	"        the Lease that names the leader, whom --while asks\n" OPTIONS_ACCESS_HELP;

enum { WAY_FOR = 1, WAY_WHILE = 2, WAY_QUERY = 4, ANY_WAY = 7 };

struct hold_request {
	struct hold_setup setup;
	const char *name, *namespace_, *reason;
	const char *kubeconfig, *context;
	const char *for_, *lease, *every; /* durations as text */
	bool waits;			  /* whether --while is given */
	char nodepools[TICKET_PATTERNS_BYTES];
	char made_name[HOLD_NAME_BYTES], identity[TICKET_HOLDER_BYTES];
};

#define AT(member) offsetof(struct hold_request, member)
static const struct {
	const char *name;
	size_t at; /* offset of a const char *, or of a bool if is_switch */
	bool is_switch;
	int ways;
} hold_flags[] = {
	{"reason", AT(reason), false, ANY_WAY},
	{"name", AT(name), false, ANY_WAY},
	{"namespace", AT(namespace_), false, ANY_WAY},
	{"kubeconfig", AT(kubeconfig), false, ANY_WAY},
	{"context", AT(context), false, ANY_WAY},
	{"for", AT(for_), false, WAY_FOR},
	{"while", AT(waits), true, WAY_WHILE},
	{"strict", AT(setup.strict), true, WAY_WHILE},
	{"holder-namespace", AT(setup.holder_namespace), false, WAY_WHILE},
	{"holder-lease", AT(setup.holder_lease), false, WAY_WHILE},
	{"while-query", AT(setup.query), false, WAY_QUERY},
	{"every", AT(every), false, WAY_QUERY},
	{"prometheus", AT(setup.prometheus.url), false, WAY_QUERY},
	{"prometheus-ca", AT(setup.prometheus.ca_file), false, WAY_QUERY},
	{"prometheus-token-file", AT(setup.prometheus.token_file), false,
	 WAY_QUERY},
	{"prometheus-header", AT(setup.prometheus.header), false, WAY_QUERY},
	{"lease", AT(lease), false, WAY_WHILE | WAY_QUERY},
};
#define FLAGS_N (sizeof(hold_flags) / sizeof(hold_flags[0]))

/* --- flags ---------------------------------------------------------------- */

/* Adds one pattern, or several patterns that are separated by commas or
 * blanks. */
static int
take_nodepool(struct hold_request *q, const char *value, struct err *e)
{
	static const char apart[] = ", \t\r\n";
	char pattern[NODEPOOL_PATTERN_BYTES];
	size_t n, used = strlen(q->nodepools);
	const char *p = value + strspn(value, apart);

	if (*p == '\0')
		return err_set(e, ERR_INPUT,
			       "--nodepool: \"\", expected a shell pattern");
	for (; *p != '\0'; p += strspn(p, apart)) {
		n = strcspn(p, apart);
		if (n >= sizeof(pattern))
			return err_set(e, ERR_LIMIT,
				       "--nodepool: a pattern of more than %d "
				       "bytes",
				       NODEPOOL_PATTERN_BYTES - 1);
		memcpy(pattern, p, n);
		pattern[n] = '\0';
		p += n;
		if (!config_pattern_can_match(pattern))
			return err_set(e, ERR_INPUT,
				       "--nodepool: \"%.130s\" can match no "
				       "NodePool, whose name is lower-case "
				       "letters, digits, '-' and '.'",
				       pattern);
		if (used + n + 2 > sizeof(q->nodepools))
			return err_set(e, ERR_LIMIT,
				       "--nodepool: more than %d bytes of "
				       "patterns",
				       TICKET_PATTERNS_BYTES - 2);
		used += (size_t)snprintf(q->nodepools + used,
					 sizeof(q->nodepools) - used, "%s%s",
					 used > 0 ? "," : "", pattern);
	}
	return 0;
}

/* Stores the value of the flag at which *f stands. */
static int
take_flag(struct hold_request *q, struct flags *f, struct err *e)
{
	const char *value = NULL;

	if (strcmp(f->name, "nodepool") == 0)
		return flags_value(f, &value, e) ? -1
						 : take_nodepool(q, value, e);
	for (size_t i = 0; i < FLAGS_N; i++) {
		void *at = (char *)q + hold_flags[i].at;

		if (strcmp(f->name, hold_flags[i].name) != 0)
			continue;
		if (hold_flags[i].is_switch) {
			*(bool *)at = true;
			return flags_no_value(f, e);
		}
		return flags_value(f, at, e);
	}
	return flags_unknown(f, e);
}

/* Stores the command that follows "--".  Returns the number of arguments before
 * "--". */
static int
cut_command(int argc, char **argv, struct hold_request *q)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--") == 0) {
			q->setup.command = argv + i + 1;
			return i;
		}
	return argc;
}

/* Reads the flags.  Returns 1 for --help, 0 at the end, and -1 on failure. */
static int
parse_hold(struct hold_request *q, int argc, char **argv, struct err *e)
{
	struct flags f = {.argc = cut_command(argc, argv, q), .argv = argv};
	int rc;

	while ((rc = flags_next(&f, e)) > 0) {
		if (strcmp(f.name, "help") == 0)
			return 1;
		if (take_flag(q, &f, e))
			return -1;
	}
	return rc;
}

/* --- what goes together --------------------------------------------------- */

static bool
is_given(const struct hold_request *q, size_t i)
{
	const void *at = (const char *)q + hold_flags[i].at;

	return hold_flags[i].is_switch ? *(const bool *)at
				       : *(const char *const *)at != NULL;
}

static int
check_way(const struct hold_request *q, struct err *e)
{
	static const char *const ways[] = {[WAY_FOR] = "--for",
					   [WAY_WHILE] = "--while",
					   [WAY_QUERY] = "--while-query",
					   [WAY_WHILE | WAY_QUERY] =
						   "--while or --while-query"};
	int n = (q->for_ != NULL) + q->waits + (q->setup.query != NULL);
	int way = q->for_ != NULL ? WAY_FOR : q->waits ? WAY_WHILE : WAY_QUERY;

	if (n != 1)
		return err_set(e, ERR_INPUT,
			       "expected one of --for, --while and "
			       "--while-query");
	for (size_t i = 0; i < FLAGS_N; i++)
		if (is_given(q, i) && (hold_flags[i].ways & way) == 0)
			return err_set(e, ERR_INPUT, "--%s: only with %s",
				       hold_flags[i].name,
				       ways[hold_flags[i].ways]);
	if (q->setup.command != NULL && !q->waits)
		return err_set(e, ERR_INPUT,
			       "--: a command, expected --while before it");
	if (q->waits &&
	    (q->setup.command == NULL || q->setup.command[0] == NULL ||
	     q->setup.command[0][0] == '\0'))
		return err_set(e, ERR_INPUT,
			       "--while: no command, expected -- COMMAND at "
			       "the end");
	if (q->setup.query != NULL && q->setup.prometheus.url == NULL)
		return err_set(e, ERR_INPUT,
			       "--while-query: expected --prometheus URL");
	return 0;
}

static int
read_span(const char *flag, const char *text, int64_t most_ms, int64_t *out,
	  struct err *e)
{
	char most[DURATION_BYTES];

	if (text == NULL || (duration_parse(text, out) == 0 &&
			     *out >= LEAST_MS && *out <= most_ms))
		return 0;
	duration_format(most_ms, most);
	return err_set(e, ERR_INPUT,
		       "--%s: \"%.60s\", expected a duration of 1s to %s", flag,
		       text, most);
}

static int
read_spans(struct hold_request *q, struct err *e)
{
	struct hold_setup *s = &q->setup;
	int64_t ms = LEASE_MS;

	s->every_ms = EVERY_MS;
	if (read_span("every", q->every, HOLD_EVERY_MAX_MS, &s->every_ms, e))
		return -1;
	if (s->query != NULL && EVERY_PER_LEASE * s->every_ms > ms)
		ms = EVERY_PER_LEASE * s->every_ms;
	if (read_span("for", q->for_, TICKET_MAX_MS, &ms, e) ||
	    read_span("lease", q->lease, TICKET_MAX_MS, &ms, e))
		return -1;
	if (s->query != NULL && ms < 2 * s->every_ms)
		return err_set(e, ERR_INPUT,
			       "--lease: less than two times --every, between "
			       "which the ticket would end");
	s->ticket.lasts_ms = (ms + 999) / 1000 * 1000;
	return 0;
}

static int
check_name(const char *flag, const char *name, bool is_label, struct err *e)
{
	if (is_label ? syntax_label(name) : syntax_subdomain(name))
		return 0;
	return err_set(e, ERR_INPUT, "--%s: \"%.80s\", expected a name", flag,
		       name);
}

static int
check_texts(const struct hold_request *q, struct err *e)
{
	const struct hold_setup *s = &q->setup;
	const char *reason = s->ticket.reason;
	struct ticket t;

	ticket_set_patterns(&t, q->nodepools);
	if (t.left_out > 0)
		return err_set(e, ERR_LIMIT, "--nodepool: more than %d",
			       TICKET_PATTERNS_MAX);
	if (strlen(reason) >= REASON_BYTES)
		return err_set(e, ERR_LIMIT, "--reason: more than %d bytes",
			       REASON_BYTES - 1);
	for (const char *p = reason; *p != '\0'; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			return err_set(e, ERR_INPUT,
				       "--reason: expected one line of text");
	if (s->query != NULL &&
	    (s->query[0] == '\0' || strlen(s->query) > HOLD_QUERY_MAX))
		return err_set(e, ERR_LIMIT,
			       "--while-query: expected 1 to %d bytes",
			       HOLD_QUERY_MAX);
	return check_name("name", s->ticket.name, false, e) ||
			       check_name("namespace", s->ticket.namespace_name,
					  true, e) ||
			       check_name("holder-namespace",
					  s->holder_namespace, true, e) ||
			       check_name("holder-lease", s->holder_lease,
					  false, e)
		       ? -1
		       : 0;
}

static const char *
given_or(const char *given, const char *other)
{
	return given != NULL ? given : other;
}

static int
finish_request(struct hold_request *q, const struct timing *t, struct err *e)
{
	struct hold_setup *s = &q->setup;

	if (check_way(q, e))
		return -1;
	hold_name(q->made_name);
	hold_identity(q->identity);
	s->ticket.name = given_or(q->name, q->made_name);
	s->ticket.namespace_name = given_or(q->namespace_, NAMESPACE);
	s->ticket.holder = q->identity;
	s->ticket.nodepools = q->nodepools;
	s->ticket.reason = given_or(q->reason, "");
	s->holder_namespace = given_or(s->holder_namespace, HOLDER);
	s->holder_lease = given_or(s->holder_lease, HOLDER);
	s->prometheus.timing = t;
	return read_spans(q, e) || check_texts(q, e) ? -1 : 0;
}

int
cmd_hold(int argc, char **argv, const struct timing *t)
{
	static struct hold_request q; /* Too large for the stack. */
	struct kubeconfig access = {0};
	struct err e = {0};
	int rc;

	q = (struct hold_request){.name = NULL};
	rc = parse_hold(&q, argc, argv, &e);
	if (rc == 1) {
		(void)printf("Usage: %s %s", PROGRAM, usage);
		return say_flushed();
	}
	if (rc < 0 || finish_request(&q, t, &e) ||
	    access_find(q.kubeconfig, q.context, &access, &e))
		return say_failure(&e);
	rc = hold_run(&q.setup, &access, t, &e);
	if (rc < 0)
		output_tell(PROGRAM ": %s", e.text);
	output_tell_end();
	if (rc < 0)
		rc = e.code == ERR_INPUT || e.code == ERR_LIMIT ? CMD_USAGE
								: CMD_FAILED;
	return rc;
}
