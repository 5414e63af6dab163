/* SPDX-License-Identifier: MIT */
/* test: slow 5 */
/*
 * Timing T5: a running reaper ends a lease that is past its deadline and that
 * nobody waits for, exclusive or shared, of any ttl; not before the deadline;
 * and its holder learns of the loss.  An idle reader is left alone.  Nobody
 * else looks at the key: the test reads the lock word.
 *
 * Otherwise a holder would learn of its loss only when somebody wants the key.
 */
#include <errno.h>
#include "behaviour/reaping.h"
#include "support/actor.h"
#include "support/part.h"
#include "tap.h"

#define T5_MS(ttl) t_ms((ttl) >= 100 ? 100 : 500)	/* ten times T5 */

static const int64_t ttls[] = { 1, 20, 70, 150, 400 };
#define N (sizeof(ttls) / sizeof(ttls[0]))

struct one {
	struct lh *lh;
	int64_t ttl_ms;
	uint32_t mode;
};

static bool
in_time(void *arg)
{
	const struct one *o = arg;
	struct lh_acquire_opts opts = t_opts(o->ttl_ms, 0);
	struct lh_lease l;
	int64_t late;
	int r;

	opts.mode = o->mode;
	r = lh_acquire(o->lh, "k", &opts, &l);
	if (r == -EAGAIN && o->ttl_ms < 60)
		return false;	/* over before it could be reported (G3) */
	is(r, 0, "%s, for %lld ms", o->mode == LH_SHARED ? "shared" :
	    "exclusive", (long long)o->ttl_ms);
	ok(t_until(o->ttl_ms + T_HANG_MS,
	    reaping_mode(o->lh, &l) == WORD_FREE), "is ended by itself");
	late = (t_now_ns() - l.expires_ns) / T_NS_PER_MS;
	cmp(t_now_ns(), >=, l.expires_ns, "not before its deadline");
	is(lh_verify(o->lh, &l), -ESTALE, "and lost");
	is(lh_release(o->lh, &l), -ESTALE, "its release says so");
	diag("%lld ms late", (long long)late);
	return late <= T5_MS(o->ttl_ms);
}

/* A reader beside another goes idle, and stays; the other's lease is ended. */
static void
idle_stays(const char *table, struct lh *lh)
{
	struct t_actor *a = t_actor(table);
	struct lh_acquire_opts o = t_opts(t_long(300), 0);
	struct lh_acquire_opts lasting = t_opts(3600000, 0);
	struct lh_lease l, again;
	struct lh_key *k;

	o.mode = lasting.mode = LH_SHARED;
	is(lh_key_open(lh, "r", 0, &k), 0, "another key");
	is(lh_key_acquire(k, &lasting, &l), 0, "a reader");
	t_begin_acquire_opts(a, "r", &o);
	is(t_result(a), 0, "and another beside it");
	is(lh_release(lh, &l), 0, "the first goes idle");
	is(word_idx(reaping_word(lh, &l)), lid_claim(a->lease.id[1]),
	    "the other stands before it");
	ok(t_until(t_long(300) + T_HANG_MS, word_idx(reaping_word(lh, &l)) ==
	    lid_claim(l.id[1])), "and runs out: the idle one is alone");
	cmp(t_now_ns(), >=, a->lease.expires_ns, "not before its deadline");
	t_sleep_ms(t_long(100));
	is(reaping_mode(lh, &l), WORD_S, "it stays");
	is(lh_key_acquire(k, &lasting, &again), 0, "which comes back");
	is(again.token, l.token, "with its old token");
	is(lh_release(lh, &again), 0, "and goes");
	is(t_do_verify(a), -ESTALE, "the other holder's lease is lost");
	is(lh_key_close(k), 0, "closed");
	t_actor_end(a);
}

static void
play(void)
{
	const char *table = t_table();
	struct lh *lh = t_open(table);
	struct t_reaping *rp = t_reaping(table);
	struct lh_stats s = { .size = sizeof(s) };
	struct lhi_reap_counts counts;

	for (size_t i = 0; i < N; i++) {
		struct one o = { lh, t_long(ttls[i]), LH_EXCLUSIVE };

		ok(t_tries(5, in_time, &o), "in time");
		o.mode = LH_SHARED;
		ok(t_tries(5, in_time, &o), "in time");
	}
	idle_stays(table, lh);
	is(t_reaping_end(rp, &counts), 0, "all passes went well");
	cmp(counts.expired, >=, 2 * N, "its counters count them");
	is(counts.buried, 0, "and of nobody's death");
	is(lh_stats(lh, &s), 0, "so does the table");
	cmp(s.counters.expired_others, >=, counts.expired, "of each");
	t_close(lh);
}

int
main(void)
{
	t_part(play, 300, "reaper ends due leases");
	return done();
}
