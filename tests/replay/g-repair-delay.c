/* SPDX-License-Identifier: MIT */
/*
 * The lock-delay of named sessions: a session has ended by its ttl, and nobody
 * has looked since.  Then the table is repaired, sound or damaged.  The key
 * that the session held must be reserved for the lock-delay, as if another
 * process had ended the session.
 *
 * Otherwise the next holder would begin at once, while work of the ended
 * session may still be under way.
 */
#include <errno.h>
#include <leasehold/repair.h>
#include "replay.h"
#include "support/object.h"

#define DELAY_MS 60000

static const char *table;

static void
repaired(uint32_t mode, bool damaged)
{
	struct lh *lh = replay_open(table, 0);
	struct lh_session *s = replay_session(lh, damaged ? "d" : "s",
	    t_ms(200), DELAY_MS);
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	const char *key = damaged ? "damaged" : "sound";
	struct lh_lease l;
	struct t_object obj;

	o.mode = mode;
	more.session = s;
	o.more = &more;
	is(lh_acquire(lh, key, &o, &l), 0, "a lease in a session");
	lh_session_close(s);
	is(lh_close(lh), 0, "nobody is attached");
	t_sleep_ms(t_ms(300));
	if (damaged) {
		obj = t_map_object(table);
		(void)sh32_fetch_or(&obj.h->flags, SHM_DAMAGED);
		t_unmap_object(&obj);
	}
	is(lh_table_repair(table, 0, NULL, NULL), damaged, "repaired");
	lh = replay_open(table, 0);
	is(replay_try(lh, key, &l), -EAGAIN,
	    "its key is reserved for the lock-delay (%s)", key);
	t_close(lh);
}

int
main(void)
{
	table = replay_begin();
	repaired(LH_EXCLUSIVE, false);
	repaired(LH_EXCLUSIVE, true);
	return done();
}
