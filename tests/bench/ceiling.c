/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ceiling PORT CERT KEY BYTES: what the webhook's libraries can do at best.
 * libmicrohttpd over TLS, with as many threads as the holder's webhook, reads a
 * body, drops it, and answers so many bytes.
 */
#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/limits.h"

static struct MHD_Response *constant;

static enum MHD_Result
on_request(void *cls, struct MHD_Connection *con, const char *path,
	   const char *method, const char *version, const char *bytes,
	   size_t *n, void **seen)
{
	(void)path, (void)method, (void)version, (void)bytes;
	if (*seen == NULL) {
		*seen = cls;
		return MHD_YES;
	}
	if (*n > 0) {
		*n = 0;
		return MHD_YES;
	}
	return MHD_queue_response(con, 200, constant);
}

static char *
read_file(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = calloc(1, 1 << 16);

	if (f == NULL || text == NULL ||
	    fread(text, 1, (1 << 16) - 1, f) == 0) {
		perror(path);
		exit(2);
	}
	(void)fclose(f);
	return text;
}

int
main(int argc, char **argv)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	size_t bytes;
	char *text;
	struct MHD_Daemon *daemon;

	if (argc != 5) {
		(void)fprintf(stderr, "usage: ceiling PORT CERT KEY BYTES\n");
		return 2;
	}
	at.sin_port = htons((uint16_t)strtoul(argv[1], NULL, 10));
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	bytes = strtoul(argv[4], NULL, 10);
	text = malloc(bytes);
	if (text == NULL)
		return 2;
	memset(text, 'x', bytes);
	constant = MHD_create_response_from_buffer(bytes, text,
						   MHD_RESPMEM_PERSISTENT);
	(void)MHD_add_response_header(constant, "Content-Type",
				      "application/json");
	daemon = MHD_start_daemon(
		MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_TLS, 0, NULL, NULL,
		on_request, &at, MHD_OPTION_SOCK_ADDR, &at,
		MHD_OPTION_THREAD_POOL_SIZE, (unsigned)SERVER_THREADS,
		MHD_OPTION_HTTPS_MEM_CERT, read_file(argv[2]),
		MHD_OPTION_HTTPS_MEM_KEY, read_file(argv[3]), MHD_OPTION_END);
	if (daemon == NULL) {
		(void)fprintf(stderr, "ceiling: no server on port %s\n",
			      argv[1]);
		return 1;
	}
	for (;;)
		(void)pause();
}
