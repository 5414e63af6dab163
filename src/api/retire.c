/* SPDX-License-Identifier: MIT */
/*
 * lh_table_remove(): see table.h.  How the name is given up is shm/retire.c's;
 * here it is decided whether it may be, and told to whoever is in the table.
 *
 * In use.  Every session holds two bytes of the object from before it is ALIVE
 * to its end (shm/session.c).  All of them are locked here in one call, which
 * fails if any is held: so nobody was attached, and nobody can attach, until
 * the object has no name.  One that tries meanwhile finds no record, and looks
 * again; one that gets a record afterwards finds the table retired.
 *
 * Forced.  Those attached are not asked.  They learn it wherever they look:
 * waiters are woken; keys that nobody holds are evicted, so that the next
 * acquire of one looks for it, and finds the table retired.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <bsd/string.h>
#include <leasehold.h>
#include "base/error.h"
#include "proc/lh.h"
#include "proc/map.h"
#include "shm/evict.h"
#include "shm/object.h"
#include "shm/queue.h"
#include "shm/retire.h"
#include "shm/session.h"

#define NAMED 4		/* so many users are named in the message */

struct removal {
	struct lhi_view v;
	char *base;
	int fd;
};

static int
in_use(struct removal *r)
{
	char who[256] = "";
	size_t n = 0;
	uint32_t users = 0;

	for (uint32_t i = 0; i < r->v.geo.max_sessions; i++) {
		struct shm_session *se = &r->v.sessions[i];
		char name[LH_APPLICATION_MAX + 1] = "";

		if (!lhi_session_held(&r->v, r->fd, i) || users++ >= NAMED)
			continue;
		memcpy(name, se->application, LH_APPLICATION_MAX);
		n += (size_t)snprintf(who + n, sizeof(who) - n, "%s%s[%u]",
		    n > 0 ? ", " : "", name, sh32_load_rlx(&se->pid));
	}
	if (users == 0)
		return lhi_fail(-EBUSY, "%s was in use at that moment: try "
		    "again", r->v.path);
	return lhi_fail(-EBUSY, "%s is in use by %s%s: end them, or retire it "
	    "under them with force", r->v.path, who,
	    users > NAMED ? " and others" : "");
}

/* After a forced removal: let everybody find out. */
static void
tell_users(struct lhi_view *v)
{
	for (uint32_t i = 1; i < lhi_slots_ready(v); i++) {
		uint64_t w;

		if (lhi_evict_revoke(v, &v->slots[i], &w) == 0)
			(void)lhi_evict_slot(v, &v->slots[i], w);
	}
	for (uint32_t i = SHM_CHUNK; i < lhi_chunks_ready(v) * SHM_CHUNK; i++)
		if (state_st(sh64_load(&v->claims[i].state)) == ST_WAIT)
			lhi_queue_wake(&v->claims[i]);
}

static int
remove_table(struct removal *r, bool force)
{
	int error = lhi_session_lock_removal(r->fd);

	if (error == -EAGAIN)
		return lhi_fail(-EBUSY, "%s is being removed by another "
		    "process", r->v.path);
	if (error == 0 && !force) {
		error = lhi_session_bar(&r->v, r->fd);
		if (error == -EAGAIN)
			return in_use(r);
	}
	if (error != 0)
		return lhi_fail(error, "cannot lock bytes of %s: %s",
		    r->v.path, strerror(-error));
	error = lhi_retire_carry_out(r->v.path, r->fd, r->v.hdr);
	if (error == 0 && force)
		tell_users(&r->v);
	return error;
}

/* What has the name is no table of ours, and the error says so. */
static int
remove_foreign(struct removal *r, int error, bool force)
{
	if (!force || (error != -EPROTO && error != -EUCLEAN &&
	    error != -EXDEV))
		return error;
	r->fd = lhi_object_open_any(r->v.path);
	if (r->fd < 0)
		return r->fd;
	error = lhi_session_lock_removal(r->fd);
	if (error == -EAGAIN)
		error = lhi_fail(-EBUSY, "%s is being removed by another "
		    "process", r->v.path);
	return error != 0 ? error : lhi_retire_foreign(r->v.path, r->fd);
}

static int
map_and_remove(struct removal *r, const struct lhi_geometry *g, bool force)
{
	int error;

	r->base = mmap(NULL, g->object_len, PROT_READ | PROT_WRITE, MAP_SHARED,
	    r->fd, 0);
	if (r->base == MAP_FAILED)
		return lhi_fail(-ENOMEM, "no memory to map %llu bytes of %s",
		    (unsigned long long)g->object_len, r->v.path);
	lhi_map_point(r->base, g, &r->v);
	error = remove_table(r, force);
	(void)munmap(r->base, g->object_len);
	return error;
}

int
lh_table_remove(const char *name, uint32_t flags)
{
	struct removal r = { .fd = -1 };
	bool force = flags & LH_FORCE;
	int saved = errno, error;
	struct lhi_object_id id;
	struct lhi_geometry g;

	if (flags & ~(LH_SYSTEM | LH_FORCE))
		return lhi_fail(-EINVAL, "unknown flag in 0x%x", flags);
	error = lhi_object_path(r.v.path, sizeof(r.v.path),
	    lhi_object_name(name), flags & LH_SYSTEM);
	if (error != 0)
		return error;
	atomic_store(&r.v.probe_fd, -1);
	/* held over fork: no child gets a copy of what holds our locks */
	lhi_proc_begin();
	lhi_proc_lock();
	r.fd = lhi_object_open(r.v.path, flags & LH_SYSTEM, &g, &id);
	if (r.fd >= 0) {
		r.v.t0_ns = id.t0_ns;
		r.v.order = id.order;
		r.v.clock = id.clock;
		r.v.dev = id.dev;
		r.v.ino = id.ino;
		error = map_and_remove(&r, &g, force);
	} else {
		error = remove_foreign(&r, r.fd, force);
	}
	if (r.fd >= 0)
		(void)close(r.fd);
	lhi_proc_unlock();
	errno = saved;
	return error == -EAGAIN ? -EBUSY : error;	/* another is at it */
}
