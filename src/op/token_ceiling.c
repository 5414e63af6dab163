/* SPDX-License-Identifier: MIT */
/*
 * The limits of tokens: the range that the next grant of a key may use.
 *
 * Every token is below hdr->ceiling, which is in memory and is moved on by a
 * process that comes near it.  A table with a fence file also has ranges on
 * disk that are its own for ever (fence/range.c); hdr->durable_ceiling is the
 * end D of the latest, which therefore begins at lhi_range_first(D). The slow
 * path of every acquire calls this, the fast path at least once in 2^22 uses of
 * a claim; that keeps within the range that it got here, or within the latest.
 *
 * token_next.c chooses the next token.  Its range is
 *	free	not before the latest range.  (A free key may have been evicted
 *		and made again: then its version has grown without a grant, and
 *		may not be in a range of ours.)
 *	held	a reader that joins others, or a conversion, stays in the range
 *		of the grant before, unless that is used up: then the latest.
 *		In scope local, and where tokens rise over all keys, the latest
 *		in any case
 *	at D	another range is claimed first
 * A key that has been granted in scope local, or is requested in it, gets no
 * token at or above D: without another range the result is -EIO. Others go on
 * (ephemeral), below hdr->ceiling.
 *
 * In another range a key continues at the place that it had in the one before
 * (lhi_range_land()); where tokens rise over all keys, at the place of the last
 * one of all.  The version has the range's number modulo 256 only, so a range
 * may look like an earlier one.  But the place in it has not been reached there
 * yet.  So no value of the word returns (live_lock.c, I1) until a key (all
 * keys) has been granted 2^32 times.
 *
 * Invariants.
 *  I1	D only rises, until shm/table_remove.c freezes it.  A process that
 *	raises it has claimed a range, sees afterwards that the table is in its
 *	place, loads D, sees no flag, and swaps the loaded value.
 *  I2	[lhi_range_first(D), D) was claimed for this table, for every D there
 *	ever was, and is on disk.
 *  I3	The tokens of grants in scope local, and all later ones of their keys,
 *	are in ranges that were claimed for this table.
 *  I4	Before it grants anything, a process has seen, having the table open,
 *	that its latest range is the highest there is, or has claimed one that
 *	was; or another process has before (SHM_SEALED, which is read before D).
 *	Until then acquires, in any scope, are -EIO while the disk does not
 *	answer.  A repair sets D back to the first range, and clears the flag.
 *	So the ranges of a table are above all that were used by tables of its
 *	name before it, also if its maker was stopped between claim and name.
 *  I5	An opener of a sealed table that sees that the highest range on disk is
 *	another table's claims one above that.  The table's files were moved
 *	aside, or hidden, while another table had the name, and are back.  (Or
 *	a maker was too late for the name; then a range is wasted.)  A straight
 *	grant of a process that has had the table open all the time does not
 *	see it.
 *
 * A crash (K) or stop (Z) after
 *	claimed			the range is wasted; Z: published late, if no
 *				higher one was meanwhile
 *	D raised		nothing is missing
 *	KEY_LOCAL set		the key is bound, though not yet granted so
 * Nothing is held while the disk is asked, except by a conversion at the very
 * end of a range.
 *
 * Ahead of need: an acquire of a key in scope local that comes here in the
 * second half of the latest range raises it.  Of all processes one does so at
 * most every 5 s (raised_ms, a hint): a disk that hangs delays few.
 */
#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>
#include "base/error.h"
#include "shm/damaged.h"
#include "op/token_ceiling.h"
#include "shm/cluster_right.h"
#include "shm/table_words.h"

#define RAISES_MAX	10	/* each failure is another process's success */
#define RAISE_MS	5000	/* ahead of need: between attempts */

/* Makes room below the ceiling in memory. Returns 0, -ESTALE, -ENOSPC. */
static int
raise_ceiling(struct lhi_view *v, uint64_t token)
{
	uint32_t n = 0;
	uint64_t ceiling;

	while (token >= (ceiling = sh64_load(&v->hdr->ceiling))) {
		/* in this order: shm/table_remove.c, I1 */
		if (lhi_view_retired(v))
			return lhi_view_fresh(v);
		/* from there on tokens are cluster keys' */
		if (token >= CLUSTER_FIRST - TOKEN_STEP)
			return lhi_fail(-EOVERFLOW, "the tokens of %s are used "
			    "up (2^62): once nothing that is guarded by its "
			    "keys remembers them, end its users and remove it "
			    "(leasehold rm --forget-tokens%s)", v->path,
			    TABLE_WORDS(v->path));
		/* from the token, not from the old ceiling: a key whose tokens
		 * have run ahead needs one step, not many */
		if (!LHI_WITHIN(n, LHI_SWAPS_MAX))
			return lhi_damaged_restless(v, "the ceiling", 0);
		(void)sh64_cas(&v->hdr->ceiling, ceiling,
		    (token | (TOKEN_STEP - 1)) + 1);
	}
	return 0;
}

