/* SPDX-License-Identifier: MIT */
/*
 * Is this the token of a key's present lease?  For those who have nothing but
 * key and token.  Whoever is past the deadline, or dead, is made so first.
 *
 * One of a cluster key is worth something only under this host's right, which
 * is asked first (op/right.c, I1).  What has no right is not made to have ended
 * here: it may be the shim's, which has the key so that others have not.
 */
#include <errno.h>
#include "base/clock.h"
#include "base/error.h"
#include "op/right.h"
#include "shm/chain.h"
#include "shm/lock.h"
#include "shm/slot.h"

#define TRIES 1000000

struct search {
	struct shm_slot *s;
	uint64_t token;
	bool found;
};

/* The clock last: a stop before it makes the answer "no". */
static bool
in_time(struct lhi_view *v, uint32_t ci)
{
	uint64_t st = sh64_load(&v->claims[ci].state);

	return state_held(st) &&
	    lhi_now_ns(v) < lhi_deadline_ns(v, state_deadline(st));
}

static bool
has_token(struct lhi_view *v, uint32_t ci, void *arg)
{
	struct search *f = arg;
	struct shm_claim *c = &v->claims[ci];
	uint64_t seq = state_seq(sh64_load(&c->state));

	/* of one use: the token is constant while seq is */
	f->found = lhi_reader_token(f->s, c) == f->token && in_time(v, ci) &&
	    state_seq(sh64_load(&c->state)) == seq;
	return !f->found;
}

/* Does a reader of s hold that token?  1, 0, -EUCLEAN. */
static int
a_reader_has(struct lhi_view *v, struct shm_slot *s, uint64_t token)
{
	struct search f = { s, token, false };
	int error = lhi_chain_purge(v, s, lhi_now_ns(v), true, 0);

	for (int i = 0; i < TRIES && error == 0; i++) {
		error = lhi_chain_walk(v, s, has_token, &f);
		if (error != -EAGAIN)
			break;
		error = 0;
	}
	return error == -EUCLEAN ? lhi_damaged(v, "the readers of a key "
	    "cannot be walked", lhi_slot_idx(v, s), 0) : f.found;
}

static int
has_lease(struct lh *lh, const struct lhi_ref *ref, uint64_t token)
{
	struct lhi_view *v = &lh->v;
	struct shm_slot *s = ref->slot;
	bool free = !lhi_right_needed(lh, s);
	bool read = free || lhi_right_lets(v, ref, true, NULL);
	bool all = free || lhi_right_lets(v, ref, false, NULL);
	uint64_t w;
	int error = lhi_lock_settle(v, s, lhi_now_ns(v), SETTLE_PROBE, &w);

	if (error != 0)
		return error;
	if (word_mode(w) == WORD_S)
		return read ? a_reader_has(v, s, token) : 0;
	if (word_mode(w) != WORD_X || !all || lhi_lock_token(s, w) != token)
		return 0;
	if (in_time(v, word_idx(w)) && sh64_load(&s->word) == w)
		return 1;
	(void)lhi_lock_settle(v, s, lhi_now_ns(v), 0, &w);
	return 0;
}

int
lh_verify_token(struct lh *lh, const char *key, uint64_t token)
{
	struct lhi_name n;
	struct lhi_ref ref;
	int error = lhi_own(lh);

	if (error == 0)
		error = lhi_name_set(&n, key);
	if (error != 0)
		return error;
	if (token == 0 || token > (uint64_t)TOKEN_MAX)
		return lhi_fail(-EINVAL, "%llu is not a fence token",
		    (unsigned long long)token);
	error = lhi_slot_find(&lh->v, &n, &ref);
	if (error == 1)
		error = has_lease(lh, &ref, token);
	if (error < 0)
		return error;
	return error == 1 ? 0 : lhi_fail(-ESTALE, "token %llu is not the one "
	    "of a present lease on '%.64s'", (unsigned long long)token, key);
}
