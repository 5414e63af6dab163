/* SPDX-License-Identifier: MIT */
/* test: slow 15 */
/*
 * Guarantee G8: a table takes 4,096 attachments at the same time; each acquires
 * and releases a key, and all can end.  (Fewer on slow runs, and where a
 * process may not have so many descriptors.)
 *
 * Otherwise a machine with many workers could not use one table.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include "support/support.h"
#include "tap.h"

#define SESSIONS 4096

/* An attachment keeps one descriptor open. */
static int
how_many(void)
{
	struct rlimit files;
	int n = t_count(SESSIONS, 128);

	if (getrlimit(RLIMIT_NOFILE, &files) != 0)
		return 128;
	if (files.rlim_cur < (rlim_t)n + 64) {
		files.rlim_cur = (rlim_t)n + 64;
		if (files.rlim_max < files.rlim_cur)
			files.rlim_max = files.rlim_cur; /* root may */
		if (setrlimit(RLIMIT_NOFILE, &files) != 0)
			return 128;
	}
	return n;
}

int
main(void)
{
	int n = how_many(), opened = 0, taken = 0, own = 0, closed = 0;
	struct lh_stats st = { .size = sizeof(st) };
	struct lh_open_opts o = LH_OPEN_OPTS_INIT;
	struct lh_lease *l = calloc((size_t)n, sizeof(*l));
	struct lh **lh = calloc((size_t)n, sizeof(struct lh *)), *more = NULL;
	const char *table = t_table();
	char name[32];
	int64_t ns;

	alarm(120 * (unsigned)t_ms(1));
	o.max_sessions = (uint32_t)n;
	o.max_leases = (uint32_t)n * 64;
	ns = t_now_ns();
	for (int i = 0; i < n; i++) {
		int r = lh_open(&lh[i], table, &o);

		if (r != 0) {
			diag("%d: %s", i, lh_error_detail());
			break;
		}
		opened++;
	}
	is(opened, n, "%d attachments", n);
	if (opened != n)
		return done();
	diag("%lld us each", (long long)((t_now_ns() - ns) / n / 1000));
	is(lh_open(&more, table, &o), -ENOSPC, "and no more");
	ns = t_now_ns();
	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "key-%d", i);
		taken += t_acquire(lh[i], name, 3600000, 0, &l[i]) == 0;
	}
	diag("%lld us to take a key", (long long)((t_now_ns() - ns) / n /
	    1000));
	is(taken, n, "each takes a key");
	is(lh_stats(lh[0], &st), 0, "statistics");
	is(st.sessions, n, "count the sessions");
	is(st.leases_reserved, n * 64, "each with its share of leases");
	for (int i = 0; i < n; i++)
		own += lh_verify(lh[i], &l[i]) == 0 &&
		    lh_release(lh[i], &l[i]) == 0;
	is(own, n, "holds it, and releases it");
	is(t_findings(lh[0]), 0, "the table is sound");
	for (int i = 0; i < n; i++)
		closed += lh_close(lh[i]) == 0;
	is(closed, n, "all of them close");
	free(lh);
	free(l);
	return done();
}
