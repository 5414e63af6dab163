/* SPDX-License-Identifier: MIT */
/*
 * Issue 21 A12: ten thousand clients wait.  The shim's memory for each is small
 * and bounded, all of it is freed when they leave, and meanwhile the shim has
 * nothing to do.
 *
 * Otherwise a crowd of waiters would make the shim slow or kill it.
 */
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>
#include "support/hosts.h"

#define BYTES_MAX 2048		/* for each */

static int fds[10000];

int
main(void)
{
	struct host *a = &hosts[0], *b = &hosts[1];
	int n = t_count(10000, 1000), queued = 0;
	struct rlimit most;
	size_t before, meanwhile;
	struct lh_lease l;
	int64_t cpu_ns;
	char key[32];

	if (getrlimit(RLIMIT_NOFILE, &most) == 0) {
		most.rlim_cur = most.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &most);
		/* two each, as the shim is in this process */
		if (most.rlim_cur < (rlim_t)n * 2 + 200)
			n = (int)(most.rlim_cur - 200) / 2;
	}
	a->opts.max_clients = 16384;
	hosts_begin(2);
	is(take(b, "cluster:k0", RIGHT_EXCLUSIVE, T_HANG_MS, &l), 0,
	    "another host has the key");
	for (int i = 1; i < 10; i++) {
		(void)snprintf(key, sizeof(key), "cluster:k%d", i);
		is(take(b, key, RIGHT_EXCLUSIVE, T_HANG_MS, &l), 0,
		    "and %s", key);
	}
	(void)host_counts(a);
	before = mallinfo2().uordblks + mallinfo2().hblkhd;
	for (int i = 0; i < n; i++) {
		(void)snprintf(key, sizeof(key), "cluster:k%d", i % 10);
		fds[i] = dial(a);
		queued += ask(fds[i], key, RIGHT_EXCLUSIVE, 0) == FRAME_QUEUED;
	}
	is(queued, n, "%d clients wait", n);
	meanwhile = mallinfo2().uordblks + mallinfo2().hblkhd;
	diag("%zu bytes each", (meanwhile - before) / (size_t)n);
	cmp(meanwhile - before, <, (size_t)n * BYTES_MAX,
	    "the shim has no more than %d bytes for each", BYTES_MAX);
	cpu_ns = lhi_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	t_sleep_ms(1000);
	cpu_ns = lhi_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns;
	diag("%d us of processor time in a second", (int)(cpu_ns / 1000));
	cmp(cpu_ns, <, t_ms(100) * T_NS_PER_MS, "and does next to nothing");
	for (int i = 0; i < n; i++)
		(void)close(fds[i]);
	ok(t_until(T_HANG_MS, host_keys(a) == 0), "they go: no key is left");
	meanwhile = mallinfo2().uordblks + mallinfo2().hblkhd;
	/* libevent has a place for each descriptor there was */
	cmp((int64_t)(meanwhile - before), <, n * 100, "and no memory");
	hosts_end();
	return done();
}
