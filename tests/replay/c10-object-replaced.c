/* SPDX-License-Identifier: MIT */
/*
 * C10: the bytes of another object say nothing about who is alive.
 *
 * A process has closed all its descriptors, and the name of the table's object
 * has been given to another table.  To ask whether a holder is alive it must
 * open the object again, and would get the new one, in which nobody has locked
 * anything: the living holder must not be taken for dead.
 */
#include "replay.h"

struct shared {
	struct replay_call call;
	const char *table;
	struct t_event attached, replaced;
	int again;
};

static int
ask(void *arg)
{
	struct shared *sh = arg;
	int r;

	sh->call.lh = replay_open(sh->table, 0);
	closefrom(3);
	t_post(&sh->attached);
	if (!t_await(&sh->replaced, 1, REPLAY_MS))
		return -ETIME;
	r = replay_acquire(&sh->call);
	/* and through a descriptor whose number is another file's now */
	for (int i = 0; i < 16; i++)
		(void)dup(1);
	t_sleep_ms(15);			/* a try asks every 10 ms */
	sh->again = replay_acquire(&sh->call);
	return r;
}

int
main(void)
{
	const char *table = replay_begin();
	struct shared *sh = t_shared(sizeof(*sh));
	/* so that the holder's record is another one than that of `new` */
	struct lh *first = replay_open(table, 0);
	struct lh *lh = replay_open(table, 0), *new;
	struct lh_lease k = t_hold(lh, "k");

	*sh = (struct shared){ .call = REPLAY_CALL(NULL, "k", 60000, 0),
	    .table = table };
	replay_fork("asker", ask, sh);
	ok(t_await(&sh->attached, 1, REPLAY_MS), "an asker is attached");
	is(unlink(t_object(table)), 0, "the object's name is removed");
	new = replay_open(table, 0);
	t_post(&sh->replaced);
	is(replay_result("asker"), -EAGAIN, "the asker finds the key busy");
	is(sh->again, -EAGAIN, "and busy again");
	is(lh_verify(lh, &k), 0, "it is held");
	is(lh_release(lh, &k), 0, "until it is released");
	t_close(new);
	t_close(lh);
	t_close(first);
	return done();
}
