/* SPDX-License-Identifier: MIT */
/*
 * Refusals of lh_open(): finds out which process keeps this one from a session.
 *
 * A locked byte of the live file usually says that its session lives, or that
 * the table is being removed or repaired.  But any member can lock any byte
 * (doc/security.md), and then neither is true.  A removal holds a lock on a
 * second file as well, which members cannot open (shm/removal_lock.c). So
 * without that one, the byte is not a removal's; and a locked byte of a record
 * that no session has is no sign of life.
 *
 * Only the error's sentence depends on it.  It is done once, after the last
 * attempt, because it may read every process of /proc.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>
#include <bsd/string.h>
#include <leasehold/error.h>
#include "api/attach_fail.h"
#include "base/error.h"
#include "offline/lockers.h"
#include "prim/bytelock.h"
#include "shm/live_file.h"
#include "shm/removal_lock.h"
#include "shm/session_bytes.h"
#include "shm/table_object.h"

#define NAMES_LEN 200
#define DETAIL_LEN 512

int
lhi_attach_fail_removal(const struct lhi_view *v)
{
	return lhi_fail(-EAGAIN, "%s is being removed or repaired by a process "
	    "that does not go on: end it, or let it run", v->path);
}

/* Returns how many records without a session have a locked byte. */
static uint32_t
count_foreign_locks(struct lhi_view *v, int fd)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < v->geo.max_sessions; i++)
		n += sess_st(sh64_load(&v->sessions[i].state)) ==
		    SESS_UNUSED &&
		    lhi_bytes_held(fd, lhi_session_live_byte(i), 2) == 1;
	return n;
}

int
lhi_attach_fail_full(struct lhi_view *v, int error)
{
	int fd = lhi_live_probe_fd(v);
	uint32_t n = fd < 0 ? 0 : count_foreign_locks(v, fd);
	char who[NAMES_LEN];

	if (n == 0)
		return error;
	lhi_lockers_name(who, sizeof(who), fd);
	return lhi_fail(error, "no session of %s can begin: the bytes of %u "
	    "sessions, which do not live, are locked by %s: end it", v->path,
	    n, who);
}

/* Through a descriptor of the live file that has no locks. */
static void
name_locker(const char *path, int fd)
{
	int at_work = lhi_removal_is_at_work(path);
	char who[NAMES_LEN];

	/* (it may have ended since the last attempt) */
	if (!lhi_session_removal_held(fd) && !lhi_session_visits_barred(fd))
		return;
	if (at_work == 1) {
		(void)lhi_removal_fail_busy(path);
		return;
	}
	lhi_lockers_name(who, sizeof(who), fd);
	(void)lhi_fail(-EBUSY, "no session of %s can begin: bytes of its live "
	    "file are locked by %s%s: end it", path, who, at_work == 0 ? "" :
	    ", which may be removing or repairing it");
}

int
lhi_attach_fail_busy(const char *name, bool system)
{
	char path[sizeof(((struct lhi_view *)0)->path)], detail[DETAIL_LEN];
	struct lhi_object_id id;
	struct lhi_geometry g;
	int fd, live = -1;

	(void)strlcpy(detail, lh_error_detail(), sizeof(detail));
	if (lhi_object_path(path, sizeof(path), name, system) != 0)
		return -EBUSY;
	fd = lhi_object_open(path, LHI_TO_FIND, &g, &id);
	if (fd >= 0) {
		live = lhi_live_file_open(path, fd, id.uuid[0], &id.live);
		(void)close(fd);
	}
	(void)lhi_fail_again(-EBUSY, detail);
	if (live >= 0) {
		name_locker(path, live);
		(void)close(live);
	}
	return -EBUSY;
}
