/* SPDX-License-Identifier: MIT */
/*
 * The scenarios of named sessions, and of leases that change hands: see
 * scenario.h.
 *
 * The sessions end with their maker, so that after a kill nothing is left of
 * them.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "crash/subject.h"
#include "proc/attachment.h"
#include "shm/session_reclaim.h"

static struct lh_session *session;

static uint32_t on_end = LH_ON_END_RELEASE;
static bool bound;		/* to the process that opens it */

static void
open_session(struct trial *p, struct lh *lh)
{
	struct lh_session_opts o = LH_SESSION_OPTS_INIT;

	o.ttl_ms = SUB_LONG_MS;
	o.on_end = on_end;
	o.flags = bound ? 0 : LH_SESSION_WITH_MAKER;
	o.pid = bound ? getpid() : 0;
	sub_must(p, lh_session_open(lh, "s", &o, &session), "a session");
}

static void
prep_session(struct trial *p)
{
	prep_warm(p);
	open_session(p, sub.lh);
}

/* And a lease on KEY in it. */
static void
prep_held(struct trial *p)
{
	prep_session(p);
	sub_hold(p, p->ttl_ms);
	sub_must(p, lh_handoff(sub.lh, &p->lease, session), "hand it over");
	trial_saw_token(p, p->lease.token);
}

static void
prep_held_followed(struct trial *p)
{
	prep_session(p);
	sub_hold(p, SUB_LONG_MS);
	sub_must(p, lh_handoff(sub.lh, &p->lease, session), "hand it over");
	trial_saw_token(p, p->lease.token);
	flag_set(&p->cue, 1);
	sub_await_waiters(p, 1);
	sub_must(p, lh_extend(sub.lh, &p->lease, p->ttl_ms), "extend");
}

/* The same, and at its end KEY is to be forgotten. */
static void
prep_deleting(struct trial *p)
{
	on_end = LH_ON_END_DELETE;
	prep_held(p);
}

static void
prep_deleting_followed(struct trial *p)
{
	on_end = LH_ON_END_DELETE;
	prep_held_followed(p);
}

static void
prep_own(struct trial *p)
{
	prep_session(p);
	sub_hold(p, p->ttl_ms);
}

static void
prep_own_reader(struct trial *p)
{
	prep_session(p);
	sub.opts.mode = LH_SHARED;
	sub_hold(p, p->ttl_ms);
}

static void
prep_held_reader(struct trial *p)
{
	prep_own_reader(p);
	sub_must(p, lh_handoff(sub.lh, &p->lease, session), "hand it over");
	trial_saw_token(p, p->lease.token);
}

static void
act_session_open(struct trial *p)
{
	struct lh_session_opts o = LH_SESSION_OPTS_INIT;

	o.flags = LH_SESSION_WITH_MAKER;
	p->result = lh_session_open(sub.lh, "s", &o, &session);
}

static void
act_bound_open(struct trial *p)
{
	struct lh_session_opts o = LH_SESSION_OPTS_INIT;

	o.pid = getpid();
	p->result = lh_session_open(sub.lh, "s", &o, &session);
}

static int
note_key(const struct lh_key_info *info, void *arg)
{
	if (strcmp(info->key, KEY) == 0)
		*(bool *)arg = true;
	return 0;
}

/* When the session has ended and is buried, KEY is gone.  (A recoverer makes it
 * anew.) */
static void
check_deleted(struct trial *p)
{
	struct lh_session_opts o = LH_SESSION_OPTS_INIT;
	struct lh_session *s;
	struct lh *lh;
	bool there = false;

	/* (a participant would make KEY anew) */
	sub_must(p, lh_open(&lh, p->table, &p->opts), "open");
	(void)lhi_session_reclaim_dead(&lh->v);
	o.flags = LH_NO_CREATE;
	if (lh_session_open(lh, "s", &o, &s) == 0) {
		lh_session_close(s);
	} else {
		sub_must(p, lh_list(lh, NULL, note_key, &there), "list");
		if (there && p->mode != MODE_DOUBLE)
			blame(p, "the session has ended, its key is there");
	}
	sub_must(p, lh_close(lh), "close");
	checker_check(p);
}

