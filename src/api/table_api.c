/* SPDX-License-Identifier: MIT */
/* Tables: lh_open(), lh_close().  See table.h. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <bsd/string.h>
#include <leasehold.h>
#include "api/attach_fail.h"
#include "api/attach_look.h"
#include "api/liveness_api.h"
#include "base/error.h"
#include "base/handle.h"
#include "base/random.h"
#include "prim/descriptor.h"
#include "prim/sigbus.h"
#include "shm/backing.h"
#include "shm/claim_chunk.h"
#include "shm/live_file.h"
#include "shm/session_bytes.h"
#include "op/token_ceiling.h"
#include "op/reentry.h"
#include "prim/bytelock.h"
#include "live/live_set.h"
#include "proc/opened_keys.h"
#include "proc/claim_cache.h"
#include "proc/death_word.h"
#include "proc/map.h"
#include "proc/shim_client.h"
#include "proc/outer_run.h"
#include "shm/claim_record.h"
#include "shm/events.h"
#include "shm/session_named.h"
#include "shm/wait_queue.h"
#include "shm/session_record.h"
#include "shm/session_sign.h"
#include "shm/table_conf.h"
#include "shm/table_words.h"

#define OPEN_FLAGS (LH_SYSTEM | LH_NO_CREATE | LH_LIVENESS_FD | \
    LH_CREATE_ONLY | LH_HOLD_TIMES | LH_DURABLE | LH_NO_CLOCK_FLOOR | \
    LH_TOKENS_GLOBAL | LH_ALL_LOCAL | LH_CATCH_SIGBUS | LH_CONFIGURED | \
    LH_LOOK | LH_RECORD)
#define OPEN_TRIES 100
#define FULL_TRIES 20

static const struct lh_open_opts usual = LH_OPEN_OPTS_INIT;

/* Opens the object, creating it if it does not exist and may be created. */
static int
find_or_make(const char *path, const struct lh_open_opts *o,
    struct lhi_geometry *g, struct lhi_object_id *id)
{
	const struct timespec a_moment = { 0, 10 * NS_PER_MS };
	int fd = -ENOENT;
	bool made = false;

	/* it may appear and vanish meanwhile, but not for ever */
	for (int i = 0; i < OPEN_TRIES; i++) {
		int error;

		fd = lhi_object_open(path, o->flags & LH_LOOK ? LHI_TO_LOOK :
		    o->flags & LH_NO_CREATE ? LHI_TO_FIND : LHI_TO_USE, g, id);
		if (fd >= 0 && (o->flags & LH_CREATE_ONLY) && !made) {
			(void)close(fd);
			return lhi_fail(-EEXIST, "there is a table %s", path);
		}
		if (fd != -ENOENT || (o->flags & LH_NO_CREATE))
			break;
		error = lhi_object_create(path, o);
		made = error == 0;
		if (error == -EEXIST)
			continue;
		if (error == -ENOSPC && i < FULL_TRIES) {
			/*
			 * several at once, and room for one: does it exist now?
			 */
			(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &a_moment,
			    NULL);
			continue;
		}
		if (error != 0)
			return error;
	}
	return fd;
}

/* All sessions may be locked because the table is being removed or repaired.
 * If that is not visible any more, it may just have ended: tries once more. */
static int
take_session(struct lh *lh, int *session_fd, const char *application, bool
    passed_on)
{
	int error;

	for (int i = lhi_mutant_on(looks_once); i < 2; i++) {
		if (lh->pin != NULL)
			lhi_byte_unpin(lh->pin);
		error = lhi_session_begin(&lh->v, session_fd, application,
		    &lh->sid, &lh->pin, passed_on ? &lh->live_fd : NULL);
		lhi_point("open.began");
		if (error != -ENOSPC || *session_fd < 0) /* no second sign */
			return error;
		if (lhi_view_gone(&lh->v) ||
		    lhi_session_removal_held(lhi_live_probe_fd(&lh->v)))
			return lhi_attach_fail_removal(&lh->v);
	}
	return lhi_attach_fail_full(&lh->v, error);
}

/* Ends the session, and first its second sign, so that copies of that do not
 * keep it alive. */
static void
end_session(struct lh *lh)
{
	lhi_death_word_disarm(lh);
	if (sh32_load(&lh->v.me->sign) != 0) {
		if (lhi_mutant_on(sign_removed_first))
			lhi_sign_remove(&lh->v, sid_idx(lh->sid));
		lhi_sign_note(lh->v.me, 0);
		lhi_point("sign.ended");
		lhi_sign_remove(&lh->v, sid_idx(lh->sid));
	}
	lhi_session_end(&lh->v, lh->sid);
}

