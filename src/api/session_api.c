/* SPDX-License-Identifier: MIT */
/*
 * Named sessions for applications: see session.h.  shm/session_named.c
 * describes them, and begins and ends them.  A handle is private to its
 * process, and holds only the session's number.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <leasehold.h>
#include "base/error.h"
#include "base/handle.h"
#include "base/random.h"
#include "shm/damaged.h"
#include "shm/session_liveness.h"
#include "shm/session_reclaim.h"
#include "live/session_renewal.h"
#include "live/live_set.h"
#include "op/handoff.h"
#include "op/cluster_check.h"
#include "proc/claim_cache.h"
#include "shm/readers.h"
#include "shm/session_named.h"
#include "shm/table_age.h"

#define OPEN_FLAGS (LH_NO_CREATE | LH_CREATE_ONLY | LH_SESSION_WITH_MAKER)
#define TTL_MIN_MS 100
#define OPEN_TRIES 20
#define RECALL_LOOKS 100	/* reads of a lease that moves */

_Static_assert(LH_SESSION_NAME_MAX == NAMED_NAME_MAX, "names");
_Static_assert(LH_LOCK_DELAY_MAX_MS == NAMED_DELAY_MAX_MS, "lock-delay");
_Static_assert((int)LH_ON_END_DELETE == (int)NAMED_DELETE, "ends");

static int
check_opts(const char *name, const struct lh_session_opts *o)
{
	size_t len = name == NULL ? 1 : strnlen(name, NAMED_NAME_MAX + 1);

	if (o->size != sizeof(*o))
		return lhi_fail(-EINVAL, "session options of %zu bytes: set "
		    "them with LH_SESSION_OPTS_INIT", o->size);
	if ((o->flags & ~OPEN_FLAGS) != 0 || o->on_end > LH_ON_END_DELETE)
		return lhi_fail(-EINVAL, "unknown flag in 0x%x, or end %u",
		    o->flags, o->on_end);
	if ((o->flags & LH_NO_CREATE) && (o->flags & LH_CREATE_ONLY ||
	    name == NULL))
		return lhi_fail(-EINVAL, "LH_NO_CREATE, and a session that is "
		    "to be made");
	if (o->pid != 0 && (o->flags & LH_SESSION_WITH_MAKER) != 0)
		return lhi_fail(-EINVAL, "a session that is bound to a process "
		    "(pid) ends with that process: without "
		    "LH_SESSION_WITH_MAKER");
	if (o->pid == 0 && (o->ttl_ms < TTL_MIN_MS ||
	    o->ttl_ms > LH_SESSION_TTL_MAX_MS))
		return lhi_fail(-EINVAL, "a session ttl of %lld ms: use 100 ms "
		    "to 30 days", (long long)o->ttl_ms);
	if (o->lock_delay_ms < 0 || o->lock_delay_ms > LH_LOCK_DELAY_MAX_MS)
		return lhi_fail(-EINVAL, "a lock-delay of %lld ms: use 0 to 10 "
		    "minutes", (long long)o->lock_delay_ms);
	if (len == 0)
		return lhi_fail(-EINVAL, "the session's name is empty");
	return len <= NAMED_NAME_MAX ? 0 : lhi_fail(-ENAMETOOLONG, "the "
	    "session's name is longer than %u bytes", NAMED_NAME_MAX);
}

/* Finds it, or makes it. Returns 0; -errno. (With cancellation off.) */
static int
find_or_make(struct lh *lh, const struct lhi_named_wish *wish, uint32_t flags,
    uint64_t *sid)
{
	int error = -ESTALE;

	for (int i = 0; error == -ESTALE && i < OPEN_TRIES; i++) {
		if (lhi_view_retired(&lh->v))
			return lhi_view_fresh(&lh->v);
		error = lhi_table_age_check(&lh->v, lhi_now_ns(&lh->v));
		if (error != 0)
			return error;
		if (flags & LH_NO_CREATE)
			error = lhi_named_find(&lh->v, wish->name, sid) ?
			    -EEXIST : lhi_damaged_or(&lh->v, lhi_fail(-ENOENT,
			    "there is no session '%.31s' in table %s",
			    wish->name, lh->name));
		else
			error = lhi_named_make(&lh->v, wish, sid);
		if (error == -EEXIST && (flags & LH_CREATE_ONLY))
			return lhi_fail(-EEXIST, "there is a session '%.31s' "
			    "in table %s", wish->name, lh->name);
		/* a maker may have been stopped for a whole ttl */
		if (error == -EEXIST && wish->ttl_ms == 0 && !lhi_bound_is_to(
		    &lh->v.sessions[sid_idx(*sid)], &wish->bound))
			return lhi_fail(-EEXIST, "there is a session '%.31s' "
			    "in table %s, and it is not bound to process %d; "
			    "use another name", wish->name, lh->name,
			    (int)wish->bound.pid);
		if (error == 0 || error == -EEXIST)
			error = lhi_named_renew(&lh->v, *sid);
	}
	return error != -ESTALE ? error : lhi_fail(-EAGAIN, "session '%.31s' "
	    "ends as often as it is opened", wish->name);
}