static void
act_session_renew(struct trial *p)
{
	int64_t ms = lh_session_renew(session);

	p->result = ms < 0 ? (int)ms : 0;
}

static void
act_session_destroy(struct trial *p)
{
	p->result = lh_session_destroy(session);
}

static void
act_acquire_into(struct trial *p)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;

	more.session = session;
	sub.opts.more = &more;
	p->result = lh_key_acquire(sub.key, &sub.opts, &p->lease);
	sub_granted(p);
}

static void
act_handoff(struct trial *p)
{
	p->result = lh_handoff(sub.lh, &p->lease, session);
	sub_granted(p);
}

static void
act_handoff_back(struct trial *p)
{
	p->result = lh_handoff(sub.lh, &p->lease, NULL);
	sub_granted(p);
}

static void
act_downgrade(struct trial *p)
{
	p->result = lh_convert(sub.lh, &p->lease, LH_SHARED);
	sub_granted(p);
}

/* A session of its own, which it is killed with. */
static void
part_tenant(struct trial *p, void *part)
{
	struct lh *lh = participant_open(p);
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts o = participant_opts(SUB_LONG_MS, 0);
	struct part *me = part;
	struct lh_lease lease;

	open_session(p, lh);
	more.session = session;
	o.more = &more;
	sub_must(p, lh_acquire(lh, KEY, &o, &lease), "hold KEY in it");
	trial_saw_token(p, lease.token);
	flag_set(&me->state, PART_HOLDS);
	for (;;)
		pause();
}

static void
part_deleting(struct trial *p, void *part)
{
	on_end = LH_ON_END_DELETE;
	part_tenant(p, part);
}

static void
part_bound(struct trial *p, void *part)
{
	bound = true;
	part_tenant(p, part);
}

#define DEAD_BOUND	ROLE(part_bound, PART_HOLDS, .dies = true)
#define DEAD_DELETING	ROLE(part_deleting, PART_HOLDS, .dies = true)
#define DEAD_TENANT	ROLE(part_tenant, PART_HOLDS, .dies = true)

