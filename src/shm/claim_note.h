/* SPDX-License-Identifier: MIT */
/* What is seldom said about a claim.  See claim_note.c. */
#ifndef LHI_CLAIM_NOTE_H
#define LHI_CLAIM_NOTE_H

#include <leasehold/lease.h>
#include "shm/view.h"

struct lhi_claim_note {
	uint64_t request[2];
	char info[SHM_INFO_MAX];	/* NUL-terminated */
};

/* The claim's owner is about to announce it in use seq: say what there is to
 * be said of that, if there is memory for it. */
void lhi_claim_note_write(struct lhi_view *v, uint32_t ci, uint64_t seq,
    const struct lh_acquire_more *more);

/* The lease with that id has another one from now on. */
void lhi_claim_note_follow(struct lhi_view *v, uint32_t ci, uint64_t from,
    uint64_t to);

/* What was said of the use with that id?  False: nothing. */
bool lhi_claim_note_read(const struct lhi_view *v, uint64_t id,
    struct lhi_claim_note *a);

#endif
