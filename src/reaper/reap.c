/* SPDX-License-Identifier: MIT */
/*
 * The reaper: completes what no other process will touch.  table_pass.c calls
 * it.
 *
 * Nothing depends on it.  A process that wants a key frees it from a dead
 * holder, and completes half-done operations, by itself.  A reaper improves
 * three things:
 *
 * - leases that nobody waits for end soon after their deadlines (timing T5);
 * - deaths are noticed at once (timing T2); and
 * - claims of dead processes become available before anybody runs out of
 *   claims.
 *
 * A reaper may be killed or stopped anywhere.  Each of its steps is one that
 * every participant makes: an exact swap on values that were read in the right
 * order.
 *
 *	death_watch.c	sessions: dead ones are reclaimed
 *	expiry_scan.c	claims: leases past their deadlines are ended
 *	sweep.c		keys: half-done operations, and idle keys
 *
 * A pass takes these steps, in a few milliseconds:
 *
 * 1. Each time: handle deaths that the pidfds report, and reclaim dead
 *    sessions.
 * 2. Each 40 ms: look at all chunks, some sessions and some keys (the walk).
 * 3. Each time: scan the chunks that are due.
 *
 * It returns when the next pass is due: at the earliest deadline that it knows,
 * but not before 4 ms and not after 40 ms.  Work that does not fit in a pass is
 * left for the next one.  Each part continues where it stopped, so that
 * everything gets its turn.
 *
 * A reaper has no session and no claims: it never holds a key or waits for
 * one.  It has a mapping, a descriptor for questions to the kernel, and 24
 * bytes of its own for each session and each chunk.  Its only extra cost for
 * acquirers: once per clock tick, a thread writes the length of its leases into
 * its chunk (expiry_scan.c).
 *
 * Values read from the table may be anything (guarantee G12).  Indexes are
 * checked, times are clamped, and each pass is bounded by the clock.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bsd/string.h>
#include "base/error.h"
#include "shm/backing.h"
#include "shm/live_file.h"
#include "shm/session_bytes.h"
#include "reaper/reap_ops.h"
#include "proc/attachment.h"
#include "proc/map.h"

#define FRESH_NS NS_PER_SEC	/* interval of checks that the table exists */

/* Maps the table that fd is open on.  The reaper takes over fd. */
static int
attach_table(struct lhi_reaper *r, int fd, const char *path,
    const struct lhi_geometry *g, const struct lhi_object_id *id)
{
	int error;

	int live;

	atomic_store(&r->v.object_fd, fd);
	(void)strlcpy(r->v.path, path, sizeof(r->v.path));
	lhi_proc_lock();
	error = lhi_map_get(fd, id, g, &r->map);
	lhi_proc_unlock();
	if (error != 0)
		return error != -EUCLEAN ?
		    lhi_backing_fail_map(path, g->object_len) :
		    lhi_fail(error, "the length of %s has changed since this "
		    "process mapped it", path);
	lhi_map_view(r->map, g, &r->v);
	r->v.t0_ns = id->t0_ns;
	r->v.order = id->order;
	r->v.clock = id->clock;
	lhi_view_set_uuid(&r->v, id->uuid);
	memcpy(r->v.ranges, id->ranges, sizeof(r->v.ranges));
	r->v.dev = id->dev;
	r->v.ino = id->ino;
	live = lhi_live_file_open(path, fd, id->uuid[0], &id->live);
	if (live < 0)
		return live;
	error = lhi_live_probe_attach(&r->v, live);
	if (error == 0)
		error = lhi_death_watch_begin(r);
	return error != 0 ? error : lhi_expiry_scan_begin(r);
}

int
lhi_reap_open(struct lhi_reaper **out, const char *path)
{
	int saved = errno, fd, error;
	struct lhi_reaper *r;
	struct lhi_object_id id;
	struct lhi_geometry g;

	error = lhi_proc_begin();
	if (error == 0)
		error = lhi_process_read();
	if (error != 0)
		return error;
	r = calloc(1, sizeof(*r));
	if (r == NULL)
		return lhi_fail(-ENOMEM, "out of memory");
	r->epoll_fd = -1;
	r->budget_ns = REAP_BUDGET_NS;
	atomic_store(&r->v.object_fd, -1);
	atomic_store(&r->v.probe_fd, -1);
	fd = lhi_object_open(path, LHI_TO_USE, &g, &id);
	error = fd < 0 ? fd : attach_table(r, fd, path, &g, &id);
	if (error != 0)
		lhi_reap_close(r);
	else
		*out = r;
	errno = saved;
	return error;
}

