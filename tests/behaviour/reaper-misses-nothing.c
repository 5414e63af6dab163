/* SPDX-License-Identifier: MIT */
/*
 * Timing T5: whatever ttls threads use, in whatever order, and whether they
 * hold, release, extend or shorten: the reaper knows of each held lease, or is
 * about to learn from its chunk's period, that it must look by its deadline.
 * The test looks at the reaper's state after each pass, while threads go on.  A
 * lease counts as missed if it would be noticed half a second too late, because
 * a thread may wait for a processor between clock and word.
 *
 * Otherwise some leases would end much too late, depending on the ttls of
 * others.
 */
#include <errno.h>
#include "behaviour/reaping.h"
#include "reaper/reap_ops.h"
#include "shm/claim_record.h"
#include "support/child.h"
#include "tap.h"

#define THREADS 8
#define HELD 20			/* leases that a thread lets be, in turn */
#define RUN_MS t_ms(1200)
#define LATE_NS (t_ms(500) * NS_PER_MS)

static const int64_t ttls[] = { 40, 150, 900, 4000, 30000 };
#define N (sizeof(ttls) / sizeof(ttls[0]))

static const char *table;
static _Atomic bool enough;
static _Atomic int odd;

/* A thread's calls for a while: one ttl and one way. */
struct habit {
	int64_t ttl_ms, extend_ms;	/* 0: it does not extend */
	uint32_t mode;
	unsigned turns, nap_ms;
};

static struct habit
some_habit(unsigned *seed)
{
	struct habit h = { .ttl_ms = t_ms(ttls[(unsigned)rand_r(seed) % N]),
	    .turns = 1 + (unsigned)rand_r(seed) % 40,
	    .nap_ms = (unsigned)rand_r(seed) % 9 };

	h.mode = rand_r(seed) % 3 == 0 ? LH_SHARED : LH_EXCLUSIVE;
	if (rand_r(seed) % 3 == 0)
		h.extend_ms = t_ms(ttls[(unsigned)rand_r(seed) % N]);
	return h;
}

/* Release what the place held, and acquire for it again. */
static int
turn(struct lh *lh, const struct habit *h, const char *key, struct lh_lease *l)
{
	struct lh_acquire_opts o = t_opts(h->ttl_ms, 0);
	int r = l->token == 0 ? 0 : lh_release(lh, l);

	l->token = 0;
	if (r != 0 && r != -ESTALE)
		return r;
	o.mode = h->mode;
	r = lh_acquire(lh, key, &o, l);
	if (r == 0 && h->extend_ms != 0)
		r = lh_extend(lh, l, h->extend_ms);
	return r == -EAGAIN || r == -ESTALE ? 0 : r;
}

/* In an attachment, and so in claims, of its own. */
static void *
use(void *arg)
{
	unsigned seed = 7 + (unsigned)(uintptr_t)arg, n = 0;
	struct lh_lease l[HELD] = { { .token = 0 } };
	struct lh *lh = t_open(table);
	char key[16];

	while (!atomic_load(&enough)) {
		struct habit h = some_habit(&seed);

		for (unsigned i = 0; i < h.turns; i++, n++) {
			snprintf(key, sizeof(key), "%u.%u",
			    (unsigned)(uintptr_t)arg, n % HELD);
			if (turn(lh, &h, key, &l[n % HELD]) != 0)
				atomic_fetch_add(&odd, 1);
			t_sleep_ms(h.nap_ms);
		}
	}
	(void)lh_close(lh);
	return NULL;
}

/* When would the claims of that chunk be looked through, by what is known? */
static int64_t
looked_through(struct lhi_reaper *r, uint32_t ch)
{
	uint64_t told = sh64_load(&r->v.chunks[ch].period);
	int64_t at = ch < r->chunks ? r->at[ch] : REAP_NEVER;

	if (told < DEADLINE_MAX && r->walked_ns + (int64_t)(told <<
	    TICK_SHIFT) < at)
		at = r->walked_ns + (int64_t)(told << TICK_SHIFT);
	return at;
}

/* Held leases that would be noticed too late. */
static int
missed(struct lhi_reaper *r, int *seen)
{
	int n = 0;

	for (uint32_t ci = SHM_CHUNK; ci < lhi_chunks_ready(&r->v) * SHM_CHUNK;
	    ci++) {
		uint64_t st = sh64_load(&r->v.claims[ci].state);
		int64_t end = lhi_deadline_ns(&r->v, state_deadline(st));
		int64_t at;

		if (!state_held(st))
			continue;
		at = looked_through(r, ci / SHM_CHUNK);
		/* it may be another lease by now, of somebody who told */
		if (sh64_load(&r->v.claims[ci].state) != st)
			continue;
		++*seen;
		if (end < t_now_ns())
			end = t_now_ns();
		if (at <= end + LATE_NS)
			continue;
		diag("claim %u ends in %lld ms, and would be looked at in %lld",
		    ci, (long long)((end - t_now_ns()) / T_NS_PER_MS),
		    (long long)((at - t_now_ns()) / T_NS_PER_MS));
		n++;
	}
	return n;
}

int
main(void)
{
	unsigned long thread[THREADS];
	struct lhi_reaper *r;
	int n = 0, seen = 0;
	struct lh *lh;
	int64_t end;

	table = t_table();
	lh = t_open(table);
	r = t_reaper(table);
	is(t_pass(r, NULL), 0, "a first pass");
	for (uintptr_t i = 0; i < THREADS; i++)
		thread[i] = t_thread(use, (void *)i);
	end = t_now_ns() + RUN_MS * T_NS_PER_MS;
	while (t_now_ns() < end) {
		t_reap_for(r, 10);
		n += missed(r, &seen);
	}
	atomic_store(&enough, true);
	for (int i = 0; i < THREADS; i++)
		(void)t_join(thread[i]);
	is(n, 0, "no lease would be noticed too late");
	cmp(seen, >, 100, "of many that were looked at");
	cmp(lhi_reap_count(r)->expired, >, 0, "and some ran out");
	is(odd, 0, "all calls went well");
	lhi_reap_close(r);
	t_close(lh);
	return done();
}