int
lh_session_open(struct lh *lh, const char *name,
    const struct lh_session_opts *opts, struct lh_session **out)
{
	static const struct lh_session_opts usual = LH_SESSION_OPTS_INIT;
	const struct lh_session_opts *o = opts == NULL ? &usual : opts;
	struct lhi_named_wish wish;
	struct lhi_bound bound = { 0, 0, 0 };
	char own[NAMED_NAME_MAX + 1];
	unsigned long long number = 0;
	int saved = errno, cancel;
	/* who only looks makes none, but may find one, to destroy it */
	int error = o->flags & LH_NO_CREATE ? lhi_own_to_look(lh) : lhi_own(lh);
	struct lh_session *s;

	if (error == 0 && out == NULL)
		error = lhi_fail(-EINVAL, "nowhere to put the handle (NULL)");
	if (error == 0)
		error = check_opts(name, o);
	if (error == 0 && o->pid != 0)
		error = lhi_bound_identify(&lh->v, o->pid, &bound);
	if (error == 0 && name == NULL)
		error = lhi_random_fill(&number, sizeof(number));
	if (error != 0)
		return error;
	if (name == NULL)
		(void)snprintf(own, sizeof(own), "s-%016llx", number);
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return lhi_fail(-ENOMEM, "out of memory");
	wish = (struct lhi_named_wish){
		.name = name == NULL ? own : name,
		.maker = o->flags & LH_SESSION_WITH_MAKER ? lh->sid : 0,
		.ttl_ms = o->pid != 0 ? 0 : (uint32_t)o->ttl_ms,
		.bound = bound,
		.lock_delay_ms = (uint32_t)o->lock_delay_ms,
		.on_end = o->on_end,
	};
	s->lh = lh;
	/*
	 * a thread that is cancelled in here would keep a record's byte, so
	 * that the record could not be reclaimed as long as its process lives
	 */
	(void)pthread_setcancelstate(lhi_mutant_on(burier_cancellable) ?
	    PTHREAD_CANCEL_ENABLE : PTHREAD_CANCEL_DISABLE, &cancel);
	error = find_or_make(lh, &wish, o->flags, &s->sid);
	(void)pthread_setcancelstate(cancel, NULL);
	if (error == 0)
		error = lhi_damaged_or(&lh->v, 0);
	if (error != 0)
		free(s);
	else
		*out = s;
	errno = saved;
	return error;
}

static int
check_session(const struct lh_session *s)
{
	return s == NULL ? lhi_fail(-EINVAL, "no session was given (NULL)") :
	    lhi_own_to_look(s->lh);
}

static int
fail_session_ended(const struct lh_session *s)
{
	return lhi_damaged_or(&s->lh->v, lhi_fail(-ESTALE, "the session has "
	    "ended: its leases are lost; open it anew"));
}

int64_t
lh_session_renew(struct lh_session *s)
{
	int error = check_session(s);
	uint32_t ttl_ms;

	if (error != 0)
		return error;
	/* before that: afterwards the record may be another's */
	ttl_ms = sh32_load(&s->lh->v.sessions[sid_idx(s->sid)].ttl_ms);
	error = lhi_named_renew(&s->lh->v, s->sid);
	if (error != 0)
		return error == -EOVERFLOW ? error : fail_session_ended(s);
	error = lhi_damaged_or(&s->lh->v, 0);
	return error != 0 ? error : (int64_t)ttl_ms;
}

