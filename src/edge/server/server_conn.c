/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every byte restarts libmicrohttpd's timeout, so a client that sends single
 * bytes would hold a connection for ever.  Here each connection has one
 * deadline for what it waits for (enum conn_wait), and arriving bytes do not
 * extend it.
 *
 * The serving threads set the deadline with an atomic store, so a request takes
 * no lock for it.  At every tick the reaper thread checks all connections, and
 * shuts down the sockets of those that are past their deadline.  The serving
 * thread of such a socket then reads the end of the stream and closes the
 * socket.
 */
#include "server_conn.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/limits.h"
#include "edge/clock.h"
#include "edge/log.h"

#define TICK_MS 500
#define SHED_A_TICK 256 /* Maximum number of connections in one shed(). */

static const char *const wait_names[CONN_WAITS] = {
	[CONN_HEAD] = "head",	     [CONN_FIRST] = "first head",
	[CONN_BODY] = "body",	     [CONN_HANDLER] = "handler",
	[CONN_REPLY] = "reply read", [CONN_IDLE] = "next head",
};

static void
set_deadline(struct conn *c, int64_t ms)
{
	atomic_store_explicit(&c->deadline_ms, ms, memory_order_relaxed);
}

static int64_t
deadline(const struct conn *c)
{
	return atomic_load_explicit(&c->deadline_ms, memory_order_relaxed);
}

/* Call this when HTTP has made progress.  It counts bytes and TLS records from
 * 0 again: the TLS library passes on data only when it holds no incomplete TLS
 * message, so it keeps none of the bytes that were counted before. */
static void
progress(struct conn *c)
{
	c->silent = 0;
	if (c->records > 1)
		atomic_fetch_sub(&c->table->records, c->records - 1);
	c->records = 0;
}

void
conn_expect(struct conn *c, enum conn_wait wait)
{
	int64_t ms = c->table->allowed_ms[wait];
	int64_t now_us = (int64_t)clock_boot_us();

	progress(c);
	atomic_store_explicit(&c->since_us, now_us, memory_order_relaxed);
	atomic_store_explicit(&c->wait, (int)wait, memory_order_relaxed);
	if (wait != CONN_BODY)
		atomic_store_explicit(&c->room, 0, memory_order_relaxed);
	set_deadline(c, ms > 0 ? now_us / 1000 + ms : INT64_MAX);
}

/* Returns whether the connection may begin one more TLS record.  Its earlier
 * records are complete but have given HTTP nothing, so the TLS library keeps
 * them.  All connections share SERVER_RECORDS_MAX places for such records.  No
 * connection may have more of them than there are free places, so that a few
 * connections cannot take all places. */
static bool
has_place(struct conn *c)
{
	unsigned sum;

	if (c->records++ == 0)
		return true;
	sum = atomic_fetch_add(&c->table->records, 1) + 1;
	return sum + c->records - 1 <= SERVER_RECORDS_MAX;
}

bool
conn_pulled(struct conn *c, size_t n, bool begins)
{
	c->silent += n;
	if (!c->greeted)
		return c->silent <= SERVER_HELLO_BYTES;
	return c->silent <= SERVER_SILENT_BYTES && (!begins || has_place(c));
}

void
conn_greeted(struct conn *c)
{
	c->greeted = true;
	if (atomic_load_explicit(&c->wait, memory_order_relaxed) == CONN_HEAD)
		conn_expect(c, CONN_FIRST);
}

void
conn_head_begun(struct conn *c)
{
	int64_t by_ms = clock_boot_ms() + c->table->allowed_ms[CONN_HEAD];

	progress(c);
	atomic_store_explicit(&c->wait, CONN_HEAD, memory_order_relaxed);
	if (by_ms < deadline(c))
		set_deadline(c, by_ms);
}

/* Makes room in t->at for this descriptor.  Returns -1 if memory is short.
 * Called under the lock. */
static int
make_slot(struct conns *t, int fd)
{
	int slots = fd + 64;
	struct conn **at;

	if (fd < t->slots)
		return 0;
	at = realloc(t->at, (size_t)slots * sizeof(struct conn *));
	if (at == NULL)
		return -1;
	memset(at + t->slots, 0,
	       (size_t)(slots - t->slots) * sizeof(struct conn *));
	t->at = at;
	t->slots = slots;
	return 0;
}

