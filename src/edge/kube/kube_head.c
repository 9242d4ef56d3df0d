/* SPDX-License-Identifier: Apache-2.0 */
#include "kube_parts.h"

#include <string.h>
#include <strings.h>

#include "core/base/stamp.h"

#define DATE_BYTES 30 /* An IMF-fixdate has 29 bytes. */

void
kube_head_init(struct kube_head *h)
{
	*h = (struct kube_head){
		.date_ms = STAMP_NONE,
		.retry_after_ms = -1,
		.retry_at_ms = STAMP_NONE,
	};
}

/* Reads the status, three digits, from a line such as "HTTP/1.1 200 OK". */
static int
status_of(const char *s, size_t n)
{
	const char *sp = memchr(s, ' ', n);
	size_t at = sp == NULL ? n : (size_t)(sp - s) + 1;
	int status = 0;

	if (at + 3 > n)
		return 0;
	for (size_t i = at; i < at + 3; i++) {
		if (s[i] < '0' || s[i] > '9')
			return 0;
		status = status * 10 + (s[i] - '0');
	}
	return status;
}

/* Copies the value of the header `name` without blanks around it.  Returns
 * false if the line is of another header, or if the value is empty or does not
 * fit. */
static bool
value_of(const char *name, const char *s, size_t n, char *out, size_t cap)
{
	size_t len = strlen(name);

	if (n <= len || strncasecmp(s, name, len) != 0 || s[len] != ':')
		return false;
	s += len + 1;
	n -= len + 1;
	while (n > 0 && (*s == ' ' || *s == '\t')) {
		s++;
		n--;
	}
	while (n > 0 && strchr(" \t\r\n", s[n - 1]) != NULL)
		n--;
	if (n == 0 || n >= cap || memchr(s, '\0', n) != NULL)
		return false;
	memcpy(out, s, n);
	out[n] = '\0';
	return true;
}

/* Reads Retry-After, which is delay-seconds or an HTTP-date (RFC 9110
 * §10.2.3). */
static void
retry_after(struct kube_head *h, const char *s)
{
	int64_t seconds = 0;

	if (stamp_parse_http(s, &h->retry_at_ms) == 0)
		return;
	for (; *s >= '0' && *s <= '9'; s++)
		if (seconds < RETRY_AFTER_MAX_S)
			seconds = seconds * 10 + (*s - '0');
	if (*s != '\0')
		return;
	if (seconds > RETRY_AFTER_MAX_S)
		seconds = RETRY_AFTER_MAX_S;
	h->retry_after_ms = seconds * 1000;
}

static void
field(struct kube_head *h, const char *s, size_t n)
{
	char value[DATE_BYTES];

	if (value_of("Date", s, n, value, sizeof(value)))
		(void)stamp_parse_http(value, &h->date_ms);
	else if (value_of("Retry-After", s, n, value, sizeof(value)))
		retry_after(h, value);
}

int
kube_head_line(struct kube_head *h, const char *s, size_t n, struct err *e)
{
	size_t bytes = h->bytes + n;

	if (bytes > HEAD_BYTES_MAX)
		return err_set(e, ERR_LIMIT,
			       "the head of the answer has more than %u bytes",
			       HEAD_BYTES_MAX);
	/* After the head, further lines are trailers, which we ignore. */
	if (!h->whole) {
		if (n > 5 && strncmp(s, "HTTP/", 5) == 0) {
			kube_head_init(h);
			h->status = status_of(s, n);
		} else if (n > 0 && (*s == '\r' || *s == '\n')) {
			h->whole = h->status >= 200;
		} else {
			field(h, s, n);
		}
	}
	h->bytes = bytes;
	return 0;
}

int64_t
kube_head_retry(const struct kube_head *h, int64_t server_ms)
{
	int64_t left;

	if (h->retry_at_ms == STAMP_NONE)
		return h->retry_after_ms;
	left = h->retry_at_ms -
	       (h->date_ms != STAMP_NONE ? h->date_ms : server_ms);
	if (left < 0)
		return 0;
	return left < RETRY_AFTER_MAX_S * (int64_t)1000
		       ? left
		       : RETRY_AFTER_MAX_S * (int64_t)1000;
}