/* True if no other process seems to be raising it. */
static bool
can_raise_now(struct lhi_view *v)
{
	uint64_t now = (uint64_t)(lhi_now_ns(v) / NS_PER_MS);
	uint64_t last = sh64_load_rlx(&v->hdr->raised_ms);

	return now - last >= RAISE_MS &&
	    sh64_cas(&v->hdr->raised_ms, last, now);
}

/* Checks that the table's name still leads to this object.  Returns 0; -ESTALE,
 * -EXDEV. */
static int
check_object_in_place(struct lhi_view *v)
{
	int error = lhi_view_fresh(v), saved = errno;
	struct stat st;

	if (error == 0 && !lhi_mutant_on(raises_moved) &&
	    (lstat(v->path, &st) != 0 || st.st_dev != v->dev ||
	    st.st_ino != v->ino))
		error = lhi_fail(-ESTALE, "the table's object %s was moved or "
		    "replaced: close this attachment and open the table again",
		    v->path);
	errno = saved;
	return error;
}

/* Publishes range n. Returns 0; -ESTALE. */
static int
publish_range(struct lhi_view *v, uint64_t n)
{
	uint64_t end = (n + 1) << lhi_range_bits, d;
	int error = check_object_in_place(v);	/* I1 */
	uint32_t tries = 0;

	if (error != 0)
		return error;
	while ((d = sh64_load(&v->hdr->durable_ceiling)) < end) {
		if (lhi_view_retired(v))
			return lhi_view_fresh(v);
		if (!LHI_WITHIN(tries, LHI_SWAPS_MAX))
			return lhi_damaged_restless(v, "the durable ceiling",
			    0);
		lhi_point("fence.publishing");
		(void)sh64_cas(&v->hdr->durable_ceiling, d, end);
	}
	return 0;
}

/* Claims a range that `token` is in or below.  Returns 0, -EIO, -ESTALE;
 * -EUCLEAN. */
static int
claim_range(struct lhi_view *v, uint64_t token)
{
	uint64_t d = sh64_load(&v->hdr->durable_ceiling), n, most;
	uint64_t least = (token > d ? token : d) >> lhi_range_bits;
	int error = check_object_in_place(v), cancel;

	if (error == 0 && lhi_range_highest(v->ranges, &most) != 0)
		error = -EIO;
	if (error != 0)
		return error;
	/* a claim is for ever: not for a wrong bit in memory */
	if (least > most + RANGE_LEAP_MAX && !lhi_mutant_on(leaps))
		return lhi_damaged(v, "tokens are far beyond the ranges on "
		    "disk", least, most);
	lhi_point("fence.raising");
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	error = lhi_range_claim(v->ranges, v->uuid, least, &n);
	(void)pthread_setcancelstate(cancel, NULL);
	if (error != 0)
		return -EIO;		/* the reason was reported */
	lhi_point("fence.claimed");
	error = publish_range(v, n);
	if (error == 0)
		atomic_store(&v->ranges_lost, false);
	lhi_point("fence.raised");
	return error;
}

bool
lhi_token_ceiling_is_on_disk(const struct lhi_view *v)
{
	uint64_t n = (sh64_load(&v->hdr->durable_ceiling) - 1) >>
	    lhi_range_bits, highest;
	struct lhi_range r;
	int error;

	/* the number first: others may raise it meanwhile */
	if (lhi_range_highest(v->ranges, &highest) != 0 || (highest != n &&
	    !(sh32_load(&v->hdr->flags) & SHM_SEALED)))
		return false;
	error = lhi_range_read(v->ranges, n, &r);
	return error == -EACCES || (error == 0 && r.uuid[0] == v->uuid[0] &&
	    r.uuid[1] == v->uuid[1]);
}

/* True if the highest range on disk is above the latest one of the table, and
 * not the table's: another table had the name meanwhile, or may have. */
