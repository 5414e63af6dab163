/* SPDX-License-Identifier: MIT */
/*
 * Robust keys: notes that a holder left the guarded resource half-done, until
 * it is declared repaired.
 *
 * A holder that acquires with LH_ROBUST is noted in the key's slot while it
 * holds the key.  So its death needs no action: the note remains.  The note is
 * sticky: each later holder finds LH_NOTE_INCONSISTENT, until one declares the
 * resource consistent (lh_mark_consistent()).
 *
 *	slot.consistency	kind | ver, of the grant that wrote it
 *
 *	from		to		by, when
 *	0		IN_USE(v)	CN1 robust holder of grant v, after its
 *					W1, before its acquire returns
 *	IN_USE(v)	0		CN2 that holder, before its W2
 *	any but 0	LOST(v')	CN3 holder of grant v' (robust:
 *					LOST_ROBUST), as CN1
 *	LOST(v)		0		CN4 that holder: lh_mark_consistent()
 *	LOST_ROBUST(v)	IN_USE(v)	CN4 the same, of a robust one
 *	k(v)		k(v')		CN5 after a hand-off's W17
 *
 * Invariants.
 *  I1	Each change is an exact swap of the value read.  Each holder that finds
 *	a note writes its own grant's version.  So a holder that has lost its
 *	lease, and goes on too late, changes nothing of a later one's.
 *  I2	While a note exists, the word of the free key has a cause: DIED if it
 *	would have none (lhi_free_word()).  The fast paths take words without a
 *	cause only, so they ignore notes.
 *  I3	A lease that found or wrote a note is not remembered by its thread, and
 *	is released on the slow path.
 *  I4	No word is S while there is a note.  Readers cannot repair anything, so
 *	no shared grant is made from a free word then (-ENOTRECOVERABLE), and a
 *	lease with a note is not converted to shared mode.
 *  I5	A key with a note is not evicted.
 *
 * A crash or stop after
 *	W1, before CN1	no note: its acquire has not returned
 *	CN1		the note remains: the next holder finds it
 *	CN2, before W2	no note: it was releasing
 *	W17, before CN5	the note is of the version before, so that a release
 *			leaves it: the next holder finds it without need
 *
 * tests/model/consistency.pml has all orders of CN1 to CN4 with leases that end
 * at any step.
 */
#include "shm/consistency.h"
#include "shm/damaged.h"

bool
lhi_consistency_lost(const struct shm_slot *s, uint64_t w)
{
	uint32_t is = sh32_load(&s->consistency);

	return consistency_kind(is) >= CONSISTENCY_LOST ||
	    (is != 0 && (word_mode(w) != WORD_X ||
	    consistency_make(CONSISTENCY_IN_USE, word_ver(w)) != is));
}

bool
lhi_consistency_grant(struct lhi_view *v, struct shm_slot *s, uint64_t token,
    bool robust)
{
	uint32_t n = 0, is, to;

	lhi_point("consistency.granted");
	do {
		is = sh32_load(&s->consistency);
		if (is == 0 && !robust)
			return false;
		to = consistency_make(is == 0 ? CONSISTENCY_IN_USE : robust ?
		    CONSISTENCY_LOST_ROBUST : CONSISTENCY_LOST, token);
		if (lhi_mutant_on(robust_unnoted) ||
		    sh32_cas(&s->consistency, is, to)) {	/* CN1, CN3 */
			lhi_point("consistency.noted");
			return is != 0;
		}
	} while (LHI_WITHIN(n, LHI_SWAPS_MAX));
	(void)lhi_damaged_restless(v, "the note of a key", lhi_slot_idx(v, s));
	return true;
}

void
lhi_consistency_release(struct shm_slot *s, uint64_t token)
{
	(void)sh32_cas(&s->consistency, consistency_make(CONSISTENCY_IN_USE,
	    token), 0);						/* CN2 */
	lhi_point("consistency.released");
}

void
lhi_consistency_follow(struct shm_slot *s, uint64_t from, uint64_t to)
{
	uint32_t is = sh32_load(&s->consistency);

	if (is == consistency_make(consistency_kind(is), from) && is != 0)
		(void)sh32_cas(&s->consistency, is,
		    consistency_make(consistency_kind(is), to)); /* CN5 */
}

bool
lhi_consistency_marked(uint32_t is, uint64_t token, uint32_t *to)
{
	if (is == 0 || is == consistency_make(CONSISTENCY_IN_USE, token))
		return false;
	*to = consistency_kind(is) == CONSISTENCY_LOST ? 0 :
	    consistency_make(CONSISTENCY_IN_USE, token);
	return true;
}
