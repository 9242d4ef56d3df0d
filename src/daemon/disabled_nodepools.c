/* SPDX-License-Identifier: Apache-2.0 */
#include "disabled_nodepools.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"
#include "core/base/str.h"

struct disabled_nodepools {
	pthread_mutex_t lock;
	_Atomic unsigned n;
	unsigned generation;
	struct {
		char name[NODEPOOL_BYTES];
		/* Number of the last list that showed the name. */
		unsigned generation;
		/* time from which the NodePool is left alone */
		int64_t alone_ms;
	} at[SCOPES_MAX];
};

struct disabled_nodepools *
disabled_nodepools_new(void)
{
	struct disabled_nodepools *d = calloc(1, sizeof(*d));

	if (d != NULL)
		(void)pthread_mutex_init(&d->lock, NULL);
	return d;
}

void
disabled_nodepools_free(struct disabled_nodepools *d)
{
	if (d == NULL)
		return;
	(void)pthread_mutex_destroy(&d->lock);
	free(d);
}

/* Returns the index of the name, or the number of names if `nodepool` is not
 * one of them.  The caller holds the lock. */
static unsigned
name_find(const struct disabled_nodepools *d, const char *nodepool)
{
	unsigned i = 0, n = atomic_load(&d->n);

	while (i < n && strcmp(d->at[i].name, nodepool) != 0)
		i++;
	return i;
}

static void
drop(struct disabled_nodepools *d, unsigned i)
{
	unsigned last = atomic_load(&d->n) - 1;

	if (i != last)
		d->at[i] = d->at[last];
	atomic_store(&d->n, last);
}

void
disabled_nodepools_listing(struct disabled_nodepools *d)
{
	(void)pthread_mutex_lock(&d->lock);
	d->generation++;
	(void)pthread_mutex_unlock(&d->lock);
}

void
disabled_nodepools_listed(struct disabled_nodepools *d)
{
	(void)pthread_mutex_lock(&d->lock);
	for (unsigned i = atomic_load(&d->n); i-- > 0;)
		if (d->at[i].generation != d->generation)
			drop(d, i);
	(void)pthread_mutex_unlock(&d->lock);
}

void
disabled_nodepools_set(struct disabled_nodepools *d, const char *nodepool,
		       int64_t alone_ms)
{
	bool disabled = alone_ms != INT64_MAX;
	unsigned i, n;

	(void)pthread_mutex_lock(&d->lock);
	i = name_find(d, nodepool);
	n = atomic_load(&d->n);
	if (!disabled && i < n) {
		drop(d, i);
	} else if (disabled && i < SCOPES_MAX) {
		(void)str_copy(d->at[i].name, sizeof(d->at[i].name), nodepool);
		d->at[i].generation = d->generation;
		d->at[i].alone_ms = alone_ms;
		if (i == n)
			atomic_store(&d->n, n + 1);
	}
	(void)pthread_mutex_unlock(&d->lock);
}

bool
disabled_nodepools_has(struct disabled_nodepools *d, const char *nodepool,
		       int64_t now_ms)
{
	unsigned i;
	bool has;

	if (atomic_load(&d->n) == 0)
		return false;
	(void)pthread_mutex_lock(&d->lock);
	i = name_find(d, nodepool);
	has = i < atomic_load(&d->n) && d->at[i].alone_ms <= now_ms;
	(void)pthread_mutex_unlock(&d->lock);
	return has;
}
