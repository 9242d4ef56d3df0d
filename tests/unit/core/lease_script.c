/* SPDX-License-Identifier: Apache-2.0 */
#include "lease_script.h"

#include <stdio.h>
#include <string.h>

#include "core/base/str.h"

struct lease_config
lease_config_of(const char *identity)
{
	struct lease_config c = {.enabled = true,
				 .duration_ms = DURATION,
				 .renew_deadline_ms = RENEW,
				 .retry_ms = RETRY};

	(void)str_copy(c.identity, sizeof(c.identity), identity);
	return c;
}

struct now
at(int64_t ms)
{
	return (struct now){.server_ms = EPOCH + ms, .boot_ms = ms};
}

struct lease l;
int64_t t;
struct lease_todo todo;
struct lease_record answer;

void
lease_setup(void)
{
	struct lease_config c = lease_config_of("me");

	t = 1000000;
	lease_init(&l, &c, 1);
}

void
lease_setup_alone(void)
{
	struct lease_config c = {.renew_deadline_ms = RENEW,
				 .duration_ms = DURATION,
				 .retry_ms = RETRY};

	t = 1000000;
	lease_init(&l, &c, 1);
}

TCase *
case_of(Suite *s, const char *name, void (*setup)(void))
{
	TCase *c = run_case(s, name);

	tcase_add_checked_fixture(c, setup, NULL);
	return c;
}

struct lease_todo
look(void)
{
	return lease_next(&l, at(t));
}

int64_t
step(enum lease_step want, const char *name)
{
	int64_t then = t;

	todo = look();
	for (int i = 0; todo.step == LEASE_WAIT && i < 3; i++) {
		ck_assert_int_gt(todo.wait_ms, 0);
		ck_assert_msg(todo.wait_ms < HOUR, "%s: waits for ever", name);
		t += todo.wait_ms;
		todo = look();
	}
	ck_assert_msg(todo.step == want, "%s: step %d, not %d", name,
		      todo.step, want);
	return t - then;
}

void
record_of(const char *holder, int32_t duration_s)
{
	static unsigned rv = 1;

	memset(&answer, 0, sizeof(answer));
	answer.present = true;
	answer.duration_s = duration_s;
	answer.transitions = 7;
	answer.acquire_us = 5000;
	answer.renew_us = 6000;
	(void)str_copy(answer.holder, sizeof(answer.holder), holder);
	(void)snprintf(answer.rv, sizeof(answer.rv), "%u", rv++);
}

void
done(enum lease_code code)
{
	struct lease_outcome o = {.code = code, .record = &answer};

	lease_done(&l, &o, at(t));
}

void
done_write(void)
{
	char state[sizeof(answer.state)];

	memcpy(state, answer.state, sizeof(state));
	record_of("", 0);
	if (todo.with_spec) {
		char rv[RV_BYTES];

		memcpy(rv, answer.rv, sizeof(rv));
		answer = *todo.record;
		memcpy(answer.rv, rv, sizeof(rv));
		answer.present = true;
	}
	memcpy(answer.state,
	       todo.with_state || todo.step == LEASE_CREATE ? todo.record->state
							    : state,
	       sizeof(state));
	done(LEASE_OK);
}

void
done_word(const char *word)
{
	if (strcmp(word, "ok") == 0)
		done_write();
	else if (strcmp(word, "404") == 0)
		done(LEASE_NOT_FOUND);
	else if (strcmp(word, "409") == 0)
		done(LEASE_CONFLICT);
	else if (strcmp(word, "429") == 0)
		done(LEASE_BUSY);
	else if (strcmp(word, "fail") == 0)
		done(LEASE_FAILED);
	else {
		static int64_t renewals;
		char name[16];

		(void)str_copy(name, sizeof(name), word);
		name[strcspn(name, "+")] = '\0';
		record_of(strcmp(name, "none") == 0 ? "" : name, 15);
		renewals += strcmp(name, word) != 0;
		answer.renew_us += renewals;
		done(LEASE_OK);
	}
}

enum lease_step
step_of(char letter)
{
	return letter == 'G'   ? LEASE_GET
	       : letter == 'C' ? LEASE_CREATE
			       : LEASE_UPDATE;
}

void
script(const char *text, const char *name)
{
	char word[16];
	int n;

	for (; sscanf(text, "%15s%n", word, &n) == 1; text += n) {
		(void)step(step_of(word[0]), name);
		ck_assert_int_gt(todo.timeout_ms, 0);
		ck_assert_int_le(todo.timeout_ms, RENEW / 2);
		done_word(word + 1);
	}
}

const char *
lease_notes(void)
{
	static const char letters[] = "LOXTRBFWH";
	static char out[64];
	struct lease_note n;
	size_t i = 0;

	while (lease_note(&l, &n))
		out[i++] = letters[n.type];
	out[i] = '\0';
	return out;
}
