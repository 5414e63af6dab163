/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G4: the position by which a process knows the description that it
 * asks through is one that each file system takes.  Here a filter of system
 * calls refuses those beyond 16 TiB, as ext4 does.  The table is made, and a
 * death is proved in it.
 *
 * Otherwise no death would be proved on a disk's file system.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "replay.h"

#define EXT4_MAX ((off_t)1 << 44)

static const char *table;

/* From now on lseek() fails with EINVAL from 16 TiB on. */
static bool
limit_positions(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		    offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_lseek, 0, 3),
		/* the upper half, on a little-endian machine */
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		    offsetof(struct seccomp_data, args[1]) + 4),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, EXT4_MAX >> 32, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {
		.len = sizeof(code) / sizeof(code[0]), .filter = code,
	};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0;
}

static int
die_holding(void *arg)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);
	struct lh_open_opts open = replay_opts(0);
	struct lh_lease l;
	struct lh *lh;

	(void)arg;
	if (lh_open(&lh, table, &open) != 0 || lh_acquire(lh, "k", &o, &l) != 0)
		return 1;
	_exit(0);
}

int
main(void)
{
	struct lh_open_opts open;
	struct lh_lease l;
	struct lh *lh;

	table = replay_begin();
	open = replay_opts(0);
	if (!limit_positions())
		skip_all("no seccomp here");
	is(lseek(0, EXT4_MAX, SEEK_SET), -1, "16 TiB is refused");
	if (!is(lh_open(&lh, table, &open), 0, "a table is made: %s",
	    lh_error_detail()))
		return done();
	is(t_reap(t_fork(die_holding, NULL), T_HANG_MS), 0,
	    "a holder ends");
	is(t_acquire(lh, "k", REPLAY_LONG_MS, 1000, &l), 0,
	    "its key is acquired");
	is(lh_release(lh, &l), 0, "released");
	t_close(lh);
	return done();
}
