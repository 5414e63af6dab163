/* SPDX-License-Identifier: MIT */
/*
 * G1: the description that a process asks through is replaced, under its
 * number, by the one that holds a session's lock (closefrom(), dup2()).  Asked
 * through that, the kernel says that nobody holds it.  The session is not taken
 * for dead: the probe is known by its position (shm/live_probe.c).
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
	int fd = lhi_live_file_reopen(&lh->v), probe;
	uint64_t sid = 0;
	void *pin = NULL;

	ok(fd >= 3, "a description for another session");
	is(lhi_session_begin(&lh->v, fd, "other", &sid, &pin, NULL), 0,
	    "it begins");
	is(lhi_session_gone(&lh->v, sid_idx(sid)), false, "it lives");
	probe = lhi_live_probe_fd(&lh->v);
	is(dup2(fd, probe), probe, "its description stands in the probe's "
	    "place");
	is(lhi_session_gone(&lh->v, sid_idx(sid)), false, "it lives still");
	is(lhi_session_dead(&lh->v, sid, true), false, "and is not buried");
	lhi_byte_unpin(pin);
	(void)close(fd);
	/* the copy in the probe's place, which nobody owns any more */
	(void)close(probe);
	is(lhi_session_gone(&lh->v, sid_idx(sid)), true, "until it is gone");
	t_close(lh);
	return done();
}
