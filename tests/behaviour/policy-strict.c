/* SPDX-License-Identifier: MIT */
/*
 * Policy strict (leasehold/lease.h): a lease without a deadline.  Its ttl has
 * no meaning; it ends by a release, with its session, or by an operator, and at
 * no other time.
 *
 * Otherwise a holder that must never be overtaken would lose its key by the
 * clock.
 */
#include <errno.h>
#include <signal.h>
#include "support/actor.h"
#include "support/reaper.h"
#include "support/support.h"
#include "tap.h"

static struct lh_acquire_more strict = LH_ACQUIRE_MORE_INIT;
static struct lh_acquire_opts opts;

static int
is_strict(const struct lh_key_info *info, void *arg)
{
	(void)arg;
	return info->n_holders == 1 &&
	    info->holders[0].policy == LH_POLICY_STRICT &&
	    info->holders[0].expires_ns == INT64_MAX ? 1 : 2;
}

static void
alone(struct lh *lh)
{
	struct lh_acquire_opts read = opts;
	struct lh_lease l, copy;

	is(lh_acquire(lh, "k", &opts, &l), 0, "a lease under policy strict");
	ok(l.expires_ns == INT64_MAX, "it has no deadline");
	is(lh_status(lh, "k", NULL, is_strict, NULL), 1, "and is shown so");
	t_sleep_ms(t_ms(30));
	is(lh_verify(lh, &l), 0, "long after its ttl it is held");
	is(lh_verify_token(lh, "k", l.token), 0, "and its token is good");
	copy = l;
	is(lh_extend(lh, &l, 1), 0, "extending it is allowed");
	ok(memcmp(&l, &copy, sizeof(l)) == 0, "and changes nothing");
	t_sleep_ms(5);
	is(lh_verify(lh, &l), 0, "nor does it end then");
	is(lh_convert(lh, &l, LH_SHARED), 0, "it can be converted");
	is(lh_status(lh, "k", NULL, is_strict, NULL), 1, "and stays strict");
	is(lh_convert(lh, &l, LH_EXCLUSIVE), 0, "there and back");
	is(lh_release(lh, &l), 0, "released");
	is(lh_extend(lh, &copy, 1000), -ESTALE, "then it is not extended");
	read.mode = LH_SHARED;
	is(lh_acquire(lh, "k", &read, &l), 0, "shared, too");
	is(lh_status(lh, "k", NULL, is_strict, NULL), 1, "it is shown so");
	is(lh_release(lh, &l), 0, "released");
	is(t_acquire(lh, "k", 30000, 0, &l), 0, "the next one's is usual");
	is(lh_status(lh, "k", NULL, is_strict, NULL), 2, "and shown so");
	is(lh_release(lh, &l), 0, "released");
}

static void
broken(struct lh *lh)
{
	struct lh_lease l;

	is(lh_acquire(lh, "k", &opts, &l), 0, "held strictly");
	is(lh_break(lh, "k", NULL, 0), 1, "an operator can end it");
	is(lh_extend(lh, &l, 1000), -ESTALE, "then it is lost");
}

static void
others(const char *table, struct lh *lh)
{
	struct lhi_reaper *r = t_reaper(table);
	struct t_actor *a = t_actor(table);
	struct lh_lease l;

	t_begin_acquire_opts(a, "k", &opts);
	is(t_result(a), 0, "another process holds it strictly");
	t_stop(a->pid);
	is(t_acquire(lh, "k", 1000, t_ms(60), &l), -ETIMEDOUT,
	    "a wait for the stopped holder times out");
	t_reap_for(r, t_ms(60));
	is(t_acquire(lh, "k", 1000, 0, &l), -EAGAIN, "with a reaper, too");
	ok(strstr(lh_error_detail(), "no deadline") != NULL,
	    "and the error says so");
	t_actor_kill(a);
	ok(t_until(T2_MS, t_acquire(lh, "k", 1000, 0, &l) == 0),
	    "killed: failing tries find out, and one succeeds");
	is(l.notes, LH_NOTE_PREVIOUS_DIED, "with the note");
	is(lh_release(lh, &l), 0, "released");
	lhi_reap_close(r);
	t_actor_free(a);
}

static void
live_handle(struct lh *lh)
{
	struct lh_lock_opts lo = LH_LOCK_OPTS_INIT;
	struct lh_lock_state st = { .size = sizeof(st) };
	struct lh_lock *k;

	is(lh_lock_open(lh, "k", &lo, &k), 0, "a live handle");
	is(lh_lock_acquire(k, &opts), 0, "holds it strictly");
	t_sleep_ms(t_ms(100));
	is(lh_lock_valid(k), 0, "it is valid long after its ttl");
	is(lh_lock_state(k, &st), 0, "its state");
	is(st.renewals, 0, "nothing was renewed");
	is(st.next_ns, 0, "and nothing will be");
	is(lh_lock_release(k), 0, "released");
	is(lh_lock_close(k), 0, "closed");
}

int
main(void)
{
	const char *table = t_table();
	struct lh *lh = t_open(table);

	strict.policy = LH_POLICY_STRICT;
	opts = t_opts(t_ms(20), 0);
	opts.more = &strict;
	alone(lh);
	broken(lh);
	others(table, lh);
	live_handle(lh);
	t_close(lh);
	return done();
}
