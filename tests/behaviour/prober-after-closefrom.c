/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G4, timing T2: a process that has closed every descriptor, and
 * opened other files under the same numbers, still finds out that a holder is
 * dead, and does not take a living one for dead.  The second half matters more:
 * a question through another file's descriptor is always answered "nobody has
 * that byte locked".
 *
 * Otherwise a daemon would take the keys of living holders.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <unistd.h>
#include "support/actor.h"
#include "support/part.h"
#include "support/support.h"
#include "tap.h"

enum what { JUST_CLOSE, OPEN_OTHERS, OPEN_THE_TABLE };

static int
close_all(struct t_actor *a, void *arg)
{
	enum what what = (enum what)(intptr_t)arg;
	const char *path = what == OPEN_THE_TABLE ?
	    t_object(lh_table_name(a->lh)) : "/tmp";
	int flags = what == OPEN_THE_TABLE ? O_RDWR : O_TMPFILE | O_RDWR;

	if (close_range(3, ~0u, 0) != 0)
		closefrom(3);
	for (int i = 0; what != JUST_CLOSE && i < 20; i++)
		if (open(path, flags, 0600) < 0)
			return -errno;
	return 0;
}

static void
probe(struct lh *lh, struct t_actor *b, enum what what, const char *name)
{
	struct t_actor *holder = t_actor(lh_table_name(lh));
	int64_t killed_ns;

	is(t_do_acquire(holder, "k", 3600000, 0), 0, "a process holds");
	/* the prober has asked before, through what is closed now */
	is(t_do_acquire(b, "k", 3600000, t_long(25)), -ETIMEDOUT, "it lives");
	is(t_do(b, close_all, (void *)(intptr_t)what), 0, "%s", name);
	for (int i = 0; i < 4; i++)
		is(t_do_acquire(b, "k", 3600000, t_long(25)), -ETIMEDOUT,
		    "%s: the living is not taken for dead", name);
	is(t_do_verify(holder), 0, "and holds");
	killed_ns = t_now_ns();
	t_actor_kill(holder);
	is(t_do_acquire(b, "k", 3600000, T_HANG_MS), 0,
	    "%s: the dead is found dead", name);
	cmp(t_since_ms(killed_ns), <=, 2 * T2_MS, "in time");
	is(b->lease.notes, LH_NOTE_PREVIOUS_DIED, "and noted");
	is(t_do_release(b), 0, "released");
	t_actor_free(holder);
}

static void
play(void)
{
	const char *table = t_table();
	struct t_actor *b = t_actor(table);
	struct lh *lh = t_open(table);

	probe(lh, b, JUST_CLOSE, "everything closed");
	probe(lh, b, OPEN_OTHERS, "other files under the numbers");
	probe(lh, b, OPEN_THE_TABLE, "the table itself under the numbers");
	probe(lh, b, JUST_CLOSE, "closed once more");
	t_actor_end(b);
	t_close(lh);
}

int
main(void)
{
	t_part(play, 1000, "prober after closefrom");
	return done();
}
