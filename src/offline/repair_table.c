/* SPDX-License-Identifier: MIT */
/*
 * lh_table_repair(): see repair.h.
 *
 * With exclusive use of the table (exclusive_use.c), it runs the checker.
 *
 *	no finding	dead sessions are reclaimed as any attached process
 *			would do it (so the use is not exclusive any more by
 *			then), and half-done evictions are completed
 *	findings	everything is repaired (offline/repair.c), and the
 *			checker runs again; only then may the table be used.
 *			This ends all leases, so it is not begun while a named
 *			session lives, which has leases without a process
 *
 * A repaired table grants nothing before another range of tokens was claimed.
 * So while that cannot be done, a durable table is not repaired.
 *
 * A dry run does the same to a private mapping, whose stores are not visible.
 * It is refused where the repair would be.
 *
 * The header's facts are compared with their sum when the table is opened:
 * without the number of keys they cannot be repaired.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <leasehold.h>
#include "shm/session_bytes.h"
#include "shm/session_reclaim.h"
#include "offline/exclusive_use.h"
#include "offline/check.h"
#include "offline/declare_dead.h"
#include "base/printable.h"
#include "base/error.h"
#include "prim/bytelock.h"
#include "proc/attachment.h"
#include "shm/evict.h"
#include "shm/backing.h"
#include "shm/table_words.h"
#include "offline/lockers.h"
#include "offline/repair.h"

#define VISIT_TRIES 250		/* passes are 40 ms apart */

struct repair {
	struct lhi_exclusive_use a;
	bool dry, force;
	void (*fn)(const char *what, void *arg);
	void *arg;
	int findings;
	char last[256];		/* the last finding */
	char early[4096];	/* lines to print after the findings */
};

static void __attribute__((format(printf, 2, 3)))
print_line(struct repair *r, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	lhi_printable_text(text, sizeof(text));
	if (r->fn != NULL)
		r->fn(text, r->arg);
}

static void
add_finding(const char *finding, void *arg)
{
	struct repair *r = arg;

	r->findings++;
	if (r->fn != NULL)
		r->fn(finding, r->arg);
}

static void
keep_last_finding(const char *finding, void *arg)
{
	struct repair *r = arg;

	(void)snprintf(r->last, sizeof(r->last), "%s", finding);
}

/* (A complete note may have been left by a process that was killed before it
 * set the flag.) */
static bool
is_note(const shm_u64 *note, uint64_t what)
{
	return sh64_load(note) == 0 || sh64_load(note) == what;
}

/*
 * The facts that were written once: if one bit is wrong, the sum shows which.
 */
static void
correct_header(struct repair *r)
{
	struct shm_header copy = *r->a.v.hdr;
	size_t off;

	if (lhi_object_correct(&copy, &off) != 1)
		return;
	add_finding("a bit of what the header says of the table was changed",
	    r);
	sh64_store((shm_u64 *)((char *)r->a.v.hdr + off),
	    sh64_load((const shm_u64 *)((const char *)&copy + off)));
	lhi_point("repair.corrected");
}

/* Reports each finding.  Returns false if memory may be missing that should be
 * there. */
