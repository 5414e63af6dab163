/* SPDX-License-Identifier: MIT */
/* Records of processes' sessions: see session_record.c. */
#ifndef LHI_SESSION_RECORD_H
#define LHI_SESSION_RECORD_H

#include "shm/view.h"

/*
 * Takes a free session record for this address space.  *fd is a description of
 * the live file opened for this alone: it takes the record's byte locks, and
 * *pin then holds them.  So it is closed here, and -1, unless no record
 * could be taken.  With `sign`, makes a second sign of life: descriptor *sign.
 * Returns 0; -ENOSPC; -EOPNOTSUPP: the mapping keeps no lock; -errno.
 */
int lhi_session_begin(struct lhi_view *v, int *fd, const char *application,
    uint64_t *sid, void **pin, int *sign);

/* ALIVE -> CLOSING: no new leases; death stays provable (C9). */
void lhi_session_closing(struct lhi_view *v, uint64_t sid);

/* CLOSING -> UNUSED; every claim has been given back; unpin after it. */
void lhi_session_end(struct lhi_view *v, uint64_t sid);

#endif
