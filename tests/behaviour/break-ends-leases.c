/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G2, G9 and G11: an operator breaks somebody else's lease.  Each of
 * the holder's calls reports the loss and its cause; the next waiter acquires
 * the key, with a larger token and a note.  No other lease is changed: not
 * another reader's when one is named by its id, and not the next use of the
 * same claim.  A break of a key that is not held reports 0.
 *
 * Otherwise an operator could not end a stuck lease, or would end the wrong
 * one.
 */
#include <errno.h>
#include "support/actor.h"
#include "support/part.h"
#include "support/support.h"
#include "tap.h"

static struct lh *lh;
static const char *table;

static void
says_broken(int got, const char *what)
{
	is(got, -ESTALE, "%s is lost", what);
	ok(strstr(lh_error_detail(), "broken") != NULL, "and why: %s",
	    lh_error_detail());
}

/* Of this thread, of which the fast paths are. */
static void
own_lease(void)
{
	struct lh_lease l, next, other;

	l = t_hold(lh, "own");
	is(lh_break(lh, "own", l.id, l.token + 1), -ESTALE,
	    "an id with another token is another lease's");
	is(lh_verify(lh, &l), 0, "nothing is broken");
	is(lh_break(lh, "own", l.id, l.token), 1, "one's own lease");
	says_broken(lh_verify(lh, &l), "verified, it");
	says_broken(lh_extend(lh, &l, 1000), "extended, it");
	says_broken(lh_release(lh, &l), "released, it");
	is(t_acquire(lh, "own", 3600000, 0, &next), 0,
	    "the key can be acquired again");
	is(next.notes, LH_NOTE_PREVIOUS_BROKEN, "with the note");
	cmp(next.token, >, l.token, "and a larger token");
	is(lh_break(lh, "own", l.id, 0), -ESTALE, "the old id ends nothing");
	is(lh_verify(lh, &next), 0, "the new lease is whole");
	is(lh_release(lh, &next), 0, "until it is released");
	is(lh_break(lh, "own", NULL, 0), 0, "a free key: nothing to break");
	is(lh_break(lh, "own", next.id, 0), -ESTALE, "nor by an id");
	other = t_hold(lh, "other");
	is(lh_break(lh, "own", other.id, 0), -ESTALE, "another key's lease");
	is(lh_verify(lh, &other), 0, "is not touched");
	is(lh_release(lh, &other), 0, "at all");
}

static void
with_waiter(void)
{
	struct t_actor *holder = t_actor(table), *waiter = t_actor(table);
	int64_t began;

	is(t_do_acquire(holder, "k", 3600000, 0), 0, "a process holds a key");
	t_begin_acquire(waiter, "k", 3600000, T_HANG_MS);
	ok(t_await_waiters(lh, "k", 1), "another waits for it");
	t_stop(holder->pid);
	began = t_now_ns();
	is(lh_break(lh, "k", NULL, 0), 1, "a stopped holder's lease is broken");
	is(t_result(waiter), 0, "the waiter has it");
	cmp(t_since_ms(began), <, T3_MS, "at once");
	is(waiter->lease.notes, LH_NOTE_PREVIOUS_BROKEN, "with the note");
	cmp(waiter->lease.token, >, holder->lease.token, "a larger token");
	t_cont(holder->pid);
	is(t_do_extend(holder, 1000), -ESTALE, "the holder cannot extend");
	is(t_do_release(holder), -ESTALE, "nor release");
	is(t_do_verify(waiter), 0, "the waiter's lease is whole");
	is(t_do_release(waiter), 0, "and released");
	is(t_do_acquire(holder, "k", 1000, 0), 0, "the first may have it anew");
	is(t_do_release(holder), 0, "and release");
	t_actor_end(holder);
	t_actor_end(waiter);
}

static void
readers(void)
{
	struct t_actor *a = t_actor(table), *b = t_actor(table);
	struct lh_acquire_opts o = t_opts(3600000, 0);
	struct lh_lease mine, w;

	o.mode = LH_SHARED;
	t_begin_acquire_opts(a, "r", &o);
	is(t_result(a), 0, "a reader");
	t_begin_acquire_opts(b, "r", &o);
	is(t_result(b), 0, "a second one");
	is(lh_acquire(lh, "r", &o, &mine), 0, "a third");
	is(lh_break(lh, "r", a->lease.id, b->lease.token), -ESTALE,
	    "a reader's id with another's token");
	is(lh_break(lh, "r", a->lease.id, a->lease.token), 1,
	    "the first one's is broken");
	is(t_do_verify(a), -ESTALE, "its holder's lease is lost");
	is(t_do_verify(b), 0, "the second's is whole");
	is(lh_verify(lh, &mine), 0, "and the third's");
	is(lh_break(lh, "r", a->lease.id, 0), -ESTALE, "once is enough");
	is(t_acquire(lh, "r", 1000, 0, &w), -EAGAIN, "a writer is kept out");
	is(lh_break(lh, "r", NULL, 0), 2, "then all the others'");
	says_broken(lh_extend(lh, &mine, 1000), "the third's");
	is(t_do_release(b), -ESTALE, "and the second's");
	is(t_acquire(lh, "r", 1000, 0, &w), 0, "a writer gets in");
	cmp(w.token, >, mine.token, "with a larger token");
	is(lh_release(lh, &w), 0, "and out");
	/* a claim that stayed in the chain is nobody's lease */
	is(lh_acquire(lh, "r", &o, &mine), 0, "read again");
	t_begin_acquire_opts(b, "r", &o);
	is(t_result(b), 0, "beside another");
	is(lh_release(lh, &mine), 0, "and released");
	is(lh_break(lh, "r", NULL, 0), 1, "only the other's is there");
	t_actor_end(a);
	t_actor_end(b);
}

static void
not_leases(void)
{
	struct t_actor *a = t_actor(table);
	uint64_t id[2] = { ~UINT64_C(0), ~UINT64_C(0) };
	struct lh_lease l = t_hold(lh, "dead");

	is(lh_release(lh, &l), 0, "a key");
	is(t_do_acquire(a, "dead", 3600000, 0), 0, "that a process held");
	t_actor_kill(a);
	is(lh_break(lh, "dead", a->lease.id, 0), -ESTALE,
	    "a dead process's lease is not broken, it has ended");
	is(t_acquire(lh, "dead", 1000, 0, &l), 0, "the key can be acquired");
	is(l.notes, LH_NOTE_PREVIOUS_DIED, "and the note says so");
	is(lh_break(lh, "dead", id, 0), -ESTALE, "nonsense for an id");
	id[0] = id[1] = 0;
	is(lh_break(lh, "dead", id, 0), -ESTALE, "or none");
	is(lh_release(lh, &l), 0, "released");
	is(lh_break(lh, "unheard-of", NULL, 0), -ENOENT, "an unknown key");
	ok(t_has_detail(), "says so");
	is(lh_break(lh, "", NULL, 0), -EINVAL, "an empty key");
	is(lh_break(lh, NULL, NULL, 0), -EINVAL, "no key");
	is(lh_break(NULL, "k", NULL, 0), -EINVAL, "no table");
	t_actor_free(a);
}

static void
play(void)
{
	table = t_table();
	lh = t_open(table);
	own_lease();
	with_waiter();
	readers();
	not_leases();
	t_close(lh);
}

int
main(void)
{
	t_part(play, 200, "break ends leases");
	return done();
}