static bool
examine_table(struct repair *r)
{
	struct lhi_view *v = &r->a.v;
	uint32_t flags = sh32_load(&v->hdr->flags);
	struct lhi_backing e;
	bool sane = lhi_backing_of(v->hdr, &v->geo, &e);

	if (lhi_mutant_on(repair_not_resumed))
		flags &= ~SHM_REPAIRING;
	else if (lhi_view_is_repairing(v))
		add_finding("an earlier repair did not come to its end", r);
	else if (flags & SHM_REPAIRING)
		add_finding("the flag of a repair is set, and no repair has "
		    "noted that", r);
	if (flags & SHM_RETIRED)
		add_finding("the flag of a removal is set, and neither the "
		    "owner nor root has begun one", r);
	if (flags & ~(SHM_DAMAGED | SHM_RETIRED | SHM_REPAIRING |
	    SHM_LOG_GRANTS | SHM_SEALED | SHM_WANTED))
		add_finding("the header has flags that there are not", r);
	if (!is_note(&v->hdr->removal, SHM_REMOVAL_NOTE) ||
	    !is_note(&v->hdr->repair, SHM_REPAIR_NOTE))
		add_finding("the note of a removal or repair is none", r);
	if (lhi_repair_ceiling(v) == 0)
		add_finding("the token ceiling is none", r);
	if (!sane) {
		add_finding("how far the table has grown makes no sense", r);
		return false;
	}
	if (!lhi_backing_backed(r->a.fd, v->hdr, &v->geo)) {
		add_finding("the table is not backed by memory as far as it "
		    "should be", r);
		return false;
	}
	(void)lhi_check_view(v, 1, add_finding, r);
	if (r->findings == 0 && (flags & SHM_DAMAGED))
		add_finding("damage was met earlier, though none is to be seen "
		    "now", r);
	return true;
}

static int
repair_view(struct repair *r)
{
	struct lhi_view *v = &r->a.v;
	struct lhi_repair m = { .v = v, .fd = r->dry ? -1 : r->a.fd };
	int error = lhi_repair(&m), left;

	if (error == 0) {
		left = lhi_check_view(v, 1, keep_last_finding, r);
		if (left > 0)
			error = lhi_fail(-EUCLEAN, "%s cannot be repaired (%d "
			    "things are still wrong, the last: %s): remove it "
			    "(leasehold rm --force%s)", v->path, left, r->last,
			    TABLE_WORDS(v->path));
	}
	if (error != 0)
		return error;
	lhi_point("repair.checked");
	lhi_repair_done(v);
	print_line(r, "%s: what dead sessions held is free, the list of keys "
	    "is made anew, tokens go on above %llu",
	    r->dry ? "would be done" : "done", (unsigned long long)m.above);
	return 0;
}

/* Reclaims a sound table, which others may use meanwhile. */
static void
reclaim_the_dead(struct repair *r)
{
	struct lhi_view *v = &r->a.v;
	unsigned buried = lhi_session_reclaim_dead(v);

	for (uint32_t i = 1; i < lhi_slots_ready(v); i++)
		(void)lhi_evict_finish(v, &v->slots[i]);
	lhi_session_leave(r->a.live_fd);
	if (buried > 0)
		print_line(r, "done: %u dead sessions were buried", buried);
	(void)close(atomic_load(&v->object_fd));
	(void)close(atomic_load(&v->probe_fd));
	atomic_store(&v->object_fd, -1);
	atomic_store(&v->probe_fd, -1);
}

/* (The actions are printed after the findings.) */
static void
keep_line(const char *what, void *arg)
{
	struct repair *r = arg;
	size_t n = strlen(r->early);

	(void)snprintf(r->early + n, sizeof(r->early) - n, "%s\n", what);
}

/* Asks the reapers to leave, waits until they have, and keeps them out. */
static int
bar_reapers(struct repair *r)
{
	const struct timespec a_moment = { 0, 2 * NS_PER_MS };
	int error = lhi_session_bar_visits(r->a.live_fd);

	for (int i = 0; error == -EAGAIN && i < VISIT_TRIES; i++) {
		/* repeatedly: a reaper that is just beginning takes it for the
		 * request of a process that is gone, and clears it */
		(void)sh32_fetch_or(&r->a.v.hdr->flags, SHM_WANTED);
		error = lhi_session_bar_visits(r->a.live_fd);
		if (error == -EAGAIN)
			(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &a_moment,
			    NULL);
	}
	if (error == -EAGAIN && r->force) {
		char who[128], line[256];

		lhi_lockers_name_apart(who, sizeof(who), r->a.live_fd);
		(void)snprintf(line, sizeof(line), "the byte of reapers is "
		    "locked by %s, which is not waited for", who);
		keep_line(line, r);
		return 0;
	}
	if (error == -EAGAIN)
		return lhi_fail(-EBUSY, "a reaper (process %u) is in the midst "
		    "of looking after %s, and does not go on: end it",
		    sh32_load_rlx(&r->a.v.hdr->reaper_pid), r->a.v.path);
	return error == 0 ? 0 : lhi_fail(error, "cannot lock bytes of %s: %s",
	    r->a.v.path, strerror(-error));
}

