/* SPDX-License-Identifier: MIT */
/* lh_stats() and its like: sizes, fill and counters.  See inspect.h; the
 * counters are described in shm/counters.c. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <leasehold.h>
#include "api/stats_api.h"
#include "base/clock.h"
#include "base/error.h"
#include "inspect/load.h"
#include "prim/robust_list.h"
#include "proc/claim_cache.h"
#include "shm/damaged.h"
#include "shm/lock_word.h"
#include "shm/table_age.h"
#include "shm/cluster_right.h"
#include "shm/counters.h"
#include "shm/session_liveness.h"

#define TRIES 100		/* while a session gets more claims */

/* Returns how much of the object has memory, as du(1) does. */
static uint64_t
bytes_used(struct lhi_view *v)
{
	int saved = errno, fd = lhi_view_fd(v);
	uint64_t n = 0;
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0)
		n = (uint64_t)st.st_blocks * 512;
	errno = saved;
	return n;
}

/* Adds the counts that this thread has not yet written. */
static void
flush_own_counters(struct lh *lh)
{
	struct lhi_claim_cache *m = lhi_claim_cache_current;

	if (m->lh == lh)
		lhi_claim_cache_flush_counts(m);
}

/* Counts the keys, those of them that are held, and their latest token. */
static void
count_keys(struct lhi_view *v, int64_t now_ns, struct lh_stats *st)
{
	for (uint32_t i = 0; i < SHM_SHARDS; i++) {
		uint64_t floor = sh64_load(&v->hdr->floor[i]);

		if (floor > st->token_latest)
			st->token_latest = floor;
	}
	for (uint32_t i = 1; i < lhi_slots_ready(v); i++) {
		uint64_t w = sh64_load(&v->slots[i].word), token;

		if (word_mode(w) == WORD_NONE)
			continue;
		st->keys++;
		st->held += lhi_load_is_held(v, &v->slots[i], w, now_ns);
		token = lhi_lock_token(&v->slots[i], w);
		if (token > st->token_latest && !lhi_right_has(&v->slots[i]))
			st->token_latest = token;
	}
}

/* Counts the sessions, and those whose death words are armed. */
static void
count_sessions(struct lhi_view *v, struct lh_stats *st)
{
	st->max_sessions = v->geo.max_sessions;
	for (uint32_t i = 0; i < v->geo.max_sessions; i++) {
		uint64_t s = sh64_load(&v->sessions[i].state);
		const shm_u32 *word =
		    lhi_session_death_word(v, sid_make(sess_inc(s), i));
		uint32_t w = word == NULL ? 0 : sh32_load(word);

		st->sessions += sess_st(s) != SESS_UNUSED;
		st->deaths_told += w != 0 && !(w & ROBUST_MARKED);
	}
}

