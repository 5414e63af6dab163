/* SPDX-License-Identifier: MIT */
/*
 * The token, and hence the version of the word, of the next grant.
 *
 * It is the word's token plus one; but
 *	an ordinary key's	where token_ceiling.c has room for it: in a
 *				range of the table's, below the ceiling
 *	a cluster key's		above its base (shm/cluster_right.c)
 *	where tokens rise over all keys (LH_TOKENS_GLOBAL)
 *				above the last one of all, too
 *
 * Jumps.  Version and hint together give the token as long as they differ by
 * less than 2^39 (amendment C6). So before a swap the hint is moved to less
 * than TOKEN_LAG_MAX behind, and the swap of the grant then jumps over less
 * than 2^38. A longer distance is covered before it in skips, W16: FREE(c, v)
 * -> FREE(c, v + d), the hint following each.  Under readers no key jumps:
 * their versions have to stay near, however many join.  A reader that would
 * have to jump waits, like a writer, until the key is free.  A conversion,
 * whose lease is alone, jumps a short distance (2^36). To another range each
 * skip goes on by one place in it, as a grant would; to a base or another key's
 * token it stops near, and the grant jumps to the very token.
 *
 * The hint is moved by a swap of the value that was read.  (That was a hint of
 * this word, and the new value is a token that this word had.) In one life of
 * the slot it only rises, and the next one begins where it has not been
 * (shm/key_token.c). So no value returns, and a late swap, in any life, either
 * fails or writes a valid hint.
 *
 * Cluster keys have tokens of their own kind, above their slot's base, which
 * only rises.  The base is to them what the latest range is to others, and
 * neither ranges nor ceilings limit them.  (It is raised while the shim holds
 * the key itself, so readers never meet a new one.) From 2^20 revisions on a
 * version may look like an earlier one, so the lowest 12 bits go on.
 *
 * Tokens that rise over all keys.  The header's last_token is the highest that
 * was drawn.  Every grant draws its own before its swap:
 *	1 load last_token; token = the larger of last_token + 1 and the key's
 *	  next, where there is room for it
 *	2 swap last_token from the loaded value to the token: now it is ours
 *	3 swap the word
 * A token whose step 3 fails is wasted.  (Cluster keys draw none, because the
 * cluster says what theirs are above.) A claim cache's ceiling is 0 there
 * (proc/attachment.h), so the usual straight path grants nothing;
 * acquire_over_all.c has the same three steps on one of its own.  No reader
 * stays idle, because a revived one would have its old token.
 *	Readers that join readers have to jump, then.  While a key is read its
 * hint stays where it is, and a reader joins only with a token less than 2^36
 * above it, else waits like a writer.  So each reader is that near to the hint,
 * however long the chain goes on and wherever a process stops.
 *
 * Invariants, of a table with that option.
 *  I1	No two grants have one token: each is the value of one swap of
 *	last_token, which only rises.
 *  I2	A grant that begins after another has returned has a larger one: step 1
 *	loads the value that the other's step 2 had written, or more.
 *  I3	last_token is below the ceiling, which was raised in step 1.  So after a
 *	removal, or a repair, which begin above the ceiling, tokens go on
 *	rising, and nothing more must be kept.
 * Two grants that are under way at once may return in the other order.  And the
 * first return of a value (live_lock.c, I1) depends no longer on one key's 2^40
 * grants but on the table's.
 *
 * A crash (K) or stop (Z) after
 *	step 1	nothing
 *	step 2	a token is wasted; Z: if the word is unchanged, the grant is
 *		made late, with a token that others have passed: it began before
 *		theirs returned
 *	a skip, hint behind	by less than 2^38: the next one moves it first
 */
#include "base/error.h"
#include "shm/damaged.h"
#include "op/token_ceiling.h"

#define JUMP_MAX	(UINT64_C(1) << 38)
#define JUMP_HELD_MAX	(UINT64_C(1) << 36)
#define SKIPS_MAX	(1 << 24)	/* from one end to the other */

/*
 * Computes the next token without limits; the hint is near then, or, with
 * `stays`, unchanged.  Returns false if the word is not w any more; then the
 * hint may be of another kind of key, which has the slot by now.
 */
static bool
compute_next(struct shm_slot *s, uint64_t w, bool stays,
    struct lhi_token_next *n)
{
	uint64_t ver = word_ver(w) + 1;

	n->hint = sh64_load(&s->hint);
	n->token = token_of(n->hint, ver);
	if (lhi_mutant_on(distance_unsigned))
		n->token = n->hint + ((ver - n->hint) & MASK(VER_BITS));
	/* after the hint: a word of long ago may be further from it than both
	 * can express */
	else if (sh64_load(&s->word) != w && !lhi_mutant_on(word_of_old))
		return false;
	else if (!stays && (int64_t)(n->token - 1 - n->hint) >
	    (int64_t)TOKEN_LAG_MAX &&
	    sh64_cas(&s->hint, n->hint, n->token - 1))
		n->hint = n->token - 1;
	return true;
}