static enum conn_wait
waits_for(const struct conn *c)
{
	return (enum conn_wait)atomic_load_explicit(&c->wait,
						    memory_order_relaxed);
}

static int64_t
since_us(const struct conn *c)
{
	return atomic_load_explicit(&c->since_us, memory_order_relaxed);
}

static size_t
body_room(const struct conn *c)
{
	return atomic_load_explicit(&c->room, memory_order_relaxed);
}

/* Shuts down the socket of c.  The thread that serves c closes the socket
 * later.  Called under the lock. */
static void
shut(struct conn *c, int64_t now_ms)
{
	(void)shutdown(c->fd, SHUT_RDWR);
	set_deadline(c, INT64_MAX);
	c->shut_ms = now_ms;
	c->shut_body = body_room(c) > 0;
	c->table->shut++;
	c->table->shut_bodies += c->shut_body;
}

/* Returns the number of connections that are open and not shut down.  Called
 * under the lock. */
static unsigned
taken(const struct conns *t)
{
	return atomic_load(&t->open) - t->shut;
}

static bool
is_crowded(const struct conns *t)
{
	return taken(t) > atomic_load(&t->max) / 4 * 3;
}

static bool
waits_for_client(const struct conn *c)
{
	return c != NULL && c->shut_ms == 0 && waits_for(c) != CONN_HANDLER;
}

/* Shuts down the connection that has waited longest for its client, if it has
 * waited for at least least_ms.  Clients that keep many connections open thus
 * do not keep others out.  Called under the lock. */
static void
shut_oldest(struct conns *t, int64_t least_ms)
{
	int64_t now_us = (int64_t)clock_boot_us();
	struct conn *oldest = NULL;

	for (int fd = 0; fd < t->slots; fd++) {
		struct conn *c = t->at[fd];

		if (waits_for_client(c) &&
		    (oldest == NULL || since_us(c) < since_us(oldest)))
			oldest = c;
	}
	if (oldest != NULL && now_us - since_us(oldest) >= least_ms * 1000)
		shut(oldest, now_us / 1000);
}

/* Shuts down the connection whose body has the largest product of room and
 * time.  Only bodies with more room than `above` count, and the body of
 * `newcomer` never counts.  A client that sends megabytes slowly is thus cut
 * before a client that is nearly done, however often the slow client connects
 * again.  Called under the lock. */
static void
shut_biggest(struct conns *t, const struct conn *newcomer, size_t above)
{
	int64_t now_us = (int64_t)clock_boot_us();
	struct conn *worst = NULL;
	double most = 0;

	for (int fd = 0; fd < t->slots; fd++) {
		struct conn *c = t->at[fd];
		double cost;

		if (!waits_for_client(c) || c == newcomer ||
		    body_room(c) <= above)
			continue;
		cost = (double)body_room(c) *
		       (double)(now_us - since_us(c) + 1);
		if (cost > most) {
			worst = c;
			most = cost;
		}
	}
	if (worst != NULL)
		shut(worst, now_us / 1000);
}

void
conn_body(struct conn *c, size_t room, size_t above)
{
	struct conns *t = c->table;

	progress(c);
	atomic_store_explicit(&c->room, room, memory_order_relaxed);
	if (above == SIZE_MAX)
		return;
	pthread_mutex_lock(&t->lock);
	/* If a connection with a body is shut down already, its room will soon
	 * be free. */
	if (t->shut_bodies == 0)
		shut_biggest(t, c, above);
	pthread_mutex_unlock(&t->lock);
}

void
conn_unread(struct conn *c, bool unread)
{
	atomic_store_explicit(&c->unread, unread, memory_order_relaxed);
}

void
conns_cut_unread(struct conns *t)
{
	struct conn *oldest = NULL;

	pthread_mutex_lock(&t->lock);
	for (int fd = 0; fd < t->slots; fd++) {
		struct conn *c = t->at[fd];

		if (c == NULL ||
		    !atomic_load_explicit(&c->unread, memory_order_relaxed))
			continue;
		/* A connection that is shut down already will soon free the
		 * memory of its reply. */
		if (oldest == NULL || c->shut_ms != 0 ||
		    (oldest->shut_ms == 0 && since_us(c) < since_us(oldest)))
			oldest = c;
	}
	if (oldest != NULL && oldest->shut_ms == 0)
		shut(oldest, clock_boot_ms());
	pthread_mutex_unlock(&t->lock);
}

