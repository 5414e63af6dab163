/* SPDX-License-Identifier: MIT */
/*
 * The scenarios of tokens that rise over all keys (op/token_next.c), and of
 * cluster keys' rights (shm/cluster_right.c): see scenario.h.
 *
 * After a kill more is checked.  Of the first: another key's token is larger
 * than all earlier ones.  Of the second: KEY's token is above its base, and the
 * record of a session with the cluster is complete or empty.  Every process is
 * the shim there, so that no cluster is asked.
 */
#include <string.h>
#include "crash/subject.h"
#include "op/lease_check.h"
#include "op/token_ceiling.h"
#include "proc/attachment.h"

#define FAR_AWAY	(UINT64_C(1) << 40)

static struct shm_slot *
slot_of_key(struct trial *p, struct lh *lh)
{
	struct lhi_view *v = &lh->v;

	for (uint32_t i = 1; i < lhi_slots_ready(v); i++)
		if (memcmp(v->slots[i].key, KEY, sizeof(KEY)) == 0 &&
		    word_mode(sh64_load(&v->slots[i].word)) != WORD_NONE)
			return &v->slots[i];
	blame(p, "where is the key?");
	return &v->slots[0];
}

/* So much was granted elsewhere. */
static void
prep_far(struct trial *p)
{
	struct shm_header *h;

	prep_warm(p);
	h = sub.lh->v.hdr;
	sh64_store(&h->ceiling, sh64_load(&h->ceiling) + FAR_AWAY);
	sh64_store(&h->last_token, sh64_load(&h->last_token) + FAR_AWAY);
	trial_saw_token(p, sh64_load(&h->last_token));
}

/* Claim 0 has had the key, so it is acquired on the straight path. */
static void
prep_again(struct trial *p)
{
	prep_warm(p);
	sub_hold(p, p->ttl_ms);
	sub_must(p, lh_release(sub.lh, &p->lease), "release");
	p->has_lease = false;
}

static void
prep_read(struct trial *p)
{
	prep_warm(p);
	sub.opts.mode = LH_SHARED;
}

static void
prep_reads(struct trial *p)
{
	prep_read(p);
	sub_hold(p, p->ttl_ms);
}

static void
act_convert(struct trial *p)
{
	p->result = lh_convert(sub.lh, &p->lease, p->lease.mode == LH_SHARED ?
	    LH_EXCLUSIVE : LH_SHARED);
	sub_granted(p);
}

/* Another key's token is larger than any that was seen. */
static void
check_over_all(struct trial *p)
{
	struct lh_acquire_opts o = participant_opts(30000, 1000);
	uint64_t before = atomic_load(&p->max_token);
	struct lh_lease lease;
	struct lh *lh;
	int error = lh_open(&lh, p->table, &p->opts);

	if (error == 0)
		error = lh_acquire(lh, OTHER, &o, &lease);
	if (error != 0) {
		blame(p, "another key cannot be acquired: %s: %s",
		    lh_strerror(error), lh_error_detail());
		return;
	}
	if (lease.token <= before)
		blame(p, "G2: another key's token %llu after %llu",
		    (unsigned long long)lease.token,
		    (unsigned long long)before);
	trial_saw_token(p, lease.token);
	(void)lh_release(lh, &lease);
	(void)lh_close(lh);
	checker_check(p);
}

/* As a shim does that got the key from the cluster. */
static void
act_give_right(struct trial *p)
{
	const struct lhi_ref ref = lhi_lease_ref(&sub.lh->v, &p->lease);
	uint64_t base = cluster_base(cluster_revision(p->lease.token) + 7);

	p->result = lhi_right_raise(&sub.lh->v, &ref, base);
	if (p->result == 0)
		p->result = lhi_right_set(&sub.lh->v, &ref, RIGHT_EXCLUSIVE,
		    lhi_cluster_epoch(&sub.lh->v));
	if (p->result == 0)
		p->result = lh_release(sub.lh, &p->lease);
}

/* A base that is far. */
static void
prep_far_base(struct trial *p)
{
	struct lhi_ref ref;

	prep_warm(p);
	sub_hold(p, 30000);
	ref = lhi_lease_ref(&sub.lh->v, &p->lease);
	sub_must(p, lhi_right_raise(&sub.lh->v, &ref,
	    cluster_base(cluster_revision(p->lease.token) + (1 << 20))),
	    "raise the base");
	sub_must(p, lh_release(sub.lh, &p->lease), "release");
	p->has_lease = false;
}

static void
forget(struct trial *p, const char *name)
{
	if (lh_evict(sub.lh, name, 0) != 1)
		blame(p, "staging: %s cannot be evicted", name);
}

/* KEY is away, and its slot is next. */
static void
prep_slot_of_cluster(struct trial *p)
{
	prep_far_base(p);
	forget(p, KEY);
}

/* KEY is away, and another key's slot is next. */
static void
prep_slot_of_other(struct trial *p)
{
	struct lh_key *k;

	prep_slot_of_cluster(p);
	sub_must(p, lh_key_open(sub.lh, "squatter", 0, &k), "squatter");
	sub_must(p, lh_key_close(k), "squatter");
	forget(p, THIRD);
}

static void
act_forget(struct trial *p)
{
	int64_t n = lh_evict(sub.lh, KEY, 0);

	p->result = n < 0 ? (int)n : 0;
}

#define MINE		UINT64_C(0x1234567890abcdef)