int
lh_session_destroy(struct lh_session *s)
{
	int error = check_session(s), done, cancel;

	if (error != 0)
		return error;
	if (lhi_named_end(&s->lh->v, s->sid))
		s->destroyed = true;
	if (!s->destroyed && lhi_named_cause(&s->lh->v, s->sid) !=
	    CAUSE_RELEASED)
		return fail_session_ended(s);
	(void)pthread_setcancelstate(lhi_mutant_on(burier_cancellable) ?
	    PTHREAD_CANCEL_ENABLE : PTHREAD_CANCEL_DISABLE, &cancel);
	done = lhi_session_reclaim(&s->lh->v, s->sid);	/* as above */
	(void)pthread_setcancelstate(cancel, NULL);
	return done < 0 ? done : lhi_damaged_or(&s->lh->v, 0);
}

int
lh_session_keep(struct lh_session *s, int on)
{
	int saved = errno, error = check_session(s);

	if (error != 0)
		return error;
	error = lhi_named_renew(&s->lh->v, s->sid);
	if (error != 0)
		return error == -EOVERFLOW ? error : fail_session_ended(s);
	if (sh32_load(&s->lh->v.sessions[sid_idx(s->sid)].ttl_ms) == 0)
		return 0;	/* bound to a process: nothing to renew */
	lhi_live_lock();
	if (on != 0)
		error = lhi_live_thread();
	if (error == 0 && on != 0)
		lhi_session_renewal_begin(s);
	else
		lhi_session_renewal_end(s);
	lhi_live_unlock();
	errno = saved;
	return error;
}

void
lh_session_close(struct lh_session *s)
{
	if (s == NULL || s->lh == &lhi_closed_lh)
		return;
	lhi_live_lock();
	lhi_session_renewal_end(s);
	lhi_live_unlock();
	s->lh = &lhi_closed_lh;
	lhi_handle_free(HANDLE_SESSION, s);
}

/* True if the lease of claim c, in state st, ended with this host's right to
 * the key. */
static bool
has_lost_right(struct lhi_view *v, const struct shm_claim *c, uint64_t st)
{
	const uint64_t slot_ref = sh64_load(&c->slot_ref);
	const struct lhi_ref ref = { lhi_slot(v, (uint32_t)slot_ref),
	    slot_ref };

	return ref.slot != NULL && lhi_right_has(ref.slot) &&
	    !lhi_right_is_valid(v, &ref, state_kind(st) == ST_READ, NULL) &&
	    sh64_load(&c->state) == st && sh64_load(&c->slot_ref) == slot_ref;
}

static void
count_leases(struct lhi_view *v, uint64_t sid, struct lh_session_info *info)
{
	for (uint32_t ch = 1; ch < lhi_chunks_ready(v); ch++) {
		if (sh64_load(&v->chunks[ch].owner) != sid)
			continue;
		for (uint32_t i = 0; i < SHM_CHUNK; i++) {
			struct shm_claim *c = &v->claims[ch * SHM_CHUNK + i];
			uint64_t st = sh64_load(&c->state);

			if (!state_held(st))
				continue;
			if (has_lost_right(v, c, st))
				info->lost++;
			else
				info->leases++;
		}
	}
}

static int
fill_info(struct lhi_view *v, uint64_t sid, struct lh_session_info *info)
{
	const struct shm_session *se = &v->sessions[sid_idx(sid)];
	struct lh_session_info i = {
		.size = sizeof(i),
		.id = lhi_view_session_id(v, sid),
		.ttl_ms = sh32_load_rlx(&se->ttl_ms),
		.lock_delay_ms = sh32_load_rlx(&se->lock_delay_ms),
		.made_ns = (int64_t)sh64_load_rlx(&se->attached_ns),
		.maker = lhi_view_session_id(v, sh64_load_rlx(&se->maker)),
		.on_end = sh32_load_rlx(&se->on_end),
		.pid = sh32_load_rlx(&se->pid),
		.uid = sh32_load_rlx(&se->uid),
		.foreign = sh32_load_rlx(&se->ttl_ms) == 0 &&
		    lhi_session_is_foreign(v, sid),
	};

	count_leases(v, sid, &i);
	if (lhi_session_dead(v, sid, true) ||
	    !lhi_named_describe(v, sid, i.name, &i.expires_ns))
		return -ESTALE;
	*info = i;
	return 0;
}

