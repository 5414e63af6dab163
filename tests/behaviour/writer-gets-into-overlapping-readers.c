/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G7: a chain of overlapping readers, each of which acquires before
 * the one before it leaves, so that the key is never free: a writer acquires
 * all the same, before three more of them release.  Three processes take turns,
 * and at most two hold the key at a time: step n reads when step n-1 has
 * acquired and step n-2 has left, and leaves when step n+1 has acquired, or
 * after a while.  When the writer is queued, two readers can hold the key: two
 * releases at most, exactly, in the default order and in fifo.
 *
 * Otherwise a writer would starve although each reader is short.
 */
#include <errno.h>
#include "readers.h"

#define PROCESSES	3
#define WRITES		12

static struct shared {
	struct t_event entered, left;	/* steps */
	_Atomic uint32_t stop, inside, gap;
	struct lh_lease lease;		/* the writer's */
	uint32_t left_then;		/* steps left when it was granted */
} *sh;

static struct lh *lh;

/* Step n of the chain; false when it is to end. */
static int
step(struct lh *mine, uint32_t n)
{
	struct lh_lease l;
	int r;

	if (!t_await(&sh->entered, n, T_HANG_MS) ||
	    !t_await(&sh->left, n > 1 ? n - 1 : 0, T_HANG_MS))
		return -ETIME;
	t_nap();
	r = t_read(mine, "k", HOUR_MS, T_HANG_MS, &l);
	if (r != 0)
		return r;
	if (atomic_fetch_add(&sh->inside, 1) == 0)
		sh->gap++;
	t_post(&sh->entered);
	/* overlap with the next, unless it is kept out */
	(void)t_await(&sh->entered, n + 2, t_ms(3));
	t_nap();
	atomic_fetch_sub(&sh->inside, 1);
	t_post(&sh->left);
	return lh_release(mine, &l);
}

/* Steps are numbered from 0; all processes stop after the same one. */
static int
chain(struct t_actor *a, void *arg)
{
	int r;

	for (uint32_t n = (uint32_t)(uintptr_t)arg;; n += PROCESSES) {
		if (sh->stop) {
			/* who waits for this step is to end as well */
			t_post(&sh->entered);
			t_post(&sh->left);
			return 0;
		}
		r = step(a->lh, n);
		if (r != 0)
			return r;
	}
}

static int
write_it(struct t_actor *w, void *arg)
{
	int r = t_acquire(w->lh, "k", HOUR_MS, T_HANG_MS, &sh->lease);

	(void)arg;
	sh->left_then = atomic_load(&sh->left.count);
	return r != 0 ? r : lh_release(w->lh, &sh->lease);
}

static bool
gets_in(void *arg)
{
	struct t_actor *w = arg;
	int64_t worst = 0, ns;
	uint32_t from, most = 0;
	int wrote = 0, seen = 0;

	for (int i = 0; i < WRITES; i++) {
		t_sleep_ms(t_ms(10));
		ns = t_now_ns();
		t_begin(w, write_it, NULL);
		/* the readers inside now may leave; it is in the queue */
		while (t_waiters(lh, "k") == 0 && !t_answered(w))
			continue;
		from = atomic_load(&sh->left.count);
		if (t_answered(w)) {
			/* before we could look: nothing to count */
			wrote += t_result(w) == 0;
			continue;
		}
		seen++;
		if (t_result(w) == 0)
			wrote++;
		else
			diag("writer: %s", w->detail);
		if (sh->left_then > from && sh->left_then - from > most)
			most = sh->left_then - from;
		if (t_after_ms(w, ns) > worst)
			worst = t_after_ms(w, ns);
	}
	is(wrote, WRITES, "the writer gets in each time");
	diag("%d of %d seen: after %u releases and %lld ms at most", seen,
	    WRITES, most, (long long)worst);
	return seen > 0 && most < 3 && worst <= T3_MS;
}

static void
in_order(uint32_t order, const char *name)
{
	struct t_actor *a[PROCESSES], *w;
	struct lh_open_opts o = t_open_opts();
	const char *table = t_table();

	memset(sh, 0, sizeof(*sh));
	o.order = order;
	is(lh_open(&lh, table, &o), 0, "%s", name);
	for (int i = 0; i < PROCESSES; i++)
		a[i] = t_actor(table);
	w = t_actor(table);
	for (int i = 0; i < PROCESSES; i++)
		t_begin(a[i], chain, (void *)(uintptr_t)i);
	ok(t_await(&sh->left, 10, T_HANG_MS), "a chain of readers");
	ok(t_tries(3, gets_in, w), "before three more of them release");
	sh->stop = 1;
	for (int i = 0; i < PROCESSES; i++) {
		is(t_result(a[i]), 0, "reader %d had no trouble", i);
		t_actor_end(a[i]);
	}
	diag("%u steps, %u of them into a free key", sh->left.count, sh->gap);
	t_actor_end(w);
	t_close(lh);
}

int
main(void)
{
	sh = t_shared(sizeof(*sh));
	in_order(LH_ORDER_BOUNDED, "the default order");
	in_order(LH_ORDER_FIFO, "fifo");
	return done();
}
