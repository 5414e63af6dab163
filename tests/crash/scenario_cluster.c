/* SPDX-License-Identifier: MIT */
/*
 * The scenarios of cluster keys: see scenario.h.
 *
 * KEY is one, and the subject is a process like any; everybody else is to such
 * a key what the shim is (participant_open()), so that they need no right to
 * it.  The right is there for an hour, or is taken away by the subject itself
 * before the operation begins.
 */
#include <errno.h>
#include <unistd.h>
#include "crash/subject.h"
#include "op/cluster_acquire.h"

static const int says_away[] = { -EHOSTUNREACH, 0 };

static struct lhi_ref
ref_of_key(struct trial *p)
{
	struct lhi_key_name n;
	struct lhi_ref ref;

	sub_must(p, lhi_name_set(&n, KEY), "the name");
	sub_must(p, lhi_slot_find(&sub.lh->v, &n, &ref) == 1 ? 0 : -ENOENT,
	    "the key");
	return ref;
}

static void
prep_lent(struct trial *p)
{
	static const uint64_t session[2] = { 1, 1 };
	struct lhi_view *v;
	struct lhi_ref ref;
	uint64_t epoch;

	prep_warm(p);
	v = &sub.lh->v;
	ref = ref_of_key(p);
	epoch = lhi_cluster_begin(v, session, 1, 1);
	sub_must(p, lhi_right_raise(v, &ref, cluster_base(9)), "the base");
	sub_must(p, lhi_right_set(v, &ref, RIGHT_EXCLUSIVE, epoch), "a right");
	lhi_cluster_go_on(v, (uint64_t)(lhi_clock_ns(CLOCK_BOOTTIME) +
	    3600 * NS_PER_SEC));
	sub.lh->serves = false;
}

static void
prep_lent_brief(struct trial *p)
{
	prep_lent(p);
	sub.opts.max_wait_ms = p->wait_ms;
}

static void
prep_lent_reader(struct trial *p)
{
	prep_lent(p);
	sub.opts.mode = LH_SHARED;
}

static void
prep_lent_again(struct trial *p)
{
	struct lh_lease l;

	prep_lent(p);
	for (int i = 0; i < 2; i++) {
		sub_must(p, lh_key_acquire(sub.key, &sub.opts, &l), "acquire");
		trial_saw_token(p, l.token);
		sub_must(p, lh_release(sub.lh, &l), "release");
	}
}

static void
prep_lent_held(struct trial *p)
{
	prep_lent(p);
	sub_hold(p, p->ttl_ms);
}

static void
prep_lent_held_reader(struct trial *p)
{
	prep_lent_reader(p);
	sub_hold(p, p->ttl_ms);
}

/* It is held, and the right has gone. */
static void
prep_void(struct trial *p)
{
	prep_lent_held(p);
	(void)lhi_cluster_end(&sub.lh->v);
}

static void
prep_void_reader(struct trial *p)
{
	prep_lent_held_reader(p);
	(void)lhi_cluster_end(&sub.lh->v);
}

/* Has a lease on KEY that needs a right, and is at rest. */
static void
part_lessee(struct trial *p, void *part)
{
	struct part *me = part;
	struct lh_acquire_opts o = participant_opts(p->ttl_ms, 1000);
	struct lh_lease lease;
	struct lh *lh = participant_open(p);

	if (me->shared)
		o.mode = LH_SHARED;
	sub_must(p, lh_acquire(lh, KEY, &o, &lease), "the lessee's");
	me->token = lease.token;
	trial_saw_token(p, lease.token);
	flag_set(&me->state, PART_ATTACHED);
	(void)flag_wait(&me->order, ORDER_QUIT, SUB_LONG_MS);
	(void)lh_close(lh);
	_exit(0);
}

/* It is there in D's time, which is over. */
static void
prep_past_end(struct trial *p)
{
	prep_lent(p);
	lhi_cluster_go_on(&sub.lh->v, (uint64_t)lhi_clock_ns(CLOCK_BOOTTIME));
}

static void
act_ask_token(struct trial *p)
{
	p->result = lh_verify_token(sub.lh, KEY, p->part[0].token);
}

static void
recover_asking(struct trial *p)
{
	struct lh *lh;

	p->result = lh_open(&lh, p->table, &p->opts);
	if (p->result != 0)
		return;
	(void)lh_verify_token(lh, KEY, p->part[0].token);
	(void)lh_close(lh);
	checker_recover(p);
}

