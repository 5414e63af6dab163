/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1, G6 and G7: eight processes read and write one key without a
 * pause, in the default order and in fifo.  Neither readers nor writers starve:
 * the longest wait is within ten times T3, or, where the machine is slow, a
 * hundred times a fair share.  No two writers hold the key at once, nor a
 * reader beside one.
 *
 * Otherwise one process would wait for ever in a busy program.
 */
#include <errno.h>
#include "support/part.h"
#include "readers.h"

#define PROCESSES	8
#define RUN_MS		500

static struct shared {
	_Atomic uint32_t stop;
	_Atomic int inside;	/* readers, or a writer as 1,000 */
	_Atomic uint64_t together, odd;
	struct life {
		uint64_t turns[2];	/* by mode */
		int64_t worst_ns[2];
	} life[PROCESSES];
} *sh;

static int
turn(struct lh *lh, struct lh_key *key, struct life *life, uint32_t mode,
    unsigned hold)
{
	struct lh_acquire_opts o = t_opts(HOUR_MS, HOUR_MS);
	int weight = mode == LH_SHARED ? 1 : 1000, others;
	int64_t began_ns = t_now_ns(), took;
	struct lh_lease l;
	int r;

	o.mode = mode;
	r = lh_key_acquire(key, &o, &l);
	if (r != 0)
		return r;
	took = t_now_ns() - began_ns;
	others = atomic_fetch_add(&sh->inside, weight);
	if (others >= 1000 || (mode == LH_EXCLUSIVE && others > 0))
		sh->together++;
	for (unsigned i = 0; i < hold; i++)
		if (atomic_load(&sh->stop) > 1)
			break;
	atomic_fetch_sub(&sh->inside, weight);
	life->turns[mode]++;
	if (took > life->worst_ns[mode])
		life->worst_ns[mode] = took;
	return lh_release(lh, &l);
}

static int
live(struct t_actor *a, void *arg)
{
	struct life *life = arg;
	unsigned seed = (unsigned)a->pid;
	struct lh_key *key;
	int r = lh_key_open(a->lh, "k", 0, &key);

	while (r == 0 && !sh->stop) {
		unsigned dice = (unsigned)rand_r(&seed);

		r = turn(a->lh, key, life,
		    dice % 3 == 0 ? LH_EXCLUSIVE : LH_SHARED,
		    dice / 3 % 4 == 0 ? dice / 16 % 3000 : 0);
	}
	if (r != 0)
		sh->odd++;
	return r != 0 ? r : lh_key_close(key);
}

static bool
mixed(void *arg)
{
	const char *table = arg;
	struct t_actor *a[PROCESSES];
	int64_t began_ns, fair_ns, worst[2] = { 0, 0 }, bound_ns;
	uint64_t turns[2] = { 0, 0 }, least = UINT64_MAX;

	memset(sh, 0, sizeof(*sh));
	for (int i = 0; i < PROCESSES; i++)
		a[i] = t_actor(table);
	began_ns = t_now_ns();
	for (int i = 0; i < PROCESSES; i++)
		t_begin(a[i], live, &sh->life[i]);
	t_sleep_ms(t_long(RUN_MS));
	sh->stop = 1;
	for (int i = 0; i < PROCESSES; i++) {
		if (t_result(a[i]) != 0)
			fail("process %d: %d %s", i, a[i]->result,
			    a[i]->detail);
		t_actor_end(a[i]);
	}
	fair_ns = t_now_ns() - began_ns;
	for (int i = 0; i < PROCESSES; i++) {
		struct life *l = &sh->life[i];

		for (int m = 0; m < 2; m++) {
			turns[m] += l->turns[m];
			if (l->worst_ns[m] > worst[m])
				worst[m] = l->worst_ns[m];
		}
		if (l->turns[0] + l->turns[1] < least)
			least = l->turns[0] + l->turns[1];
	}
	is(sh->together, 0, "no writer was inside with anybody");
	is(sh->odd, 0, "all were granted");
	cmp(turns[LH_EXCLUSIVE], >, 0, "writers had turns");
	cmp(turns[LH_SHARED], >, 0, "and readers");
	if (turns[0] + turns[1] == 0)
		return false;
	fair_ns = fair_ns * PROCESSES / (int64_t)(turns[0] + turns[1]);
	bound_ns = T3_MS * T_NS_PER_MS;
	if (100 * fair_ns > bound_ns)
		bound_ns = 100 * fair_ns;
	diag("%llu writes, longest wait %lld us; %llu reads, %lld us; "
	    "fair share %lld us; least turns %llu",
	    (unsigned long long)turns[LH_EXCLUSIVE],
	    (long long)worst[LH_EXCLUSIVE] / 1000,
	    (unsigned long long)turns[LH_SHARED],
	    (long long)worst[LH_SHARED] / 1000, (long long)fair_ns / 1000,
	    (unsigned long long)least);
	return worst[0] <= bound_ns && worst[1] <= bound_ns && least > 0;
}

static void
in_order(uint32_t order, const char *name)
{
	struct lh_open_opts o = t_open_opts();
	const char *table = t_table();
	struct lh *lh;

	o.order = order;
	is(lh_open(&lh, table, &o), 0, "%s", name);
	ok(t_tries(3, mixed, (void *)(uintptr_t)table), "nobody starves");
	is(t_holders(lh, "k"), 0, "nobody holds it in the end");
	is(t_waiters(lh, "k"), 0, "nobody waits");
	t_close(lh);
}

static void
play(void)
{
	sh = t_shared(sizeof(*sh));
	in_order(LH_ORDER_BOUNDED, "the default order");
	in_order(LH_ORDER_FIFO, "fifo");
}

int
main(void)
{
	t_part(play, 200, "nobody starves mixed");
	return done();
}
