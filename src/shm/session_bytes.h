/* SPDX-License-Identifier: MIT */
/* The bytes of the live file, whose locks say which sessions live: see
 * session_bytes.c. */
#ifndef LHI_SESSION_BYTES_H
#define LHI_SESSION_BYTES_H

#include <sys/types.h>
#include "shm/view.h"

/*
 * The first session's bytes.  They are far from the bytes of any other file: a
 * descriptor that the application closed and gave another meaning does no harm.
 */
#define SESSION_BYTES_OFF (INT64_C(1) << 40)

/* Record idx: locked while its session lives. */
static inline off_t
lhi_session_live_byte(uint32_t idx)
{
	return SESSION_BYTES_OFF + 2 * (off_t)idx;
}

/* Record idx: locked while its claims are given back and it is taken. */
static inline off_t
lhi_session_recycle_byte(uint32_t idx)
{
	return lhi_session_live_byte(idx) + 1;
}

/* Locks a byte, if the number still is the live file's: 0, -EAGAIN,
 * -errno. */
int lhi_session_lock_byte(const struct lhi_view *v, int fd, off_t byte);

/*
 * For a process that removes the table, through a description opened for that
 * alone: locks the removal's byte; and bars the table, by locking every
 * session's bytes.  0; -EAGAIN: another process holds it, or a session's;
 * -errno.
 */
int lhi_session_lock_removal(int fd);
int lhi_session_bar(const struct lhi_view *v, int fd);

/*
 * A process that works on a table without a session (a reaper, or with LH_LOOK)
 * holds the visitors' byte meanwhile, so that a repair can wait until none is
 * in the middle of a step.  Any number may visit, but not while visits are
 * barred.  Returns 0; -EAGAIN; -errno.
 */
int lhi_session_visit(int fd);
void lhi_session_leave(int fd);
bool lhi_session_visits_barred(int fd);
int lhi_session_bar_visits(int fd);

/*
 * The shim's byte: its holder writes rights (shm/cluster_right.c), until its
 * description is closed.  0; -EAGAIN: another shim has it; -errno.
 */
int lhi_session_lock_shim(int fd);

/* True if the table is being removed; if a living process has that record; or
 * in doubt.  Through a description that holds no session's byte. */
bool lhi_session_removal_held(int fd);
bool lhi_session_held(const struct lhi_view *v, int fd, uint32_t idx);

/* Through a description opened for that alone: the byte under which a record's
 * claims are given back.  0; -EAGAIN: another process has it; -errno. */
int lhi_session_lock_recycle(const struct lhi_view *v, int fd, uint32_t idx);
void lhi_session_unlock_recycle(int fd, uint32_t idx);

/* The incarnation after it; never 0, which would make session 0 of record 0. */
static inline uint64_t
lhi_session_next_inc(uint64_t inc)
{
	inc = (inc + 1) & MASK(INC_BITS);
	return inc == 0 ? 1 : inc;
}

#endif
