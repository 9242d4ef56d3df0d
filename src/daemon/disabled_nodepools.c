/* SPDX-License-Identifier: Apache-2.0 */
#include "disabled_nodepools.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/limits.h"

struct disabled_nodepools {
	pthread_mutex_t lock;
	_Atomic unsigned n;
	unsigned generation;
	struct {
		char name[NODEPOOL_BYTES];
		unsigned generation;	/* of the list that last showed it */
	} at[SCOPES_MAX];
};

struct disabled_nodepools *
disabled_nodepools_new(void)
{
	struct disabled_nodepools *c = calloc(1, sizeof(*c));

	if (c != NULL)
		(void)pthread_mutex_init(&c->lock, NULL);
	return c;
}

void
disabled_nodepools_free(struct disabled_nodepools *c)
{
	if (c == NULL)
		return;
	(void)pthread_mutex_destroy(&c->lock);
	free(c);
}

/* The caller holds the lock.  Returns the number of names if `nodepool` is not
 * one of them. */
static unsigned
name_find(const struct disabled_nodepools *c, const char *nodepool)
{
	unsigned i = 0, n = atomic_load(&c->n);

	while (i < n && strcmp(c->at[i].name, nodepool) != 0)
		i++;
	return i;
}

static void
drop(struct disabled_nodepools *c, unsigned i)
{
	unsigned last = atomic_load(&c->n) - 1;

	if (i != last)
		c->at[i] = c->at[last];
	atomic_store(&c->n, last);
}

void
disabled_nodepools_listing(struct disabled_nodepools *c)
{
	(void)pthread_mutex_lock(&c->lock);
	c->generation++;
	(void)pthread_mutex_unlock(&c->lock);
}

void
disabled_nodepools_listed(struct disabled_nodepools *c)
{
	(void)pthread_mutex_lock(&c->lock);
	for (unsigned i = atomic_load(&c->n); i-- > 0;)
		if (c->at[i].generation != c->generation)
			drop(c, i);
	(void)pthread_mutex_unlock(&c->lock);
}

void
disabled_nodepools_set(struct disabled_nodepools *c, const char *nodepool,
		       bool disabled)
{
	unsigned i, n;

	(void)pthread_mutex_lock(&c->lock);
	i = name_find(c, nodepool);
	n = atomic_load(&c->n);
	if (!disabled && i < n) {
		drop(c, i);
	} else if (disabled && i < SCOPES_MAX) {
		(void)str_copy(c->at[i].name, sizeof(c->at[i].name), nodepool);
		c->at[i].generation = c->generation;
		if (i == n)
			atomic_store(&c->n, n + 1);
	}
	(void)pthread_mutex_unlock(&c->lock);
}

bool
disabled_nodepools_has(struct disabled_nodepools *c, const char *nodepool)
{
	bool has;

	if (atomic_load(&c->n) == 0)
		return false;
	(void)pthread_mutex_lock(&c->lock);
	has = name_find(c, nodepool) < atomic_load(&c->n);
	(void)pthread_mutex_unlock(&c->lock);
	return has;
}
