/* SPDX-License-Identifier: MIT */
/*
 * The claim cache of a thread finds it a claim without shared access.
 *
 * A chunk of 64 claims belongs to a session.  Each of its eight groups of 8 is
 * lent to one thread at a time.  A cache has one group in use; a thread with
 * more leases has others parked.  Only the cache's thread takes claims from
 * FREE and reclaims terminal ones (amendment C2), so it needs no swap for
 * either. A lease that another thread released is FREE in shared memory.  The
 * owner notices that when it runs out of claims and scans its groups.
 *
 * When a thread exits, its groups go to the attachment's pool, with their held
 * leases, for other threads.
 *
 * If the table records every lease (shm/counters.c) or is too old, a cache
 * remembers no lease and its tick never matches, so everything takes the slow
 * path.  It notices a change at its next tick or slow path.
 *
 * (Above 500 lines: a cache is set up, refilled and changed in one place, so
 * that one can see where the mark of claim 0 is removed.)
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/error.h"
#include "shm/claim_chunk.h"
#include "proc/claim_cache.h"
#include "proc/death_word.h"
#include "proc/key_holds.h"
#include "shm/readers.h"
#include "shm/claim_record.h"
#include "shm/counters.h"

#define PARKED_LOOKS 4		/* parked groups scanned before a new one is
				 * taken */

static struct lhi_claim_cache nobodys;	/* of no attachment */
__thread struct lhi_claim_cache *lhi_claim_cache_current
    __attribute__((tls_model("initial-exec"))) = &nobodys;
static __thread struct lhi_claim_cache *mine	/* all caches of this thread */
    __attribute__((tls_model("initial-exec")));

static __thread unsigned end_rounds	/* of destructors */
    __attribute__((tls_model("initial-exec")));

static pthread_key_t exit_key;
static pthread_once_t exit_once = PTHREAD_ONCE_INIT;
static bool has_exit_key;

void
lhi_claim_cache_child(bool whole)
{
	lhi_claim_cache_cells_child();
	mine = NULL;
	lhi_claim_cache_current = &nobodys;
}

static struct lh *
cache_lh(const struct lhi_claim_cache *m)
{
	return __atomic_load_n(&m->lh, __ATOMIC_RELAXED);
}

static void
set_lh(struct lhi_claim_cache *m, struct lh *lh)
{
	__atomic_store_n(&m->lh, lh, __ATOMIC_RELAXED);
	__atomic_store_n(&m->usual, NO_TABLE, __ATOMIC_RELAXED);
}

/* Parks a group behind the others. */
static void
park_group(struct lhi_claim_cache *m, struct lhi_group *g)
{
	g->next = NULL;
	if (m->parked == NULL)
		m->parked = g;
	else
		m->parked_last->next = g;
	m->parked_last = g;
}

static void
add_count(shm_u64 *stat, uint64_t *n)
{
	if (*n != 0)
		(void)sh64_fetch_add(stat, *n);
	*n = 0;
}

void
lhi_claim_cache_flush_counts(struct lhi_claim_cache *m)
{
	shm_u64 *stat = m->lh->v.me->stat;

	add_count(&stat[STAT_SHARED], &m->shared);
	add_count(&stat[STAT_EXTENDS], &m->extended);
}

/* Moves m's groups to the attachment's pool. */
static void
give_up_groups(struct lhi_claim_cache *m, struct lh *lh)
{
	struct lhi_group *g;

	if (m->group != NULL) {
		park_group(m, m->group);
		m->group = NULL;
	}
	m->parked_last = NULL;
	while ((g = m->parked) != NULL) {
		m->parked = g->next;
		g->next = lh->pool;
		lh->pool = g;
	}
}

static void
thread_exits(void *arg)
{
	struct lhi_claim_cache *m, **p;

	if (++end_rounds < LHI_THREAD_END_ROUND &&
	    pthread_setspecific(exit_key, arg) == 0)
		return;
	for (m = mine; m != NULL; m = m->next)	/* ends: as below */
		lhi_claim_cache_leave_wait(m);
	lhi_proc_lock();
	while ((m = mine) != NULL) {	/* ends: a list of our own */
		struct lh *lh = cache_lh(m);

		mine = m->next;
		if (lh != NULL) {
			lhi_claim_cache_flush_counts(m);
			give_up_groups(m, lh);
			for (p = &lh->mags; *p != m; p = &(*p)->lh_next)
				;
			*p = m->lh_next;
		}
		lhi_key_holds_free(m);
		lhi_claim_cache_cell_free(m);
	}
	lhi_claim_cache_current = &nobodys;
	lhi_proc_unlock();
}