static void
print_early(struct repair *r)
{
	char *rest = r->early, *line;

	while ((line = strsep(&rest, "\n")) != NULL)
		if (line[0] != '\0')
			print_line(r, "%s", line);
}

/* With exclusive use; with force, as far as can be seen. */
static int
be_alone(struct repair *r)
{
	if (r->force)
		return lhi_declare_dead(&r->a, r->dry, keep_line, r, "end them "
		    "first, then the rest can be repaired");
	return lhi_exclusive_use_lock(&r->a, false, "end them first, or repair "
	    "by force (--force) if they have ended and nobody can prove it");
}

static int
repair_locked(struct repair *r)
{
	int error = be_alone(r);
	bool backed;

	if (error == 0 && !r->dry)
		error = bar_reapers(r);
	if (error != 0)
		return error;
	correct_header(r);
	backed = examine_table(r);
	if (r->dry && !backed) {
		print_line(r, "would be done: memory for what is in use, then "
		    "the rest");
		return 0;
	}
	/* (without memory behind them the sessions cannot even be read) */
	if (r->findings > 0 && backed && !lhi_view_is_repairing(&r->a.v))
		error = lhi_exclusive_use_no_named(&r->a.v, "remove the table");
	if (error == 0 && r->findings > 0)
		error = lhi_check_fence(&r->a.v, "damaged, and is not "
		    "repaired, because afterwards nothing could be acquired");
	if (error != 0)
		return error;
	if (r->findings > 0)
		return repair_view(r);
	if (r->dry)
		return lhi_check_fence_sound(&r->a.v);
	/* the mapping keeps the description open */
	error = lhi_bytes_unlock(r->a.live_fd);
	if (error == 0 && (lhi_session_visit(r->a.live_fd) == 0 || r->force))
		reclaim_the_dead(r);
	return error == 0 ? lhi_check_fence_sound(&r->a.v) :
	    lhi_fail(error, "cannot unlock %s: %s", r->a.v.path,
	    strerror(-error));
}

int
lh_table_repair(const char *name, uint32_t flags,
    void (*fn)(const char *what, void *arg), void *arg)
{
	struct repair r = { .a.fd = -1, .fn = fn, .arg = arg,
	    .dry = flags & LH_DRY_RUN, .force = flags & LH_FORCE };
	int saved = errno, error;
	struct lhi_object_id id;
	struct lhi_geometry g;

	if (flags & ~(LH_SYSTEM | LH_DRY_RUN | LH_FORCE))
		return lhi_fail(-EINVAL, "unknown flag in 0x%x", flags);
	error = lhi_object_path(r.a.v.path, sizeof(r.a.v.path),
	    lhi_object_name(name), lhi_object_is_system(name, flags));
	if (error != 0)
		return error;
	atomic_store(&r.a.v.object_fd, -1);
	atomic_store(&r.a.v.probe_fd, -1);
	error = lhi_proc_begin();
	if (error == 0)
		error = lhi_process_read();
	if (error != 0)
		return error;
	/* held over fork: no child gets a copy of what holds our locks */
	lhi_proc_lock();
	r.a.fd = lhi_object_open(r.a.v.path, LHI_TO_REPAIR, &g, &id);
	error =
	    r.a.fd < 0 ? r.a.fd : lhi_exclusive_use_map(&r.a, &g, &id, r.dry);
	if (error == 0)
		error = repair_locked(&r);
	print_early(&r);
	if (r.a.fd >= 0)
		lhi_exclusive_use_unmap(&r.a);
	if (r.a.fd >= 0)
		(void)close(r.a.fd);
	lhi_proc_unlock();
	errno = saved;
	if (error == -EAGAIN)
		error = -EBUSY;	/* it is being removed */
	return error != 0 ? error : r.findings;
}
