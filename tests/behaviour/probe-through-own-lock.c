/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1 and G4: a session does not count as dead because the question
 * was asked through its own lock description.  Byte locks belong to an open
 * file description, and a question through the description that holds the lock
 * is answered "free". The probe's number may come to mean such a description:
 * the application closes every descriptor and a later attachment gets the same
 * numbers, or it puts a copy of the liveness descriptor there.
 *
 * Otherwise a living process would count as dead, and its keys would be granted
 * twice.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <unistd.h>
#include "support/actor.h"
#include "support/part.h"
#include "support/support.h"
#include "tap.h"

#define SPARES	6	/* so far the two attachments' numbers are shifted */
#define NUMBERS	24	/* more than the library has ever opened here */

static const char *table;
static int spares;	/* what the next child begins with */

static struct lh *
open_with_liveness(void)
{
	struct lh_open_opts o = t_open_opts();
	struct lh *lh = NULL;

	o.flags = LH_LIVENESS_FD;
	is(lh_open(&lh, table, &o), 0, "an attachment with a liveness fd");
	return lh;
}

static void
close_from(unsigned first)
{
	if (close_range(first, ~0u, 0) != 0)
		closefrom((int)first);
}

/* b lives; a, which may ask through anything by now, must not bury it. */
static void
lives(struct lh *a, struct lh *b, const char *key)
{
	struct lh_lease lb, l;

	is(t_acquire(b, key, 3600000, 0, &lb), 0, "the second one holds");
	is(t_acquire(a, key, 3600000, 0, &l), -EAGAIN, "the first tries: held");
	for (int i = 0; i < 2; i++)
		is(t_acquire(a, key, 3600000, 25, &l), -ETIMEDOUT,
		    "it waits: held");
	is(t_holders(a, key), 1, "as it says");
	is(lh_verify(b, &lb), 0, "and as the holder knows");
	is(lh_extend(b, &lb, 1800000), 0, "who may extend");
	is(lh_release(b, &lb), 0, "and release");
}

/* The second attachment gets the numbers of the first. */
static int
same_numbers(void *arg)
{
	struct lh *a, *b;

	(void)arg;
	close_from(3);
	for (int i = 0; i < spares; i++)
		if (open("/dev/null", O_RDONLY) < 0)
			return 1;
	a = t_open(table);
	close_from(3);
	b = open_with_liveness();
	lives(a, b, "k");
	is(lh_close(b), 0, "the second closes");
	is(lh_close(a), 0, "the first closes");
	return tap_child_status();
}

/* Every number is a copy of the liveness descriptor. */
static int
copies_everywhere(void *arg)
{
	struct lh *a, *b;
	int fd;

	(void)arg;
	a = t_open(table);
	b = open_with_liveness();
	fd = lh_liveness_fd(b);
	if (fd < 3)
		return 1;
	for (int n = 3; n < fd + NUMBERS; n++)
		if (n != fd && dup2(fd, n) != n)
			return 1;
	lives(a, b, "copied");
	is(lh_close(b), 0, "the second closes");
	is(lh_close(a), 0, "the first closes");
	return tap_child_status();
}

/* The caution has a price that must not be paid by those who wait. */
static int
finds_the_dead(struct t_actor *a, void *arg)
{
	struct lh *b;
	int fd;

	(void)arg;
	b = open_with_liveness();
	fd = lh_liveness_fd(b);
	for (int n = 3; fd >= 3 && n < fd + NUMBERS; n++)
		if (n != fd && dup2(fd, n) != n)
			return -errno;
	return t_acquire(a->lh, "k", 3600000, T_HANG_MS, &a->lease);
}

static void
play(void)
{
	struct t_actor *a, *holder;
	int64_t killed_ns;
	struct lh *lh;

	table = t_table();
	lh = t_open(table);
	for (spares = 0; spares < SPARES; spares++)
		is(t_reap(t_fork(same_numbers, NULL), T_HANG_MS), 0,
		    "shifted by %d: nobody is taken for dead", spares);
	is(t_reap(t_fork(copies_everywhere, NULL), T_HANG_MS), 0,
	    "copies everywhere: nobody is taken for dead");

	holder = t_actor(table);
	a = t_actor(table);
	is(t_do_acquire(holder, "k", 3600000, 0), 0, "a process holds");
	t_begin(a, finds_the_dead, NULL);
	ok(t_await_waiters(lh, "k", 1), "one with copies everywhere waits");
	killed_ns = t_now_ns();
	t_actor_kill(holder);
	is(t_result(a), 0, "the holder is killed: found dead");
	cmp(t_since_ms(killed_ns), <=, 2 * T2_MS, "in time");
	is(a->lease.notes, LH_NOTE_PREVIOUS_DIED, "and noted");
	t_actor_free(holder);
	t_actor_kill(a);
	t_actor_free(a);
	t_close(lh);
}

int
main(void)
{
	t_part(play, 1000, "probe through own lock");
	return done();
}
