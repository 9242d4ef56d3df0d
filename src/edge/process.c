/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/process.h"

#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static void
read_stat(struct metrics_process *out)
{
	char line[1024], *p;
	unsigned long long start = 0, vsize = 0;
	long long rss = 0;
	struct timespec boot, real;
	FILE *f = fopen("/proc/self/stat", "re");

	if (f == NULL)
		return;
	/* The values are fields 22 to 24 of the line.  The process name in
	 * parentheses may hold any byte, so the fields are counted from the
	 * closing parenthesis. */
	p = fgets(line, sizeof(line), f) == NULL ? NULL : strrchr(line, ')');
	if (p != NULL &&
	    sscanf(p + 1,
		   " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d "
		   "%*d %*d %*d %*d %*d %llu %llu %lld",
		   &start, &vsize, &rss) == 3) {
		out->virtual_bytes = vsize;
		out->resident_bytes =
			(uint64_t)rss * (uint64_t)sysconf(_SC_PAGESIZE);
		(void)clock_gettime(CLOCK_BOOTTIME, &boot);
		(void)clock_gettime(CLOCK_REALTIME, &real);
		out->start_time_seconds =
			(double)(real.tv_sec - boot.tv_sec) +
			(double)start / (double)sysconf(_SC_CLK_TCK);
	}
	(void)fclose(f);
}

static uint64_t
count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	uint64_t n = 0;

	if (d == NULL)
		return 0;
	while (readdir(d) != NULL)
		n++;
	(void)closedir(d);
	return n >= 3 ? n - 3 : 0; /* without ".", ".." and d itself */
}

void
process_read(struct metrics_process *out)
{
	struct rusage u;
	struct rlimit r;

	*out = (struct metrics_process){0};
	read_stat(out);
	out->open_fds = count_fds();
	if (getrlimit(RLIMIT_NOFILE, &r) == 0)
		out->max_fds = r.rlim_cur;
	if (getrusage(RUSAGE_SELF, &u) == 0)
		out->cpu_seconds =
			(double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
			(double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* What PR_GET_THP_DISABLE returned before process_spare_memory. */
static int thp_before;

void
process_spare_memory(void)
{
	thp_before = prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0);
	(void)prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	(void)mallopt(M_ARENA_MAX, 2);
	(void)mallopt(M_MMAP_THRESHOLD, 256 << 10);
	(void)mallopt(M_TRIM_THRESHOLD, 256 << 10);
}

void
process_restore_memory(void)
{
	(void)prctl(PR_SET_THP_DISABLE, thp_before > 0, 0, 0, 0);
}
