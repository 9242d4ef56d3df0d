/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/certs/certs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "core/base/stamp.h"
#include "core/base/utf8.h"
#include "edge/clock.h"
#include "cli/options.h"

/*
 * The command `certs`.  It makes a CA and a serving pair in files, describes a
 * pair (--inspect), or renews the pair in the cluster (--renew, which is
 * serve_renew in src/daemon).
 *
 * edge/certs makes and reads the certificates.  read_request collects the flags
 * and checks their combination before anything is written.  The function mint
 * reads the new pair back in the same way as serve.
 */

#define SERVICE "karpenter-node-holder.karpenter-node-holder.svc"
#define DAYS 365
#define PATH_CAP 4096

static const char usage[] =
	" certs --out DIR [--dns NAME,...] [--ip IP,...] [--days N]\n"
	"           [--new-ca]\n"
	"       %s certs --inspect --cert FILE --key FILE\n"
	"       %s certs --renew [flags]; see its --help\n"
	"\n"
	"Writes a CA and a serving certificate to DIR: ca.crt, ca.key, "
	"tls.crt and tls.key.\n"
	"If DIR has a CA already, that CA signs the new certificate.\n"
	"\n"
	"Flags:\n"
	"    --out='':\n"
	"        the folder to write to; it is created if it is missing\n"
	"    --dns='', --ip='':\n"
	"        the names and addresses of the certificate; without both "
	"flags: localhost,\n"
	"        127.0.0.1, ::1, " SERVICE "\n"
	"        and the same with .cluster.local\n"
	"    --days=365:\n"
	"        how long the serving certificate is valid; a new CA is "
	"valid ten times as\n"
	"        long\n"
	"    --new-ca:\n"
	"        make a new CA; whoever trusts the old CA has to be given "
	"the new one\n"
	"    --inspect:\n"
	"        print what the pair of --cert and --key is good for; the "
	"exit code is 1 if\n"
	"        serve would refuse the pair\n"
	"    -h, --help:\n"
	"        print this text\n";

/* What the command line asks for.  `lists` owns copies of the flag values,
 * which add_names has split at commas.  The strings in `names` point into these
 * copies. */
struct certs_request {
	const char *out, *cert, *key;
	struct certs_names names;
	char *lists[2 * CERTS_NAMES_MAX];
	size_t lists_n;
	int days;
	bool new_ca, inspect, help;
};

static void
request_done(struct certs_request *r)
{
	for (size_t i = 0; i < r->lists_n; i++)
		free(r->lists[i]);
}

static int
add_names(struct certs_request *r, const char *flag, const char *value,
	  const char **at, size_t *n, struct err *e)
{
	char *rest, *name;

	if (r->lists_n == sizeof(r->lists) / sizeof(r->lists[0]))
		return err_set(e, ERR_INPUT, "--%s: given too often", flag);
	rest = strdup(value);
	if (rest == NULL)
		return err_set(e, ERR_SYSTEM, "out of memory");
	r->lists[r->lists_n++] = rest;
	while ((name = strsep(&rest, ",")) != NULL) {
		if (*n == CERTS_NAMES_MAX)
			return err_set(e, ERR_INPUT,
				       "--%s: too many, expected at most %d",
				       flag, CERTS_NAMES_MAX);
		at[(*n)++] = name;
	}
	return 0;
}

static int
read_days(const char *value, int *days, struct err *e)
{
	char *end;
	long v = strtol(value, &end, 10);

	if (end == value || *end != '\0' || v < 1 || v > CERTS_DAYS_MAX)
		return err_set(e, ERR_INPUT,
			       "--days: \"%.60s\", expected 1 to %d", value,
			       CERTS_DAYS_MAX);
	*days = (int)v;
	return 0;
}

static bool *
switch_of(struct certs_request *r, const char *name)
{
	return strcmp(name, "new-ca") == 0    ? &r->new_ca
	       : strcmp(name, "inspect") == 0 ? &r->inspect
	       : strcmp(name, "help") == 0    ? &r->help
					      : NULL;
}

static const char **
text_of(struct certs_request *r, const char *name)
{
	return strcmp(name, "out") == 0	   ? &r->out
	       : strcmp(name, "cert") == 0 ? &r->cert
	       : strcmp(name, "key") == 0  ? &r->key
					   : NULL;
}

static int
read_flag(struct flags *f, struct certs_request *r, struct err *e)
{
	bool *on = switch_of(r, f->name);
	const char **text = text_of(r, f->name), *value;
	bool dns = strcmp(f->name, "dns") == 0, ip = strcmp(f->name, "ip") == 0;
	bool days = strcmp(f->name, "days") == 0;

	if (on != NULL) {
		*on = true;
		return flags_no_value(f, e);
	}
	if (text == NULL && !dns && !ip && !days)
		return flags_unknown(f, e);
	if (flags_value(f, &value, e))
		return -1;
	if (days)
		return read_days(value, &r->days, e);
	if (dns)
		return add_names(r, f->name, value, r->names.dns,
				 &r->names.dns_n, e);
	if (ip)
		return add_names(r, f->name, value, r->names.ip, &r->names.ip_n,
				 e);
	*text = value;
	return 0;
}

