/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G5 and G6, timing T3: a writer that waits for readers, or a reader
 * that waits to become one, is in a control group that is frozen (docker
 * pause).  It sleeps like others that wait, so its state does not tell.  Other
 * readers acquire all the same, by a try as well.  When it is thawed, it is in
 * its old place, and acquires when the readers have gone.
 *
 * Otherwise readers would wait for a frozen writer, without end.
 */
#include <errno.h>
#include <unistd.h>
#include "support/control_group.h"
#include "upgrade.h"

static struct lh *lh;
static struct t_actor *h, *w;

static bool
enter(void *arg)
{
	bool upgrades = arg != NULL;
	struct lh_lease l;
	int64_t ns;
	int r;

	is(t_do_read(h, "k", HOUR_MS, 0), 0, "a reader holds it");
	if (upgrades) {
		is(t_do_read(w, "k", HOUR_MS, 0), 0, "and another one");
		t_begin_upgrade(w, HOUR_MS);
		ok(t_await_waiters(lh, "k", 1), "which waits to be a writer");
	} else {
		t_queue(lh, w, LH_EXCLUSIVE, 0, 1);
	}
	is(t_try(lh, "k", LH_SHARED, 0), -EAGAIN, "no other one enters");
	ok(t_group_freeze(w->pid), "the writer is frozen");
	ns = t_now_ns();
	r = t_read(lh, "k", HOUR_MS, T_HANG_MS, &l);
	ns = t_since_ms(ns);
	is(r, 0, "a reader enters");
	is(t_try(lh, "k", LH_SHARED, 0), 0, "by a try as well");
	t_group_thaw();
	is(lh_release(lh, &l), 0, "it leaves");
	ok(t_until(T_HANG_MS, t_try(lh, "k", LH_SHARED, 0) == -EAGAIN),
	    "thawed, the writer bars newcomers");
	is(t_do_release(h), 0, "the first reader leaves");
	is(t_result(w), 0, "the writer has the key");
	is(t_do_release(w), 0, "and releases");
	diag("after %lld ms", (long long)ns);
	return ns <= T3_DEAD_MS;
}

int
main(void)
{
	const char *table = t_table();
	int made = 0;

	h = t_actor(table);
	w = t_actor(table);
	lh = t_open(table);
	for (int i = 0; i < T_GROUP_KINDS; i++) {
		if (!t_group_make(i))
			continue;
		made++;
		t_group_enter(w->pid);
		ok(t_tries(3, enter, NULL), "%s: soon", t_group_kinds[i]);
		ok(t_tries(3, enter, w), "%s: soon, beside one that waits to "
		    "upgrade", t_group_kinds[i]);
		t_actor_end(w);
		t_group_remove();
		w = t_actor(table);
	}
	t_actor_end(h);
	t_actor_end(w);
	t_close(lh);
	if (made == 0)
		skip_all("no control group can be frozen here");
	return done();
}
