/* SPDX-License-Identifier: MIT */
/* Sessions: who is alive or dead behind leases.  See session_record.c. */
#ifndef LHI_SESSION_RECORD_H
#define LHI_SESSION_RECORD_H

#include "shm/view.h"

/*
 * Take a free session record for this address space.  `fd` is a description of
 * the object opened for this alone: it takes the record's byte locks, and
 * *pin then holds them; the caller closes it.  0; -ENOSPC; -errno.
 */
int lhi_session_begin(struct lhi_view *v, int fd, const char *application,
    uint64_t *sid, void **pin);

/*
 * For who removes the table, through a description opened for that alone:
 * lock the removal's byte, which is one more before those of the sessions; and
 * bar it: lock every session's.  0; -EAGAIN: somebody holds it, or a session's;
 * -errno.
 */
int lhi_session_lock_removal(int fd);
void lhi_session_unlock_removal(int fd);
int lhi_session_bar(const struct lhi_view *v, int fd);

/*
 * Who looks after a table without having a session (a reaper) says so while it
 * does, so that a repairer can wait until nobody is in the middle of anything:
 * two before those of the sessions.  Any number may visit, but nobody while
 * they are barred.  0; -EAGAIN; -errno.
 */
int lhi_session_visit(int fd);
void lhi_session_leave(int fd);
int lhi_session_bar_visits(int fd);

/*
 * The shim's byte: whoever has it writes rights (shm/cluster_right.c), until
 * its description is closed.  0; -EAGAIN: another shim has it; -errno.
 */
int lhi_session_lock_shim(int fd);
void lhi_session_unlock_shim(int fd);

/* Has a shim it?  (In doubt, yes.)  Through another description than that. */
bool lhi_session_shim_held(int fd);

/* Is somebody removing it?  Does somebody living have that record?  (In doubt,
 * yes.)  Through a description that holds no session's byte. */
bool lhi_session_removal_held(int fd);
bool lhi_session_held(const struct lhi_view *v, int fd, uint32_t idx);

/* ALIVE -> CLOSING: no new leases; death stays provable (C9). */
void lhi_session_closing(struct lhi_view *v, uint64_t sid);

/* CLOSING -> UNUSED; every claim has been given back; unpin after it. */
void lhi_session_end(struct lhi_view *v, uint64_t sid);

/*
 * Is that session gone for ever?  With `probe`, asks the kernel when the record
 * does not know yet, and makes the answer sticky.  False means alive or not
 * known: only a deadline ends such a session's leases.
 */
bool lhi_session_dead(struct lhi_view *v, uint64_t sid, bool probe);

/* From that state, whose death was proved, to DEAD.  False: it has changed. */
bool lhi_session_declare_dead(struct lhi_view *v, uint32_t idx, uint64_t s);

/* Does the kernel say that nobody lives behind that record?  (In doubt, no.) */
bool lhi_session_gone(struct lhi_view *v, uint32_t idx);

/*
 * The process that holds the session, as this one counts processes; 0: it
 * cannot be seen from here.  For diagnostics, and for hints.
 */
pid_t lhi_session_pid(const struct lhi_view *v, uint64_t sid);

/* Through a description opened for that alone: the byte under which a record's
 * claims are given back.  0; -EAGAIN: somebody else has it; -errno. */
int lhi_session_lock_recycle(const struct lhi_view *v, int fd, uint32_t idx);
void lhi_session_unlock_recycle(int fd, uint32_t idx);

/*
 * Holding that: make the record DEAD if it is not in use by anyone, and give
 * back all its claims.  1 done, and *inc says of which incarnation; 0 it is
 * alive after all; -EUCLEAN.
 */
int lhi_session_reclaim_record(struct lhi_view *v, uint32_t idx, uint64_t *inc);

/*
 * A description of the object that may take such bytes, pinned like a
 * session's: nobody's closefrom() ends our turn.  False: none could be opened;
 * it is put away all the same.
 */
struct lhi_reclaim_fd {
	int fd;
	void *pin;
	int cancel;			/* the thread's state before */
};

bool lhi_reclaim_fd_open(struct lhi_view *v, struct lhi_reclaim_fd *sp);
void lhi_reclaim_fd_close(struct lhi_reclaim_fd *sp);

/* The same for a session that was seen dead.  1 done; 0 it lives, or somebody
 * else is at it; -EUCLEAN. */
int lhi_session_reclaim(struct lhi_view *v, uint64_t sid);

/*
 * Bury every session that is provably dead: free what it held, take it out of
 * queues, give its claims back.  Number of sessions buried.
 */
unsigned lhi_session_reclaim_dead(struct lhi_view *v);

#endif
