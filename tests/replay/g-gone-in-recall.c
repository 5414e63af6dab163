/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G12, issue 21 A2: a call has found its key and is stopped.  The
 * table is truncated, and another thread of the process meets that: from then
 * on the memory reads as zeros.  The call must report that the table is gone.
 *
 * Otherwise a recall would follow a lease that was not found (a null pointer),
 * or say that somebody else ended a lease of which nothing is known.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include "replay.h"
#include "support/object.h"

static struct lh *lh;
static struct lh_lease held;

static int
recall(void *unused)
{
	struct lh_lease l;

	(void)unused;
	return lh_lease_recall(lh, "k", held.id, held.token, &l);
}

static int
never(const struct lh_key_info *info, void *arg)
{
	(void)arg;
	fail("key '%s' was reported", info->key);
	return 0;
}

static int
ask_status(void *unused)
{
	(void)unused;
	return lh_status(lh, "k", held.id, never, NULL);
}

static void
truncate_table(const char *table)
{
	int fd = open(t_object(table), O_RDWR | O_CLOEXEC);

	ok(fd >= 0 && ftruncate(fd, 0) == 0, "the table is truncated");
	(void)close(fd);
}

static void
play(const char *what, const char *point, int (*call)(void *))
{
	struct lh_open_opts o = t_open_opts();
	const char *table = replay_begin();

	o.flags = LH_CATCH_SIGBUS;
	is(lh_open(&lh, table, &o), 0, "%s: a table", what);
	is(replay_try(lh, "k", &held), 0, "a lease");
	replay_stop("caller", point, call, NULL);
	truncate_table(table);
	is(lh_verify(lh, &held), -EUCLEAN, "another call meets that");
	is(replay_finish("caller"), -EUCLEAN, "and so does the first");
	is(lh_close(lh), 0, "closed");
	is(lh_table_remove(table, LH_FORCE), 0, "removed");
}

int
main(void)
{
	play("recall", "recall.found", recall);
	play("status of a lease", "snapshot.found", ask_status);
	return done();
}
