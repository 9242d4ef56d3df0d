/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/kube/kube.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <curl/curl.h>

#include "core/base/limits.h"
#include "kube_call.h"

/*
 * This is the only file that uses libcurl.  Each call makes an easy handle and
 * frees the handle when it ends.  This takes 10 µs, whereas an idle handle
 * would keep 20 KiB.  The connections belong to the lane's multi handle.  All
 * deadlines except the one for connecting are kept by our own code, on
 * CLOCK_BOOTTIME.  libcurl counts silence in whole seconds, and its clock stops
 * while the machine sleeps.
 */

#define BUFFER_BYTES 16384L /* Size of one TLS record. */
/* Maximum number of sockets that one epoll_wait returns. */
#define SOCKETS 64

static_assert(sizeof(((struct kube_call *)0)->detail) >= CURL_ERROR_SIZE,
	      "libcurl writes that much");
static_assert(CURL_PREREQFUNC_OK == 0 && CURL_PREREQFUNC_ABORT == 1,
	      "kube_call_unsent says so");

int
kube_library_init(void)
{
	return curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? 0 : -1;
}

void
kube_library_done(void)
{
	curl_global_cleanup();
}

/* --- a call --------------------------------------------------------------- */

static size_t
on_head(char *line, size_t size, size_t n, void *ctx)
{
	return kube_call_take_head(ctx, line, size * n) == 0 ? size * n : 0;
}

static size_t
on_body(char *bytes, size_t size, size_t n, void *ctx)
{
	return kube_call_take_body(ctx, bytes, size * n) == 0 ? size * n : 0;
}

/* Makes the kernel notice a lost peer within the idle time plus the time of
 * three probes.  TCP_USER_TIMEOUT is needed for this because the kernel sends
 * no keepalive probes while bytes of ours wait for an acknowledgement. */
static int
on_socket(void *ctx, curl_socket_t fd, curlsocktype purpose)
{
	const struct kube *k = ctx;
	unsigned ms =
		(unsigned)(k->keepalive_idle_s + 3 * k->keepalive_probe_s) *
		1000u;

	if (purpose == CURLSOCKTYPE_IPCXN && ms > 0)
		(void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms,
				 sizeof(ms));
	return CURL_SOCKOPT_OK;
}

/* Sets an option.  `bad` becomes true if libcurl refuses it. */
#define SET(bad, easy, option, value)                                          \
	((bad) |= curl_easy_setopt((easy), (option), (value)) != CURLE_OK)
#define SET_MULTI(bad, lane, option, value)                                    \
	((bad) |=                                                              \
	 curl_multi_setopt((lane)->multi, (option), (value)) != CURLM_OK)

