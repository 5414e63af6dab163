/* SPDX-License-Identifier: MIT */
/*
 * Byte locks of a table: which process is at work here now, for each kind of
 * work.
 *
 * Layout.  The bytes are those of the table's live file (live_file.c), which is
 * empty, so they are nothing but names of locks.  Each is locked through an
 * open file description, pinned by a mapping (prim/bytelock.h): the kernel
 * drops the lock when the address space ends, however it ends, and at no other
 * time.
 *
 *	SESSION_BYTES_OFF - 4		the table is being made (live_file.c)
 *	SESSION_BYTES_OFF - 3		the shim
 *	SESSION_BYTES_OFF - 2		visitors, shared; exclusive: barred
 *	SESSION_BYTES_OFF - 1		a process that removes or repairs it
 *	SESSION_BYTES_OFF + 2 i		record i's session lives (`live`)
 *	SESSION_BYTES_OFF + 2 i + 1	record i is being given back or taken
 *					(`recycle`)
 *
 * Removal.  If no process may be attached, the remover takes the bytes of all
 * sessions as well, in one call: no record can be taken then until the table
 * has no name (shm/table_remove.c). That there is one remover at a time does
 * not rely on these locks, but on removal_lock.c.
 *
 * If death cannot be proved (SESS_NOPROOF), a free byte says nothing: then the
 * state of the record decides.
 *
 * session_liveness.c says what the locks prove about sessions.
 */
#include <errno.h>
#include "prim/bytelock.h"
#include "shm/live_file.h"
#include "shm/session_bytes.h"
#include "shm/session_sign.h"

#define REMOVAL_BYTE (SESSION_BYTES_OFF - 1)
#define VISITORS_BYTE (SESSION_BYTES_OFF - 2)
#define SHIM_BYTE (SESSION_BYTES_OFF - 3)

int
lhi_session_lock_byte(const struct lhi_view *v, int fd, off_t byte)
{
	return lhi_live_file_is(v, fd) ? lhi_byte_lock(fd, byte) : -EBADF;
}

int
lhi_session_lock_removal(int fd)
{
	return lhi_byte_lock(fd, REMOVAL_BYTE);
}

bool
lhi_session_removal_held(int fd)
{
	return lhi_byte_held(fd, REMOVAL_BYTE) != 0;
}

int
lhi_session_visit(int fd)
{
	return lhi_byte_share(fd, VISITORS_BYTE);
}

bool
lhi_session_visits_barred(int fd)
{
	int error = lhi_byte_share(fd, VISITORS_BYTE);

	if (error == 0)
		lhi_byte_unlock(fd, VISITORS_BYTE);
	return error == -EAGAIN;
}

void
lhi_session_leave(int fd)
{
	lhi_byte_unlock(fd, VISITORS_BYTE);
}

int
lhi_session_bar_visits(int fd)
{
	return lhi_byte_lock(fd, VISITORS_BYTE);
}

int
lhi_session_lock_shim(int fd)
{
	return lhi_byte_lock(fd, SHIM_BYTE);
}

/* If death cannot be proved, locks say nothing: then the state decides.  A
 * session that was passed on has a sign of its own. */
static bool
is_unprovable(const struct lhi_view *v, uint32_t idx)
{
	uint64_t s = sh64_load(&v->sessions[idx].state);

	if ((sess_st(s) == SESS_ALIVE || sess_st(s) == SESS_CLOSING) &&
	    lhi_sign_is_promised(v, idx) && lhi_sign_held(v, idx) != 0)
		return true;
	return sess_marked(s) &&
	    (sess_st(s) == SESS_ALIVE || sess_st(s) == SESS_CLOSING);
}

int
lhi_session_bar(const struct lhi_view *v, int fd)
{
	int error = lhi_bytes_lock(fd, lhi_session_live_byte(0),
	    2 * (off_t)v->geo.max_sessions);

	for (uint32_t i = 0; error == 0 && i < v->geo.max_sessions; i++)
		if (is_unprovable(v, i))
			error = -EAGAIN;
	return error;
}

bool
lhi_session_held(const struct lhi_view *v, int fd, uint32_t idx)
{
	return lhi_byte_held(fd, lhi_session_live_byte(idx)) != 0 ||
	       is_unprovable(v, idx);
}

int
lhi_session_lock_recycle(const struct lhi_view *v, int fd, uint32_t idx)
{
	return lhi_session_lock_byte(v, fd, lhi_session_recycle_byte(idx));
}

void
lhi_session_unlock_recycle(int fd, uint32_t idx)
{
	lhi_byte_unlock(fd, lhi_session_recycle_byte(idx));
}
