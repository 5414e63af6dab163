/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G3, G5 and G9: a holder that is stopped past its deadline has lost
 * the key, and learns so at its first call.  SIGSTOP cannot be noticed in the
 * table: only the deadline frees the key.  Until then the key is busy;
 * afterwards another acquires it, with the note.  The stopped holder's extend,
 * verify and release report the loss, in each order, and its token is refused
 * where tokens are checked.
 *
 * Otherwise a stopped process would block the key for ever, or go on with it
 * when it continues.
 */
#include <errno.h>
#include "support/actor.h"
#include "support/part.h"
#include "support/support.h"
#include "tap.h"

static void
play(void)
{
	const char *table = t_table();
	struct t_actor *a = t_actor(table);
	struct lh *lh = t_open(table);
	struct lh_lease early, mine;

	is(t_do_acquire(a, "k", t_long(400), 0), 0, "a process holds the key");
	is(lh_verify_token(lh, "k", a->lease.token), 0, "its token is good");
	t_stop(a->pid);
	is(t_acquire(lh, "k", 1000, 0, &early), -EAGAIN,
	    "stopped, it still has it");
	is(t_acquire(lh, "k", 3600000, T_HANG_MS, &mine), 0,
	    "after its deadline another gets it");
	cmp(t_now_ns(), >=, a->lease.expires_ns, "not before the deadline");
	cmp(mine.token, >, a->lease.token, "with a larger token");
	is(mine.notes, LH_NOTE_PREVIOUS_EXPIRED,
	    "and a note that the one before expired");
	is(lh_verify_token(lh, "k", a->lease.token), -ESTALE,
	    "the stopped one's token is refused");
	t_cont(a->pid);

	is(t_do_extend(a, 3600000), -ESTALE, "resumed, it cannot extend");
	is(t_do_verify(a), -ESTALE, "nor verify");
	is(t_do_release(a), -ESTALE, "nor release");
	is(t_do_extend(a, 3600000), -ESTALE, "and that stays so");
	is(lh_verify(lh, &mine), 0, "the successor's lease is as it was");
	is(lh_verify_token(lh, "k", mine.token), 0, "and its token is good");
	is(t_do_acquire(a, "k", 1000, 0), -EAGAIN,
	    "the old holder is refused like anyone");

	is(lh_release(lh, &mine), 0, "released");
	is(t_do_verify(a), -ESTALE, "a free key does not revive the old lease");
	is(t_do_acquire(a, "k", 1000, 0), 0, "the old holder may acquire anew");
	cmp(a->lease.token, >, mine.token, "with a token larger than both");
	is(t_do_release(a), 0, "and release");
	t_actor_end(a);
	t_close(lh);
}

int
main(void)
{
	t_part(play, 400, "paused holder outlives lease");
	return done();
}