/* Another check ends it for good, if none has yet. */
static void
check_asking(struct trial *p)
{
	uint64_t token = p->part[0].token;
	struct lh *lh;

	sub_must(p, lh_open(&lh, p->table, &p->opts), "open to ask");
	if (lh_verify_token(lh, KEY, token) != -ESTALE)
		blame(p, "G3: token %llu is good past D",
		    (unsigned long long)token);
	lhi_cluster_go_on(&lh->v, (uint64_t)(lhi_clock_ns(CLOCK_BOOTTIME) +
	    3600 * NS_PER_SEC));
	if (lh_verify_token(lh, KEY, token) != -ESTALE)
		blame(p, "G9: token %llu is good again",
		    (unsigned long long)token);
	(void)lh_close(lh);
	checker_check(p);
}

/* Confirms a grant without a right. */
static void
act_confirm(struct trial *p)
{
	p->result = lhi_cluster_acquire_confirm(sub.lh, &p->lease) == 0 ? 0 :
	    -EHOSTUNREACH;
}

static const struct scenario scenarios_cluster[] = {
	{ .flags = SC_CLUSTER, .name = "cluster-acquire",
	  .what = "a cluster key that this host has", .stop_ttl_ms = 120,
	  .prepare = prep_lent, .act = act_acquire,
	  .finish = finish_acquire },
	{ .flags = SC_CLUSTER, .name = "cluster-again",
	  .what = "... by the short way", .stop_ttl_ms = 120,
	  .prepare = prep_lent_again, .act = act_acquire,
	  .finish = finish_acquire },
	{ .flags = SC_CLUSTER, .name = "cluster-again-name",
	  .what = "... and by name", .stop_ttl_ms = 120,
	  .prepare = prep_lent_again, .act = act_acquire_name,
	  .finish = finish_acquire },
	{ .flags = SC_CLUSTER, .name = "cluster-reader",
	  .what = "... in shared mode", .stop_ttl_ms = 120,
	  .prepare = prep_lent_reader, .act = act_acquire,
	  .finish = finish_acquire },
	{ .flags = SC_CLUSTER, .name = "cluster-wait",
	  .what = "... while somebody holds it", .roles = { HOLDER },
	  .prepare = prep_lent_brief, .min_states = QUEUED_STATES,
	  .act = act_acquire, .finish = finish_acquire,
	  .allowed = says_late },
	{ .flags = SC_CLUSTER, .name = "cluster-release",
	  .what = "a lease of it", .prepare = prep_lent_held,
	  .act = act_release, .finish = finish_plain,
	  .allowed = says_stale },
	{ .flags = SC_CLUSTER, .name = "cluster-extend",
	  .what = "a lease of it", .prepare = prep_lent_held,
	  .act = act_extend, .finish = finish_extend,
	  .allowed = says_stale },
	{ .flags = SC_CLUSTER, .name = "cluster-given-back",
	  .what = "granted, and there is no right", .prepare = prep_void,
	  .act = act_confirm, .finish = finish_lost,
	  .allowed = says_away },
	{ .flags = SC_CLUSTER, .name = "cluster-given-back-reader",
	  .what = "... in shared mode", .prepare = prep_void_reader,
	  .act = act_confirm, .finish = finish_lost,
	  .allowed = says_away },
	{ .flags = SC_CLUSTER, .name = "cluster-void",
	  .what = "verify a lease whose right has gone",
	  .prepare = prep_void, .act = act_verify, .finish = finish_lost,
	  .allowed = says_stale },
	{ .flags = SC_CLUSTER, .name = "cluster-void-reader",
	  .what = "... in shared mode", .prepare = prep_void_reader,
	  .act = act_verify, .finish = finish_lost,
	  .allowed = says_stale },
	{ .flags = SC_CLUSTER, .name = "cluster-void-token",
	  .what = "ask about somebody's token past D", .stop_ttl_ms = 120,
	  .roles = { ROLE(part_lessee, PART_ATTACHED) },
	  .prepare = prep_past_end, .act = act_ask_token,
	  .finish = finish_lost, .check = check_asking,
	  .recover = recover_asking, .allowed = says_stale },
	{ .flags = SC_CLUSTER, .name = "cluster-void-token-reader",
	  .what = "... a reader's", .stop_ttl_ms = 120,
	  .roles = { ROLE(part_lessee, PART_ATTACHED, .shared = true) },
	  .prepare = prep_past_end, .act = act_ask_token,
	  .finish = finish_lost, .check = check_asking,
	  .recover = recover_asking, .allowed = says_stale },
};

SCENARIOS(scenarios_cluster)