struct conn *
conns_add(struct conns *t, int fd)
{
	struct conn *c = calloc(1, sizeof(*c));
	bool full;

	if (c == NULL)
		return NULL;
	c->table = t;
	c->fd = fd;
	conn_expect(c, CONN_HEAD);
	pthread_mutex_lock(&t->lock);
	/* In a burst, even the oldest connection may be too young to have been
	 * served.  So while places are free, the oldest connection is shut down
	 * only if it has waited for SERVER_FRESH_MS. */
	if (is_crowded(t))
		shut_oldest(t, taken(t) < atomic_load(&t->max) ? SERVER_FRESH_MS
							       : 0);
	full = taken(t) >= atomic_load(&t->max) || make_slot(t, fd);
	if (!full) {
		t->at[fd] = c;
		atomic_fetch_add(&t->open, 1);
	}
	pthread_mutex_unlock(&t->lock);
	if (full) {
		free(c);
		return NULL;
	}
	return c;
}

/* Drops one reference to p, which may be NULL.  If that was the last reference,
 * returns p, which the caller frees after it has released the lock.  Otherwise
 * returns NULL.  Called under the lock. */
static struct tls_credentials *
unref(struct tls_credentials *p)
{
	return p != NULL && --p->refs == 0 ? p : NULL;
}

static void
pair_free(struct tls_credentials *p)
{
	if (p != NULL)
		p->free(p);
}

void
conn_drop(struct conn *c)
{
	struct conns *t = c->table;
	struct tls_credentials *last;

	progress(c);
	pthread_mutex_lock(&t->lock);
	t->at[c->fd] = NULL;
	t->shut -= c->shut_ms != 0;
	t->shut_bodies -= c->shut_body;
	last = unref(c->pair);
	pthread_mutex_unlock(&t->lock);
	atomic_store(&t->closed_ms, clock_boot_ms());
	atomic_fetch_sub(&t->open, 1);
	pair_free(last);
	free(c);
}

void
conns_rotate(struct conns *t, struct tls_credentials *p)
{
	struct tls_credentials *last;

	p->refs = 1;
	pthread_mutex_lock(&t->lock);
	last = unref(t->current);
	t->current = p;
	pthread_mutex_unlock(&t->lock);
	pair_free(last);
}

struct tls_credentials *
conn_pair(struct conn *c)
{
	struct conns *t = c->table;
	struct tls_credentials *p;

	pthread_mutex_lock(&t->lock);
	/* A handshake may ask for the pair twice (HelloRetryRequest), and has
	 * to get the same pair. */
	if (c->pair == NULL && t->current != NULL) {
		c->pair = t->current;
		c->pair->refs++;
	}
	p = c->pair;
	pthread_mutex_unlock(&t->lock);
	return p;
}

/* Sets by how many ms the wait for a head is shortened.  Many silent
 * connections keep other clients out, so a head gets less time while most
 * places are taken. */
static void
hurry(const struct conns *t, int64_t sooner_ms[CONN_WAITS])
{
	static const enum conn_wait heads[] = {CONN_HEAD, CONN_FIRST};

	if (!is_crowded(t))
		return;
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		if (t->allowed_ms[heads[i]] > SERVER_HURRY_MS)
			sooner_ms[heads[i]] =
				t->allowed_ms[heads[i]] - SERVER_HURRY_MS;
}

static bool
is_late(const struct conn *c, int64_t now_ms,
	const int64_t sooner_ms[CONN_WAITS])
{
	return deadline(c) - sooner_ms[waits_for(c)] <= now_ms;
}

/* Returns the boot time in ms since which the thread that serves c has
 * something to finish (see conns.owed_ms), or INT64_MAX if it has nothing. */
static int64_t
owed_since(const struct conn *c)
{
	if (c->shut_ms != 0)
		return c->shut_ms;
	return waits_for(c) == CONN_HANDLER ? since_us(c) / 1000 : INT64_MAX;
}

/* Shuts down the connections that are past their deadlines and counts them in
 * `late` by what they waited for.  Called under the lock. */
static void
reap(struct conns *t, int64_t now_ms, unsigned late[CONN_WAITS])
{
	int64_t sooner_ms[CONN_WAITS] = {0}, owed_ms = INT64_MAX;

	hurry(t, sooner_ms);
	for (int fd = 0; fd < t->slots; fd++) {
		struct conn *c = t->at[fd];

		if (c == NULL)
			continue;
		if (c->shut_ms == 0 && is_late(c, now_ms, sooner_ms)) {
			late[waits_for(c)]++;
			shut(c, now_ms);
		}
		if (owed_since(c) < owed_ms)
			owed_ms = owed_since(c);
	}
	atomic_store(&t->owed_ms, owed_ms);
}

