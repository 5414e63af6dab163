/* SPDX-License-Identifier: MIT */
/*
 * Ownership by lease: any thread of the attachment may verify, extend and
 * release what another thread acquired; when several release at once, all
 * succeed and the key was freed once.  Rounds of one acquire and racing
 * releases of copies and of the struct itself; a contender in another process
 * counts its grants, and never meets the holder.
 *
 * Otherwise a release by a worker thread would fail, or free a later lease.
 */
#include <errno.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

#define THREADS	4
#define ROUNDS	150

static struct lh *lh;
static struct lh_lease lease;
static struct t_event *go;
static uint32_t round_no;
static _Atomic int ok_count, stale_count, odd_count;

static struct shared {
	_Atomic uint32_t inside, overlaps, grants, stop;
} *sh;

static void *
extend_and_verify(void *arg)
{
	int r;

	(void)arg;
	r = lh_verify(lh, &lease);
	if (r == 0)
		r = lh_extend(lh, &lease, 1800000);
	return (void *)(intptr_t)r;
}

static void *
race_to_release(void *arg)
{
	struct lh_lease copy = lease;
	int r;

	(void)arg;
	t_await(go, round_no, T_HANG_MS);
	r = lh_release(lh, &copy);
	if (r == 0)
		ok_count++;
	else if (r == -ESTALE)
		stale_count++;
	else
		odd_count++;
	return NULL;
}

static int
contend(struct t_actor *a, void *arg)
{
	struct lh_lease l;

	(void)arg;
	while (!sh->stop) {
		if (t_acquire(a->lh, "k", 3600000, t_ms(20), &l) != 0)
			continue;
		if (atomic_exchange(&sh->inside, 1) != 0)
			sh->overlaps++;
		sh->grants++;
		sh->inside = 0;
		if (lh_release(a->lh, &l) != 0)
			return 1;
	}
	return 0;
}

int
main(void)
{
	const char *table = t_table();
	unsigned long threads[THREADS];
	struct t_actor *b;
	struct lh_lease mine;
	int first = 0;

	sh = t_shared(sizeof(*sh));
	go = t_shared(sizeof(*go));
	b = t_actor(table);
	lh = t_open(table);
	lease = t_hold(lh, "k");
	is((intptr_t)t_join(t_thread(extend_and_verify, NULL)), 0,
	    "another thread verifies and extends");
	is(t_do_acquire(b, "k", 1000, 0), -EAGAIN, "it is still held");
	round_no = 0;
	t_join(t_thread(race_to_release, NULL));
	is(ok_count, 1, "another thread releases");
	is(t_do_acquire(b, "k", 1000, 0), 0, "and it is free");
	is(t_do_release(b), 0, "again");
	is(lh_verify(lh, &lease), -ESTALE, "for the first thread it is over");

	ok_count = 0;
	t_begin(b, contend, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		if (t_acquire(lh, "k", 3600000, T_HANG_MS, &mine) != 0)
			bail_out("round %d: %s", i, lh_error_detail());
		if (atomic_exchange(&sh->inside, 1) != 0)
			sh->overlaps++;
		lease = mine;
		round_no++;
		ok_count = 0;
		for (int t = 0; t < THREADS; t++)
			threads[t] = t_thread(race_to_release, NULL);
		sh->inside = 0;
		t_post(go);
		for (int t = 0; t < THREADS; t++)
			t_join(threads[t]);
		first += ok_count >= 1;
	}
	sh->stop = 1;
	is(t_result(b), 0, "the contender had no trouble");
	is(first, ROUNDS, "of racing releases one at least succeeds each time");
	is(odd_count, 0, "and the others are success or stale");
	is(sh->overlaps, 0, "nobody was inside with another");
	cmp(sh->grants, >, 0, "there was a contender");
	t_actor_end(b);
	t_close(lh);
	return done();
}
