/* SPDX-License-Identifier: MIT */
/* Rarely used data about a claim. See claim_note.c. */
#ifndef LHI_CLAIM_NOTE_H
#define LHI_CLAIM_NOTE_H

#include <leasehold/lease.h>
#include "shm/view.h"

struct lhi_claim_note {
	uint64_t request[2];
	char info[SHM_INFO_MAX];	/* NUL-terminated */
};

/* The claim's owner is about to announce it in use seq: stores the data, if
 * there is memory for it. */
void lhi_claim_note_write(struct lhi_view *v, uint32_t ci, uint64_t seq,
    const struct lh_acquire_more *more);

/* Moves the aside of the lease with that id to its new id. */
void lhi_claim_note_follow(struct lhi_view *v, uint32_t ci, uint64_t from,
    uint64_t to);

/* Reads the data of the use with that id. Returns false if there is none. */
bool lhi_claim_note_read(const struct lhi_view *v, uint64_t id,
    struct lhi_claim_note *a);

#endif
