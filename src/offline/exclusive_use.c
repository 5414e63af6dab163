/* SPDX-License-Identifier: MIT */
/*
 * Exclusive use of a table, for removal and repair: finds out whether any
 * process uses it, which, and keeps others out.
 *
 * In use.  Every session holds two bytes of the live file from before it is
 * ALIVE to its end (shm/session_bytes.c). All of them are locked here in one
 * call, which fails if any is held.  So no process was attached, and none can
 * attach, until they are unlocked.  A process that tries meanwhile finds no
 * record, and tries again; one that gets a record afterwards checks whether the
 * table was retired.
 *
 * A session that cannot be proved dead (SESS_NOPROOF) prevents it as well.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <leasehold.h>
#include "shm/backing.h"
#include "shm/session_sign.h"
#include "shm/session_bytes.h"
#include "offline/exclusive_use.h"
#include "offline/lockers.h"
#include "base/error.h"
#include "prim/bytelock.h"
#include "prim/sigbus.h"
#include "proc/map.h"
#include "shm/live_file.h"
#include "shm/removal_lock.h"
#include "shm/session_liveness.h"
#include "shm/session_named.h"

#define NAMED 4		/* so many users are named in the message */

int
lhi_exclusive_use_map(struct lhi_exclusive_use *a, const struct lhi_geometry *g,
    const struct lhi_object_id *id, bool private)
{
	a->live_fd = -1;
	a->removal = -1;
	a->base = lhi_sigbus_map(g->object_len,
	    private ? MAP_PRIVATE | MAP_NORESERVE : MAP_SHARED, a->fd);
	if (a->base == MAP_FAILED)
		a->base = NULL;
	if (a->base == NULL)
		return lhi_backing_fail_map(a->v.path, g->object_len);
	lhi_view_point(&a->v, a->base, g);
	lhi_view_set_uuid(&a->v, id->uuid);
	memcpy(a->v.ranges, id->ranges, sizeof(a->v.ranges));
	a->v.t0_ns = id->t0_ns;
	a->v.clock = id->clock;
	a->v.order = id->order;
	a->v.dev = id->dev;
	a->v.ino = id->ino;
	memcpy(a->v.uuid, id->uuid, sizeof(a->v.uuid));
	a->live_fd = lhi_live_file_open(a->v.path, a->fd, id->uuid[0],
	    &id->live);
	if (a->live_fd < 0)
		return a->live_fd;
	lhi_live_probe_know(&a->v, a->live_fd);
	return 0;
}

void
lhi_exclusive_use_unmap(struct lhi_exclusive_use *a)
{
	if (a->base != NULL)
		lhi_sigbus_unmap(a->base, a->v.geo.object_len);
	if (a->live_fd >= 0) {
		/* a child that looked (look_child.c) may have it still */
		(void)lhi_bytes_unlock(a->live_fd);
		(void)close(a->live_fd);
	}
	if (a->removal >= 0)
		lhi_removal_unlock(a->v.path, a->removal);
}

/* True if no process of that number is left: then its descendants keep its sign
 * of life. */
static bool
has_process_ended(const struct lhi_view *v, uint32_t idx)
{
	pid_t pid = lhi_session_pid(v, sid_make(sess_inc(
	    sh64_load(&v->sessions[idx].state)), idx));
	int saved = errno;
	bool ended = pid > 0 && kill(pid, 0) != 0 && errno == ESRCH;

	errno = saved;
	return ended;
}

/* True if it cannot be found out whether that session's second sign is held. */
static bool
is_sign_lost(const struct lhi_view *v, uint32_t idx)
{
	return lhi_sign_is_promised(v, idx) && lhi_sign_held(v, idx) < 0;
}

/* Names the process of that record, which holds its bytes. */
static void
name_user(const struct lhi_view *v, uint32_t idx, char *to, size_t len)
{
	const struct shm_session *se = &v->sessions[idx];
	uint64_t sid = sid_make(sess_inc(sh64_load(&se->state)), idx);
	bool ended = has_process_ended(v, idx);
	char name[LH_APPLICATION_MAX + 1] = "";

	memcpy(name, se->application, LH_APPLICATION_MAX);
	if (lhi_session_is_foreign(v, sid))
		(void)snprintf(to, len, "%s (a process of another pid "
		    "namespace, number %u there)", name,
		    sh32_load_rlx(&se->pid));
	else
		(void)snprintf(to, len, "%s%s[%u]%s", !ended ? "" :
		    is_sign_lost(v, idx) ? "perhaps a process left running by "
		    : "a process left running by ", name,
		    sh32_load_rlx(&se->pid), !ended ? "" :
		    is_sign_lost(v, idx) ? ", which has ended and whose sign "
		    "of life is lost" : ", which has ended");
}

