/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G8: a swap that is lost to another process is neither a lost lease
 * nor damage.
 *
 * A judge that has marked a lease expired is stopped before it marks the
 * claim's link.  The owner takes the claim back and uses it for another lease;
 * the judge's mark comes while the owner converts that one: the conversion must
 * try again and succeed.  And a writer tries a key whose newest reader comes
 * and goes more than a thousand times between the writer's look at its state
 * and its swap: the table must not count as damaged.
 *
 * Otherwise a busy but sound table would be marked as damaged and refuse all
 * service.
 */
#include "sweep.h"

#define TTL_MS 40
#define TRIES 20		/* on a busy machine */
#define OTHERS 7		/* with one more: all claims of a thread */
#define LOST 1100		/* swaps; 1,000 misfits in a row are damage */
#define SPINS 300

static struct lh *lh, *other;

struct owner {
	struct sweep s;
	char key[32];
	struct t_event ready, on;
	struct lh_lease hold[OTHERS], l;
	int released, converted;
};

static int
own(void *arg)
{
	struct owner *o = arg;
	char key[40];

	for (int i = 0; i < OTHERS; i++) {
		(void)snprintf(key, sizeof(key), "own%d", i);
		o->hold[i] = t_hold(lh, key);
	}
	if (t_read(lh, o->key, TTL_MS, 0, &o->l) != 0)
		bail_out("%s cannot be read", o->key);
	sweep_now(&o->s, "cas", 1);	/* the word's, S to FREE */
	o->released = lh_release(lh, &o->l);
	(void)snprintf(key, sizeof(key), "next-%s", o->key);
	o->l = t_hold(lh, key);
	t_post(&o->ready);
	(void)t_await(&o->on, 1, REPLAY_MS);
	sweep_now(&o->s, "cas", 1);	/* the link's */
	o->converted = lh_convert(lh, &o->l, LH_SHARED);
	return 0;
}

/* 1: it was played; -1: it took longer than the lease. */
static int
stale_judge(int i)
{
	struct replay_call w = REPLAY_CALL(other, NULL, 1000, 0);
	struct owner o = { .released = 1 };
	uint32_t claim;
	int64_t until;
	bool in_time;

	(void)snprintf(o.key, sizeof(o.key), "k%d", i);
	w.key = o.key;
	sweep_go(&o.s, own, &o);
	in_time = sweep_stands(&o.s);
	claim = lid_claim(o.l.id[1]);
	until = o.l.expires_ns;
	in_time = in_time && t_now_ns() < until;
	t_sleep_until(until + T_NS_PER_MS);
	if (in_time) {
		replay_stop("judge", "lock.expired", replay_acquire, &w);
		t_post(&o.s.on);
		ok(t_await(&o.ready, 1, REPLAY_MS), "the owner goes on");
		is(o.released, -ESTALE, "its release was late");
		is(lid_claim(o.l.id[1]), claim, "it uses the claim again");
		t_post(&o.on);
		ok(sweep_stands(&o.s), "and converts its new lease");
		is(replay_finish("judge"), 0,
		    "the judge goes on, and acquires k");
		(void)sweep_end(&o.s);
		is(o.converted, 0, "the conversion succeeds");
		is(lh_verify(lh, &o.l), 0, "and the lease is held");
		is(lh_release(other, &w.lease), 0, "released");
	} else {
		t_post(&o.on);
		t_post(&o.s.on);
		(void)sweep_end(&o.s);
	}
	(void)lh_release(lh, &o.l);
	for (int j = 0; j < OTHERS; j++)
		(void)lh_release(lh, &o.hold[j]);
	return in_time ? 1 : -1;
}

/* The turns of the reader and the writer. */
static struct turns {
	_Atomic int asked, done, lost;
	_Atomic bool stop;
	struct t_event idle;
} turns;
static __thread bool victim;
static void (*next_hook)(const char *what, const void *addr);

/* Spins, and then sleeps, because the other thread may need the processor. */
static void
soon(int looks)
{
	if (looks > SPINS)
		t_nap();
}

/* Lets the reader come and go once before each swap of the writer. */
static void
on_swap(const char *what, const void *addr)
{
	int n;

	next_hook(what, addr);
	if (!victim || strcmp(what, "cas") != 0 ||
	    atomic_load(&turns.asked) >= LOST)
		return;
	n = atomic_fetch_add(&turns.asked, 1) + 1;
	for (int i = 0; atomic_load(&turns.done) < n; i++)
		soon(i);
}

static int
come_and_go(void *arg)
{
	struct lh_lease l = t_read_hold(lh, "hot");

	(void)arg;
	(void)lh_release(lh, &l);
	t_post(&turns.idle);
	for (int i = 0; !atomic_load(&turns.stop); i++) {
		if (atomic_load(&turns.done) == atomic_load(&turns.asked)) {
			soon(i);
			continue;
		}
		i = 0;
		if (t_read(lh, "hot", HOUR_MS, 0, &l) == 0 &&
		    lh_release(lh, &l) == 0)
			atomic_fetch_add(&turns.lost, 1);
		atomic_fetch_add(&turns.done, 1);
	}
	return 0;
}

static void
lost_a_thousand_times(void)
{
	struct lh *third = replay_open(lh_table_name(lh), 0);
	struct lh_stats st = { .size = sizeof(st) };
	struct lh_lease d = t_read_hold(other, "hot"), w = t_hold(third, "w");

	is(lh_release(third, &w), 0, "a writer comes");
	replay_go("reader", come_and_go, NULL);
	ok(t_await(&turns.idle, 1, REPLAY_MS), "a reader is idle");
	next_hook = lhi_hook;
	lhi_hook = on_swap;
	victim = true;
	is(replay_try(third, "hot", &w), -EAGAIN,
	    "the writer's try finds the key busy");
	victim = false;
	atomic_store(&turns.stop, true);
	is(replay_result("reader"), 0, "the reader ends");
	lhi_hook = next_hook;
	diag("%d swaps, %d rounds of the reader", turns.asked, turns.lost);
	cmp(turns.lost, >, 1000, "it came between more than 1,000 times");
	is(lh_stats(other, &st), 0, "stats");
	is(st.damaged, 0, "the table is not damaged");
	is(lh_release(other, &d), 0, "released");
	is(replay_try(third, "hot", &w), 0, "then the writer acquires it");
	is(lh_release(third, &w), 0, "released");
	t_close(third);
}

int
main(void)
{
	const char *table = sweep_begin();
	int r = -1;

	lh = replay_open(table, 0);
	other = replay_open(table, 0);
	for (int i = 0; i < TRIES && r < 0; i++)
		r = stale_judge(i);
	is(r, 1, "within %d ms", TTL_MS);
	lost_a_thousand_times();
	t_close(other);
	t_close(lh);
	return done();
}