static const struct scenario scenarios_session[] = {
	{ .flags = SC_NAMED, .name = "session-open",
	  .what = "make a named session",
	  .prepare = prep_warm, .act = act_session_open,
	  .finish = finish_plain },
	{ .flags = SC_NAMED, .name = "session-open-over",
	  .what = "of the name of one that has "
	  "ended with its maker, and held KEY", .roles = { DEAD_TENANT },
	  .prepare = prep_warm, .act = act_session_open,
	  .finish = finish_plain },
	{ .flags = SC_NAMED, .name = "bound-open",
	  .what = "make one that is bound to its process",
	  .prepare = prep_warm, .act = act_bound_open,
	  .finish = finish_plain },
	{ .flags = SC_NAMED, .name = "bound-open-over",
	  .what = "of the name of one whose process was killed, and held KEY",
	  .roles = { DEAD_BOUND },
	  .prepare = prep_warm, .act = act_bound_open,
	  .finish = finish_plain },
	{ .flags = SC_NAMED, .name = "bound-acquire-dead",
	  .what = "acquire KEY from one whose process was killed",
	  .roles = { DEAD_BOUND }, .stop_ttl_ms = 120,
	  .prepare = prep_warm, .act = act_acquire,
	  .finish = finish_acquire },
	{ .flags = SC_NAMED, .name = "session-renew",
	  .what = "it lives for another ttl",
	  .prepare = prep_held, .act = act_session_renew,
	  .finish = finish_plain },
	{ .flags = SC_NAMED, .name = "session-destroy",
	  .what = "with KEY, somebody waits",
	  .roles = { FOLLOWER }, .prepare = prep_held_followed,
	  .act = act_session_destroy, .finish = finish_plain },
	{ .flags = SC_NAMED | SC_LOOSE, .name = "session-delete",
	  .what = "destroy it, and the key that it holds",
	  .prepare = prep_deleting, .act = act_session_destroy,
	  .finish = finish_plain, .check = check_deleted },
	{ .flags = SC_NAMED | SC_LOOSE, .name = "session-delete-wanted",
	  .what = "... for which somebody waits", .roles = { FOLLOWER },
	  .prepare = prep_deleting_followed, .act = act_session_destroy,
	  .finish = finish_plain },
	{ .flags = SC_NAMED | SC_LOOSE, .name = "session-delete-over",
	  .what = "open one over one that ended so with its maker",
	  .roles = { DEAD_DELETING }, .prepare = prep_warm,
	  .act = act_session_open, .finish = finish_plain },
	{ .flags = SC_NAMED, .name = "session-acquire",
	  .what = "acquire KEY into it",
	  .stop_ttl_ms = 120, .prepare = prep_session,
	  .act = act_acquire_into, .finish = finish_acquire,
	  .allowed = says_stale },
	{ .flags = SC_NAMED, .name = "session-acquire-dead",
	  .what = "... from one whose maker "
	  "was killed", .roles = { DEAD_TENANT }, .stop_ttl_ms = 120,
	  .prepare = prep_warm, .act = act_acquire,
	  .finish = finish_acquire },
	{ .flags = SC_NAMED, .name = "session-release", .what = "a lease in it",
	  .stop_ttl_ms = 120, .prepare = prep_held, .act = act_release,
	  .finish = finish_plain, .allowed = says_stale },
	{ .flags = SC_NAMED, .name = "session-release-reader",
	  .what = "a reader's",
	  .roles = { READER }, .stop_ttl_ms = 120,
	  .prepare = prep_held_reader, .act = act_release,
	  .finish = finish_plain, .allowed = says_stale },
	{ .flags = SC_NAMED, .name = "session-extend", .what = "a lease in it",
	  .stop_ttl_ms = 120, .prepare = prep_held, .act = act_extend,
	  .finish = finish_extend, .allowed = says_stale },
	{ .flags = SC_NAMED, .name = "session-downgrade",
	  .what = "a lease in it", .stop_ttl_ms = 120, .prepare = prep_held,
	  .act = act_downgrade, .finish = finish_convert,
	  .allowed = says_stale },
	{ .flags = SC_NAMED, .name = "session-close",
	  .what = "its maker closes, somebody waits",
	  .roles = { FOLLOWER }, .prepare = prep_held_followed,
	  .act = act_close, .finish = finish_plain },
	{ .flags = SC_NAMED, .name = "handoff",
	  .what = "into a session", .stop_ttl_ms = 120,
	  .prepare = prep_own, .act = act_handoff, .finish = finish_acquire,
	  .allowed = says_stale },
	{ .flags = SC_NAMED, .name = "handoff-back",
	  .what = "out of it, somebody waits", .stop_ttl_ms = 120,
	  .roles = { FOLLOWER }, .prepare = prep_held_followed,
	  .act = act_handoff_back, .finish = finish_acquire,
	  .allowed = says_stale },
	{ .flags = SC_NAMED, .name = "handoff-reader",
	  .what = "a reader's, the only one",
	  .stop_ttl_ms = 120, .prepare = prep_own_reader, .act = act_handoff,
	  .finish = finish_acquire, .allowed = says_busy_or_stale },
	{ .flags = SC_NAMED, .name = "handoff-reader-beside",
	  .what = "beside another",
	  .roles = { READER }, .stop_ttl_ms = 120,
	  .prepare = prep_own_reader, .act = act_handoff,
	  .finish = finish_acquire, .allowed = says_busy_or_stale },
};

SCENARIOS(scenarios_session)
