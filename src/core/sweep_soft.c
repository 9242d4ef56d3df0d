/* SPDX-License-Identifier: Apache-2.0 */
#include "core/sweep.h"

#include <string.h>

#include "sweep_parts.h"

/*
 * What the objects do not say, and the next leader is to know: one scope after
 * the other, "general run=2026-01-02T03:04:05Z open=…; batch …", or "none".  What cannot
 * be read is passed over: the marks on the objects then have to do.
 */

#define CLUSTER_NAME "*"	/* no pool's name */
#define NOTHING "none"		/* known, and nothing is held; "" is: lost */

static void
write_moment(struct buf *b, const char *name, int64_t ms)
{
	char text[STAMP_BYTES];

	if (ms == STAMP_NONE)
		return;
	stamp_format(ms, text);
	buf_printf(b, " %s=%s", name, text);
}

bool
sweep_soft(struct sweep *s, struct buf *b, bool always, struct now now)
{
	(void)now;
	if (!s->holds.changed && !always)
		return false;
	s->holds.changed = false;
	for (uint32_t i = 0; i < s->holds.scopes_top; i++) {
		const struct scope *sc = &s->holds.scopes[i];

		if (cap_is_none(&sc->cap))
			continue;
		buf_puts(b, b->len > 0 ? "; " : "");
		buf_puts(b, sc->name[0] != '\0' ? sc->name : CLUSTER_NAME);
		write_moment(b, "run", sc->cap.run_ms);
		write_moment(b, "idle", sc->cap.idle_ms);
		write_moment(b, "open", sc->cap.open_ms);
	}
	if (b->len == 0)
		buf_puts(b, NOTHING);
	return true;
}

/* The next word, up to a blank or a semicolon; -1: none, or too long. */
static int
word(const char **p, char *out, size_t cap)
{
	size_t n;

	*p += strspn(*p, " ");
	n = strcspn(*p, " ;");
	if (n == 0 || n >= cap)
		return -1;
	memcpy(out, *p, n);
	out[n] = '\0';
	*p += n;
	return 0;
}

static void
read_moment(const char *text, const char *name, int64_t *out)
{
	size_t n = strlen(name);

	if (strncmp(text, name, n) == 0 && text[n] == '=')
		(void)stamp_parse(text + n + 1, out);
}

void
sweep_restore(struct sweep *s, const char *text, int64_t renewed_ms,
	      struct now now)
{
	(void)renewed_ms;
	(void)now;
	s->guess = text == NULL || text[0] == '\0';
	while (text != NULL && *text != '\0') {
		struct cap c = CAP_NONE;
		char name[POOL_BYTES], moment[POOL_BYTES];

		if (word(&text, name, sizeof(name)))
			return;
		while (word(&text, moment, sizeof(moment)) == 0) {
			read_moment(moment, "run", &c.run_ms);
			read_moment(moment, "idle", &c.idle_ms);
			read_moment(moment, "open", &c.open_ms);
		}
		if (strcmp(name, CLUSTER_NAME) == 0)
			name[0] = '\0';
		/* Of another kind of scope: it says nothing of ours. */
		if ((name[0] == '\0') != (s->rules.scope == SCOPE_CLUSTER))
			s->guess = true;
		else if (!cap_is_none(&c))
			holds_restore(&s->holds, name, &c);
		text += strspn(text, "; ");
	}
}