/*
 * W16: brings the free word w, and the hint, into the range of `token`, or only
 * near it.  Each skip goes on by one place in the range, so that the word is
 * never one that another process remembers (256 ranges on, ver is the same).
 */
static void
skip_tokens(struct shm_slot *s, uint64_t w, struct lhi_token_next *n,
    uint64_t token, bool near)
{
	uint64_t at = token_of(n->hint, word_ver(w)), to, past;
	uint64_t first = near ? token - JUMP_MAX + 1 :
	    lhi_range_first(token + 1);

	for (int i = 0; i < SKIPS_MAX && at < first; i++) {
		to = lhi_range_land(at + 1, token + 1);
		if (near || to - at >= JUMP_MAX)
			to = at + 1 + JUMP_MAX - lhi_range_width();
		if (lhi_mutant_on(skips_to_same_place) ||
		    lhi_mutant_on(begins_range))
			to = token - 1 - at < JUMP_MAX ? token - 1 :
			    at + JUMP_MAX - lhi_range_width();
		past = word_make(WORD_FREE, word_idx(w), to);
		lhi_point("fence.skipping");
		if (!sh64_cas(&s->word, w, past))
			return;
		lhi_point("fence.skipped");
		if (!sh64_cas(&s->hint, n->hint, to))
			return;
		n->hint = at = to;
		w = past;
	}
}

/* A cluster key's next token is above its base. */
static int
raise_above_base(struct lhi_view *v, struct shm_slot *s, uint64_t *token)
{
	uint64_t base = lhi_right_base(v, s);
	uint64_t most = cluster_base(CLUSTER_REVISION_MAX);

	if (base == 0)
		base = CLUSTER_FIRST;
	if (base < CLUSTER_FIRST || base > most || *token < CLUSTER_FIRST ||
	    *token > most + MASK(CLUSTER_SEQ_BITS))
		return lhi_damaged(v, "the tokens of a cluster key are none",
		    *token, base);
	if (*token <= base)
		*token = lhi_right_land(*token, base);
	return lhi_view_retired(v) ? lhi_view_fresh(v) : 0;
}

/* Prepares the distance from the word's token to the next one.  Returns 0: one
 * swap suffices; TOKEN_DEFERRED; TOKEN_AGAIN: skips have been made. */
static int
check_jump(struct shm_slot *s, uint64_t w, uint64_t next, bool joins, bool near,
    struct lhi_token_next *n)
{
	if (n->token != next && (joins || (word_mode(w) != WORD_FREE &&
	    n->token - next > JUMP_HELD_MAX)))
		return TOKEN_DEFERRED;
	if (n->token - next < JUMP_MAX)
		return 0;
	skip_tokens(s, w, n, n->token, near);
	return TOKEN_AGAIN;
}

/* Draws a token, where they rise over all keys. */
static int
draw_token(struct lhi_view *v, struct shm_slot *s, uint64_t w, bool local,
    bool joins, struct lhi_token_next *n)
{
	bool read = word_mode(w) == WORD_S;
	uint64_t next, last;
	uint32_t tries = 0;
	int error;

	if (!compute_next(s, w, read, n))
		return TOKEN_AGAIN;
	next = n->token;
	do {
		last = sh64_load(&v->hdr->last_token);
		if (last >= sh64_load(&v->hdr->ceiling))
			return lhi_damaged(v, "the last token is none", last,
			    next);
		n->token = next > last ? next : last + 1;
		error = lhi_token_ceiling_room(v, s, false, local, &n->token);
		if (error != 0)
			return error;
		if (read && (int64_t)(n->token - n->hint) >
		    (int64_t)JUMP_HELD_MAX)
			return TOKEN_DEFERRED;
		if (!read)
			error = check_jump(s, w, next, false, true, n);
		if (error != 0)
			return error;
		lhi_point("fence.drawing");
	} while (!sh64_cas(&v->hdr->last_token, last, n->token) &&
	    LHI_WITHIN(tries, LHI_SWAPS_MAX));
	if (LHI_REACHED(tries, LHI_SWAPS_MAX))
		return lhi_damaged_restless(v, "the last token", 0);
	lhi_point("fence.drawn");
	if (joins)
		n->hint = n->token; /* lhi_token_ceiling_granted(): it stays */
	return 0;
}

int
lhi_token_next(struct lhi_view *v, struct shm_slot *s, uint64_t w, bool local,
    bool joins, struct lhi_token_next *n)
{
	bool cluster = lhi_right_has(s);
	uint64_t next;
	int error;

	if (lhi_view_global(v) && !cluster)
		return draw_token(v, s, w, local, joins, n);
	if (!compute_next(s, w, false, n))
		return TOKEN_AGAIN;
	next = n->token;
	error = cluster ? raise_above_base(v, s, &n->token)
			: lhi_token_ceiling_room(v, s,
			      word_mode(w) != WORD_FREE, local, &n->token);
	return error != 0 ? error : check_jump(s, w, next, joins, cluster, n);
}
