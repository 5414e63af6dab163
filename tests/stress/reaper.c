/* SPDX-License-Identifier: MIT */
/*
 * One more participant: a reaper, which ends leases that nobody waits for and
 * buries the dead, while the others do as ever.  It is killed and stopped like
 * them.  It writes no log: the histories of the others must keep the same rules
 * as without it.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "reaper/reap.h"
#include "round.h"

int
reaper_run(struct round *r)
{
	char path[128];
	struct lhi_reaper *reaper;
	int64_t next = 0;
	int rc;

	snprintf(path, sizeof(path), "/dev/shm/leasehold.%u/%s.table", getuid(),
	    r->table);
	rc = lhi_reap_open(&reaper, path);
	while (!rc && !atomic_load_explicit(&r->j->quit,
	    memory_order_relaxed)) {
		rc = lhi_reap_pass(reaper, lhi_clock_ns(CLOCK_MONOTONIC),
		    &next);
		sleep_until_ns(next);
	}
	if (!rc)
		lhi_reap_close(reaper);
	return rc;
}
