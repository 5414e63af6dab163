/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G10: in a named session a request outlives the process that made
 * it: another process that repeats it gets the lease, or continues what the
 * first left, and may release it by the id.
 *
 * Otherwise a restarted job would wait for its own key.
 */
#include <errno.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"


static int
ask(struct lh *lh, uint64_t id, uint32_t mode, int64_t wait_ms,
    struct lh_lease *l)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts o = t_opts(T_HANG_MS, wait_ms);
	struct lh_session *s;
	int error = lh_session_open(lh, "job", NULL, &s);

	if (error != 0)
		return error;
	o.mode = mode;
	o.more = &more;
	more.session = s;
	more.request[0] = id;
	error = lh_acquire(lh, "k", &o, l);
	lh_session_close(s);
	return error;
}

static int
ask_there(struct t_actor *a, void *arg)
{
	uint64_t id = (uint64_t)(uintptr_t)arg;

	return ask(a->lh, id, id & 1 ? LH_SHARED : LH_EXCLUSIVE, T_HANG_MS,
	    &a->lease);
}

static int
release_by_id(struct lh *lh, uint64_t id)
{
	const uint64_t request[2] = { id, 0 };
	struct lh_session *s;
	int error = lh_session_open(lh, "job", NULL, &s);

	if (error != 0)
		return error;
	error = lh_release_request(lh, s, request);
	lh_session_close(s);
	return error;
}

/* The first process is granted it, and killed. */
static void
granted(const char *table, struct lh *lh, uint64_t id)
{
	struct t_actor *a = t_actor(table);
	struct lh_lease first, l, again;
	uint32_t mode = id & 1 ? LH_SHARED : LH_EXCLUSIVE;

	is(t_do(a, ask_there, (void *)(uintptr_t)id), 0, "granted there");
	first = a->lease;
	t_actor_kill(a);
	t_actor_free(a);
	is(t_holders(lh, "k"), 1, "it is held after its death");
	is(ask(lh, id, mode, 0, &l), 0, "repeated here");
	is(l.token, first.token, "the same token");
	is(l.id[0], first.id[0], "the same session");
	is(l.id[1], first.id[1], "the same lease");
	is(lh_verify(lh, &l), 0, "it is held");
	is(ask(lh, id, mode, 0, &again), 0, "repeated once more");
	is(release_by_id(lh, id), 0, "released by the id");
	is(t_holders(lh, "k"), 0, "it is free");
	is(lh_release(lh, &l), 0, "released by the struct");
	is(release_by_id(lh, id), 0, "and by the id again");
	is(ask(lh, id, mode, 0, &l), -ESTALE, "it is over");
}

/* The first process waits when it is killed; or stopped. */
static void
waiting(const char *table, struct lh *lh, uint64_t id, bool stopped)
{
	struct lh_lease held = t_hold(lh, "k"), l;
	struct t_actor *a = t_actor(table);

	t_begin(a, ask_there, (void *)(uintptr_t)id);
	ok(t_await_waiters(lh, "k", 1), "one waits");
	if (stopped) {
		t_stop(a->pid);
		is(ask(lh, id, LH_EXCLUSIVE, t_ms(30), &l), -ETIMEDOUT,
		    "who repeats it waits, as long as it lives");
	}
	t_actor_kill(a);
	t_actor_free(a);
	is(ask(lh, id, LH_EXCLUSIVE, 0, &l), -EAGAIN, "dead: done anew");
	is(lh_release(lh, &held), 0, "released");
	is(ask(lh, id, LH_EXCLUSIVE, 0, &l), -EAGAIN, "and remembered");
	is(ask(lh, id + 2, LH_EXCLUSIVE, 0, &l), 0, "another request");
	is(release_by_id(lh, id + 2), 0, "is released");
}

int
main(void)
{
	const char *table = t_table();
	struct lh *lh = t_open(table);

	granted(table, lh, 2);
	granted(table, lh, 3);
	waiting(table, lh, 4, false);
	waiting(table, lh, 8, true);
	t_close(lh);
	return done();
}