static void
make_exit_key(void)
{
	has_exit_key = pthread_key_create(&exit_key, thread_exits) == 0;
}

void
lhi_claim_cache_detach_all(struct lh *lh)
{
	struct lhi_claim_cache *m;
	struct lhi_group *g;

	while ((m = lh->mags) != NULL) {	/* ends: as above */
		lh->mags = m->lh_next;
		lhi_claim_cache_flush_counts(m);
		lhi_key_holds_free(m);
		give_up_groups(m, lh);
		m->head_0 = m->head_1 = (lhi_pair){ 0, 0 };
		/* its slot is not mapped any more */
		lhi_cached_claim_forget(&m->rec[0]);
		lhi_cached_claim_set(&m->rec[0], CACHED_OUT);
		m->lh_next = NULL;
		set_lh(m, NULL);
	}
	if (lh->no_threads != NULL)
		lhi_claim_cache_cell_free(lh->no_threads);
	lh->no_threads = NULL;
	while ((g = lh->pool) != NULL) {
		lh->pool = g->next;
		free(g);
	}
}

/* Initialises a claim cache of the attachment.  Under lhi_proc_lock(). */
static void
set_up_cache(struct lhi_claim_cache *m, struct lh *lh, uint32_t tid)
{
	for (int b = 0; b < (int)SHM_GROUP; b++)
		m->rec[b] = (struct lhi_cached_claim){ .use = CACHED_OUT,
		    .mark = NO_MARK };
	m->tick_sec = 0;
	m->tick_nsec = -1;	/* no clock shows this */
	m->ttl_ms = -1;
	m->local_home = 0;
	m->lent.slot_ref = 0;
	m->head_0[1] = m->head_1[1] = lhi_view_session_id(&lh->v, lh->sid);
	m->tid = tid;
	m->lh_next = lh->mags;
	lh->mags = m;
	set_lh(m, lh);
	lhi_claim_cache_bounds(m);
}

struct lhi_claim_cache *
lhi_claim_cache_of_no_thread(struct lh *lh)
{
	lhi_proc_lock();
	if (lh->no_threads == NULL) {
		lh->no_threads = lhi_claim_cache_cell();
		if (lh->no_threads != NULL)
			set_up_cache(lh->no_threads, lh, 0);
	}
	lhi_proc_unlock();
	return lh->no_threads;
}

struct lhi_claim_cache *
lhi_claim_cache_get(struct lh *lh)
{
	struct lhi_claim_cache *m, *spare = NULL;

	for (m = mine; m != NULL; m = m->next) {
		if (cache_lh(m) == lh)
			return lhi_claim_cache_current = m;
		if (cache_lh(m) == NULL)
			spare = m;
	}
	(void)pthread_once(&exit_once, make_exit_key);
	/* or the thread's claims would be lost with it */
	if (!has_exit_key)
		return NULL;
	lhi_proc_lock();
	m = spare != NULL ? spare : lhi_claim_cache_cell();
	if (m != NULL) {
		if (m != spare) {
			m->next = mine;
			mine = m;
			(void)pthread_setspecific(exit_key, m);
		}
		set_up_cache(m, lh, (uint32_t)syscall(SYS_gettid));
		lhi_death_word_arm(lh);
		lhi_claim_cache_current = m;
	}
	lhi_proc_unlock();
	return m;
}

int
lhi_claim_cache_fail(void)
{
	return lhi_fail(-ENOMEM, has_exit_key ? "out of memory" : "the library "
	    "cannot learn when a thread ends: the process has used up the keys "
	    "of pthread_key_create(3)");
}

/* Remembers what is needed to revive an idle reader. */
static void
remember_idle(struct lhi_claim_cache *m, uint32_t b)
{
	struct lhi_view *v = &m->lh->v;
	struct shm_claim *c = &m->claims[b];
	struct lhi_cached_claim *r = &m->rec[b];
	struct shm_slot *s = lhi_slot(v, lhi_claim_slot(c));

	if (s == NULL)
		return;
	lhi_cached_claim_set(r, CACHED_IDLE);
	m->idle |= 1u << b;
	lhi_claim_cache_set_key(m, r, s, sh64_load(&c->slot_ref), LH_SHARED);
	r->token = lhi_reader_token(s, c);
	r->id = lhi_claim_cache_id(v, m->base + b);
	r->limit = 0;
}

/* Finds the claims of the group in use that were released elsewhere. */
static void
look_through_group(struct lhi_claim_cache *m)
{
	struct lhi_view *v = &m->lh->v;

	for (uint32_t b = 0; b < SHM_GROUP; b++) {
		if (lhi_cached_claim_now(&m->rec[b]) == CACHED_FREE)
			continue;
		if (lhi_claim_reclaim(v, m->base + b, false))
			lhi_claim_cache_put(m, (int)b);
		else if (m->rec[b].use == CACHED_OUT &&
		    state_st(sh64_load(&m->claims[b].state)) == ST_IDLE)
			remember_idle(m, b);
	}
}

