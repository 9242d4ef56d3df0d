/* SPDX-License-Identifier: Apache-2.0 */
#include "hold.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "core/base/limits.h"
#include "core/base/stamp.h"
#include "core/base/str.h"
#include "core/base/utf8.h"
#include "edge/output.h"
#include "hold_parts.h"
#include "tools/client.h"

/* --- names ---------------------------------------------------------------- */

static void
read_host(char out[65])
{
	memset(out, 0, 65);
	if (gethostname(out, 64) || out[0] == '\0')
		memcpy(out, "host", 5);
}

void
hold_name(char out[HOLD_NAME_BYTES])
{
	unsigned char r[3] = {0};
	char host[65];

	read_host(host);
	for (char *p = host; *p != '\0'; p++) {
		*p = (char)tolower((unsigned char)*p);
		if ((*p < 'a' || *p > 'z') && (*p < '0' || *p > '9'))
			*p = '-';
	}
	(void)!getrandom(r, sizeof(r), 0);
	(void)snprintf(out, HOLD_NAME_BYTES, "hold-%.40s-%02x%02x%02x", host,
		       r[0], r[1], r[2]);
}

void
hold_identity(char out[TICKET_HOLDER_BYTES])
{
	const char *user = getenv("USER");
	char host[65], number[24], text[512];

	if (user == NULL || user[0] == '\0')
		user = getenv("LOGNAME");
	if (user == NULL || user[0] == '\0') {
		(void)snprintf(number, sizeof(number), "%lu",
			       (unsigned long)geteuid());
		user = number;
	}
	read_host(host);
	(void)snprintf(text, sizeof(text), "%.440s@%s", user, host);
	/* Cut and clean the identity as the holder does when it reads a ticket,
	 * so that our identity equals the one in the ticket. */
	str_cut(out, TICKET_HOLDER_BYTES, text);
	utf8_make_shown(out);
}

/* --- for a time ----------------------------------------------------------- */

static int
print_written(const struct holding *h, struct err *e)
{
	const struct ticket_draft *d = &h->setup->ticket;
	char until[STAMP_BYTES];
	struct output out;
	int rc;

	stamp_format(h->keeper.until_ms, until);
	output_init(&out, STDOUT_FILENO);
	output_line(&out, "written: the ticket %s/%s of %s%s%s",
		    d->namespace_name, d->name, d->holder,
		    d->reason[0] != '\0' ? ": " : "", d->reason);
	output_line(&out, "it holds %s%s until %s",
		    d->nodepools[0] != '\0' ? "the NodePools "
					    : "all NodePools",
		    d->nodepools, until);
	output_line(&out, "to end it: kubectl delete lease -n %s %s",
		    d->namespace_name, d->name);
	rc = output_wait(&out, 0, INT64_MAX, e);
	output_done(&out);
	return rc;
}

/* Prints how to end the ticket, which may hold for hours although the command
 * has failed. */
static void
tell_doubt(const struct holding *h)
{
	const struct ticket_draft *d = &h->setup->ticket;
	char text[80 + 2 * NAME_BYTES];

	if (!keeper_may_be_written(&h->keeper))
		return;
	(void)snprintf(text, sizeof(text), "kubectl delete lease -n %s %s",
		       d->namespace_name, d->name);
	keeper_tell(&h->keeper, "it may be written; to end it: ", text);
}

static int
hold_for(struct holding *h, struct err *e)
{
	int rc;

	keeper_want(&h->keeper, KEEPER_KEEP);
	rc = keeper_wait(&h->keeper, clock_boot_ms() + HOLD_WRITE_MS, e);
	if (rc != 0)
		(void)err_wrap(e, "ticket %s/%s",
			       h->setup->ticket.namespace_name,
			       h->setup->ticket.name);
	else
		rc = print_written(h, e);
	if (rc != 0)
		tell_doubt(h);
	return rc;
}

/* --- all three ------------------------------------------------------------ */

static int
hold_open(struct holding *h, struct kubeconfig *access, struct err *e)
{
	h->clock = clock_new();
	if (h->clock == NULL)
		return err_set(e, ERR_SYSTEM, "out of memory");
	h->kube = client_new(access, h->clock, h->timing, e);
	return h->kube != NULL ? 0 : -1;
}

int
hold_run(const struct hold_setup *s, struct kubeconfig *access,
	 const struct timing *t, struct err *e)
{
	static struct holding h; /* too large for a stack */
	int rc;

	h = (struct holding){.setup = s, .timing = t};
	child_prepare(&h.child);
	rc = hold_open(&h, access, e);
	if (rc == 0) {
		rc = keeper_open(&h.keeper,
				 &(struct keeper_setup){.kube = h.kube,
							.clock = h.clock,
							.timing = t,
							.draft = &s->ticket},
				 e);
		if (rc == 0)
			rc = s->command != NULL ? hold_while(&h, e)
			     : s->query != NULL ? hold_query(&h, e)
						: hold_for(&h, e);
		keeper_close(&h.keeper);
	}
	kube_free(h.kube);
	clock_free(h.clock);
	kubeconfig_done(access);
	return rc;
}
