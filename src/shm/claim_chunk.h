/* SPDX-License-Identifier: MIT */
/* Chunks of claims: see claim_chunk.c. */
#ifndef LHI_CLAIM_CHUNK_H
#define LHI_CLAIM_CHUNK_H

#include "shm/view.h"

/* Gets 64 claims for a session: the chunk's index, -ENOSPC, -EUCLEAN. */
int lhi_chunk_take(struct lhi_view *v, uint64_t sid);

/* Returns every chunk of a session whose claims are all free. */
void lhi_chunk_return_all(struct lhi_view *v, uint64_t sid);

#endif
