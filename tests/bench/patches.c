/* SPDX-License-Identifier: Apache-2.0 */
/*
 * patches URL CA BODY CONCURRENCY < paths: what the holder's client library can
 * do at best.  It has the token of $TOKEN.  Bare libcurl sends one merge patch to each path, so
 * many at a time over connections that are kept, and looks at nothing but the
 * status.  It prints one line of JSON.
 */
#include <curl/curl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct curl_slist *headers;
static char **argument;
static unsigned long done, refused;

static size_t
drop(char *bytes, size_t size, size_t n, void *ctx)
{
	(void)bytes, (void)ctx;
	return size * n;
}

static CURL *
handle_new(void)
{
	CURL *h = curl_easy_init();

	if (h == NULL)
		exit(1);
	curl_easy_setopt(h, CURLOPT_CAINFO, argument[2]);
	curl_easy_setopt(h, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(h, CURLOPT_CUSTOMREQUEST, "PATCH");
	curl_easy_setopt(h, CURLOPT_POSTFIELDS, argument[3]);
	curl_easy_setopt(h, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, drop);
	return h;
}

static bool
next(CURLM *multi, CURL *h)
{
	char path[512], url[1024];

	if (fgets(path, sizeof(path), stdin) == NULL)
		return false;
	path[strcspn(path, "\n")] = '\0';
	(void)snprintf(url, sizeof(url), "%s%s", argument[1], path);
	curl_easy_setopt(h, CURLOPT_URL, url);
	curl_multi_add_handle(multi, h);
	return true;
}

/* Returns whether anything was done: libcurl then has something to do at
 * once. */
static bool
take(CURLM *multi)
{
	unsigned long before = done;
	CURLMsg *m;
	int left;

	while ((m = curl_multi_info_read(multi, &left)) != NULL) {
		CURL *h = m->easy_handle;
		long status = 0;

		curl_easy_getinfo(h, CURLINFO_RESPONSE_CODE, &status);
		done++;
		refused += status != 200;
		curl_multi_remove_handle(multi, h);
		if (!next(multi, h))
			curl_easy_cleanup(h);
	}
	return done > before;
}

static double
now_s(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int
main(int argc, char **argv)
{
	CURLM *multi;
	const char *token = getenv("TOKEN");
	double begun_s = now_s();
	char bearer[4096];
	int running = 1;

	if (argc != 5 || token == NULL) {
		(void)fprintf(stderr, "usage: TOKEN=... patches URL CA BODY "
				      "CONCURRENCY < paths\n");
		return 2;
	}
	(void)snprintf(bearer, sizeof(bearer), "Authorization: Bearer %s",
		       token);
	argument = argv;
	(void)curl_global_init(CURL_GLOBAL_DEFAULT);
	headers = curl_slist_append(
		NULL, "Content-Type: application/merge-patch+json");
	headers = curl_slist_append(headers, bearer);
	multi = curl_multi_init();
	for (int i = atoi(argv[4]); i > 0; i--) {
		CURL *h = handle_new();

		if (!next(multi, h)) {
			curl_easy_cleanup(h);
			break;
		}
	}
	while (running > 0) {
		curl_multi_perform(multi, &running);
		if (take(multi))
			running = 1;
		else if (running > 0)
			curl_multi_poll(multi, NULL, 0, 1000, NULL);
	}
	(void)printf("{\"done\": %lu, \"refused\": %lu, \"seconds\": %.3f}\n",
		     done, refused, now_s() - begun_s);
	return 0;
}
