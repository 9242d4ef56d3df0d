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
 * runs, so every thread that needs a token waits for it.  Without a token it
 * could send nothing anyway.  No other lock is taken under this one.
 */

struct plugin {
	struct kube_plugin base; /* first, so that the pointers are the same */
	const struct kubeconfig *access;
	int64_t ms;
	pthread_mutex_t lock;
	char *token;		      /* NULL if there is none (see `why`) */
	unsigned version;	      /* number of changes of the token */
	int64_t expires_ms, renew_ms; /* Unix time of this machine's clock */
	/* Boot time before which the plugin is not run again, because its last
	 * run brought nothing new. */
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
		/* The token is this short-lived, or another clock dated it. */
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
		/* If the call that ran the plugin was cancelled, a thread that
		 * waited behind it runs the plugin for itself. */
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

/* Runs the plugin if there is no token that may be sent now.  Returns 0 if
 * there is one in p->token.  Called under the lock. */
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
	/* The new token was asked for early, so the old one is still good. */
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
	/* Another call may have renewed the token already.  If no token can be
	 * had, the next call fails with the reason instead of another 401. */
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
