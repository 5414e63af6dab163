/* SPDX-License-Identifier: MIT */
/*
 * lh_table_remove(): see table.h.  shm/table_remove.c gives up the name; this
 * file decides whether it may, and notifies the users.
 *
 * Forced.  The users are not asked.  They are granted nothing any more before
 * the name is free (shm/table_revoke.c). Then waiters are woken, and unheld
 * keys are evicted.  A table of another time namespace is removed like any
 * other: only deadlines depend on the clock, and none is judged here.
 *
 * A table that this build cannot read, or whose owner root does not trust, is
 * erased instead (shm/table_erase.c), and its users lose what they hold.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <bsd/string.h>
#include <leasehold.h>
#include "shm/removal_lock.h"
#include "offline/exclusive_use.h"
#include "base/error.h"
#include "proc/attachment.h"
#include "shm/doorbell.h"
#include "shm/evict.h"
#include "shm/table_object.h"
#include "shm/wait_queue.h"
#include "shm/table_floor.h"
#include "shm/table_remove.h"

/* After a forced removal: wakes all waiters. */
static void
wake_users(struct lhi_view *v)
{
	for (uint32_t i = 1; i < lhi_slots_ready(v); i++) {
		uint64_t w;

		if (lhi_evict_revoke(v, &v->slots[i], &w) == 0)
			(void)lhi_evict_slot(v, &v->slots[i], w);
	}
	for (uint32_t i = SHM_CHUNK; i < lhi_chunks_ready(v) * SHM_CHUNK; i++)
		if (state_st(sh64_load(&v->claims[i].state)) == ST_WAIT)
			lhi_queue_wake(v, &v->claims[i]);
}

static int
remove_table(struct lhi_exclusive_use *r, bool force)
{
	int error = lhi_exclusive_use_lock(r, force,
	    "end them, or retire it under "
	    "them with force");

	if (error == 0 && !force)
		error = lhi_exclusive_use_no_named(&r->v,
		    "retire the table under it "
		    "with force");
	if (error == 0)
		error = lhi_table_remove_carry_out(r->v.path, r->fd, &r->v);
	if ((error == 0 || error == -EINPROGRESS) && force) {
		lhi_doorbell_ring_all(&r->v, BELL_LEASE);
		wake_users(&r->v);
	}
	return error;
}

/* True if root, or the owner, may take that error for something else than a
 * table.  (-EACCES: root removes what it does not trust.) */
static bool
is_foreign(int error)
{
	return error == -EPROTO || error == -EUCLEAN ||
	    (error == -EACCES && geteuid() == 0);
}

/* Judges the object once more under the removal lock: another process may have
 * removed it, and a third one made a table. */
static int
remove_if_still_foreign(struct lhi_exclusive_use *r)
{
	struct lhi_object_id id;
	struct lhi_geometry g;
	int fd;

	fd = lhi_object_open(r->v.path, LHI_TO_REMOVE, &g, &id);
	if (fd >= 0)
		(void)close(fd);
	if (fd >= 0 && !lhi_mutant_on(foreign_judged_once))
		return lhi_fail(-EAGAIN, "%s was made anew while it was to be "
		    "removed: try again, if that is to go, too", r->v.path);
	if (fd < 0 && !is_foreign(fd))
		return fd;
	r->fd = lhi_object_open_any(r->v.path, O_RDWR);
	if (r->fd < 0)
		return r->fd;
	return lhi_table_remove_foreign(r->v.path, r->fd);
}

/* The name belongs to something else than a table; the error says so. */
static int
remove_foreign(struct lhi_exclusive_use *r, int error, bool force)
{
	int lock;

	if (!force || !is_foreign(error))
		return error;
	lhi_point("remove.foreign");
	lock = lhi_removal_lock(r->v.path);
	if (lock == -EAGAIN)
		return lhi_removal_fail_busy(r->v.path);
	if (lock < 0)
		return lock;
	error = remove_if_still_foreign(r);
	lhi_removal_unlock(r->v.path, lock);
	return error;
}

static int
map_and_remove(struct lhi_exclusive_use *r, const struct lhi_geometry *g,
    const struct lhi_object_id *id, bool force)
{
	int error = lhi_exclusive_use_map(r, g, id, false);

	if (error == -ESTALE)
		error = -ENOENT;
	/* with force, its users do not matter */
	if (error == 0 || (error == -EUCLEAN && force && r->base != NULL))
		error = remove_table(r, force);
	lhi_exclusive_use_unmap(r);
	return error;
}

/* Opens the object, and removes it. */
static int
open_and_remove(struct lhi_exclusive_use *r, bool force)
{
	struct lhi_object_id id;
	struct lhi_geometry g;
	int error;

	atomic_store(&r->v.object_fd, -1);
	atomic_store(&r->v.probe_fd, -1);
	r->fd = lhi_object_open(r->v.path, force ? LHI_TO_REMOVE : LHI_TO_USE,
	    &g, &id);
	if (r->fd >= 0)
		error = map_and_remove(r, &g, &id, force);
	else
		error = remove_foreign(r, r->fd, force);
	if (r->fd >= 0)
		(void)close(r->fd);
	return error;
}

int
lh_table_remove(const char *name, uint32_t flags)
{
	struct lhi_exclusive_use r = { .fd = -1 };
	bool force = flags & LH_FORCE, forget = flags & LH_FORGET_TOKENS;
	int saved = errno, error;

	if (flags & ~(LH_SYSTEM | LH_FORCE | LH_FORGET_TOKENS))
		return lhi_fail(-EINVAL, "unknown flag in 0x%x", flags);
	error = lhi_object_path(r.v.path, sizeof(r.v.path),
	    lhi_object_name(name), lhi_object_is_system(name, flags));
	if (error == 0)
		error = lhi_proc_begin();
	if (error == 0)
		error = lhi_process_read();
	if (error != 0)
		return error;
	/* held over fork: no child gets a copy of what holds our locks */
	lhi_proc_lock();
	error = open_and_remove(&r, force);
	/* perhaps it is the floor that is damaged, or too high */
	if (error == -EUCLEAN && forget &&
	    lhi_table_floor_forget(r.v.path) == 0)
		error = open_and_remove(&r, force);
	if ((error == 0 || error == -ENOENT) && forget) {
		int forgot = lhi_table_floor_forget(r.v.path);

		if (forgot != -ENOENT)
			error = forgot;
	}
	lhi_proc_unlock();
	errno = saved;
	return error == -EAGAIN ? -EBUSY : error;	/* another is at it */
}
