/* SPDX-License-Identifier: MIT */
/* test: slow 7 */
/*
 * Guarantee G12, timing T5: the reaper learns of leases from one word of each
 * chunk, and looks as rarely as that allows.  A short ttl after long ones is
 * noticed in time; a short one that is no longer used is forgotten.  An
 * extension to a shorter ttl is noticed; and whatever is written into that
 * word, passes stay short, leases end, and none before its time.
 *
 * Otherwise a reaper would use the processor all the time, or end leases too
 * late.
 */
#include <errno.h>
#include "behaviour/reaping.h"
#include "support/part.h"
#include "tap.h"

#define LATE_MS t_ms(100)

/* Hold "k" for ttl_ms and see it ended; by how much too late? */
static int64_t
ends_after(struct lh *lh, struct lhi_reaper *r, int64_t ttl_ms)
{
	struct lh_lease l;

	if (t_acquire(lh, "k", ttl_ms, 0, &l) != 0)
		return INT64_MAX;
	while (reaping_mode(lh, &l) == WORD_X &&
	    t_now_ns() < l.expires_ns + T_HANG_MS * T_NS_PER_MS)
		t_reap_for(r, 1);
	cmp(t_now_ns(), >=, l.expires_ns, "not before its deadline");
	return t_since_ms(l.expires_ns);
}

struct pair {
	struct lh *lh;
	struct lhi_reaper *r;
};

static bool
short_after_long(void *arg)
{
	const struct pair *p = arg;
	struct lh_lease l;

	for (int i = 0; i < 3; i++) {
		is(t_acquire(p->lh, "k", 30000, 0, &l), 0, "for long");
		is(lh_release(p->lh, &l), 0, "not needed");
	}
	t_reap_for(p->r, t_ms(100));
	return ends_after(p->lh, p->r, t_ms(120)) <= LATE_MS;
}

static bool
shortened(void *arg)
{
	const struct pair *p = arg;
	struct lh_lease l;

	is(t_acquire(p->lh, "k", 30000, 0, &l), 0, "for long");
	t_reap_for(p->r, t_ms(100));
	is(lh_extend(p->lh, &l, t_ms(150)), 0, "for 150 ms only");
	t_reap_for(p->r, t_ms(150) + LATE_MS);
	return reaping_mode(p->lh, &l) == WORD_FREE;
}

/* With nothing but long leases, of which some come and go, it hardly looks. */
static void
forgotten(struct lh *lh, struct lhi_reaper *r)
{
	struct lh_lease l, kept;
	uint64_t visits;

	is(t_acquire(lh, "k", 100, 0, &l), 0, "a short one");
	is(lh_release(lh, &l), 0, "is over");
	is(t_acquire(lh, "kept", 3600000, 0, &kept), 0, "a long one");
	t_reap_for(r, t_ms(250));
	visits = lhi_reap_count(r)->visited;
	for (int i = 0; i < 10; i++) {
		is(t_acquire(lh, "k", 3600000, 0, &l), 0, "again");
		is(lh_release(lh, &l), 0, "and again");
		t_reap_for(r, t_ms(20));
	}
	cmp(lhi_reap_count(r)->visited - visits, <=, 1,
	    "the claims are hardly looked at any more");
	is(lh_release(lh, &kept), 0, "over");
}

/* A lease whose period is odd in every pass: ended, but not too early. */
static bool
survives(struct lh *lh, struct lhi_reaper *r, uint64_t odd)
{
	int64_t worst = 0, end, next;
	int bad = 0, early = 0;
	struct lh_lease l;

	if (t_acquire(lh, "k", t_ms(100), 0, &l) != 0)
		return false;
	end = l.expires_ns;
	while (t_now_ns() < end) {
		int64_t before = t_now_ns();

		sh64_store(reaping_period(lh, &l), odd);
		bad += t_pass(r, &next) != 0 || next <= before;
		if (t_now_ns() - before > worst)
			worst = t_now_ns() - before;
		if (reaping_mode(lh, &l) == WORD_FREE)
			early += t_now_ns() < end;
		t_sleep_ms(5);
	}
	is(bad, 0, "%llx: passes go well", (unsigned long long)odd);
	is(early, 0, "and end nothing before its time");
	cmp(worst / T_NS_PER_MS, <=, T_HANG_MS / 10, "they are short");
	for (int i = 0; i < 200 && reaping_mode(lh, &l) == WORD_X; i++)
		t_reap_for(r, t_ms(20));
	return reaping_mode(lh, &l) == WORD_FREE;
}

static void
scribbled(struct lh *lh, struct lhi_reaper *r)
{
	static const uint64_t odd[] = { 0, 1, 47, UINT64_C(1) << 37,
	    UINT64_C(1) << 38, UINT64_MAX - 1, UINT64_MAX };

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		ok(survives(lh, r, odd[i]), "the lease is ended in the end");
}

static void
play(void)
{
	const char *table = t_table();
	struct lh *lh = t_open(table);
	struct pair p = { lh, t_reaper(table) };

	ok(t_tries(4, short_after_long, &p), "a short ttl is noticed");
	ok(t_tries(4, shortened, &p), "so is a shortened lease");
	forgotten(lh, p.r);
	scribbled(lh, p.r);
	lhi_reap_close(p.r);
	t_close(lh);
}

int
main(void)
{
	t_part(play, 100, "reaper ttl hints");
	return done();
}