static int
open_probe(struct lh *lh, int fd, const struct lhi_object_id *id)
{
	int live = lhi_live_file_open(lh->v.path, fd, id->uuid[0], &id->live);

	if (live < 0)
		return live == -ESTALE ? -EAGAIN : live;
	return lhi_live_probe_attach(&lh->v, live);
}

/* Maps the table and begins a session, under lhi_proc_lock(). -EAGAIN: it is
 * being removed. */
static int
attach_session(struct lh *lh, int fd, int *session_fd,
    const struct lhi_object_id *id, const struct lhi_geometry *g,
    const char *application, uint32_t flags)
{
	bool passed_on = flags & LH_LIVENESS_FD;
	struct stat st;
	int error = lhi_random_fill(&lh->tag, sizeof(lh->tag));

	if (error != 0)
		return error;
	lh->tag |= 1;
	error = lhi_map_get(fd, id, g, &lh->map);
	if (error == -EUCLEAN)
		return lhi_fail(error, "%s has changed its length since this "
		    "process mapped it: it was overwritten; stop its users, "
		    "remove it, and start them again", lh->v.path);
	lh->anchor = lhi_claim_cache_cell();
	if (error != 0 || lh->anchor == NULL)
		return lhi_backing_fail_map(lh->v.path, g->object_len);
	lhi_map_view(lh->map, g, &lh->v);
	lh->v.t0_ns = id->t0_ns;
	lh->v.order = id->order;
	lh->v.clock = id->clock;
	lhi_view_set_uuid(&lh->v, id->uuid);
	memcpy(lh->v.ranges, id->ranges, sizeof(lh->v.ranges));
	if (lh->v.all_local && !lhi_durable(&lh->v))
		return lhi_fail(-EOPNOTSUPP, "%s has no fence file, so nothing "
		    "can be in scope local there: retire it and make it with "
		    "one (leasehold init --durable%s), or open it without "
		    "LH_ALL_LOCAL", lh->v.path, TABLE_WORDS(lh->v.path));
	lh->v.dev = id->dev;
	lh->v.ino = id->ino;
	atomic_store(&lh->v.object_fd, fd);
	error = open_probe(lh, fd, id);
	if (error != 0)
		return error;
	lhi_point("open.attaching");
	if (flags & LH_LOOK)
		return lhi_attach_to_look(lh, *session_fd);
	error = take_session(lh, session_fd, application, passed_on);
	if (error != 0)
		return error;
	if (passed_on && fstat(lh->live_fd, &st) == 0)
		lh->live_ino = st.st_ino;
	lh->v.me = &lh->v.sessions[sid_idx(lh->sid)];
	lhi_event_open(&lh->v, fd);
	lhi_event_begin(&lh->v, lh->sid);
	/* again, now that no removal or repair can begin */
	if ((lhi_view_is_repairing(&lh->v) || lhi_view_gone(&lh->v)) &&
	    !lhi_mutant_on(opens_in_repair)) {
		lhi_session_closing(&lh->v, lh->sid);
		end_session(lh);
		return lhi_attach_fail_removal(&lh->v);
	}
	lhi_death_word_arm(lh);
	lh->anchor->tag = lh->tag;
	return 0;
}

static struct lh *attachments;	/* under lhi_proc_lock() */

/* A child does not close its parent's descriptors, but it knows them. */
static void
forget_attachments(bool whole)
{
	if (!whole)
		attachments = NULL;
}

/*
 * Records that descriptor fd is this attachment's.  If an older attachment has
 * that number in its books, the application has closed it there (closefrom).
 * The file may be the same, so only this shows that it is not the older one's
 * any more.
 */
static void
claim_fd(struct lh *lh, int fd)
{
	struct lh *o;

	for (o = attachments; o != NULL && fd >= 0; o = o->next) {
		int was = fd;

		if (o == lh)
			continue;
		(void)atomic_compare_exchange_strong(&o->v.object_fd, &was, -1);
		was = fd;
		(void)atomic_compare_exchange_strong(&o->v.probe_fd, &was, -1);
		if (o->live_fd == fd)
			o->live_fd = LIVE_FD_LOST;
	}
}

static void
leave_list(const struct lh *lh)
{
	struct lh **p = &attachments;

	while (*p != NULL && *p != lh)	/* ends: a list of our own */
		p = &(*p)->next;
	if (*p != NULL)
		*p = lh->next;
}

