/* SPDX-License-Identifier: MIT */
/*
 * Whether this is the token of a key's present lease, for callers that have
 * only key and token.  A holder that is past the deadline, or dead, is first
 * made so.
 *
 * A lease of a cluster key is valid only under this host's right, which is
 * checked first (op/cluster_check.c, I1). A lease without one is made to end
 * too, so that it does not return with a D that is moved on late (G3, G9). It
 * must be seen to be there before the right is checked once more, and is
 * searched again after that.  The shim's own lease, which keeps others out,
 * needs none.
 *
 * "No" is returned only when word and chain have been seen not to grant it,
 * after the holder that seemed to have ended was made so.  A lease of a claim
 * in motion may be back at rest in its old use by then, and still be there.
 */
#include <errno.h>
#include "base/clock.h"
#include "base/error.h"
#include "shm/damaged.h"
#include "shm/session_liveness.h"
#include "op/cluster_check.h"
#include "shm/readers.h"
#include "shm/lock_word.h"
#include "shm/key_slot.h"

#define TRIES 1000000
#define LOOKS 100		/* each time it changed between two */

struct search {
	struct shm_slot *s;
	uint32_t gen;		/* which life of it */
	uint64_t token;
	uint32_t ci;		/* the claim that has it, */
	uint64_t st, owner;	/* in which use, */
	uint32_t epoch;
	bool found;		/* if there is one */
};

static bool
is_same_life(const struct search *f)
{
	return sh32_load(&f->s->gen) == f->gen;
}

/*
 * True if the claim that was seen as the holder is still in the use that was
 * noted, its session alive, and before the deadline.  The clock is read last: a
 * stop before it makes the answer "no".
 */
static bool
is_held_in_time(struct lhi_view *v, const struct search *f)
{
	uint64_t st;

	if (!is_same_life(f) || lhi_session_dead(v, f->owner, false))
		return false;
	st = sh64_load(&v->claims[f->ci].state);
	return state_held(st) && state_seq(st) == state_seq(f->st) &&
	    lhi_now_ns(v) < lhi_deadline_ns(v, state_deadline(st));
}

/* Notes the use of claim ci: word, or chain, is compared after that. */
static void
note_use(struct lhi_view *v, struct search *f, uint32_t ci)
{
	f->ci = ci;
	f->st = sh64_load(&v->claims[ci].state);
	f->owner = lhi_claim_owner(v, ci);
	f->epoch = lhi_claim_epoch(&v->claims[ci]);
}

static bool
match_token(struct lhi_view *v, uint32_t ci, void *arg)
{
	struct search *f = arg;

	note_use(v, f, ci);
	f->found = state_held(f->st) &&
	    lhi_reader_token(f->s, &v->claims[ci]) == f->token;
	return !f->found;
}

/* Looks for a reader, f->ci, that seems to hold that token.  Returns 1, 0,
 * -EUCLEAN. */
static int
find_reader(struct lhi_view *v, struct search *f)
{
	int error = lhi_readers_purge(v, f->s, lhi_now_ns(v), true, 0);

	f->found = false;
	for (int i = 0; i < TRIES && error == 0; i++) {
		error = lhi_readers_walk(v, f->s, match_token, f);
		if (error != -EAGAIN)
			break;
		error = 0;
	}
	return error == -EUCLEAN ? lhi_damaged(v, "the readers of a key "
	    "cannot be walked", lhi_slot_idx(v, f->s), 0) : f->found;
}

/*
 * True if it does.  It may have left before its use was noted: a claim keeps
 * its last grant as a reader in other uses.  If it is in the chain after that,
 * its grant, read now, is of the use that is_held_in_time() sees.
 */
static bool
is_reader(struct lhi_view *v, const struct search *f)
{
	return lhi_readers_has(v, f->s, f->ci) == 1 &&
	    lhi_reader_token(f->s, &v->claims[f->ci]) == f->token &&
	    is_held_in_time(v, f);
}

/*
 * Finds the claim that has the lease.  Returns its mode, f->ci; WORD_FREE:
 * none; -EUCLEAN.
 *
 * A claim that was seen with the token and then not to hold it is read again,
 * until the word or the chain says that it does not.  A claim past its deadline
 * is made to expire by that (G3), but it may have been extended or converted.
 */
static int
find_holder(struct lhi_view *v, struct search *f)
{
	uint64_t w;
	int error;

	for (int i = 0; i < LOOKS; i++) {
		error = lhi_lock_settle(v, f->s, lhi_now_ns(v), SETTLE_PROBE,
		    &w);
		if (error == 0 && word_mode(w) == WORD_S)
			error = find_reader(v, f);
		else if (error == 0)
			error = word_mode(w) == WORD_X &&
			    lhi_lock_token(f->s, w) == f->token;
		if (error != 1 || !is_same_life(f))
			return error < 0 ? error : WORD_FREE;
		if (word_mode(w) == WORD_S) {
			if (is_reader(v, f))
				return WORD_S;
			continue;
		}
		note_use(v, f, word_idx(w));
		if (sh64_load(&f->s->word) == w && is_held_in_time(v, f))
			return WORD_X;
		if (lhi_mutant_on(verifies_once))
			break;
	}
	return WORD_FREE;
}

/* Ends a lease without a right.  That very one: its claim may have been used
 * again since, even for the same key. */