/* Gives up one idle reader of the group in use, to get a free claim. */
static bool
recall_idle(struct lhi_claim_cache *m)
{
	for (uint32_t i = 0; i < SHM_GROUP; i++) {
		uint32_t b = (m->recall + i) % SHM_GROUP;

		if (m->rec[b].use == CACHED_IDLE &&
		    lhi_claim_reclaim(&m->lh->v, m->base + b, true)) {
			lhi_claim_cache_put(m, (int)b);
			m->recall = b + 1;
			return true;
		}
	}
	return false;
}

/* Announces the TTL of this thread's fast grants to the reaper. */
static void
hint_reaper(struct lhi_claim_cache *m)
{
	if (m->group != NULL && m->ttl_ms > 0)
		lhi_claim_ends_within(&m->lh->v, m->base,
		    m->ttl_ms * NS_PER_MS);
}

static void
use_group(struct lhi_claim_cache *m, struct lhi_group *g)
{
	struct lhi_view *v = &m->lh->v;
	unsigned st;

	lhi_key_holds_unmark(m);
	m->lent.slot_ref = 0;
	m->group = g;
	m->base = g->base;
	m->claims = &v->claims[g->base];
	m->idle = 0;
	hint_reaper(m);
	for (uint32_t b = 0; b < SHM_GROUP; b++) {
		m->rec[b] = (struct lhi_cached_claim){
			.use = CACHED_OUT, /* earlier leases take the slow
					    * path */
			.mark = NO_MARK,
			.held_low = (uint32_t)word_make(WORD_X, g->base + b, 0),
		};
		/* held claims keep their thread */
		st = state_st(sh64_load(&m->claims[b].state));
		if (st == ST_FREE || st == ST_IDLE)
			sh64_store_rlx(&m->claims[b].since, (sh64_load_rlx(
			    &m->claims[b].since) & ~MASK(TID_BITS)) | m->tid);
	}
	look_through_group(m);
}

/* Returns a group that no thread has.  Under lhi_proc_lock(). */
static int
get_group(struct lh *lh, struct lhi_group **out)
{
	struct lhi_group *g = lh->pool;
	int ch;

	if (g != NULL) {
		lh->pool = g->next;
		*out = g;
		return 0;
	}
	ch = lhi_chunk_take(&lh->v, lh->sid);
	if (ch < 0)
		return ch;
	for (uint32_t i = 0; i < SHM_CHUNK / SHM_GROUP; i++) {
		g = malloc(sizeof(*g));
		if (g == NULL)
			break;	/* the rest stays unused until close */
		g->base = (uint32_t)ch * SHM_CHUNK + i * SHM_GROUP;
		g->next = lh->pool;
		lh->pool = g;
	}
	g = lh->pool;
	if (g == NULL)
		return lhi_fail(-ENOMEM, "out of memory");
	lh->pool = g->next;
	*out = g;
	return 0;
}

/* Parks the group in use and uses the first parked one. */
static void
rotate_groups(struct lhi_claim_cache *m)
{
	struct lhi_group *g = m->parked;

	m->parked = g->next;
	park_group(m, m->group);
	use_group(m, g);
}

/* Returns a free claim of the group in use, or -1. */
static int
find_free_claim(const struct lhi_claim_cache *m)
{
	for (int b = 0; m->group != NULL && b < (int)SHM_GROUP; b++) {
		if (lhi_cached_claim_now(&m->rec[b]) == CACHED_FREE)
			return b;
	}
	return -1;
}

/* True if the group in use has a free claim, if necessary one of an idle
 * reader. */
static bool
has_free_claim(struct lhi_claim_cache *m)
{
	return find_free_claim(m) >= 0 || recall_idle(m);
}

static int
refill_cache(struct lhi_claim_cache *m)
{
	struct lhi_group *g = NULL, *first;
	uint32_t n = 0;
	int error, looks;

	if (m->group != NULL) {
		look_through_group(m);
		for (looks = 0; !has_free_claim(m) && m->parked != NULL &&
		    looks < PARKED_LOOKS; looks++)
			rotate_groups(m);
		if (has_free_claim(m))
			return 0;
	}
	/* a pooled group may have no free claim: keep it and take the next */
	do {
		lhi_proc_lock();
		error = LHI_WITHIN(n, CLAIMS_MAX) ? get_group(m->lh, &g) :
		    lhi_damaged_restless(&m->lh->v, "a claim", m->base);
		lhi_proc_unlock();
		if (error != 0)
			break;
		if (m->group != NULL)
			park_group(m, m->group);
		use_group(m, g);
	} while (!has_free_claim(m));
	if (error == 0 || m->group == NULL)
		return error;
	/* there is no new group: scan all that this thread has */
	first = m->group;
	do {	/* ends: at `first`: the list is this process's own */
		if (m->parked == NULL)
			break;
		rotate_groups(m);
	} while (!has_free_claim(m) && m->group != first);
	return has_free_claim(m) ? 0 : error;
}

