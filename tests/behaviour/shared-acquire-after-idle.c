/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G3: a deadline may count from a moment that the thread has seen
 * before, but never from one so long ago that the lease is shorter than asked
 * by more than 8 ms, or has expired.  A thread reads a key, rests, and reads
 * again, with leases longer and shorter than its rest: alone, beside others
 * where its idle place is still there, and where a writer has taken the place
 * away.
 *
 * Otherwise a reader that was idle would acquire a lease that is already over.
 */
#include <errno.h>
#include "support/part.h"
#include "readers.h"

#define REST_MS 40

static struct lh *lh;

enum company { ALONE, BESIDE, TAKEN_AWAY, N };

static const char *const names[N] = { "alone", "beside another",
	"after a writer" };

/* Reads when it was acquired, unless it is over by now. */
static void
acquired_after_idle(const struct lh_lease *l, int64_t before, int64_t after)
{
	struct lh_lease_info info = LH_LEASE_INFO_INIT;
	int r = lh_lease_info(lh, l, &info);

	if (r == -ESTALE && t_now_ns() >= l->expires_ns)
		return;
	is(r, 0, "when it was acquired");
	cmp(info.acquired_ns, <=, after, "not in the future");
	cmp(info.acquired_ns, >=, before - 8 * T_NS_PER_MS, "nor long ago");
}

static void
read_again(struct t_actor *other, enum company how, int64_t ttl_ms)
{
	struct lh_lease l;
	int64_t before, after;
	int r;

	if (how == BESIDE)
		is(t_do_read(other, "k", HOUR_MS, 0), 0, "another reads");
	for (int i = 0; i < 3; i++) {
		t_sleep_ms(REST_MS);
		if (how == TAKEN_AWAY && t_do_acquire(other, "k", HOUR_MS,
		    0) + t_do_release(other) != 0)
			fail("a writer comes and goes");
		before = t_ticked_ns();
		r = t_read(lh, "k", ttl_ms, 0, &l);
		after = t_now_ns();
		/* it may be over before the call returns (G3) */
		if (r == -EAGAIN && after >= before + (ttl_ms - 8) *
		    T_NS_PER_MS)
			continue;
		is(r, 0, "%s, for %lld ms", names[how], (long long)ttl_ms);
		cmp(l.expires_ns, >=, before + (ttl_ms - 8) * T_NS_PER_MS,
		    "not shorter than asked by more than 8 ms");
		cmp(l.expires_ns, <=, after + (ttl_ms + 2) * T_NS_PER_MS,
		    "nor longer");
		acquired_after_idle(&l, before, after);
		r = lh_verify(lh, &l);
		if (t_now_ns() < l.expires_ns)
			is(r, 0, "it is held");
		(void)lh_release(lh, &l);
	}
	if (how == BESIDE)
		is(t_do_release(other), 0, "the other releases");
}

static void
play(void)
{
	static const int64_t ttls[] = { 12, 30, 1000, 3600000 };
	const char *table = t_table();
	struct t_actor *a = t_actor(table);

	lh = t_open(table);
	for (int how = 0; how < N; how++)
		for (size_t i = 0; i < sizeof(ttls) / sizeof(ttls[0]); i++)
			read_again(a, how, ttls[i] < 100 ? t_long(ttls[i]) :
			    ttls[i]);
	is(t_holders(lh, "k"), 0, "it is free");
	t_actor_end(a);
	t_close(lh);
}

int
main(void)
{
	t_part(play, 10, "shared acquire after idle");
	return done();
}
