/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G1, invariant of shm/live_probe.c: the descriptor through which a
 * process asks for others' byte locks is replaced, under its number, by the
 * descriptor that holds a session's lock (closefrom() and dup2() do that).
 * Asked through that one, the kernel says that nobody holds the lock.  The
 * process must notice the replacement.
 *
 * Otherwise a living session would count as dead, and its keys would be granted
 * twice.
 */
#include <unistd.h>
#include "replay.h"
#include "proc/attachment.h"
#include "prim/bytelock.h"
#include "shm/live_file.h"
#include "shm/session_liveness.h"
#include "shm/session_record.h"

int
main(void)
{
	const char *table = replay_begin();
	struct lh *lh = replay_open(table, 0);
	int fd = lhi_live_file_reopen(&lh->v), copy = dup(fd), probe;
	uint64_t sid = 0;
	void *pin = NULL;

	ok(fd >= 3 && copy >= 0, "a description for another session");
	is(lhi_session_begin(&lh->v, &fd, "other", &sid, &pin, NULL), 0,
	    "the session begins");
	is(lhi_session_gone(&lh->v, sid_idx(sid)), false, "it is alive");
	probe = lhi_live_probe_fd(&lh->v);
	is(dup2(copy, probe), probe, "its descriptor replaces the probe's");
	is(lhi_session_gone(&lh->v, sid_idx(sid)), false, "it is still alive");
	is(lhi_session_dead(&lh->v, sid, true), false, "and is not reclaimed");
	lhi_byte_unpin(pin);
	(void)close(copy);
	/* the copy in the probe's place, which has no owner */
	(void)close(probe);
	is(lhi_session_gone(&lh->v, sid_idx(sid)), true,
	    "it is dead when its descriptors are closed");
	t_close(lh);
	return done();
}