/* Gives back what attach_session() got, under lhi_proc_lock(). */
static void
dispose_handle(struct lh *lh)
{
	leave_list(lh);
	lhi_death_word_disarm(lh);
	if (lh->pin != NULL)
		lhi_byte_unpin(lh->pin);
	if (lhi_liveness_is_own(lh))
		(void)close(lh->live_fd);
	if (lh->map != NULL)
		lhi_map_put(lh->map);
	if (lh->anchor != NULL)
		lhi_claim_cache_cell_free(lh->anchor);
	/* the application may have closed them (closefrom) */
	if (lhi_view_is(&lh->v, atomic_load(&lh->v.object_fd)))
		(void)close(atomic_load(&lh->v.object_fd));
	if (lhi_live_probe_is(&lh->v, atomic_load(&lh->v.probe_fd)))
		(void)close(atomic_load(&lh->v.probe_fd));
	lhi_reentry_end(lh);
	lhi_shim_client_end(lh);
	if (lh->catches_sigbus)
		lhi_sigbus_release();
	free(lh->finals);
}

static int
check_args(struct lh **out, const char **name, const struct lh_open_opts *o)
{
	if (out == NULL)
		return lhi_fail(-EINVAL, "nowhere to put the handle (NULL)");
	if (o->size != sizeof(*o))
		return lhi_fail(-EINVAL, "open options of %zu bytes: set them "
		    "with LH_OPEN_OPTS_INIT", o->size);
	if ((o->flags & LH_NO_CREATE) && (o->flags & LH_CREATE_ONLY))
		return lhi_fail(-EINVAL, "LH_NO_CREATE and LH_CREATE_ONLY "
		    "exclude each other");
	if ((o->flags & LH_LOOK) && (o->flags & (LH_CREATE_ONLY |
	    LH_LIVENESS_FD)))
		return lhi_fail(-EINVAL, "LH_LOOK takes no session, so it "
		    "excludes LH_CREATE_ONLY and LH_LIVENESS_FD");
	if (o->flags & ~OPEN_FLAGS)
		return lhi_fail(-EINVAL, "unknown flag in 0x%x", o->flags);
	*name = lhi_object_name(*name);
	return 0;
}

/* Makes one attempt. -EAGAIN: the table is just being removed. */
static int
open_once(struct lh **out, const char *name, const struct lh_open_opts *o)
{
	int fd, session_fd, error;
	struct lhi_object_id id;
	struct lhi_geometry g;
	struct lh *lh;

	lh = calloc(1, sizeof(*lh));
	if (lh == NULL)
		return lhi_fail(-ENOMEM, "out of memory");
	lh->live_fd = -1;
	lh->v.all_local = o->flags & LH_ALL_LOCAL;
	lh->v.records = o->flags & LH_RECORD;
	atomic_store(&lh->v.object_fd, -1);
	atomic_store(&lh->v.probe_fd, -1);
	error = lhi_object_path(lh->v.path, sizeof(lh->v.path), name,
	    o->flags & LH_SYSTEM);
	fd = error != 0 ? error : find_or_make(lh->v.path, o, &g, &id);
	if (fd >= 0) {
		error = lhi_table_conf_check(lh->v.path, fd, o->flags);
		if (error != 0) {
			(void)close(fd);
			fd = error;
		}
	}
	(void)strlcpy(lh->name, name, sizeof(lh->name));
	/* held over fork: no child gets a copy of the session's description */
	lhi_proc_lock();
	session_fd = fd < 0 ? fd :
	    lhi_live_file_open(lh->v.path, fd, id.uuid[0], &id.live);
	error = session_fd < 0 || !(o->flags & LH_CATCH_SIGBUS) ? 0 :
	    lhi_sigbus_catch();
	lh->catches_sigbus = (o->flags & LH_CATCH_SIGBUS) && error == 0 &&
	    session_fd >= 0;
	if (error != 0) {
		(void)close(session_fd);
		session_fd = error;
	}
	if (session_fd < 0) {
		lhi_proc_unlock();
		if (fd >= 0)
			(void)close(fd);
		free(lh);
		/* gone or replaced between the two looks */
		return fd >= 0 && (session_fd == -ESTALE ||
		    session_fd == -ENOENT) ? -EAGAIN : session_fd;
	}
	error = attach_session(lh, fd, &session_fd, &id, &g,
	    o->application != NULL ? o->application
				   : program_invocation_short_name,
	    o->flags);
	if (error == 0 && lhi_opened_keys_begin(lh) != 0)
		error = lhi_fail(-ENOMEM, "out of memory");
	(void)close(session_fd);	/* -1: a session has closed it */
	if (error != 0) {
		dispose_handle(lh);
		free(lh);
	} else {
		lh->next = attachments;
		attachments = lh;
		claim_fd(lh, atomic_load(&lh->v.object_fd));
		claim_fd(lh, atomic_load(&lh->v.probe_fd));
		claim_fd(lh, lh->live_fd);
		*out = lh;
	}
	lhi_proc_unlock();
	if (error == 0 && !(o->flags & LH_LOOK)) {
		lhi_outer_run_note(lh, (o->flags & LH_SYSTEM) != 0);
		lhi_token_ceiling_attach(&lh->v);
	}
	return error;
}