void
lhi_reap_close(struct lhi_reaper *r)
{
	int saved = errno, fd;

	if (r == NULL)
		return;
	if (r->map != NULL) {
		if (sh32_load_rlx(&r->v.hdr->reaper_pid) == (uint32_t)getpid())
			sh32_store_rlx(&r->v.hdr->reaper_pid, 0);
		lhi_death_watch_end(r);
		lhi_expiry_scan_end(r);
		lhi_proc_lock();
		lhi_map_put(r->map);
		lhi_proc_unlock();
	}
	fd = atomic_load(&r->v.probe_fd);
	if (lhi_live_probe_is(&r->v, fd)) {
		/* a mapping may keep the open file description, and its
		 * locks */
		if (r->visiting)
			lhi_session_leave(fd);
		(void)close(fd);
	}
	fd = atomic_load(&r->v.object_fd);
	if (lhi_view_is(&r->v, fd))
		(void)close(fd);
	free(r);
	errno = saved;
}

void
lhi_reap_set(struct lhi_reaper *r, const struct lhi_reap_opts *opts)
{
	r->opts = *opts;
}

/* Does the walk: everything that is due every 40 ms. */
static void
walk_table(struct lhi_reaper *r, int64_t now_ns)
{
	sh32_store_rlx(&r->v.hdr->reaper_pid, (uint32_t)getpid());
	sh32_store_rlx(&r->v.hdr->reaper_ms, (uint32_t)(now_ns / NS_PER_MS));
	lhi_expiry_scan_walk(r, now_ns);
	lhi_death_watch_probe(r);
	lhi_sweep_slots(r, now_ns);
	r->walk_ns = now_ns + REAP_WALK_NS;
}

/*
 * Takes the visitors' byte.  Returns false if the table must not be visited
 * now.
 *
 * A repair (offline/repair.c) needs the table for itself and takes that byte
 * exclusively.  The reaper shares the byte until it is asked to leave.  (Taking
 * it for each pass would be slow, because the kernel searches the locks of all
 * sessions.)  A request to leave whose author is gone is void.
 */
static bool
try_enter_table(struct lhi_reaper *r)
{
	int fd;

	if (r->visiting)
		return true;
	fd = lhi_live_probe_fd(&r->v);
	if (fd < 0 || (!lhi_mutant_on(visits_unseen) &&
	    (lhi_session_removal_held(fd) || lhi_session_visit(fd) != 0)))
		return false;
	if (!lhi_mutant_on(wanted_stays))
		(void)sh32_fetch_and(&r->v.hdr->flags, ~SHM_WANTED);
	r->visiting = true;
	return true;
}

/* Gives the visitors' byte back, if a repair wants the table.  Called before
 * and after each visit. */
static void
leave_table_if_wanted(struct lhi_reaper *r)
{
	if (!r->visiting || !(sh32_load(&r->v.hdr->flags) &
	    (SHM_WANTED | SHM_REPAIRING)))
		return;
	lhi_session_leave(lhi_live_probe_fd(&r->v));
	r->visiting = false;
}

/* Does one pass.  Returns when the next one is due. */
static int64_t
run_pass(struct lhi_reaper *r, int64_t now_ns)
{
	int64_t by_ns = now_ns, next;

	r->counts.passes++;
	r->began_ns = lhi_clock_ns(CLOCK_MONOTONIC);
	r->more = false;
	lhi_death_watch_read_events(r);
	lhi_death_watch_reclaim(r, lhi_expiry_scan_free_dead);
	if (now_ns >= r->walk_ns) {
		walk_table(r, now_ns);
		lhi_death_watch_reclaim(r, lhi_expiry_scan_free_dead);
		by_ns += REAP_WALK_NS;
	}
	next = lhi_expiry_scan_run_due(r, now_ns, by_ns);
	if (next > r->walk_ns)
		next = r->walk_ns;
	if (next < now_ns + REAP_GAP_NS || r->more)
		next = now_ns + REAP_GAP_NS;
	return next;
}

int
lhi_reap_pass(struct lhi_reaper *r, int64_t mono_ns, int64_t *next_ns)
{
	/* below, all times are in the table's clock */
	int64_t lead = lhi_clock_lead_ns(&r->v), now_ns = mono_ns + lead, next;
	int saved = errno, error;

	r->damaged = false;
	if (now_ns >= r->fresh_ns || lhi_view_retired(&r->v)) {
		error = lhi_view_fresh(&r->v);
		if (error != 0)
			return error;
		r->fresh_ns = now_ns + FRESH_NS;
	}
	leave_table_if_wanted(r);
	if (!lhi_view_is_repairing(&r->v) && try_enter_table(r))
		next = run_pass(r, now_ns);
	else
		next = now_ns + REAP_WALK_NS;
	leave_table_if_wanted(r);
	*next_ns = next - lead;
	errno = saved;
	return r->damaged ? -EUCLEAN : 0;
}

int
lhi_reap_fd(const struct lhi_reaper *r)
{
	return r->epoll_fd;
}

struct lhi_view *
lhi_reap_view(struct lhi_reaper *r)
{
	return &r->v;
}

const struct lhi_reap_counts *
lhi_reap_count(const struct lhi_reaper *r)
{
	return &r->counts;
}