/* Makes all leases take the slow path, if lhi_claim_cache_is_slow(). */
static void
follow_watch(struct lhi_claim_cache *m)
{
	m->watched = lhi_claim_cache_is_slow(m);
	if (!m->watched)
		return;
	m->usual = NO_TABLE;
	if (!lhi_mutant_on(mark_while_watched))
		lhi_key_holds_unmark(m);
	m->ttl_ms = -1;
	for (struct lhi_cached_claim *r = m->rec; r < m->rec + SHM_GROUP; r++) {
		enum lhi_use use = lhi_cached_claim_now(r);

		if (use == CACHED_HELD || use == CACHED_LENT ||
		    use == CACHED_SHARED)
			lhi_cached_claim_set(r, CACHED_OUT);
	}
}

/* Takes that claim of the group, if it is free, else another one. */
static int
take_claim(struct lhi_claim_cache *m, int rather)
{
	int bit = find_free_claim(m), error = 0;

	lhi_claim_cache_flush_counts(m);
	follow_watch(m);
	if (bit < 0 && (error = refill_cache(m)) != 0)
		return error;
	if (lhi_cached_claim_now(&m->rec[rather]) == CACHED_FREE)
		bit = rather;
	else if (bit < 0)
		bit = find_free_claim(m);
	lhi_cached_claim_set(&m->rec[bit], CACHED_OUT);
	m->lent.slot_ref *= lhi_mutant_on(lent_stays); /* it is read again */
	return bit;
}

int
lhi_claim_cache_take(struct lhi_claim_cache *m)
{
	return take_claim(m, 0);
}

int
lhi_claim_cache_take_reader(struct lhi_claim_cache *m)
{
	return take_claim(m, lhi_mutant_on(reader_any_claim) ? 0 :
	    READER_CLAIM);
}

void
lhi_claim_cache_put(struct lhi_claim_cache *m, int bit)
{
	m->rec[bit].id = lhi_claim_cache_id(&m->lh->v, m->base + (uint32_t)bit);
	m->rec[bit].slot_ref = 0;
	lhi_cached_claim_set(&m->rec[bit], CACHED_FREE);
}

void
lhi_claim_cache_tick(struct lhi_claim_cache *m, const struct timespec *ts,
    int64_t ttl_ms)
{
	struct lhi_view *v = &m->lh->v;
	int64_t now;

	lhi_claim_cache_flush_counts(m);
	lhi_claim_cache_bounds(m);
	m->lent.slot_ref = 0;
	m->tick_sec = ts->tv_sec;
	m->tick_nsec = ts->tv_nsec;
	m->ttl_ms = ttl_ms;
	hint_reaper(m);
	m->usual = ttl_ms == DEFAULT_TTL_MS ? m->lh : NO_TABLE;
	if (m->usual == NO_TABLE && !lhi_mutant_on(mark_of_other_ttl))
		lhi_key_holds_unmark(m);
	/* CLOCK_BOOTTIME has no coarse clock; this is read after ts */
	now = v->clock == CLOCK_MONOTONIC ? lhi_timespec_ns(ts) :
	    lhi_now_ns(v);
	m->held = state_make(ST_HELD, 0, lhi_deadline_coarse(v, now + ttl_ms *
	    NS_PER_MS));
	m->announce = m->held + state_make(0, 1, 0);
	m->now_ns = now;
	m->expires_ns = lhi_deadline_ns(v, state_deadline(m->held));
	m->since = lhi_since(v, now, m->tid);
	/* once per tick, not in every acquire; a held claim gets it later */
	for (uint32_t b = 0; m->group != NULL && b < SHM_GROUP; b++) {
		struct lhi_cached_claim *r = &m->rec[b];
		enum lhi_use use = lhi_cached_claim_now(r);

		if (use == CACHED_FREE || use == CACHED_IDLE)
			sh64_store_rlx(&m->claims[b].since, m->since);
		else if (use == CACHED_HELD) {
			if (r == m->rec && !lhi_mutant_on(mark_after_key))
				lhi_key_holds_unmark(m);
			lhi_cached_claim_forget(r);
		}
	}
	follow_watch(m);
}
