/* SPDX-License-Identifier: MIT */
/*
 * Counted re-entry (lh_acquire_more.holder): a holder that acquires its key
 * again in the same mode has the same lease and token once more, and the key is
 * free after as many releases.  Others, and the same holder in another process,
 * are strangers.
 *
 * Otherwise a nested acquire would wait for itself, or its release would free
 * the outer one's key.
 */
#include <errno.h>
#include <string.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

#define THREADS 4

static struct lh *lh;

static int
ask(const char *key, const char *holder, uint32_t mode, int64_t wait_ms,
    struct lh_lease *l)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts o = t_opts(T_HANG_MS, wait_ms);

	o.mode = mode;
	o.more = &more;
	more.holder = holder;
	return lh_acquire(lh, key, &o, l);
}

static void
counted(uint32_t mode)
{
	struct lh_lease l[3], other;

	for (int i = 0; i < 3; i++) {
		is(ask("k", "me", mode, 0, &l[i]), 0, "time %d", i + 1);
		is(l[i].token, l[0].token, "the same token");
		is(l[i].id[1], l[0].id[1], "the same lease");
	}
	is(t_holders(lh, "k"), 1, "it is one lease");
	is(ask("k", "you", LH_EXCLUSIVE, 0, &other), -EAGAIN, "another holder");
	is(t_acquire(lh, "k", T_HANG_MS, 0, &other), -EAGAIN, "and none");
	is(ask("k", "me", mode == LH_SHARED ? LH_EXCLUSIVE : LH_SHARED, 0,
	    &other), -EDEADLK, "the other mode is refused");
	ok(t_has_detail(), "with a reason");
	is(ask("other", "me", mode, 0, &other), 0, "another key is another");
	is(lh_release(lh, &other), 0, "released");
	is(lh_release(lh, &l[1]), 0, "released once");
	is(lh_release(lh, &l[1]), 0, "by the same struct again: nothing");
	is(t_holders(lh, "k"), 1, "it is held");
	is(lh_verify(lh, &l[0]), 0, "as the others say");
	is(lh_extend(lh, &l[0], T_HANG_MS * 2), 0, "and can be extended");
	is(lh_release(lh, &l[2]), 0, "released twice");
	is(ask("k", "me", mode, 0, &l[2]), 0, "entered again");
	is(l[2].expires_ns, l[0].expires_ns, "with the present deadline");
	is(lh_release(lh, &l[2]), 0, "released");
	is(t_holders(lh, "k"), 1, "it is held");
	is(lh_release(lh, &l[0]), 0, "for the last time");
	is(t_holders(lh, "k"), 0, "and free");
	is(ask("k", "me", mode, 0, &l[0]), 0, "acquired anew");
	if (mode == LH_EXCLUSIVE)
		cmp(l[0].token, >, l[1].token, "with a larger token");
	is(lh_release(lh, &l[0]), 0, "and released");
}

static void
lost(void)
{
	struct lh_lease l, again;

	is(ask("k", "me", LH_EXCLUSIVE, 0, &l), 0, "acquired");
	is(ask("k", "me", LH_EXCLUSIVE, 0, &again), 0, "and again");
	is(lh_break(lh, "k", NULL, 0), 1, "broken");
	is(lh_verify(lh, &l), -ESTALE, "it is lost");
	is(ask("k", "me", LH_EXCLUSIVE, 0, &again), 0, "acquired anew");
	cmp(again.token, >, l.token, "another lease");
	is(lh_release(lh, &l), -ESTALE, "the old one is not released");
	is(lh_release(lh, &again), 0, "the new one is, at once");
	is(t_holders(lh, "k"), 0, "the key is free");
}

static void
converted(void)
{
	struct lh_lease l, again;

	is(ask("k", "me", LH_EXCLUSIVE, 0, &l), 0, "acquired");
	is(ask("k", "me", LH_EXCLUSIVE, 0, &again), 0, "and again");
	is(lh_convert(lh, &l, LH_SHARED), 0, "made shared");
	is(lh_release(lh, &again), -ESTALE, "an old copy is worth nothing");
	is(ask("k", "me", LH_SHARED, 0, &again), 0, "entered, shared");
	is(again.token, l.token, "the same lease");
	is(lh_release(lh, &again), 0, "released");
	again = l;
	is(lh_release(lh, &again), 0, "twice");
	is(t_holders(lh, "k"), 1, "it is held");
	is(lh_release(lh, &l), 0, "three times");
	is(t_holders(lh, "k"), 0, "as often as it was acquired");
}

static int
ask_there(struct t_actor *a, void *arg)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts o = t_opts(T_HANG_MS, 0);

	(void)arg;
	o.more = &more;
	more.holder = "me";
	return lh_acquire(a->lh, "k", &o, &a->lease);
}

static void *
enter(void *arg)
{
	long n = 0;

	(void)arg;
	for (int i = 0; i < 200; i++) {
		struct lh_lease l;

		if (ask("k", "us", LH_EXCLUSIVE, T_HANG_MS, &l) == 0 &&
		    lh_verify(lh, &l) == 0 && lh_release(lh, &l) == 0)
			n++;
	}
	return (void *)n;
}

static void
together(void)
{
	unsigned long t[THREADS];
	long n = 0;

	for (int i = 0; i < THREADS; i++)
		t[i] = t_thread(enter, NULL);
	for (int i = 0; i < THREADS; i++)
		n += (long)t_join(t[i]);
	is(n, 200 * THREADS, "threads of one holder enter and leave");
	is(t_holders(lh, "k"), 0, "and leave it free");
}

static void
arguments(void)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts o = t_opts(T_HANG_MS, 0);
	char most[258];
	struct lh_lease l;

	is(ask("k", "", LH_EXCLUSIVE, 0, &l), -EINVAL, "an empty holder id");
	memset(most, 'x', sizeof(most));
	most[256] = '\0';
	is(ask("k", most, LH_EXCLUSIVE, 0, &l), -EINVAL, "of 256 bytes");
	most[255] = '\0';
	is(ask("k", most, LH_EXCLUSIVE, 0, &l), 0, "of 255");
	is(lh_release(lh, &l), 0, "released");
	o.more = &more;
	more.holder = "me";
	more.request[0] = 1;
	is(lh_acquire(lh, "k", &o, &l), -EINVAL, "with a request id");
}

int
main(void)
{
	const char *table = t_table();
	struct t_actor *a = t_actor(table);
	struct lh_lease l, kept;

	lh = t_open(table);
	counted(LH_EXCLUSIVE);
	counted(LH_SHARED);
	lost();
	converted();
	is(ask("k", "me", LH_EXCLUSIVE, 0, &l), 0, "held here");
	is(t_do(a, ask_there, NULL), -EAGAIN, "a stranger there");
	is(lh_release(lh, &l), 0, "released");
	together();
	arguments();
	is(ask("k", "me", LH_EXCLUSIVE, 0, &kept), 0, "held when it is closed");
	t_actor_end(a);
	t_close(lh);
	return done();
}