/* Shuts down connections if the bound on them has been lowered.  Each tick
 * shuts down at most SHED_A_TICK of them, because the lock is held meanwhile
 * and must not be held for long. */
static void
shed(struct conns *t)
{
	unsigned max = atomic_load(&t->max);

	for (int n = 0; n < SHED_A_TICK && taken(t) > max; n++)
		shut_oldest(t, 0);
}

static void
tell_late(const struct conns *t, const unsigned late[CONN_WAITS])
{
	unsigned sum = 0;

	for (int i = 0; i < CONN_WAITS; i++) {
		if (late[i] == 0)
			continue;
		sum += late[i];
		LOG(LOG_DEBUG, "connections closed at their deadline",
		    LS("awaited", wait_names[i]), LI("count", late[i]));
	}
	if (sum > 0 && t->reaped != NULL)
		t->reaped(t->ctx, sum);
}

/* Returns memory to the kernel when the number of open connections has fallen
 * by SERVER_TRIM from its maximum since memory was last returned.  This takes
 * about 15 ms. */
static void
give_back(struct conns *t)
{
	unsigned open = atomic_load(&t->open);

	if (open > t->most)
		t->most = open;
	if (t->most - open < SERVER_TRIM)
		return;
	(void)malloc_trim(0);
	t->most = open;
}

static void *
reaper(void *arg)
{
	struct conns *t = arg;
	struct pollfd stop = {.fd = t->stop_fd, .events = POLLIN};

	do {
		unsigned late[CONN_WAITS] = {0};
		int64_t now_ms = clock_boot_ms();

		pthread_mutex_lock(&t->lock);
		reap(t, now_ms, late);
		shed(t);
		pthread_mutex_unlock(&t->lock);
		atomic_store(&t->beat_ms, now_ms);
		tell_late(t, late);
		give_back(t);
	} while (poll(&stop, 1, t->tick_ms) <= 0);
	return NULL;
}

/* Returns a tick that is short enough to enforce the shortest deadline with a
 * delay of at most an eighth of it. */
static int
tick_of(const struct conns *t)
{
	int64_t ms = TICK_MS;

	for (int i = 0; i < CONN_WAITS; i++)
		if (t->allowed_ms[i] > 0 && t->allowed_ms[i] / 8 < ms)
			ms = t->allowed_ms[i] / 8;
	return ms < 1 ? 1 : (int)ms;
}

int
conns_init(struct conns *t, const struct server_options *o,
	   void (*reaped)(void *ctx, unsigned n), void *ctx, struct err *e)
{
	int rc;

	*t = (struct conns){
		.allowed_ms = {[CONN_HEAD] = o->head_ms,
			       [CONN_FIRST] = o->idle_ms,
			       [CONN_BODY] = o->body_ms,
			       [CONN_REPLY] = o->reply_ms,
			       [CONN_IDLE] = o->idle_ms},
		.reaped = reaped,
		.ctx = ctx,
	};
	t->tick_ms = tick_of(t);
	atomic_store(&t->max, o->connections_max);
	atomic_store(&t->beat_ms, clock_boot_ms());
	atomic_store(&t->closed_ms, clock_boot_ms());
	atomic_store(&t->owed_ms, INT64_MAX);

	t->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (t->stop_fd < 0)
		return err_set(e, ERR_SYSTEM, "eventfd: %s", strerror(errno));

	(void)pthread_mutex_init(&t->lock, NULL);
	rc = pthread_create(&t->reaper, NULL, reaper, t);
	if (rc == 0)
		return 0;

	(void)pthread_mutex_destroy(&t->lock);
	(void)close(t->stop_fd);
	return err_set(e, ERR_SYSTEM, "start the reaper thread: %s",
		       strerror(rc));
}

void
conns_done(struct conns *t)
{
	(void)eventfd_write(t->stop_fd, 1);
	(void)pthread_join(t->reaper, NULL);
	pair_free(unref(t->current));
	free(t->at);
	(void)pthread_mutex_destroy(&t->lock);
	(void)close(t->stop_fd);
}
