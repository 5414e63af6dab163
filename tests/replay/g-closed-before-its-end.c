/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G1, shm/session_liveness.c: the process of a session with a second
 * sign of life is about to end.  The kernel has given up its memory and its
 * descriptors, so neither sign is left.  But its children do not have their
 * signal yet (PR_SET_PDEATHSIG), and this may take long: a large file is freed
 * before that.
 *
 * Otherwise the job of `leasehold run`, if it closed what it inherited, would
 * run beside the next holder for as long.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "replay.h"

#define WAIT_MS 300

struct holder {
	const char *table;
	struct t_event *ready;
};

/* As the kernel does first. */
static void
give_up_all(void)
{
	void *at[64];
	size_t len[64];
	unsigned long from, to;
	char line[512];
	FILE *f = fopen("/proc/self/maps", "r");
	int n = 0;

	if (f == NULL)
		_exit(1);
	while (fgets(line, sizeof(line), f) != NULL) {
		if (strstr(line, "leasehold.") == NULL || n == 64 ||
		    sscanf(line, "%lx-%lx", &from, &to) != 2)
			continue;
		at[n] = (void *)from;
		len[n++] = to - from;
	}
	(void)fclose(f);
	for (int i = 0; i < n; i++)
		(void)munmap(at[i], len[i]);
	closefrom(3);
}

static int
hold(void *arg)
{
	struct lh_open_opts o = t_open_opts();
	struct holder *h = arg;
	struct lh_lease l;
	struct lh *lh;

	o.flags = LH_LIVENESS_FD;
	if (lh_open(&lh, h->table, &o) != 0 ||
	    t_acquire(lh, "k", REPLAY_LONG_MS, 0, &l) != 0)
		return 1;
	give_up_all();
	t_post(h->ready);
	for (;;)
		pause();
}

int
main(void)
{
	struct holder h = { .table = replay_begin(),
	    .ready = t_shared(sizeof(struct t_event)) };
	struct lh *lh = replay_open(h.table, 0);
	struct lh_lease l;
	pid_t pid = t_fork(hold, &h);

	ok(t_await(h.ready, 1, T_HANG_MS), "a holder without its signs");
	is(t_acquire(lh, "k", REPLAY_LONG_MS, WAIT_MS, &l), -ETIMEDOUT,
	    "it has not come to its end");
	t_kill(pid);
	is(t_acquire(lh, "k", REPLAY_LONG_MS, T_HANG_MS, &l), 0, "granted");
	is(l.notes, LH_NOTE_PREVIOUS_DIED, "when it has");
	is(lh_release(lh, &l), 0, "released");
	t_close(lh);
	return done();
}
