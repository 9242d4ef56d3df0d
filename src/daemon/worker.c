/* SPDX-License-Identifier: Apache-2.0 */
#include "worker.h"

#include "edge/clock.h"

void
worker_init(struct worker *w, const struct worker_kind *kind, void *ctx,
	    const struct kube_stream *stream)
{
	*w = (struct worker){.kind = kind, .ctx = ctx, .stream = stream};
}

static void *
body(void *ctx)
{
	struct worker *w = ctx;

	/* The commands top -H and perf show this name. */
	(void)pthread_setname_np(pthread_self(), w->kind->name);
	w->kind->run(w->ctx);
	atomic_store(&w->state, WORKER_ENDED);
	return NULL;
}

int
worker_start(struct worker *w, struct err *e)
{
	if (w->kind == NULL)
		return 0;
	worker_beat(w);
	/* The state is set first because the thread may end at once. */
	atomic_store(&w->state, WORKER_RUNNING);
	if (pthread_create(&w->thread, NULL, body, w) == 0)
		return 0;
	atomic_store(&w->state, WORKER_NEW);
	return err_set(e, ERR_SYSTEM, "cannot start a thread");
}

void
worker_stop(struct worker *w)
{
	if (w->asked || atomic_load(&w->state) == WORKER_NEW)
		return;
	w->asked = true;
	if (w->kind->stop != NULL)
		w->kind->stop(w->ctx);
}

void
worker_join(struct worker *w)
{
	enum worker_state state = atomic_load(&w->state);

	if (state == WORKER_NEW || state == WORKER_JOINED)
		return;
	(void)pthread_join(w->thread, NULL);
	atomic_store(&w->state, WORKER_JOINED);
}

bool
worker_ended(const struct worker *w)
{
	return atomic_load(&w->state) != WORKER_RUNNING;
}

bool
worker_is_well(const struct worker *w, int64_t max_ms)
{
	int64_t age_ms, call_ms;

	if (worker_ended(w))
		return true;
	age_ms = clock_boot_ms() - atomic_load(&w->beat_ms);
	if (w->stream != NULL) {
		call_ms = kube_stream_heartbeat_age_ms(w->stream);
		age_ms = call_ms < age_ms ? call_ms : age_ms;
	}
	return age_ms < max_ms;
}

void
worker_beat(struct worker *w)
{
	atomic_store(&w->beat_ms, clock_boot_ms());
}

int64_t
worker_nap_ms(int64_t wait_ms)
{
	return wait_ms < WORKER_BEAT_MS ? wait_ms : WORKER_BEAT_MS;
}

enum log_level
worker_trouble(struct worker *w)
{
	enum log_level level = w->troubled ? LOG_DEBUG : LOG_WARN;

	w->troubled = true;
	return level;
}

enum log_level
worker_recovered(struct worker *w)
{
	enum log_level level = w->troubled ? LOG_INFO : LOG_DEBUG;

	w->troubled = false;
	return level;
}
