/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/exec/plugin.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/stamp.h"
#include "core/base/limits.h"
#include "edge/clock.h"
#include "plugin_run.h"

/*
 * Keeps one credential for all threads.  The lock is held while the plugin
 * runs, so every thread that needs a token waits until the plugin has ended.
 * Without a token, these threads could send nothing anyway.  No other lock is
 * taken while this lock is held.
 */

struct plugin {
	/* It comes first, so that a pointer to it can be cast to struct
	 * plugin. */
	struct kube_plugin base;
	const struct kubeconfig *access;
	int64_t ms;
	pthread_mutex_t lock;
	/* NULL if there is no token; `why` then has the reason. */
	char *token;
	unsigned version; /* How often the token has changed. */
	/* Unix time in ms by this machine's clock. */
	int64_t expires_ms, renew_ms;
	/* Boot time in ms before which the plugin is not run again, because its
	 * last run failed or brought the same token. */
	int64_t quiet_ms;
	struct err why;
};

static void
drop(struct plugin *p)
{
	if (p->token != NULL)
		explicit_bzero(p->token, strlen(p->token));
	free(p->token);
	p->token = NULL;
}

static void
take(struct plugin *p, struct exec_credential *c)
{
	int64_t now = clock_wall_ms();

	p->expires_ms = p->renew_ms = INT64_MAX;
	if (c->expires_ms != STAMP_NONE) {
		p->expires_ms = c->expires_ms;
		p->renew_ms = c->expires_ms - EXEC_EARLY_MS;
		/* The expiry may be near or past, because the token is
		 * short-lived or a machine with another clock has set the
		 * expiry.  Even then the plugin must not run at each call. */
		if (p->renew_ms < now + EXEC_PAUSE_MS)
			p->renew_ms = now + EXEC_PAUSE_MS;
	}
	if (p->token != NULL && strcmp(p->token, c->token) == 0) {
		p->quiet_ms = clock_boot_ms() + EXEC_PAUSE_MS;
		return;
	}
	drop(p);
	p->token = c->token;
	p->version++;
	c->token = NULL;
}

static int
renew(struct plugin *p, const atomic_bool *cancelled, struct err *e)
{
	struct exec_credential c = {.token = NULL};

	if (plugin_run(p->access, p->ms, cancelled, &c, e)) {
		/* A cancelled run does not start the pause.  A thread that
		 * waits for the lock may run the plugin again at once. */
		if (e->code != ERR_CANCELLED) {
			p->quiet_ms = clock_boot_ms() + EXEC_PAUSE_MS;
			p->why = *e;
		}
		return -1;
	}
	take(p, &c);
	exec_credential_done(&c);
	return 0;
}

/* Runs the plugin if there is no token or it is time to renew it.  Returns 0 if
 * p->token may be sent.  The caller holds the lock. */
static int
refresh(struct plugin *p, const atomic_bool *cancelled, struct err *e)
{
	int64_t wall = clock_wall_ms();

	if (p->token != NULL && wall < p->renew_ms)
		return 0;
	if (clock_boot_ms() < p->quiet_ms) {
		*e = p->why;
		return p->token != NULL ? 0 : -1;
	}
	if (renew(p, cancelled, e) == 0)
		return 0;
	/* The renewal begins before the old token expires, so the old token may
	 * still be good. */
	if (p->token != NULL && wall < p->expires_ms)
		return 0;
	drop(p);
	return -1;
}

static int
plugin_get(struct kube_plugin *base, const atomic_bool *cancelled, char **text,
	   unsigned *version, struct err *e)
{
	struct plugin *p = (struct plugin *)base;
	struct err why = {0};
	char *copy = NULL;
	int rc;

	(void)pthread_mutex_lock(&p->lock);
	rc = refresh(p, cancelled, &why);
	if (rc == 0 && (*text == NULL || *version != p->version)) {
		copy = strdup(p->token);
		if (copy == NULL)
			rc = err_set(&why, ERR_SYSTEM, "out of memory");
	}
	if (copy != NULL) {
		if (*text != NULL)
			explicit_bzero(*text, strlen(*text));
		free(*text);
		*text = copy;
		*version = p->version;
	}
	(void)pthread_mutex_unlock(&p->lock);
	if (rc != 0 && e != NULL)
		*e = why;
	return rc;
}

static bool
plugin_refused(struct kube_plugin *base, const atomic_bool *cancelled,
	       unsigned version)
{
	struct plugin *p = (struct plugin *)base;
	struct err why = {0};
	bool other;

	(void)pthread_mutex_lock(&p->lock);
	/* Another thread may have renewed the token already.  If the renewal
	 * fails, the refused token is dropped, so that the next call fails with
	 * the reason instead of another 401. */
	if (p->token != NULL && p->version == version &&
	    clock_boot_ms() >= p->quiet_ms && renew(p, cancelled, &why) != 0 &&
	    why.code != ERR_CANCELLED)
		drop(p);
	other = p->token != NULL && p->version != version;
	(void)pthread_mutex_unlock(&p->lock);
	return other;
}

static void
plugin_free(struct kube_plugin *base)
{
	struct plugin *p = (struct plugin *)base;

	drop(p);
	(void)pthread_mutex_destroy(&p->lock);
	free(p);
}

struct kube_plugin *
plugin_new(const struct kubeconfig *access, int64_t ms, struct err *e)
{
	struct plugin *p = calloc(1, sizeof(*p));
	struct err why = {0};

	if (p == NULL) {
		(void)err_set(e, ERR_SYSTEM, "out of memory");
		return NULL;
	}
	p->base = (struct kube_plugin){.get = plugin_get,
				       .refused = plugin_refused,
				       .free = plugin_free};
	p->access = access;
	p->ms = ms > 0 ? ms : EXEC_MS;
	(void)pthread_mutex_init(&p->lock, NULL);
	if (renew(p, NULL, &why)) {
		if (e != NULL)
			*e = why;
		plugin_free(&p->base);
		return NULL;
	}
	return &p->base;
}