static bool
set_transport(CURL *h, const struct kube *k)
{
	bool bad = false;

	SET(bad, h, CURLOPT_NOSIGNAL, 1L);
	SET(bad, h, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	SET(bad, h, CURLOPT_PROTOCOLS_STR, k->url.tls ? "https" : "http");
	SET(bad, h, CURLOPT_FOLLOWLOCATION, 0L);
	SET(bad, h, CURLOPT_PATH_AS_IS, 1L);
	SET(bad, h, CURLOPT_BUFFERSIZE, BUFFER_BYTES);
	SET(bad, h, CURLOPT_UPLOAD_BUFFERSIZE, BUFFER_BYTES);
	SET(bad, h, CURLOPT_CONNECTTIMEOUT_MS, (long)k->connect_ms);
	SET(bad, h, CURLOPT_MAXAGE_CONN, CONNECTION_IDLE_S);
	/* A name that never resolves must not hold up a cancelled call. */
	SET(bad, h, CURLOPT_QUICK_EXIT, 1L);
	SET(bad, h, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	if (k->url.loopback)
		SET(bad, h, CURLOPT_PROXY, "");
	if (k->keepalive_idle_s > 0 && k->keepalive_probe_s > 0) {
		SET(bad, h, CURLOPT_TCP_KEEPALIVE, 1L);
		SET(bad, h, CURLOPT_TCP_KEEPIDLE, (long)k->keepalive_idle_s);
		SET(bad, h, CURLOPT_TCP_KEEPINTVL, (long)k->keepalive_probe_s);
		SET(bad, h, CURLOPT_SOCKOPTFUNCTION, on_socket);
		SET(bad, h, CURLOPT_SOCKOPTDATA, (void *)k);
	}
	return bad;
}

/* Sets the PEM text from memory if there is one, and otherwise the file.
 * libcurl reads the file at each new connection, so a rotated file needs no
 * restart. */
static bool
set_pem(CURL *h, char *pem, CURLoption blob, const char *file, CURLoption path)
{
	struct curl_blob b = {.data = pem, .flags = CURL_BLOB_NOCOPY};
	bool bad = false;

	if (pem != NULL) {
		b.len = strlen(pem);
		SET(bad, h, blob, &b);
	} else if (file != NULL) {
		SET(bad, h, path, file);
	}
	return bad;
}

static bool
set_tls(CURL *h, const struct kube *k)
{
	const struct kubeconfig *a = &k->access;
	bool bad = false;

	SET(bad, h, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	SET(bad, h, CURLOPT_SSL_VERIFYPEER, a->insecure ? 0L : 1L);
	SET(bad, h, CURLOPT_SSL_VERIFYHOST, a->insecure ? 0L : 2L);
	SET(bad, h, CURLOPT_SSL_SESSIONID_CACHE, 0L);
	SET(bad, h, CURLOPT_CA_CACHE_TIMEOUT, 0L);
	if (a->ca_pem != NULL || a->ca_file != NULL)
		/* Otherwise the system's CAs would be trusted as well. */
		SET(bad, h, CURLOPT_CAPATH, (char *)NULL);
	bad |= set_pem(h, a->ca_pem, CURLOPT_CAINFO_BLOB, a->ca_file,
		       CURLOPT_CAINFO);
	bad |= set_pem(h, a->cert_pem, CURLOPT_SSLCERT_BLOB, a->cert_file,
		       CURLOPT_SSLCERT);
	bad |= set_pem(h, a->key_pem, CURLOPT_SSLKEY_BLOB, a->key_file,
		       CURLOPT_SSLKEY);
	/* An encrypted key is an error and must not prompt on the terminal. */
	SET(bad, h, CURLOPT_KEYPASSWD, "");
	return bad;
}

static bool
set_request(struct kube_call *c, const struct kube_request *q)
{
	const struct kube_url *u = &c->kube->url;
	CURL *h = c->easy;
	bool bad = false;

	SET(bad, h, CURLOPT_URL, c->url);
	if (u->connect_to != NULL) {
		c->connect_to = curl_slist_append(NULL, u->connect_to);
		bad |= c->connect_to == NULL;
		SET(bad, h, CURLOPT_CONNECT_TO, c->connect_to);
	}
	SET(bad, h, CURLOPT_USERAGENT, c->kube->user_agent);
	if (q->body != NULL) {
		SET(bad, h, CURLOPT_POSTFIELDSIZE_LARGE,
		    (curl_off_t)q->body_bytes);
		SET(bad, h, CURLOPT_COPYPOSTFIELDS, q->body);
	}
	if (c->method != REST_GET)
		SET(bad, h, CURLOPT_CUSTOMREQUEST, q->method);
	SET(bad, h, CURLOPT_PREREQFUNCTION, kube_call_unsent);
	SET(bad, h, CURLOPT_PREREQDATA, c);
	SET(bad, h, CURLOPT_HEADERFUNCTION, on_head);
	SET(bad, h, CURLOPT_HEADERDATA, c);
	SET(bad, h, CURLOPT_WRITEFUNCTION, on_body);
	SET(bad, h, CURLOPT_WRITEDATA, c);
	SET(bad, h, CURLOPT_ERRORBUFFER, c->detail);
	SET(bad, h, CURLOPT_PRIVATE, c);
	return bad;
}

struct kube_call *
kube_call_new(const struct kube *k, const struct kube_request *q, struct err *e)
{
	struct kube_call *c = calloc(1, sizeof(*c));

	if (c == NULL || kube_call_init(c, k, q) ||
	    (c->easy = curl_easy_init()) == NULL || set_transport(c->easy, k) ||
	    set_tls(c->easy, k) || set_request(c, q)) {
		kube_call_free(c);
		(void)err_set(e, ERR_SYSTEM, "out of memory");
		return NULL;
	}
	return c;
}

void
kube_call_free(struct kube_call *c)
{
	if (c == NULL)
		return;
	assert(!c->active);
	curl_easy_cleanup(c->easy);
	curl_slist_free_all(c->headers);
	curl_slist_free_all(c->connect_to);
	kube_call_done(c);
	free(c);
}

static int
set_headers(struct kube_call *c)
{
	/* Calls must not wait for "100 Continue". */
	struct curl_slist *list = curl_slist_append(NULL, "Expect:"), *longer;

	for (unsigned i = 0; list != NULL && i < c->lines_n; i++) {
		longer = curl_slist_append(list, c->lines[i]);
		if (longer == NULL)
			curl_slist_free_all(list);
		list = longer;
	}
	if (list == NULL)
		return -1;
	if (curl_easy_setopt(c->easy, CURLOPT_HTTPHEADER, list) != CURLE_OK) {
		curl_slist_free_all(list);
		return -1;
	}
	curl_slist_free_all(c->headers);
	c->headers = list;
	return 0;
}

/* --- failures ------------------------------------------------------------- */

/* Returns why the server's certificate was refused.  It decides by libcurl's
 * text, because CURLINFO_SSL_VERIFYRESULT is not set for a wrong name. */
static enum kube_fault
verify_fault(const struct kube_call *c)
{
	if (strstr(c->detail, "subject name") != NULL)
		return FAULT_NAME;
	/* libcurl has exactly this text if the server's alert says that our
	 * certificate has expired.  In all other cases its text has the word
	 * "problem". */
	if (strcmp(c->detail, "SSL certificate verification failed") == 0)
		return FAULT_HANDSHAKE;
	return strstr(c->detail, "expired") != NULL ||
			       strstr(c->detail, "not yet valid") != NULL
		       ? FAULT_DATES
		       : FAULT_CA;
}

/* Returns why a transfer ended too early.  A TLS 1.3 server refuses a client
 * certificate only after the handshake, so its alert ends the transfer. */
static enum kube_fault
transfer_fault(const struct kube_call *c)
{
	if (strstr(c->detail, "alert") != NULL)
		return FAULT_HANDSHAKE;
	return strstr(c->detail, "timed out") != NULL ? FAULT_DEAD : FAULT_CUT;
}

static enum kube_fault
fault_of(const struct kube_call *c, CURLcode code)
{
	static const struct {
		CURLcode code;
		enum kube_fault fault;
	} known[] = {
		{CURLE_COULDNT_RESOLVE_HOST, FAULT_RESOLVE},
		{CURLE_COULDNT_CONNECT, FAULT_CONNECT},
		{CURLE_OPERATION_TIMEDOUT, FAULT_CONNECT_TIMEOUT},
		{CURLE_COULDNT_RESOLVE_PROXY, FAULT_PROXY},
		{CURLE_PROXY, FAULT_PROXY},
		{CURLE_SSL_CONNECT_ERROR, FAULT_HANDSHAKE},
		{CURLE_SSL_CERTPROBLEM, FAULT_CLIENT_CERT},
		{CURLE_SSL_CACERT_BADFILE, FAULT_CA_FILE},
		{CURLE_WEIRD_SERVER_REPLY, FAULT_NOT_HTTP},
		{CURLE_UNSUPPORTED_PROTOCOL, FAULT_NOT_HTTP},
		{CURLE_URL_MALFORMAT, FAULT_REQUEST},
		{CURLE_OUT_OF_MEMORY, FAULT_MEMORY},
	};

	if (code == CURLE_PEER_FAILED_VERIFICATION)
		return verify_fault(c);
	if (code == CURLE_GOT_NOTHING || code == CURLE_PARTIAL_FILE ||
	    code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR)
		return transfer_fault(c);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].code == code)
			return known[i].fault;
	return FAULT_OTHER;
}

static void
ended(struct kube_call *c, CURLcode code)
{
	const char *detail = c->detail;
	long os = 0;

	c->ended = true;
	/* If one of our callbacks has stopped the call, it has set c->err. */
	if ((code == CURLE_OK && c->head.whole) || c->err.code != ERR_NONE)
		return;
	/* If the connection closes inside the head, libcurl still reports a
	 * complete reply. */
	if (code == CURLE_OK)
		code = CURLE_GOT_NOTHING;
	(void)curl_easy_getinfo(c->easy, CURLINFO_OS_ERRNO, &os);
	if (code == CURLE_COULDNT_CONNECT && os != 0)
		detail = strerror((int)os);
	else if (*detail == '\0')
		detail = curl_easy_strerror(code);
	(void)kube_fault_set(&c->err, fault_of(c, code), c->kube->url.peer,
			     detail);
}

/* --- a lane --------------------------------------------------------------- */

/* libcurl tells us which sockets it waits for, and until when.  The work of a
 * lane thus grows with the number of events.  With curl_multi_perform and
 * curl_multi_poll the work would grow with the number of calls in flight,
 * because these functions look at every call each time. */

/* Adds the socket to the epoll, or changes its events if it is there already.
 * The kernel removes a socket from the epoll when it is closed. */
static int
watch_socket(struct kube_lane *l, struct epoll_event *ev)
{
	int fd = ev->data.fd;

	if (epoll_ctl(l->poll_fd, EPOLL_CTL_MOD, fd, ev) == 0)
		return 0;
	return errno == ENOENT ? epoll_ctl(l->poll_fd, EPOLL_CTL_ADD, fd, ev)
			       : -1;
}

static int
on_watch(CURL *easy, curl_socket_t fd, int what, void *ctx, void *known)
{
	struct kube_lane *l = ctx;
	struct epoll_event ev = {.data.fd = fd};

	(void)easy, (void)known;
	if (what == CURL_POLL_REMOVE) {
		(void)epoll_ctl(l->poll_fd, EPOLL_CTL_DEL, fd, NULL);
		return 0;
	}
	if (what != CURL_POLL_OUT)
		ev.events |= EPOLLIN;
	if (what != CURL_POLL_IN)
		ev.events |= EPOLLOUT;
	return watch_socket(l, &ev);
}

static int
on_timer(CURLM *multi, long ms, void *ctx)
{
	struct kube_lane *l = ctx;

	(void)multi;
	l->due_ms = ms < 0 ? INT64_MAX : clock_boot_ms() + ms;
	return 0;
}

void
kube_lane_rest(struct kube_lane *l)
{
	if (l->multi != NULL)
		(void)curl_multi_cleanup(l->multi);
	l->multi = NULL;
	l->due_ms = INT64_MAX;
}

static int
lane_open(struct kube_lane *l)
{
	bool bad = false;

	if (l->multi != NULL)
		return 0;
	l->multi = curl_multi_init();
	if (l->multi == NULL)
		return -1;
	SET_MULTI(bad, l, CURLMOPT_MAXCONNECTS, (long)l->connections);
	SET_MULTI(bad, l, CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
	SET_MULTI(bad, l, CURLMOPT_SOCKETFUNCTION, on_watch);
	SET_MULTI(bad, l, CURLMOPT_SOCKETDATA, l);
	SET_MULTI(bad, l, CURLMOPT_TIMERFUNCTION, on_timer);
	SET_MULTI(bad, l, CURLMOPT_TIMERDATA, l);
	return bad ? -1 : 0;
}

int
kube_lane_add(struct kube_lane *l, struct kube_call *c)
{
	assert(!c->active);
	if (set_headers(c) || lane_open(l) ||
	    curl_multi_add_handle(l->multi, c->easy) != CURLM_OK)
		return -1;
	c->active = true;
	l->active++;
	return 0;
}

void
kube_lane_drop(struct kube_lane *l, struct kube_call *c)
{
	if (!c->active)
		return;
	(void)curl_multi_remove_handle(l->multi, c->easy);
	c->active = false;
	l->active--;
}

/* Passes the events of the sockets, and due timers, to libcurl. */
static void
pass_on(struct kube_lane *l)
{
	struct epoll_event ev[SOCKETS];
	int n = epoll_wait(l->poll_fd, ev, SOCKETS, 0), running;

	for (int i = 0; i < n; i++) {
		int what = 0;

		if (ev[i].data.fd == l->wake_fd)
			continue;
		if (ev[i].events & EPOLLIN)
			what |= CURL_CSELECT_IN;
		if (ev[i].events & EPOLLOUT)
			what |= CURL_CSELECT_OUT;
		if (ev[i].events & (EPOLLERR | EPOLLHUP))
			what |= CURL_CSELECT_ERR;
		(void)curl_multi_socket_action(l->multi, ev[i].data.fd, what,
					       &running);
	}
	if (l->due_ms <= clock_boot_ms()) {
		l->due_ms = INT64_MAX; /* on_timer sets the next time. */
		(void)curl_multi_socket_action(l->multi, CURL_SOCKET_TIMEOUT, 0,
					       &running);
	}
}

unsigned
kube_lane_drive(struct kube_lane *l)
{
	struct kube_call *c = NULL;
	unsigned n = 0;
	int ignored;
	CURLMsg *m;

	if (l->multi == NULL)
		return 0;
	pass_on(l);
	while ((m = curl_multi_info_read(l->multi, &ignored)) != NULL) {
		CURLcode code = m->data.result;

		(void)curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &c);
		kube_lane_drop(l, c);
		ended(c, code);
		l->refused |= c->head.status == 401;
		n++;
	}
	return n;
}
