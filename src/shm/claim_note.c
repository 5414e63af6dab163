/* SPDX-License-Identifier: MIT */
/*
 * Asides: the requester's words and request id of a claim.
 *
 * Layout.  Claim i has record i of the array: the use of the claim that it
 * belongs to, as a lease id's second half, and the data.  Acquires with such
 * data write it; the others do not even clear it.  A use never repeats, so data
 * of an older use is ignored.
 *
 * Memory.  A chunk's 64 asides get theirs together, two pages, with the first
 * one that is written (backing_grow.c). chunk.aside says that they have it, and
 * stays, also when the chunk is given back.  Without memory the data is not
 * stored.
 *
 * Writing.  By the owner of the claim, before each announcement:
 *	1 use = 0		it belongs to no use
 *	2 the data
 *	3 use			pairs with: the reader's two loads of it
 * or, if only the use changes, just step 3. A conversion gives the lease a new
 * id.  It moves the aside by a swap of exactly the old one, because the
 * presenter of a lease need not be the claim's owner.
 *
 * Reading.  The use, the data, the use again: the data belongs to that use if
 * both are the one that was asked for.
 *
 * A crash or stop after step 1 or 2 leaves an aside that belongs to no use,
 * after step 3 one of a use that may never be announced.  It may be missing at
 * any time: it is for people, and a short cut from a lease to its request
 * (shm/request_record.c), which is searched otherwise.
 */
#include <errno.h>
#include <string.h>
#include "shm/claim_note.h"
#include "shm/backing_grow.h"

#define WORDS (SHM_INFO_MAX / 8)

/* Returns its place, if it may be accessed. */
static struct shm_claim_note *
note_of(const struct lhi_view *v, uint32_t ci)
{
	return lhi_claim(v, ci) != NULL &&
	    sh64_load(&v->chunks[ci / SHM_CHUNK].aside) == 1 ?
	    &v->asides[ci] : NULL;
}

/* Gives memory to a chunk's asides. Returns false if there is none. */
static bool
back_notes(struct lhi_view *v, uint32_t ch)
{
	int saved = errno, fd, error;

	if (sh64_load(&v->chunks[ch].aside) == 1)
		return true;
	fd = lhi_view_fd(v);
	error = fd < 0
		    ? -1
		    : lhi_grow_back(fd, (char *)v->hdr,
			  v->geo.asides_off + (uint64_t)ch * SHM_CHUNK *
						  sizeof(struct shm_claim_note),
			  SHM_CHUNK * sizeof(struct shm_claim_note));
	errno = saved;
	lhi_point("aside.backed");
	if (error == 0)
		sh64_store(&v->chunks[ch].aside, 1);
	return error == 0;
}

static void
write_note(struct shm_claim_note *a, const struct lh_acquire_more *more)
{
	uint64_t words[WORDS] = { 0 };

	/* pairs with: lhi_claim_note_read(): the use, then the words, then
	 * the use again; a swap, so that no word goes before it */
	(void)sh64_xchg(&a->use, 0);
	lhi_point("aside.emptied");
	if (more->info != NULL)
		memcpy(words, more->info, strnlen(more->info,
		    sizeof(words) - 1));
	for (unsigned i = 0; i < WORDS; i++)
		sh64_store_rlx(&a->info[i], words[i]);
	sh64_store_rlx(&a->request[0], more->request[0]);
	sh64_store_rlx(&a->request[1], more->request[1]);
	lhi_point("aside.filled");
}

void
lhi_claim_note_write(struct lhi_view *v, uint32_t ci, uint64_t seq,
    const struct lh_acquire_more *more)
{
	struct shm_claim_note *a = &v->asides[ci];

	if (!back_notes(v, ci / SHM_CHUNK))
		return;
	write_note(a, more);
	sh64_store(&a->use, lid_make(ci, lhi_claim_epoch(&v->claims[ci]),
	    seq));
}

void
lhi_claim_note_follow(struct lhi_view *v, uint32_t ci, uint64_t from, uint64_t
    to)
{
	struct shm_claim_note *a = note_of(v, ci);

	if (a != NULL)
		(void)sh64_cas(&a->use, from, to);
}

bool
lhi_claim_note_read(const struct lhi_view *v, uint64_t id, struct lhi_claim_note
    *a)
{
	struct shm_claim_note *from = note_of(v, lid_claim(id));
	uint64_t words[WORDS];

	if (from == NULL || sh64_load(&from->use) != id)
		return false;
	/* acquire, so that the second look at the use comes after them */
	for (unsigned i = 0; i < WORDS; i++)
		words[i] = sh64_load(&from->info[i]);
	a->request[0] = sh64_load(&from->request[0]);
	a->request[1] = sh64_load(&from->request[1]);
	lhi_point("aside.read");
	if (sh64_load(&from->use) != id)
		return false;
	memcpy(a->info, words, sizeof(a->info));
	a->info[sizeof(a->info) - 1] = '\0';
	return true;
}
