/* SPDX-License-Identifier: MIT */
/*
 * lh_ask_release() (leasehold/lease.h): a request to release a key reaches the
 * holder's live handle in another process at once, each time; all readers are
 * asked; nothing else changes.
 *
 * Otherwise a holder that would release the key gladly never learns that
 * somebody waits for it.
 */
#include <errno.h>
#include <poll.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

#define SOON_MS	t_ms(200)	/* ten times the bound */
#define HOUR_MS 3600000
#define ROUNDS	30

struct shared {
	struct t_event asked;
	int64_t at_ns;
};

static struct lh_lock *lock;
static struct shared *sh;

static void
on_event(struct lh_lock *l, const struct lh_event *e, void *arg)
{
	(void)l;
	(void)arg;
	if (e->what == LH_EVENT_ASKED) {
		sh->at_ns = t_now_ns();
		t_post(&sh->asked);
	}
}

static int
hold_live(struct t_actor *a, void *arg)
{
	struct lh_lock_opts o = LH_LOCK_OPTS_INIT;
	struct lh_acquire_opts how = t_opts(HOUR_MS, 0);

	how.mode = (uint32_t)(uintptr_t)arg;
	o.event = on_event;
	if (lh_lock_open(a->lh, "k", &o, &lock) != 0)
		return -1;
	return lh_lock_acquire(lock, &how);
}

static int
let_go(struct t_actor *a, void *arg)
{
	int error = lh_lock_release(lock);

	(void)a;
	(void)arg;
	return error != 0 ? error : lh_lock_close(lock);
}

static bool
heard_soon(void *arg)
{
	struct lh *lh = arg;
	int64_t worst = 0;

	for (int i = 0; i < ROUNDS; i++) {
		uint32_t before = atomic_load(&sh->asked.count);
		int64_t ns = t_now_ns();

		if (lh_ask_release(lh, "k", NULL, 0) != 1 ||
		    !t_await(&sh->asked, before + 1, T_HANG_MS))
			return false;
		ns = sh->at_ns - ns;
		if (ns > worst)
			worst = ns;
	}
	diag("heard after %lld us at most", (long long)(worst / 1000));
	return worst < SOON_MS * T_NS_PER_MS;
}

static int
asked(struct t_actor *a, void *arg)
{
	(void)arg;
	return lh_lease_asked(a->lh, &a->lease);
}

int
main(void)
{
	const char *table = t_table();
	struct lh *lh = t_open(table);
	struct t_actor *a = t_actor(table), *b;
	struct lh_acquire_opts shared = t_opts(HOUR_MS, 0);
	uint64_t none[2] = { 1, 2 };
	uint32_t n;

	sh = t_shared(sizeof(*sh));
	b = t_actor(table);
	t_actor_end(a);
	a = t_actor(table);	/* after sh */
	is(lh_ask_release(lh, "k", NULL, 0), -ENOENT, "no such key");
	is(t_do(a, hold_live, (void *)(uintptr_t)LH_EXCLUSIVE), 0,
	    "a live handle holds it");
	ok(t_tries(3, heard_soon, lh), "it hears each time, and soon");
	n = atomic_load(&sh->asked.count);
	is(lh_ask_release(lh, "k", none, 0), -ESTALE, "not that lease");
	is(lh_ask_release(lh, "k", NULL, 77), -ESTALE, "not that token");
	t_sleep_ms(t_ms(30));
	is(atomic_load(&sh->asked.count), n, "that is not heard");
	is(t_do(a, let_go, NULL), 0, "it still held it");
	is(lh_ask_release(lh, "k", NULL, 0), 0, "nobody does");

	is(t_do_acquire(a, "k", HOUR_MS, 0), 0, "a plain lease");
	is(t_do(a, asked, NULL), 0, "not asked for");
	is(lh_ask_release(lh, "k", NULL, a->lease.token), 1, "asked");
	is(t_do(a, asked, NULL), 1, "and told so");
	is(t_do(a, asked, NULL), 0, "once");
	is(lh_ask_release(lh, "k", a->lease.id, 0), 1, "asked again");
	is(t_do_release(a), 0, "released");
	is(t_do(a, asked, NULL), -ESTALE, "no lease any more");
	is(t_do_acquire(a, "k", HOUR_MS, 0), 0, "acquired again");
	is(t_do(a, asked, NULL), 0, "this one is not asked for");
	is(t_do_release(a), 0, "released");

	shared.mode = LH_SHARED;
	t_begin_acquire_opts(a, "k", &shared);
	is(t_result(a), 0, "a reader");
	t_begin_acquire_opts(b, "k", &shared);
	is(t_result(b), 0, "another");
	is(lh_ask_release(lh, "k", NULL, 0), 2, "both are asked");
	is(t_do(a, asked, NULL), 1, "one holder is asked");
	is(t_do(b, asked, NULL), 1, "the other, too");
	is(t_do_release(a), 0, "released");
	is(t_do_release(b), 0, "released");
	t_actor_end(a);
	t_actor_end(b);
	t_close(lh);
	return done();
}
