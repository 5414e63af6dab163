/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G8, prim/process_end.c: the kernel walks the robust list of a
 * holder that executes a program, and wakes waiters.  It stops in the middle of
 * that, because the next entry is in memory that nobody fills.  A waiter that
 * asks whether the holder has ended does not wait for that.
 *
 * Otherwise a process with a robust mutex in a file of a dead server would keep
 * all who wait for its keys, beyond their time limits.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define WAIT_MS 1000

struct shared {
	struct t_event held, go, waited;
	int error;
	int64_t took_ms;
};

static struct shared *sh;
static const char *table;

/* Returns memory of this process that nobody fills, or NULL. */
static void *
unfilled(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = {
		.mode = UFFDIO_REGISTER_MODE_MISSING,
		.range.len = 4096,
	};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE |
	    MAP_ANONYMOUS, -1, 0);

	reg.range.start = (uintptr_t)p;
	return fd < 0 || p == MAP_FAILED || ioctl(fd, UFFDIO_API, &api) != 0 ||
	    ioctl(fd, UFFDIO_REGISTER, &reg) != 0 ? NULL : p;
}

static int
hold(void *arg)
{
	void ***head, *next = unfilled();
	struct lh_lease l;
	size_t len;

	(void)arg;
	if (next == NULL || t_acquire(t_open(table), "k", 60000, 0, &l) != 0 ||
	    syscall(SYS_get_robust_list, 0, &head, &len) != 0 ||
	    (void *)*head == (void *)head)
		return 1;
	**head = next;		/* behind the first entry */
	t_post(&sh->held);
	(void)t_await(&sh->go, 1, T_HANG_MS);
	(void)execl("/bin/true", "true", (char *)NULL);
	return 1;
}

static int
wait_for(void *arg)
{
	struct lh *lh = arg;
	int64_t then = t_now_ns();
	struct lh_lease l;

	lh = t_open(table);
	sh->error = t_acquire(lh, "k", 60000, WAIT_MS, &l);
	sh->took_ms = t_since_ms(then);
	t_post(&sh->waited);
	return lh_close(lh);
}

int
main(void)
{
	pid_t holder, waiter;
	struct lh *lh;

	if (unfilled() == NULL) {
		printf("1..0 # SKIP no userfaultfd (%d)\n", errno);
		return 0;
	}
	table = t_table();
	sh = t_shared(sizeof(*sh));
	lh = t_open(table);
	holder = t_fork(hold, NULL);
	if (!t_await(&sh->held, 1, T_HANG_MS))
		bail_out("nobody holds the key");
	waiter = t_fork(wait_for, NULL);
	ok(t_await_waiters(lh, "k", 1), "a process waits");
	t_sleep_ms(20);
	t_post(&sh->go);
	if (!ok(t_await(&sh->waited, 1, 8 * WAIT_MS), "its wait ends"))
		t_kill(holder);
	is(t_reap(waiter, T_HANG_MS), 0, "and so does it");
	is(sh->error, -ETIMEDOUT, "the holder does not count as dead");
	cmp(sh->took_ms, <, 4 * WAIT_MS, "in its time");
	t_kill(holder);
	is(t_acquire(lh, "k", 1000, T_HANG_MS, &(struct lh_lease){ 0 }), 0,
	    "when the holder is gone, the key is free");
	t_close(lh);
	return done();
}
