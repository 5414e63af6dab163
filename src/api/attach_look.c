/* SPDX-License-Identifier: MIT */
/*
 * Attaching without a session (LH_LOOK): lets the owner inspect a table that
 * has no session left.
 *
 * Members can use up the session records, or lock the bytes of all of them, so
 * that no session can begin.  Inspecting a table and breaking a lease need no
 * session: their steps are those of a reaper, which has none either.  lhi_own()
 * refuses everything else for such an attachment.
 *
 * Instead of a session it holds the visitors' byte (session_bytes.h), so that a
 * repair waits until it has left.  A member can lock that byte too.  Then only
 * the table's owner and root may inspect, without it.  A repair by force, which
 * does not wait for the byte, may overlap with that: the result may be wrong,
 * and the steps are exact swaps on words that the repair writes.
 *
 * The table's words do not keep anybody from looking either: they may say that
 * a repair is unfinished, because it was killed or a member wrote that.
 * The table may be half repaired then, and lh_check() says so.  Or they may say
 * that the table was removed, which only its owner's mark proves
 * (shm/removal_mark.c).
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "api/attach_fail.h"
#include "api/attach_look.h"
#include "base/error.h"
#include "prim/bytelock.h"
#include "prim/file_owner.h"
#include "shm/removal_lock.h"
#include "shm/session_bytes.h"

/* A session id that no session has, because incarnations do not reach it. */
#define NO_SESSION sid_make(MASK(INC_BITS), 0)

/* True if this process belongs to root, or to the file's owner. */
static bool
is_owner(int fd)
{
	struct stat st;

	return geteuid() == 0 || (fstat(fd, &st) == 0 &&
	    lhi_owner_is_self(fd, &st));
}

/* True if a process repairs the table, or perhaps does.  False: its words say
 * so, and no process has the lock of a repair. */
static bool
is_being_repaired(const struct lhi_view *v, int fd)
{
	int at_work = lhi_removal_is_at_work(v->path);

	return at_work == 1 || (at_work < 0 && lhi_session_removal_held(fd));
}

int
lhi_attach_to_look(struct lh *lh, int fd)
{
	int error;

	lh->pin = lhi_byte_pin(fd);
	if (lh->pin == NULL)
		return lhi_fail(-ENOMEM, "cannot map the live file of %s: %s",
		    lh->v.path, strerror(errno));
	error = lhi_session_visit(fd);
	if (error == -EAGAIN && !is_owner(fd))
		return lhi_attach_fail_removal(&lh->v);
	if (error != 0 && error != -EAGAIN)
		return lhi_fail(error, "cannot lock a byte of the live file of "
		    "%s: %s", lh->v.path, strerror(-error));
	if (lhi_view_removed(&lh->v) || (lhi_view_is_repairing(&lh->v) &&
	    is_being_repaired(&lh->v, fd)))
		return lhi_attach_fail_removal(&lh->v);
	lh->sid = NO_SESSION;
	lh->anchor->tag = lh->tag;
	return 0;
}
