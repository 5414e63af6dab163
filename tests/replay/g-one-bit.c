/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G12, issue 21 B3: no single bit leads to something that cannot be
 * undone.
 *
 * The header's flag of a removal is set while a key is held, and no removal has
 * noted it: the table must stay, and the key must stay held.  The flag of a
 * repair is set while a named session holds a key and nobody is attached: a
 * repair must be refused, and the key must stay the session's.
 *
 * Otherwise one flipped bit would remove a table that is in use, and its keys
 * would be granted twice.
 */
#include <errno.h>
#include <sys/stat.h>
#include "replay.h"
#include "support/object.h"

static const char *table;
static struct t_object object;

static ino_t
inode(void)
{
	struct stat st;

	return stat(t_object(table), &st) == 0 ? st.st_ino : 0;
}

static void
removal_by_one_bit(void)
{
	struct lh *lh = replay_open(table, 0), *other;
	struct lh_lease l = t_hold(lh, "k"), m;
	ino_t was = inode();

	(void)sh32_fetch_or(&object.h->flags, SHM_RETIRED);
	is(lh_open(&other, table, NULL), 0, "the table can be opened");
	ok(inode() == was, "and is the same object");
	is(replay_try(other, "k", &m), -EAGAIN, "the key is held");
	is(lh_verify(lh, &l), 0, "its holder's lease is held");
	is(lh_release(lh, &l), 0, "released");
	is(replay_try(other, "k", &m), 0, "then it can be acquired");
	is(lh_release(other, &m), 0, "released");
	(void)sh32_fetch_and(&object.h->flags, ~SHM_RETIRED);
	t_close(other);
	t_close(lh);
}

static void
repair_by_one_bit(void)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);
	struct lh *lh = replay_open(table, 0);
	struct lh_lease l, m;

	more.session = replay_session(lh, "s", REPLAY_LONG_MS, 0);
	o.more = &more;
	is(lh_acquire(lh, "k", &o, &l), 0, "a session holds the key");
	lh_session_close(more.session);
	is(lh_close(lh), 0, "nobody is attached");
	(void)sh32_fetch_or(&object.h->flags, SHM_REPAIRING);
	is(lh_table_repair(table, 0, NULL, NULL), -EBUSY,
	    "a repair is refused while the session lives");
	(void)sh32_fetch_and(&object.h->flags, ~SHM_REPAIRING);
	lh = replay_open(table, 0);
	is(replay_try(lh, "k", &m), -EAGAIN, "the session still holds its key");
	t_close(lh);
}

int
main(void)
{
	struct lh *lh;

	table = replay_begin();
	lh = replay_open(table, 0);
	object = t_map_object(table);
	removal_by_one_bit();
	t_close(lh);
	repair_by_one_bit();
	t_unmap_object(&object);
	return done();
}