int
lh_session_info(const struct lh_session *s, struct lh_session_info *info)
{
	int error = check_session(s);

	if (error == 0 && info == NULL)
		error = lhi_fail(-EINVAL, "nowhere to put it (NULL)");
	if (error != 0)
		return error;
	return fill_info(&s->lh->v, s->sid, info) != 0 ? fail_session_ended(s) :
	    lhi_damaged_or(&s->lh->v, 0);
}

int
lh_session_list(struct lh *lh, const char *prefix,
    int (*fn)(const struct lh_session_info *info, void *arg), void *arg)
{
	const char *begins = prefix == NULL ? "" : prefix;
	size_t len = strlen(begins);
	struct lh_session_info info;
	int error = lhi_own_to_look(lh);

	if (error == 0 && fn == NULL)
		error = lhi_fail(-EINVAL, "no function to call (NULL)");
	for (uint32_t i = 0; error == 0 && i < lh->v.geo.max_sessions; i++) {
		uint64_t s = sh64_load(&lh->v.sessions[i].state);
		uint64_t sid = sid_make(sess_inc(s), i);

		if (sess_st(s) == SESS_NAMED && !sess_marked(s) &&
		    fill_info(&lh->v, sid, &info) == 0 &&
		    strncmp(info.name, begins, len) == 0)
			error = fn(&info, arg);
	}
	return error != 0 ? error : lhi_damaged_or(&lh->v, 0);
}

int
lh_lease_recall(struct lh *lh, const char *key, const uint64_t id[2],
    uint64_t token, struct lh_lease *lease)
{
	struct lhi_key_name n;
	struct lhi_ref ref;
	struct lhi_held h;
	uint32_t rounds = 0;
	uint64_t st = 0;
	bool has = false;
	int error = lhi_own(lh), found;

	if (error == 0 && (id == NULL || lease == NULL))
		error = lhi_fail(-EINVAL, "no id, or no lease to fill, was "
		    "given (NULL)");
	if (error == 0)
		error = lhi_name_set(&n, key);
	if (error == 0)
		error = lhi_lease_check_table(lh, id);
	if (error != 0)
		return error;
	found = lhi_slot_find(&lh->v, &n, &ref);
	if (found <= 0)
		return found < 0 ? found : lhi_fail(-ENOENT, "there is no key "
		    "'%.64s' in table %s", key, lh->name);
	lhi_point("recall.found");
	for (uint32_t mode = LH_EXCLUSIVE; mode <= LH_SHARED; mode++) {
		struct lh_lease l = { .mode = (uint8_t)mode,
		    .id = { id[0], id[1] }, .token = token };

		lhi_lease_set_key(&l, ref.slot_ref);

		error = lhi_lease_find(lh, &l, &h);
		if (error != 0 && !lhi_mutant_on(recall_goes_on))
			break;
		/* (one that is only announced is not in the chain yet; and what
		 * is there may be a later use of its claim) */
		for (int i = 0; i < RECALL_LOOKS; i++) {
			st = sh64_load(&h.claim->state);
			if (!lhi_cluster_check_lease(&h) &&
			    lhi_lease_is_current(lh, &l, &h, st))
				return lhi_lease_lose_right(lh, &l, &h);
			has = lhi_lease_status(lh, &l, &h, st) != LEASE_OVER &&
			    (!h.shared || lhi_mutant_on(recalls_announced) ||
			    lhi_readers_has(&lh->v, h.slot, h.ci) == 1);
			if (!has || sh64_load(&h.claim->state) == st ||
			    lhi_mutant_on(recalls_later_use))
				break;
			has = false;
		}
		if (!has)
			continue;
		l.expires_ns =
		    lhi_cluster_check_end_ns(&h, lhi_ends_ns(&lh->v, st));
		do
			found = lhi_lease_verify_again(lh, &l, &h);
		while (found == LEASE_LIVES &&
		    LHI_WITHIN(rounds, LHI_SWAPS_MAX));
		if (found == LEASE_LIVES)
			return lhi_damaged_restless(&lh->v, "a lease", h.ci);
		if (found != 0)
			continue;
		*lease = l;
		return 0;
	}
	if (error != 0 && error != -ESTALE)
		return error;
	return lhi_damaged_or(&lh->v, lhi_fail(-ESTALE, "no lease with that id "
	    "and token holds '%.64s'%s", key, !lhi_right_has(ref.slot) ||
	    lh->serves || lhi_right_is_valid(&lh->v, &ref, true, NULL) ? "" :
	    ": this host's right to it in the cluster has ended, and another "
	    "host may have it"));
}