static void
act_begin_session(struct trial *p)
{
	static const uint64_t name[2] = { MINE, ~MINE };
	struct lhi_view *v = &sub.lh->v;

	(void)lhi_cluster_begin(v, name, 11, 12);
	lhi_cluster_go_on(v, MINE);
	lhi_cluster_listen(v, 13, "/where/it/listens");
	p->result = 0;
}

static void
check_session(struct trial *p)
{
	char path[SHM_SOCKET];
	struct lhi_cluster c;
	struct lh *lh;

	if (lh_open(&lh, p->table, &p->opts) != 0) {
		blame(p, "cannot be opened: %s", lh_error_detail());
		return;
	}
	lhi_cluster_read(&lh->v, &c);
	if (c.session[0] != 0 && (c.session[0] != MINE ||
	    c.session[1] != ~MINE || c.created != 11 || c.id != 12 ||
	    c.epoch == 0))
		blame(p, "half a session can be adopted");
	if (c.until_ns != 0 && c.session[0] == 0)
		blame(p, "nobody's session goes on");
	if (lhi_cluster_socket(&lh->v, path) &&
	    strcmp(path, "/where/it/listens") != 0)
		blame(p, "it listens at '%s'", path);
	(void)lh_close(lh);
	checker_check(p);
}

/* The next grant is above the base, and the table sound. */
static void
check_base(struct trial *p)
{
	struct lh_acquire_opts o = participant_opts(30000, 1000);
	struct lh_lease lease;
	struct lh *lh;
	int error = lh_open(&lh, p->table, &p->opts);

	if (error == 0) {
		participant_serve(p, lh);
		error = lh_acquire(lh, KEY, &o, &lease);
	}
	if (error != 0) {
		blame(p, "the key cannot be acquired: %s: %s",
		    lh_strerror(error), lh_error_detail());
		return;
	}
	if (!token_cluster(lease.token) || lease.token <=
	    lhi_right_base(&lh->v, slot_of_key(p, lh)) ||
	    lease.token <= atomic_load(&p->max_token))
		blame(p, "token %llu is below its base, or earlier ones",
		    (unsigned long long)lease.token);
	trial_saw_token(p, lease.token);
	check_findings(p, lh, "after the kill");
	(void)lh_release(lh, &lease);
	error = lh_acquire(lh, "brand-new", &o, &lease);
	if (error != 0)
		blame(p, "another key cannot be made: %s: %s",
		    lh_strerror(error), lh_error_detail());
	else if (token_cluster(lease.token))
		blame(p, "another key has a cluster key's token");
	else
		(void)lh_release(lh, &lease);
	(void)lh_close(lh);
	checker_check(p);
}

#define GLOBAL(n) .flags = SC_GLOBAL | (n), .check = check_over_all, \
	.stop_ttl_ms = 120
#define CLUSTER(n) .flags = SC_CLUSTER | (n), .check = check_base, \
	.stop_ttl_ms = 120

static const struct scenario scenarios_tokens[] = {
	{ .name = "global-acquire", .what = "tokens rise over all keys: "
	  "acquire", GLOBAL(0), .prepare = prep_warm, .act = act_acquire,
	  .finish = finish_acquire },
	{ .name = "global-straight", .what = "... a key that the claim had "
	  "last", GLOBAL(0), .prepare = prep_again, .act = act_acquire,
	  .finish = finish_acquire },
	{ .name = "global-far", .what = "... long after others did",
	  GLOBAL(0), .prepare = prep_far, .act = act_acquire,
	  .finish = finish_acquire },
	{ .name = "global-local", .what = "... in scope local",
	  GLOBAL(SC_DURABLE), .prepare = prep_far, .act = act_acquire,
	  .finish = finish_acquire },
	{ .name = "global-join", .what = "... join two readers",
	  .roles = { READER, READER }, GLOBAL(0), .prepare = prep_read,
	  .act = act_acquire, .finish = finish_acquire },
	{ .name = "global-leave", .what = "... leave a reader",
	  .roles = { READER }, GLOBAL(0), .prepare = prep_reads,
	  .act = act_release, .finish = finish_plain, .allowed = says_stale },
	{ .name = "global-upgrade", .what = "... a reader becomes a writer",
	  GLOBAL(0), .prepare = prep_reads, .act = act_convert,
	  .finish = finish_convert, .allowed = says_stale },
	{ .name = "right-give", .what = "the shim publishes a right",
	  CLUSTER(0), .prepare = prep_holding, .act = act_give_right,
	  .finish = finish_plain, .allowed = says_stale },
	{ .name = "right-far", .what = "a grant far below a new base",
	  CLUSTER(0), .prepare = prep_far_base, .act = act_acquire,
	  .finish = finish_acquire },
	{ .name = "right-make", .what = "make a cluster key, in another's slot",
	  CLUSTER(SC_LOOSE), .prepare = prep_slot_of_other,
	  .act = act_acquire_name, .finish = finish_acquire },
	{ .name = "right-unmake", .what = "make another key in such a one's "
	  "slot", CLUSTER(SC_LOOSE), .prepare = prep_slot_of_cluster,
	  .act = act_key_open, .finish = finish_plain },
	{ .name = "right-evict", .what = "evict a cluster key",
	  CLUSTER(SC_LOOSE), .prepare = prep_far_base, .act = act_forget,
	  .finish = finish_plain },
	{ .name = "right-session", .what = "begin a session with the cluster",
	  .flags = SC_CLUSTER, .check = check_session, .prepare = prep_warm,
	  .act = act_begin_session, .finish = finish_plain },
};

SCENARIOS(scenarios_tokens)
