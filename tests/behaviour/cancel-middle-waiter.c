/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G6, G7 and G8: a waiter in the middle of the queue is cancelled.
 * It returns -ECANCELED soon and leaves nothing behind, and the others are
 * granted the key in their order, the next one without delay.  The same for the
 * first and the last waiter.  The waiters are threads, because a switch serves
 * one process; the holder is another process.
 *
 * Otherwise a cancelled waiter would block or reorder the waiters behind it.
 */
#include <errno.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

#define WAITERS 5

static struct lh *lh;

struct waiter {
	struct lh_cancel cancel;
	struct lh_lease lease;
	struct t_event done_ev;
	int64_t done_ns;
	int result;
};

static void *
wait_for_it(void *arg)
{
	struct lh_acquire_opts o = t_opts(3600000, LH_WAIT_FOREVER);
	struct waiter *w = arg;

	o.cancel = &w->cancel;
	w->result = lh_acquire(lh, "k", &o, &w->lease);
	w->done_ns = t_now_ns();
	t_post(&w->done_ev);
	return NULL;
}

struct shape {
	struct t_actor *holder;
	int victim;
};

static int
done_one(struct waiter *w, const bool *had)
{
	for (int i = 0; i < WAITERS; i++)
		if (!had[i] && atomic_load(&w[i].done_ev.count) > 0)
			return i;
	return -1;
}

/* Returns a waiter that has returned since the last call; see t_who(). */
static int
granted(struct waiter *w, const bool *had)
{
	int i = -1;

	(void)t_until(T_HANG_MS, (i = done_one(w, had)) >= 0);
	return i;
}

static bool
cancel_one(void *arg)
{
	struct shape *s = arg;
	struct waiter *w = t_shared(sizeof(*w) * WAITERS);
	unsigned long threads[WAITERS];
	int64_t ns, worst;
	int left = WAITERS - 1, in_order = 0;
	bool had[WAITERS] = { false };

	is(t_do_acquire(s->holder, "k", 3600000, 0), 0, "held");
	for (int i = 0; i < WAITERS; i++) {
		w[i].cancel = (struct lh_cancel)LH_CANCEL_INIT;
		threads[i] = t_thread(wait_for_it, &w[i]);
		ok(t_await_waiters(lh, "k", i + 1), "waiter %d", i);
	}
	ns = t_now_ns();
	is(lh_cancel(&w[s->victim].cancel), 0, "number %d is cancelled",
	    s->victim);
	ok(t_await(&w[s->victim].done_ev, 1, T_HANG_MS), "it returns");
	is(w[s->victim].result, -ECANCELED, "with -ECANCELED");
	worst = w[s->victim].done_ns - ns;
	is(t_waiters(lh, "k"), left, "the others wait");

	ns = t_now_ns();
	is(t_do_release(s->holder), 0, "the holder releases");
	had[s->victim] = true;
	for (int i = 0; i < WAITERS; i++) {
		int who;

		if (i == s->victim)
			continue;
		who = granted(w, had);
		if (who < 0)
			bail_out("nobody is granted");
		had[who] = true;
		in_order += who == i;
		is(w[who].result, 0, "granted");
		if (w[who].done_ns - ns > worst)
			worst = w[who].done_ns - ns;
		is(t_waiters(lh, "k"), --left, "the rest waits");
		ns = t_now_ns();
		is(lh_release(lh, &w[who].lease), 0, "and released");
	}
	for (int i = 0; i < WAITERS; i++)
		t_join(threads[i]);
	is(t_waiters(lh, "k"), 0, "no residue");
	diag("%d in order, at most %lld ms for a step", in_order,
	    (long long)(worst / T_NS_PER_MS));
	return in_order == WAITERS - 1 && worst <= T3_MS * T_NS_PER_MS;
}

int
main(void)
{
	const char *table = t_table();
	struct shape shapes[] = { { .victim = 2 }, { .victim = 0 },
	    { .victim = WAITERS - 1 } };
	struct t_actor *a = t_actor(table);

	lh = t_open(table);
	for (int i = 0; i < 3; i++) {
		shapes[i].holder = a;
		ok(t_tries(3, cancel_one, &shapes[i]),
		    "in order, each within %lld ms", (long long)T3_MS);
	}
	t_actor_end(a);
	t_close(lh);
	return done();
}
