/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G10: a repeated request gets the first answer: the same lease while
 * that is held, the same failure, -ESTALE when the lease has ended.  Its
 * release may be repeated, too, by the id and by any copy of the lease.
 *
 * Otherwise a client that lost an answer would hold the key twice, or never
 * know.
 */
#include <errno.h>
#include <string.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

static struct lh *lh;

static int
ask(const char *key, uint64_t a, uint64_t b, uint32_t mode, int64_t wait_ms,
    struct lh_lease *l)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts o = t_opts(T_HANG_MS, wait_ms);

	o.mode = mode;
	o.flags = LH_NO_DEADLOCK;	/* this thread waits for itself */
	o.more = &more;
	more.request[0] = a;
	more.request[1] = b;
	return lh_acquire(lh, key, &o, l);
}

static bool
same(const struct lh_lease *a, const struct lh_lease *b)
{
	return a->token == b->token && a->id[0] == b->id[0] &&
	    a->id[1] == b->id[1] && a->mode == b->mode &&
	    a->key == b->key && a->expires_ns == b->expires_ns &&
	    a->notes == b->notes;
}

static void
granted(uint32_t mode)
{
	const uint64_t id[2] = { 1, mode + 1 }, none[2] = { 7, 7 };
	struct lh_lease l, again, third;

	is(ask("k", id[0], id[1], mode, 0, &l), 0, "granted, mode %u", mode);
	for (int i = 0; i < 3; i++) {
		is(ask("k", id[0], id[1], mode, 0, &again), 0, "and again");
		ok(same(&l, &again), "the same lease, the same token");
	}
	is(t_holders(lh, "k"), 1, "it is one lease");
	is(ask("other", id[0], id[1], mode, 0, &third), -EINVAL,
	    "that id for another key is refused");
	ok(t_has_detail(), "with a reason");
	is(t_holders(lh, "other"), 0, "and nothing was done");
	is(lh_extend(lh, &again, T_HANG_MS * 2), 0, "it can be extended");
	is(ask("k", id[0], id[1], mode, 0, &third), 0, "and asked for");
	cmp(third.expires_ns, >, l.expires_ns, "with the new deadline");
	is(lh_verify(lh, &l), 0, "all are it");
	is(lh_release_request(lh, NULL, none), -ENOENT, "no such request");
	is(lh_release(lh, &l), 0, "released");
	is(t_holders(lh, "k"), 0, "so it is free");
	is(lh_release(lh, &l), 0, "again by the same struct");
	is(lh_release(lh, &again), 0, "and by another one");
	is(lh_release(lh, &again), 0, "twice");
	is(lh_release_request(lh, NULL, id), 0, "and by the id");
	is(lh_release_request(lh, NULL, id), 0, "twice");
	is(ask("k", id[0], id[1], mode, 0, &again), -ESTALE,
	    "but it does not come to life again");
	is(t_holders(lh, "k"), 0, "the key is free");
	is(lh_release(lh, &third), 0, "the third");
}

static void
released_by_id(void)
{
	const uint64_t id[2] = { 2, 0 };
	struct lh_lease l, other;

	is(ask("k", id[0], id[1], LH_EXCLUSIVE, 0, &l), 0, "granted");
	is(lh_release_request(lh, NULL, id), 0, "released by the id");
	other = t_hold(lh, "k");
	is(lh_release_request(lh, NULL, id), 0, "again, when another holds it");
	is(lh_release(lh, &l), 0, "and by the struct");
	is(lh_verify(lh, &other), 0, "who is not disturbed");
	is(lh_release(lh, &other), 0, "and releases");
}

static void
failed(void)
{
	const uint64_t id[2] = { 3, 0 };
	struct lh_lease held = t_hold(lh, "k"), l;

	is(ask("k", 3, 0, LH_EXCLUSIVE, 0, &l), -EAGAIN, "busy");
	is(ask("k", 3, 1, LH_EXCLUSIVE, t_ms(20), &l), -ETIMEDOUT, "too late");
	is(lh_release(lh, &held), 0, "it is free now");
	is(ask("k", 3, 0, LH_EXCLUSIVE, 0, &l), -EAGAIN, "still busy");
	ok(strstr(lh_error_detail(), "new request id") != NULL, "it says why");
	is(ask("k", 3, 1, LH_EXCLUSIVE, T_HANG_MS, &l), -ETIMEDOUT,
	    "still too late");
	is(t_holders(lh, "k"), 0, "nobody has it");
	is(lh_release_request(lh, NULL, id), -ENOENT, "nothing to release");
	is(ask("k", 3, 2, LH_EXCLUSIVE, 0, &l), 0, "a new id is a new request");
	is(lh_release(lh, &l), 0, "released");
}

static void
lost(void)
{
	const uint64_t id[2] = { 4, 0 };
	struct lh_lease l, again, held;

	is(ask("k", 4, 0, LH_EXCLUSIVE, 0, &l), 0, "granted");
	is(lh_break(lh, "k", NULL, 0), 1, "and broken");
	is(ask("k", 4, 0, LH_EXCLUSIVE, 0, &again), -ESTALE, "it is lost");
	is(lh_release(lh, &l), -ESTALE, "its release says so");
	is(lh_release_request(lh, NULL, id), -ESTALE, "by the id as well");
	held = t_hold(lh, "k");
	is(held.notes, LH_NOTE_PREVIOUS_BROKEN, "the next holder has the note");
	is(lh_release(lh, &held), 0, "released");

	held = t_hold(lh, "k");
	is(lh_break(lh, "k", NULL, 0), 1, "broken again");
	is(ask("k", 4, 1, LH_EXCLUSIVE, 0, &l), 0, "a request has the note");
	is(l.notes, LH_NOTE_PREVIOUS_BROKEN, "how the one before ended");
	is(ask("k", 4, 1, LH_EXCLUSIVE, 0, &again), 0, "repeated");
	ok(same(&l, &again), "the repeated one has it, too");
	is(lh_release(lh, &again), 0, "released");
	is(lh_release(lh, &held), -ESTALE, "the broken one was lost");
}

/* The id is the attachment's: another one's is another request. */
static int
ask_there(struct t_actor *a, void *arg)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts o = t_opts(T_HANG_MS, 0);

	(void)arg;
	o.more = &more;
	more.request[0] = 5;
	return lh_acquire(a->lh, "k", &o, &a->lease);
}

static void
another(struct t_actor *a)
{
	const uint64_t id[2] = { 5, 0 };
	struct lh_lease l;

	is(ask("k", 5, 0, LH_EXCLUSIVE, 0, &l), 0, "granted here");
	is(t_do(a, ask_there, NULL), -EAGAIN, "busy there, by the same id");
	is(lh_release(lh, &l), 0, "released");
	is(t_do(a, ask_there, NULL), -EAGAIN, "which is its answer");
	is(lh_release_request(lh, NULL, id), 0, "each has its own");
}

static void
arguments(void)
{
	const uint64_t id[2] = { 1, 1 }, zero[2] = { 0, 0 };

	is(lh_release_request(NULL, NULL, id), -EINVAL, "no table");
	is(lh_release_request(lh, NULL, NULL), -EINVAL, "no id");
	is(lh_release_request(lh, NULL, zero), -EINVAL, "a zero id");
}

int
main(void)
{
	const char *table = t_table();
	struct t_actor *a = t_actor(table);

	lh = t_open(table);
	granted(LH_EXCLUSIVE);
	granted(LH_SHARED);
	released_by_id();
	failed();
	lost();
	another(a);
	arguments();
	t_actor_end(a);
	t_close(lh);
	return done();
}