void
lhi_stats_of(struct lhi_view *v, struct lh_stats *stats)
{
	struct lh_stats st = { .size = sizeof(st) };
	int64_t now_ns = lhi_now_ns(v);
	struct lhi_load load = { 0 };

	st.max_keys = v->geo.n_slots - 1;
	count_keys(v, now_ns, &st);
	lhi_load_count_waiters(v, now_ns, &load);
	st.waiters = load.waiters;
	st.longest_wait_ns = load.longest_wait_ns;
	count_sessions(v, &st);
	st.max_leases = v->geo.n_claims - SHM_CHUNK;
	for (uint32_t i = 1; i < lhi_chunks_ready(v); i++)
		st.leases_reserved += sh64_load(&v->chunks[i].owner) != 0 ?
		    SHM_CHUNK : 0;
	st.order = v->order;
	st.clock = v->clock == CLOCK_BOOTTIME ? LH_CLOCK_BOOTTIME :
	    LH_CLOCK_MONOTONIC;
	st.damaged = (sh32_load(&v->hdr->flags) & SHM_DAMAGED) != 0;
	st.bytes = v->geo.object_len;
	st.bytes_used = bytes_used(v);
	st.token_base = sh64_load(&v->hdr->token_base);
	st.token_ceiling = sh64_load(&v->hdr->ceiling);
	st.token_durable = sh64_load(&v->hdr->durable_ceiling);
	memcpy(st.fence_dir, v->hdr->fence_dir, sizeof(st.fence_dir) - 1);
	st.fence_lost = atomic_load(&v->ranges_lost) ? LH_FENCE_LOST :
	    atomic_load(&v->ranges_replaced) ? LH_FENCE_REPLACED :
	    LH_FENCE_THERE;
	st.hold_times = (sh32_load(&v->hdr->options) & SHM_OPT_HOLD_TIMES) != 0;
	st.reaper_pid = sh32_load_rlx(&v->hdr->reaper_pid);
	st.reaper_ms = (uint32_t)(now_ns / NS_PER_MS) -
	    sh32_load_rlx(&v->hdr->reaper_ms);
	st.log_grants = (sh32_load(&v->hdr->flags) & SHM_LOG_GRANTS) != 0;
	st.tokens_global = lhi_view_global(v);
	st.life_left_ns = lhi_table_age_left_ns(v, now_ns);
	if (st.life_left_ns < 0)
		st.life_left_ns = 0;
	lhi_counters_table(v, &st.counters);
	*stats = st;
}

int
lh_stats(struct lh *lh, struct lh_stats *stats)
{
	int error = lhi_own_to_look(lh);

	if (error != 0)
		return error;
	if (stats == NULL || stats->size != sizeof(*stats))
		return lhi_fail(-EINVAL, "set stats.size to "
		    "sizeof(struct lh_stats)");
	flush_own_counters(lh);
	lhi_stats_of(&lh->v, stats);
	return lhi_damaged_or(&lh->v, 0);
}

/* Reports the session of one record. Returns false if it has none. */
static bool
describe_session(struct lhi_view *v, uint32_t idx, struct lh_session_stats *s)
{
	struct shm_session *se = &v->sessions[idx];
	uint64_t st = sh64_load(&se->state), sid = sid_make(sess_inc(st), idx);

	*s = (struct lh_session_stats){ .size = sizeof(*s) };
	if (sess_st(st) != SESS_ALIVE && sess_st(st) != SESS_CLOSING &&
	    sess_st(st) != SESS_DEAD)
		return false;
	s->id = lhi_view_session_id(v, sid);
	s->pid = sh32_load_rlx(&se->pid);
	s->uid = sh32_load_rlx(&se->uid);
	s->dead = sess_st(st) == SESS_DEAD;
	s->attached_ns = (int64_t)sh64_load_rlx(&se->attached_ns);
	memcpy(s->application, se->application, LH_APPLICATION_MAX);
	for (int i = 0; i < TRIES && !lhi_counters_session(v, idx, sid,
	    &s->counters); i++)
		;
	for (uint32_t ch = 1; ch < lhi_chunks_ready(v); ch++)
		s->leases_reserved += sh64_load(&v->chunks[ch].owner) == sid ?
		    SHM_CHUNK : 0;
	/* it may have ended, and the record may be another's */
	return sess_inc(sh64_load(&se->state)) == sess_inc(st);
}

int
lh_stats_sessions(struct lh *lh,
    int (*fn)(const struct lh_session_stats *session, void *arg), void *arg)
{
	struct lh_session_stats s;
	int error = lhi_own_to_look(lh);

	if (error == 0 && fn == NULL)
		error = lhi_fail(-EINVAL, "no function to call (NULL)");
	if (error == 0)
		flush_own_counters(lh);
	for (uint32_t i = 0; error == 0 && i < lh->v.geo.max_sessions; i++) {
		if (describe_session(&lh->v, i, &s))
			error = fn(&s, arg);
	}
	return error != 0 ? error : lhi_damaged_or(&lh->v, 0);
}
