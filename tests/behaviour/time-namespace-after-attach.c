/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1 and G3: a process enters another time namespace after it has
 * attached, so that its clock differs from then on.  It must not make the
 * leases of others expire, and makes no key.  (Processes that come from another
 * namespace: table-other-time-namespace.c.) Needs root.
 *
 * Otherwise all leases would end a day early.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif
#define NO_NAMESPACE 42

/* Go a day ahead, with the attachment that the process has. */
static int
a_day_ahead(struct t_actor *a, void *arg)
{
	static const char offset[] = "monotonic 86400 0\n";
	int64_t before_ns = t_now_ns();
	int fd;

	(void)arg;
	if (lh_key_create(a->lh, "before") != 0)
		return 2;
	if (unshare(CLONE_NEWTIME) != 0)
		return NO_NAMESPACE;
	fd = open("/proc/self/timens_offsets", O_WRONLY);
	if (fd < 0 || write(fd, offset, sizeof(offset) - 1) < 0)
		return NO_NAMESPACE;
	close(fd);
	fd = open("/proc/self/ns/time_for_children", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWTIME) != 0)
		return NO_NAMESPACE;
	close(fd);
	/* at once, though it has been asked a moment ago */
	if (lh_key_create(a->lh, "after") != -EXDEV)
		return 3;
	return t_now_ns() - before_ns > INT64_C(80000) * 1000000000 ? 0 : 1;
}

static int
ignore(const struct lh_key_info *info, void *arg)
{
	(void)info;
	(void)arg;
	return 0;
}

/* Everything that looks at somebody else's lease; the grants it got. */
static int
look_around(struct t_actor *a, void *arg)
{
	const struct lh_lease *theirs = arg;
	struct lh_lease l;
	int granted = 0;

	for (int i = 0; i < 3; i++) {
		granted += t_acquire(a->lh, "k", 1000, 0, &l) == 0;
		granted += t_acquire(a->lh, "k", 1000, 15, &l) == 0;
		granted += t_acquire(a->lh, "l", 1000, 15, &l) == 0;
	}
	(void)lh_verify_token(a->lh, "k", theirs->token);
	(void)lh_status(a->lh, "k", NULL, ignore, NULL);
	(void)lh_list(a->lh, NULL, ignore, NULL);
	(void)lh_check(a->lh, NULL, NULL);
	return granted;
}

int
main(void)
{
	struct lh_lease *k = t_shared(sizeof(*k)), l;
	struct t_actor *a, *other;
	const char *table;
	struct lh *lh;
	int r;

	if (geteuid() != 0)
		skip_all("only root enters a time namespace");
	table = t_table();
	a = t_actor(table);
	other = t_actor(table);
	lh = t_open(table);
	is(t_acquire(lh, "k", 30000, 0, k), 0, "a lease of 30 s");
	is(t_do_acquire(other, "l", 30000, 0), 0, "another process's");
	is(t_do_acquire(a, "k", 30000, 0), -EAGAIN, "a third one sees it held");
	r = t_do(a, a_day_ahead, NULL);
	if (r == NO_NAMESPACE) {
		skip(1, "no time namespaces here");
	} else {
		is(r, 0, "then its clock is a day ahead");
		is(t_do(a, look_around, k), 0, "and it still gets neither");
	}
	is(lh_verify(lh, k), 0, "the lease is held");
	is(lh_verify_token(lh, "k", k->token), 0, "by its token, too");
	is(t_holders(lh, "k"), 1, "as status says");
	is(t_do_verify(other), 0, "and so is the other process's");
	is(lh_extend(lh, k, 40000), 0, "it is extended");
	is(lh_release(lh, k), 0, "and released");
	is(t_do_release(other), 0, "both of them");
	is(t_acquire(lh, "k", 1000, 0, &l), 0, "the next holder");
	is(l.notes, 0, "its lease has no note");
	is(lh_release(lh, &l), 0, "and releases");
	t_actor_kill(a);
	t_actor_free(a);
	t_actor_end(other);
	t_close(lh);
	return done();
}