static bool
is_overtaken(const struct lhi_view *v)
{
	uint64_t n = (sh64_load(&v->hdr->durable_ceiling) - 1) >>
	    lhi_range_bits, highest;
	struct lhi_range r;
	int error;

	if (lhi_mutant_on(overtaken_unseen) ||
	    lhi_range_highest(v->ranges, &highest) != 0 || highest <= n)
		return false;
	/* (one of this table's own may not be published yet) */
	error = lhi_range_read(v->ranges, highest, &r);
	return error != -EACCES && (error != 0 || r.uuid[0] != v->uuid[0] ||
	    r.uuid[1] != v->uuid[1]);
}

/*
 * Seals the table after a look at the disk; until that works no grant is local
 * here.  A reaper does not seal, because nothing of it keeps a repair away
 * while it waits for the disk: it could seal the table of before.
 */
static int
secure_ranges(struct lhi_view *v, bool attached)
{
	/* who seals has the maker's range, which others may have overtaken */
	bool sealed = sh32_load(&v->hdr->flags) & SHM_SEALED, missing;
	int error = 0;

	missing = !lhi_token_ceiling_is_on_disk(v);
	if (!lhi_mutant_on(range_shared) &&
	    (missing || (attached && is_overtaken(v)))) {
		atomic_store(&v->ranges_lost, true);
		error = claim_range(v, 0);
	}
	if (error != 0)
		return error;
	if (missing && sealed)
		atomic_store(&v->ranges_replaced, true);
	atomic_store(&v->ranges_lost, false);
	if (attached && !(sh32_load(&v->hdr->flags) & SHM_SEALED))
		(void)sh32_fetch_or(&v->hdr->flags, SHM_SEALED);
	return 0;
}

void
lhi_token_ceiling_attach(struct lhi_view *v)
{
	if (lhi_durable(v))
		(void)secure_ranges(v, true);
}

int
lhi_token_ceiling_keep_ahead(struct lhi_view *v)
{
	uint64_t d = sh64_load(&v->hdr->durable_ceiling);
	int error;

	/* a table that is not sealed has nobody who uses tokens, or the disk is
	 * away: who opens it, or is refused, claims what is needed */
	if (!lhi_durable(v) || !(sh32_load(&v->hdr->flags) & SHM_SEALED))
		return 0;
	error = secure_ranges(v, false);
	if (error == 0 && sh64_load_rlx(&v->hdr->token_seen) >=
	    d - lhi_range_width() / 2 && can_raise_now(v) &&
	    sh64_load(&v->hdr->durable_ceiling) == d)
		error = claim_range(v, 0);
	return error;
}

/* Makes room for `next` in a range of ours: *token is it or a later one. */
static int
find_range(struct lhi_view *v, bool held, bool local, bool bound,
    uint64_t *token)
{
	uint64_t next = *token, half = lhi_range_width() / 2, d;
	bool ended = (next & (lhi_range_width() - 1)) == 0;
	int error;

	for (int i = 0; i < RAISES_MAX; i++) {
		d = sh64_load(&v->hdr->durable_ceiling);
		*token = next;
		if ((local || ended || !held) && next < lhi_range_first(d))
			*token = lhi_mutant_on(begins_range) ?
			    lhi_range_first(d) + 1 : lhi_range_land(next, d);
		if ((*token < d || lhi_mutant_on(past_range)) &&
		    (!local || !atomic_load(&v->ranges_lost))) {
			/* ahead of need: the result is ignored */
			if ((bound || lhi_mutant_on(waits_for_disk)) &&
			    *token >= d - half && can_raise_now(v))
				(void)claim_range(v, 0);
			return 0;
		}
		if (!bound)
			return 0;	/* without the disk */
		error = claim_range(v, *token);
		if (error != 0)
			return error;
	}
	return lhi_fail(-EIO, "ranges of tokens in %s are used up faster than "
	    "they can be claimed; is something looping?", v->ranges);
}

int
lhi_token_ceiling_room(struct lhi_view *v, struct shm_slot *s, bool held,
    bool local, uint64_t *token)
{
	bool bound;
	int error;

	if (lhi_durable(v)) {
		if (!(sh32_load(&v->hdr->flags) & SHM_SEALED) &&
		    !lhi_mutant_on(unsealed) &&
		    (error = secure_ranges(v, true)) != 0)
			return error;				/* I4 */
		/* after the word was loaded: a grant in scope local that came
		 * before it had set the flag */
		bound = local || (sh32_load(&s->key_info) & KEY_LOCAL);
		error = find_range(v, held, local, bound, token);
		if (error != 0)
			return error;
		if (*token > sh64_load_rlx(&v->hdr->token_seen) +
		    lhi_range_width() / 64)
			(void)sh64_max(&v->hdr->token_seen, *token);
	}
	return raise_ceiling(v, *token);
}