static int
check_request(const struct certs_request *r, struct err *e)
{
	if (r->inspect && (r->out || r->new_ca || r->days || r->lists_n))
		return err_set(e, ERR_INPUT,
			       "--inspect makes nothing, expected only --cert "
			       "and --key with it");
	if (r->inspect && (!r->cert || !r->key))
		return err_set(
			e, ERR_INPUT,
			"--inspect: expected --cert FILE and --key FILE");
	if (!r->inspect && (r->cert || r->key))
		return err_set(e, ERR_INPUT,
			       "--cert, --key: expected --inspect with them");
	if (!r->inspect && (!r->out || r->out[0] == '\0'))
		return err_set(e, ERR_INPUT,
			       "expected --out DIR; see '%s "
			       "certs --help'",
			       PROGRAM);
	return 0;
}

static int
read_request(int argc, char **argv, struct certs_request *r, struct err *e)
{
	struct flags f = {.argc = argc, .argv = argv};
	int rc;

	while ((rc = flags_next(&f, e)) > 0)
		if (read_flag(&f, r, e))
			return -1;
	if (rc < 0 || r->help)
		return rc;
	if (check_request(r, e))
		return -1;
	r->days = r->days ? r->days : DAYS;
	if (r->names.dns_n + r->names.ip_n == 0)
		r->names = (struct certs_names){
			.dns = {"localhost", SERVICE, SERVICE ".cluster.local"},
			.dns_n = 3,
			.ip = {"127.0.0.1", "::1"},
			.ip_n = 2,
		};
	return 0;
}

/* Makes the certificates and reads them back in the same way as serve. */
static int
mint(const struct certs_request *r, struct err *e)
{
	char crt[PATH_CAP], key[PATH_CAP], ca[PATH_CAP], until[STAMP_BYTES];
	struct certs_pair pair;
	int64_t now_ms = clock_wall_ms();

	(void)snprintf(crt, sizeof(crt), "%s/tls.crt", r->out);
	(void)snprintf(key, sizeof(key), "%s/tls.key", r->out);
	if (certs_mint(r->out, &r->names, r->days, r->new_ca, now_ms, e) ||
	    certs_load(crt, key, now_ms, &pair, e))
		return -1;
	stamp_format(pair.not_after_ms, until);
	(void)snprintf(ca, sizeof(ca), "%s/ca.crt", r->out);
	utf8_make_shown(crt);
	utf8_make_shown(key);
	utf8_make_shown(ca);
	(void)printf("%s\n%s\n    %s\n    valid until %s\n"
		     "%s\n    what clients must trust (caBundle)\n",
		     crt, key, pair.names, until, ca);
	certs_pair_done(&pair);
	return 0;
}

/* Describes the pair and returns the exit code: 1 if serve would refuse the
 * pair, and 2 if no certificate could be read from the file, which is an error
 * of the input. */
static int
inspect(const struct certs_request *r)
{
	char text[CERTS_INSPECT_BYTES];
	struct buf out;
	struct err e;
	int rc;

	buf_init(&out, text, sizeof(text));
	rc = certs_inspect(r->cert, r->key, clock_wall_ms(), &out, &e);
	(void)fputs(text, stdout);
	if (say_flushed() != CMD_OK)
		return CMD_FAILED;
	if (rc == 0)
		return CMD_OK;
	(void)say_failure(&e);
	return out.len > 0 ? CMD_FAILED : CMD_USAGE;
}

static int
certs_make(const struct certs_request *r)
{
	struct err e;

	if (r->help) {
		(void)printf("Usage: %s", PROGRAM);
		(void)printf(usage, PROGRAM, PROGRAM);
		return say_flushed();
	}
	if (r->inspect)
		return inspect(r);
	return mint(r, &e) ? say_failure(&e) : say_flushed();
}

int
cmd_certs(int argc, char **argv, const struct timing *t)
{
	struct certs_request r = {.days = 0};
	struct err e;
	int code;

	/* `certs --renew` takes the flags of serve. */
	if (argc > 1 && strcmp(argv[1], "--renew") == 0) {
		argv[1] = "certs --renew";
		return cmd_renew(argc - 1, argv + 1, t);
	}
	code = read_request(argc, argv, &r, &e) ? say_failure(&e)
						: certs_make(&r);
	request_done(&r);
	return code;
}
