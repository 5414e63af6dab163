/* SPDX-License-Identifier: MIT */
/* Reclaiming dead sessions: see session_reclaim.c. */
#ifndef LHI_SESSION_RECLAIM_H
#define LHI_SESSION_RECLAIM_H

#include "shm/view.h"

/*
 * For the holder of its `recycle` byte: makes record idx DEAD if it is not in
 * use, and gives back all its claims.  Returns 1: done, and *inc is the
 * incarnation; 0: it is alive after all; -EUCLEAN.
 */
int lhi_session_reclaim_record(struct lhi_view *v, uint32_t idx, uint64_t *inc);

/*
 * A description of the live file that may take such bytes, pinned like a
 * session's: no closefrom() ends our turn.  Returns false if none could be
 * opened; close it all the same.
 */
struct lhi_reclaim_fd {
	int fd;
	void *pin;
	struct lhi_view *kept;	/* whose probe it is; NULL: our own */
	int cancel;		/* the thread's state before */
};

bool lhi_reclaim_fd_open(struct lhi_view *v, struct lhi_reclaim_fd *sp);
void lhi_reclaim_fd_close(struct lhi_reclaim_fd *sp);

/* Reclaims a session that was seen dead.  Returns 1: done; 0: it lives, or
 * another process is reclaiming it; -EUCLEAN. */
int lhi_session_reclaim(struct lhi_view *v, uint64_t sid);

/* Reclaims every session that is provably dead: frees its keys, takes it out of
 * queues, gives its claims back.  Returns the number of sessions. */
unsigned lhi_session_reclaim_dead(struct lhi_view *v);

/* Withdraws a named session that is being made, by any process; s: its record's
 * state. */
void lhi_named_withdraw(struct lhi_view *v, uint32_t idx, uint64_t s);

#endif