/* Prepares this process before it opens its first table. */
static int
begin_process(void)
{
	static const struct lhi_fork_part part = { .child =
	    forget_attachments };
	int error = lhi_proc_begin();

	if (error == 0)
		error = lhi_process_read();
	if (error == 0) {
		lhi_fork_join(&part);
		lhi_live_begin();
	}
	return error;
}

int
lh_open(struct lh **out, const char *name, const struct lh_open_opts *opts)
{
	const struct lh_open_opts *o = opts == NULL ? &usual : opts;
	const struct timespec a_moment = { 0, 2 * NS_PER_MS };
	int saved = errno, error, cancel;
	struct lh_open_opts ours;
	bool system_wide = lhi_object_is_system(name, o->flags);

	error = check_args(out, &name, o);
	if (error != 0)
		return error;
	ours = *o;
	if (o->flags & LH_LOOK)
		ours.flags |= LH_NO_CREATE;
	if (system_wide)
		ours.flags |= LH_SYSTEM;
	else if (o->flags & LH_CONFIGURED)
		return lhi_fail(-EINVAL, "LH_CONFIGURED without LH_SYSTEM: "
		    TABLE_CONF " says something about the machine's tables "
		    "only");
	o = &ours;
	/* a thread that is cancelled in here would leave descriptors, memory in
	 * /dev/shm, or an attachment that cannot be closed */
	(void)pthread_setcancelstate(lhi_mutant_on(open_cancellable) ?
	    PTHREAD_CANCEL_ENABLE : PTHREAD_CANCEL_DISABLE, &cancel);
	error = begin_process();
	if (error == 0)
		error = open_once(out, name, o);
	for (int i = 0; error == -EAGAIN && i < OPEN_TRIES; i++) {
		(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &a_moment, NULL);
		error = open_once(out, name, o);
	}
	(void)pthread_setcancelstate(cancel, NULL);
	if (error == -EAGAIN)
		error = lhi_attach_fail_busy(name, o->flags & LH_SYSTEM);
	errno = saved;
	return error;
}

/* Releases and frees every claim of ours. */
static int
free_claims(struct lh *lh)
{
	struct lhi_view *v = &lh->v;
	uint32_t end = lhi_chunks_ready(v) * SHM_CHUNK;

	lhi_named_end_made_by(v, lh->sid);
	for (uint32_t ci = SHM_CHUNK; ci < end; ci++) {
		if (lhi_claim_owner(v, ci) == lh->sid)
			lhi_claim_leave_chain(v, ci, false);
	}
	for (uint32_t ci = SHM_CHUNK; ci < end; ci++) {
		int error = lhi_claim_owner(v, ci) != lh->sid ? 0 :
		    lhi_claim_close(v, ci);

		if (error != 0)
			return error;
	}
	lhi_chunk_return_all(v, lh->sid);
	return 0;
}

/* Leaves a wait that this very thread has jumped out of. */
static void
leave_own_wait(struct lh *lh)
{
	struct lhi_claim_cache *m = lhi_claim_cache_get(lh);

	if (m != NULL)
		lhi_claim_cache_leave_wait(m);
}

static void
close_session(struct lh *lh)
{
	lhi_session_closing(&lh->v, lh->sid);
	lhi_point("close.closing");
	/* a damaged table leaves CLOSING, which others can prove dead */
	if (free_claims(lh) == 0) {
		lhi_event_session(&lh->v, LH_LOG_SESSION_ENDED, lh->sid);
		end_session(lh);
	}
}

int
lh_close(struct lh *lh)
{
	int saved = errno, error = lhi_own_handle(lh);

	if (error != 0)
		return error;
	if (atomic_load(&lh->waiting) != 0)
		leave_own_wait(lh);
	if (atomic_load(&lh->waiting) != 0)
		return lhi_fail(-EBUSY, "%u threads still wait in calls on "
		    "this table: cancel them first (one that was left by a "
		    "jump from a signal handler goes when its thread ends)",
		    atomic_load(&lh->waiting));
	lhi_live_closing(lh);
	lhi_proc_lock();
	lh->anchor->tag = 0;
	lhi_claim_cache_detach_all(lh);
	if (lh->v.me != NULL)
		close_session(lh);
	lhi_opened_keys_end(lh);
	dispose_handle(lh);
	lh->tag = 0;
	lhi_handle_free(HANDLE_TABLE, lh);
	lhi_proc_unlock();
	errno = saved;
	return 0;
}
