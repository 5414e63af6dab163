/* SPDX-License-Identifier: MIT */
/*
 * The disk with the state file hangs (here: a pipe that nobody reads). Keys are
 * granted as before, and the shim can end.  No other shim starts before the
 * disk answers, because it would write the same file.
 *
 * Otherwise a slow disk would stop all cluster keys of a host.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "support/hosts.h"

#define NEWS_MS 1100		/* there are some once a second */
#define END_MS 3000

static void
take_once(struct host *h)
{
	struct lh_lease l;

	is(take(h, "cluster:k", RIGHT_EXCLUSIVE, T_HANG_MS, &l), 0, "a key");
	is(lh_release(h->lh, &l), 0, "is free");
}

int
main(void)
{
	struct host *a = &hosts[0];
	char beside[sizeof(a->state) + 8];
	int64_t begun_ns;
	struct stat st;
	int fd;

	hosts_begin(1);
	(void)snprintf(beside, sizeof(beside), "%s.new", a->state);
	ok(t_until(T_HANG_MS, stat(a->state, &st) == 0 &&
	    mkfifo(beside, 0600) == 0), "the disk hangs");
	t_sleep_ms(NEWS_MS);
	take_once(a);
	begun_ns = t_now_ns();
	host_down(a);
	cmp(t_since_ms(begun_ns), <, t_ms(END_MS), "the shim ends");
	is(host_up(a), -EBUSY, "the next one is refused");
	fd = open(beside, O_RDONLY | O_NONBLOCK);
	(void)unlink(beside);
	ok(t_until(T_HANG_MS, host_up(a) == 0), "until the disk answers");
	(void)close(fd);
	ok(t_until(T_HANG_MS, host_reaches_now(a)), "then it has its session");
	take_once(a);
	hosts_end();
	return done();
}