static void
end_lease(struct lh *lh, const struct lhi_ref *ref, const struct search *f,
    bool shared)
{
	struct lh_lease l = { .token = f->token,
	    .mode = shared ? LH_SHARED : LH_EXCLUSIVE };
	uint64_t seq = state_seq(f->st);
	struct lhi_held h;

	if (shared != (state_kind(f->st) == ST_READ))	/* being converted */
		seq = (seq - CONVERT_STEP) & MASK(SEQ_BITS);
	lhi_lease_set_key(&l, ref->slot_ref);
	l.id[0] = lhi_view_session_id(&lh->v, f->owner);
	l.id[1] = lid_make(f->ci, f->epoch, seq);
	if (lhi_lease_find(lh, &l, &h) == 0)
		(void)lhi_lease_lose_right(lh, &l, &h);
}

static int
has_lease(struct lh *lh, const struct lhi_ref *ref, uint64_t token)
{
	struct lhi_view *v = &lh->v;
	struct search f = { .s = ref->slot, .token = token,
	    .gen = (uint32_t)(ref->slot_ref >> 32) };
	bool needed = lhi_cluster_check_is_needed(lh, ref->slot), read, all;
	int mode;

	for (int i = 0; i < LOOKS; i++) {
		read = !needed || lhi_right_is_valid(v, ref, true, NULL);
		all = !needed || lhi_right_is_valid(v, ref, false, NULL);
		mode = find_holder(v, &f);
		if (mode < 0 || mode == WORD_FREE)
			return mode < 0 ? mode : 0;
		if (lhi_mutant_on(right_of_now)) {
			read = lhi_right_is_valid(v, ref, true, NULL);
			all = lhi_right_is_valid(v, ref, false, NULL);
		}
		if (mode == WORD_S ? read : all)
			return 1;
		if (lhi_cluster_serves(v, f.owner))
			return 0;
		/* it was there before this look: no process gives it a right */
		if (!lhi_right_is_valid(v, ref, mode == WORD_S, NULL)) {
			lhi_point("token.without_right");
			end_lease(lh, ref, &f, mode == WORD_S);
		}
	}
	return 0;
}

/* Says why the token is not that of a present lease, as far as the word shows
 * after that was found. */
static int
fail_not_present(const struct lhi_view *v, const struct lhi_ref *ref,
    const char *key, uint64_t token)
{
	struct search f = { .s = ref->slot,
	    .gen = (uint32_t)(ref->slot_ref >> 32) };
	uint64_t w = sh64_load_sc(&f.s->word), present;
	const char *how = "was released";

	present = lhi_lock_token(f.s, w);
	if (!is_same_life(&f) || word_mode(w) == WORD_NONE)
		return lhi_fail(-ESTALE, "token %llu is not that of a present "
		    "lease: there is no key '%.64s' any more",
		    (unsigned long long)token, key);
	if (lhi_right_has(f.s) && !lhi_right_is_valid(v, ref, true, NULL))
		return lhi_fail(-ESTALE, "token %llu is not that of a present "
		    "lease of this host, which does not have '%.64s' in the "
		    "cluster now; another host may have it",
		    (unsigned long long)token, key);
	if (word_mode(w) == WORD_X)
		return lhi_fail(-ESTALE, "token %llu is not that of a present "
		    "lease: '%.64s' is held with token %llu",
		    (unsigned long long)token, key,
		    (unsigned long long)present);
	if (word_mode(w) == WORD_S)
		return lhi_fail(-ESTALE, "token %llu is not that of a present "
		    "lease: '%.64s' is held by readers with other tokens",
		    (unsigned long long)token, key);
	if (word_cause(w) == CAUSE_EXPIRED)
		how = "expired";
	else if (word_cause(w) == CAUSE_DIED)
		how = "ended with its holder";
	else if (word_cause(w) == CAUSE_BROKEN)
		how = "was ended by an operator";
	if (present == token)
		return lhi_fail(-ESTALE, "token %llu is not that of a present "
		    "lease: the lease on '%.64s' with that token %s, and "
		    "nobody holds the key", (unsigned long long)token, key,
		    how);
	return lhi_fail(-ESTALE, "token %llu is not that of a present lease: "
	    "nobody holds '%.64s', and its latest token is %llu",
	    (unsigned long long)token, key, (unsigned long long)present);
}

int
lh_verify_token(struct lh *lh, const char *key, uint64_t token)
{
	struct lhi_key_name n;
	struct lhi_ref ref;
	int error = lhi_own_to_look(lh);
	bool found;

	if (error == 0)
		error = lhi_name_set(&n, key);
	if (error != 0)
		return error;
	if (token == 0 || token > (uint64_t)TOKEN_MAX)
		return lhi_fail(-EINVAL, "%llu is not a fence token",
		    (unsigned long long)token);
	error = lhi_slot_find(&lh->v, &n, &ref);
	found = error == 1;
	if (error == 1)
		error = has_lease(lh, &ref, token);
	if (error < 0)
		return error;
	if (error == 1)		/* zeros would not have said so */
		return 0;
	return lhi_damaged_or(&lh->v, found ?
	    fail_not_present(&lh->v, &ref, key, token) :
	    lhi_fail(-ESTALE, "token %llu is not that of a present lease%s: "
	    "there is no key '%.64s'%s", (unsigned long long)token,
	    lhi_right_wanted(&lh->v, &n) ? " of this host" : "", key,
	    lhi_right_wanted(&lh->v, &n) ? " in its table; another host may "
	    "have it" : ""));
}