static int
fail_in_use(struct lhi_exclusive_use *a, const char *remedy)
{
	char who[512] = "", others[200];
	size_t n = 0;
	uint32_t users = 0, foreign = 0;

	for (uint32_t i = 0; i < a->v.geo.max_sessions; i++) {
		unsigned st = sess_st(sh64_load(&a->v.sessions[i].state));

		if (!lhi_session_held(&a->v, a->live_fd, i))
			continue;
		if (st != SESS_ALIVE && st != SESS_CLOSING) {
			foreign++;
			continue;
		}
		if (users++ >= NAMED)
			continue;
		if (n > 0)
			n += (size_t)snprintf(who + n, sizeof(who) - n, ", ");
		name_user(&a->v, i, who + n, sizeof(who) - n);
		n += strlen(who + n);
	}
	if (users == 0 && foreign > 0) {
		lhi_lockers_name(others, sizeof(others), a->live_fd);
		return lhi_fail(-EBUSY, "the bytes of %u sessions of %s, which "
		    "do not live, are locked by %s: end it", foreign, a->v.path,
		    others);
	}
	if (users == 0)
		return lhi_fail(-EBUSY, "%s was in use at that moment: try "
		    "again", a->v.path);
	return lhi_fail(-EBUSY, "%s is in use by %s%s: %s", a->v.path, who,
	    users > NAMED ? " and others" : "", remedy);
}

int
lhi_exclusive_use_force(struct lhi_exclusive_use *a)
{
	struct stat named, ours;

	a->removal = lhi_removal_lock(a->v.path);
	if (a->removal == -EAGAIN)
		return lhi_removal_fail_busy(a->v.path);
	if (a->removal < 0)
		return a->removal;
	/* a member may have locked it, and is not consulted here */
	(void)lhi_session_lock_removal(a->live_fd);
	if (stat(a->v.path, &named) != 0 || fstat(a->fd, &ours) != 0 ||
	    named.st_dev != ours.st_dev || named.st_ino != ours.st_ino)
		return lhi_fail(-EBUSY, "%s was removed or replaced at that "
		    "moment: try again", a->v.path);
	return 0;
}

int
lhi_exclusive_use_lock(struct lhi_exclusive_use *a, bool in_use, const char
    *remedy)
{
	int error;

	a->removal = lhi_removal_lock(a->v.path);
	if (a->removal < 0)
		return a->removal != -EAGAIN ? a->removal :
		    lhi_removal_fail_busy(a->v.path);
	/* it only tells others why they get no session */
	error = in_use ? 0 : lhi_session_lock_removal(a->live_fd);
	if (error == -EAGAIN) {
		char who[200];

		lhi_lockers_name(who, sizeof(who), a->live_fd);
		return lhi_fail(-EBUSY, "the byte of %s for removals is locked "
		    "by %s: end it", a->v.path, who);
	}
	if (error == 0 && !in_use) {
		error = lhi_session_bar(&a->v, a->live_fd);
		if (error == -EAGAIN)
			return fail_in_use(a, remedy);
	}
	return error == 0 ? 0 : lhi_fail(error, "cannot lock bytes of %s: %s",
	    a->v.path, strerror(-error));
}

/* No process is attached: so that maker has ended, if it can be one
 * (session_named.c). */
static bool
has_maker_ended(const struct lhi_view *v, uint64_t maker)
{
	uint64_t s;

	if (maker == 0 || sid_idx(maker) >= v->geo.max_sessions)
		return false;
	s = sh64_load(&v->sessions[sid_idx(maker)].state);
	return sess_inc(s) > sid_inc(maker) ||
	    (sess_inc(s) == sid_inc(maker) && sess_st(s) != SESS_NAMED);
}

int
lhi_exclusive_use_no_named(struct lhi_view *v, const char *remedy)
{
	for (uint32_t i = 0; i < v->geo.max_sessions; i++) {
		uint64_t s = sh64_load(&v->sessions[i].state);
		char name[NAMED_NAME_MAX + 1];
		int64_t until_ns;

		if (sess_st(s) == SESS_NAMED && lhi_named_sound(v, i) &&
		    !has_maker_ended(v, sh64_load(&v->sessions[i].maker)) &&
		    !lhi_bound_process_gone(v, &v->sessions[i]) &&
		    lhi_named_describe(v, sid_make(sess_inc(s), i), name,
		    &until_ns) && lhi_now_ns(v) < until_ns)
			return lhi_fail(-EBUSY, "%s is in use by the named "
			    "session '%s': destroy that, let it end, or %s",
			    v->path, name, remedy);
	}
	return 0;
}
