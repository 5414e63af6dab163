/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G2, LH_TOKENS_GLOBAL: a key that the thread had last is acquired on
 * the straight path (op/acquire_over_all.c), and its token is as on the slow
 * one.  It is larger than those of other keys that were granted meanwhile.  It
 * is no other grant's, though others draw between the load and the swap of the
 * last token.  It is below the ceiling.  Where it would be too far from the
 * slot's hint, the hint is moved first.
 *
 * Otherwise a token would not say which of two grants came later, or a key's
 * word would not tell its holder's token.
 */
#include "op/token_ceiling.h"
#include "proc/claim_cache.h"
#include "replay.h"

#define WARM_UPS 3
#define TRIES 1000
#define FAR_AWAY ((UINT64_C(1) << 39) + (1 << 20))

static const char *table;
static struct lh *lh, *other;

struct subject {
	const char *key;
	struct lh_lease l;
};

static struct lh *
open_global(void)
{
	struct lh_open_opts o = replay_opts(0);
	struct lh *opened;

	o.flags |= LH_TOKENS_GLOBAL;
	if (lh_open(&opened, table, &o) != 0)
		bail_out("lh_open: %s", lh_error_detail());
	return opened;
}

static struct shm_header *
header(void)
{
	return lh->v.hdr;
}

/* Lets claim 0 have the key last.  Returns the handle. */
static struct lh_key *
warm_up(const char *key)
{
	struct lh_key *k;
	struct lh_lease l;

	if (lh_key_open(lh, key, 0, &k) != 0)
		bail_out("no key: %s", lh_error_detail());
	for (int i = 0; i < WARM_UPS; i++)
		if (lh_key_acquire(k, NULL, &l) != 0 || lh_release(lh, &l) != 0)
			bail_out("warming up: %s", lh_error_detail());
	return k;
}

/* Another process's grant of another key.  Returns its token. */
static uint64_t
elsewhere(void)
{
	struct lh_lease l = t_hold(other, "elsewhere");

	if (lh_release(other, &l) != 0)
		bail_out("elsewhere: %s", lh_error_detail());
	return l.token;
}

static int
acquire(void *arg)
{
	struct subject *x = arg;
	struct lh_key *k = warm_up(x->key);
	int error;

	replay_hold(x->key, "fence.drawing");
	/* again if the clock has ticked: then it goes another way */
	for (int i = 0; i < TRIES; i++) {
		error = lh_key_acquire(k, NULL, &x->l);
		if (error == 0)
			error = lh_release(lh, &x->l);
		if (error != 0 || !replay_is_to_be_held(x->key))
			return error;
	}
	bail_out("the straight path is not taken in %d tries", TRIES);
}

/* How it is reached: the straight path has a point that no other one has. */
static void
straight(void)
{
	struct lh_key *k = warm_up("straight");
	uint64_t theirs = elsewhere();
	struct lh_lease l;

	is(lh_key_acquire(k, NULL, &l), 0, "acquired by its handle");
	cmp(l.token, >, theirs, "with a larger token than elsewhere");
	is(lh_release(lh, &l), 0, "released");
	theirs = elsewhere();
	is(lh_acquire(lh, "straight", NULL, &l), 0, "acquired by its name");
	cmp(l.token, >, theirs, "with a larger token than elsewhere");
	is(lh_release(lh, &l), 0, "released");
	theirs = elsewhere();
	is(lh_key_lock(k, NULL), 0, "locked");
	is(lh_key_unlock(k), 0, "and unlocked");
	theirs = elsewhere();
	is(lh_key_lock(k, NULL), 0, "and locked again");
	is(lh_key_lease(k, &l), 0, "it has a lease");
	cmp(l.token, >, theirs, "with a larger token than elsewhere");
	is(lh_verify(lh, &l), 0, "which is held");
	is(lh_key_unlock(k), 0, "and unlocked");
	is(lh_key_close(k), 0, "closed");
}

static void
others_between(void)
{
	struct subject x = { .key = "between" };
	uint64_t first, last, after;

	replay_go(x.key, acquire, &x);
	replay_wait_held(x.key);
	first = elsewhere();
	last = elsewhere();
	is(replay_finish(x.key), 0, "others draw meanwhile: acquired");
	ok(x.l.token != first && x.l.token != last,
	    "with a token that nobody else has");
	after = elsewhere();
	cmp(after, >, x.l.token, "the next one has a larger token");
	cmp(after, >, last, "than all before");
}

static void
at_the_ceiling(void)
{
	uint64_t ceiling = sh64_load(&header()->ceiling);
	struct lh_key *k;
	struct lh_lease l;

	sh64_store(&header()->last_token, ceiling - 1 - WARM_UPS);
	k = warm_up("ceiling");
	is(lh_key_acquire(k, NULL, &l), 0, "the last token below the ceiling");
	is_u64(l.token, ceiling, "was the one before");
	cmp(sh64_load(&header()->ceiling), >, l.token, "the ceiling is raised");
	is(lh_release(lh, &l), 0, "released");
	is(lh_key_close(k), 0, "closed");
}

static void
far_away(void)
{
	struct lh_key *k = warm_up("far");
	uint64_t far = sh64_load(&header()->last_token) + FAR_AWAY;
	struct lhi_claim_cache *m = lhi_claim_cache_current;
	struct shm_slot *s = m->rec[0].slot;
	struct lh_lease l;

	sh64_store(&header()->ceiling,
	    sh64_load(&header()->ceiling) + FAR_AWAY);
	sh64_store(&header()->last_token, far);
	lhi_claim_cache_bounds(m);
	is(lh_key_acquire(k, NULL, &l), 0, "long after others");
	cmp(l.token, >, far, "with a larger token");
	is_u64(token_of(sh64_load(&s->hint), word_ver(sh64_load(&s->word))),
	    l.token, "which the key's word tells");
	is(lh_release(lh, &l), 0, "released");
	is(lh_key_close(k), 0, "closed");
}

int
main(void)
{
	table = replay_begin();
	lh = open_global();
	other = open_global();
	straight();
	others_between();
	at_the_ceiling();
	far_away();
	is(lh_check(lh, NULL, NULL), 0, "nothing is wrong with the table");
	t_close(other);
	t_close(lh);
	return done();
}
