/* SPDX-License-Identifier: MIT */
/*
 * Magazines: answers "which claim may this thread announce with, without asking
 * anyone?"
 *
 * A chunk of 64 claims belongs to a session; its eight groups of 8 are handed
 * to threads, one thread at a time.  A magazine has one group in use and others
 * parked (a thread that holds more than 8 leases).  Only a magazine's thread
 * takes claims from FREE and takes terminal ones back (C2), so neither needs a
 * swap; a lease that another thread released is FREE in shared memory and is
 * noticed when the owner runs out and looks through its groups.
 *
 * When a thread exits, its groups go to the attachment's pool, leases still out
 * included; the next thread that takes the group takes over the look-out.
 *
 * Somebody may want to be told of every lease (shm/counters.c).  Then a
 * magazine remembers none and has no tick that fits, so that all acquires and
 * releases go the slow way, where that is done; the fast paths do not ask.  It
 * finds out at its next tick, or when it goes the slow way for another reason.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/error.h"
#include "proc/claim_cache.h"
#include "shm/readers.h"
#include "shm/claim_record.h"
#include "shm/events.h"
#include "shm/counters.h"

#define PARKED_LOOKS 4		/* groups looked through before a new one */

static struct lhi_mag nobodys;	/* of no attachment */
__thread struct lhi_mag *lhi_mag_current
    __attribute__((tls_model("initial-exec"))) = &nobodys;
static __thread struct lhi_mag *mine	/* all of this thread's */
    __attribute__((tls_model("initial-exec")));

static pthread_key_t exit_key;
static pthread_once_t exit_once = PTHREAD_ONCE_INIT;

void
lhi_mag_child(void)
{
	lhi_mag_cells_child();
	mine = NULL;
	lhi_mag_current = &nobodys;
}

static struct lh *
mag_lh(const struct lhi_mag *m)
{
	return __atomic_load_n(&m->lh, __ATOMIC_RELAXED);
}

static void
mag_set_lh(struct lhi_mag *m, struct lh *lh)
{
	__atomic_store_n(&m->lh, lh, __ATOMIC_RELAXED);
	__atomic_store_n(&m->usual, NULL, __ATOMIC_RELAXED);
}

/* Behind the parked ones. */
static void
park(struct lhi_mag *m, struct lhi_group *g)
{
	g->next = NULL;
	if (m->parked == NULL)
		m->parked = g;
	else
		m->parked_last->next = g;
	m->parked_last = g;
}

static void
tell(shm_u64 *stat, uint64_t *n)
{
	if (*n != 0)
		(void)sh64_fetch_add(stat, *n);
	*n = 0;
}

void
lhi_mag_tell(struct lhi_mag *m)
{
	shm_u64 *stat = m->lh->v.me->stat;

	tell(&stat[STAT_SHARED], &m->shared);
	tell(&stat[STAT_EXTENDS], &m->extended);
}

/* Groups of m go to its attachment's pool. */
static void
give_up_groups(struct lhi_mag *m, struct lh *lh)
{
	struct lhi_group *g;

	if (m->group != NULL) {
		park(m, m->group);
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
	struct lhi_mag *m, **p;

	(void)arg;
	lhi_proc_lock();
	while ((m = mine) != NULL) {
		struct lh *lh = mag_lh(m);

		mine = m->next;
		if (lh != NULL) {
			lhi_mag_tell(m);
			give_up_groups(m, lh);
			for (p = &lh->mags; *p != m; p = &(*p)->lh_next)
				;
			*p = m->lh_next;
		}
		lhi_mag_cell_free(m);
	}
	lhi_mag_current = &nobodys;
	lhi_proc_unlock();
}

static void
make_exit_key(void)
{
	(void)pthread_key_create(&exit_key, thread_exits);
}

void
lhi_mag_detach_all(struct lh *lh)
{
	struct lhi_mag *m;
	struct lhi_group *g;

	while ((m = lh->mags) != NULL) {
		lh->mags = m->lh_next;
		lhi_mag_tell(m);
		give_up_groups(m, lh);
		m->head = (lhi_pair){ 0, 0 };
		m->rec[0].home = 0;	/* its slot is not mapped any more */
		m->lh_next = NULL;
		mag_set_lh(m, NULL);
	}
	if (lh->no_threads != NULL)
		lhi_mag_cell_free(lh->no_threads);
	lh->no_threads = NULL;
	while ((g = lh->pool) != NULL) {
		lh->pool = g->next;
		free(g);
	}
}

/* The first 16 bytes of a lease of this session without notes. */
static lhi_pair
head_of_lease(uint64_t sid)
{
	const struct lh_lease l = {
		.mode = LH_EXCLUSIVE, .opaque = LEASE_LIVE, .id = { sid, 0 },
	};
	lhi_pair head;

	memcpy(&head, &l, sizeof(head));
	return head;
}

/* A new magazine of the attachment.  Under lhi_proc_lock(). */
static void
set_up(struct lhi_mag *m, struct lh *lh, uint32_t tid)
{
	for (int b = 0; b < (int)SHM_GROUP; b++)
		m->rec[b] = (struct lhi_rec){ .use = REC_OUT };
	m->tick_sec = 0;
	m->tick_nsec = -1;	/* no clock shows that */
	m->ttl_ms = -1;
	m->local_home = 0;
	m->lent.home = 0;
	m->head = head_of_lease(lh->sid);
	m->tid = tid;
	m->lh_next = lh->mags;
	lh->mags = m;
	mag_set_lh(m, lh);
	lhi_mag_bounds(m);
}

struct lhi_mag *
lhi_mag_of_no_thread(struct lh *lh)
{
	lhi_proc_lock();
	if (lh->no_threads == NULL) {
		lh->no_threads = lhi_mag_cell();
		if (lh->no_threads != NULL)
			set_up(lh->no_threads, lh, 0);
	}
	lhi_proc_unlock();
	return lh->no_threads;
}

struct lhi_mag *
lhi_mag_get(struct lh *lh)
{
	struct lhi_mag *m, *spare = NULL;

	for (m = mine; m != NULL; m = m->next) {
		if (mag_lh(m) == lh)
			return lhi_mag_current = m;
		if (mag_lh(m) == NULL)
			spare = m;
	}
	(void)pthread_once(&exit_once, make_exit_key);
	lhi_proc_lock();
	m = spare != NULL ? spare : lhi_mag_cell();
	if (m != NULL) {
		if (m != spare) {
			m->next = mine;
			mine = m;
			(void)pthread_setspecific(exit_key, m);
		}
		set_up(m, lh, (uint32_t)syscall(SYS_gettid));
		lhi_mag_current = m;
	}
	lhi_proc_unlock();
	return m;
}

/* An idle reader: remember what it takes to revive it. */
static void
remember_idle(struct lhi_mag *m, uint32_t b)
{
	struct lhi_view *v = &m->lh->v;
	struct shm_claim *c = &m->claims[b];
	struct lhi_rec *r = &m->rec[b];
	struct shm_slot *s = lhi_slot(v, lhi_claim_slot(c));

	if (s == NULL)
		return;
	r->use = REC_IDLE;
	m->idle |= 1u << b;
	r->slot = s;
	r->home = sh64_load(&c->home);
	r->token = lhi_reader_token(s, c);
	r->id = lhi_mag_claim_id(v, m->base + b);
}

/* Which claims of the group in use have come back? */
static void
look_through(struct lhi_mag *m)
{
	struct lhi_view *v = &m->lh->v;

	for (uint32_t b = 0; b < SHM_GROUP; b++) {
		if (m->rec[b].use == REC_FREE)
			continue;
		if (lhi_claim_reclaim(v, m->base + b, false))
			lhi_mag_put(m, (int)b);
		else if (m->rec[b].use == REC_OUT && state_st(
		    sh64_load(&m->claims[b].state)) == ST_IDLE)
			remember_idle(m, b);
	}
}

/* Give up one idle reader of the group in use for a free claim. */
static bool
recall_idle(struct lhi_mag *m)
{
	for (uint32_t i = 0; i < SHM_GROUP; i++) {
		uint32_t b = (m->recall + i) % SHM_GROUP;

		if (m->rec[b].use == REC_IDLE &&
		    lhi_claim_reclaim(&m->lh->v, m->base + b, true)) {
			lhi_mag_put(m, (int)b);
			m->recall = b + 1;
			return true;
		}
	}
	return false;
}

/* What this thread grants fast from the group in use ends after its ttl. */
static void
tell_reaper(struct lhi_mag *m)
{
	if (m->group != NULL && m->ttl_ms > 0)
		lhi_claim_ends_within(&m->lh->v, m->base,
		    m->ttl_ms * NS_PER_MS);
}

static void
use_group(struct lhi_mag *m, struct lhi_group *g)
{
	struct lhi_view *v = &m->lh->v;
	unsigned st;

	m->lent.home = 0;
	m->group = g;
	m->base = g->base;
	m->claims = &v->claims[g->base];
	m->idle = 0;
	tell_reaper(m);
	for (uint32_t b = 0; b < SHM_GROUP; b++) {
		m->rec[b] = (struct lhi_rec){
			.use = REC_OUT, /* leases from before: slowly */
			.held_low = word_make(WORD_X, g->base + b, 0),
		};
		/* what is held stays what it is: another thread's */
		st = state_st(sh64_load(&m->claims[b].state));
		if (st == ST_FREE || st == ST_IDLE)
			sh64_store_rlx(&m->claims[b].since, (sh64_load_rlx(
			    &m->claims[b].since) & ~MASK(TID_BITS)) | m->tid);
	}
	look_through(m);
}

/* Under lhi_proc_lock(): a group that no thread has. */
static int
new_group(struct lh *lh, struct lhi_group **out)
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
			break;	/* the rest lies idle until close */
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

/* Put the group in use behind the parked ones and use the first of those. */
static void
rotate(struct lhi_mag *m)
{
	struct lhi_group *g = m->parked;

	m->parked = g->next;
	park(m, m->group);
	use_group(m, g);
}

/* A free claim of the group in use, or -1. */
static int
find_free(const struct lhi_mag *m)
{
	for (int b = 0; m->group != NULL && b < (int)SHM_GROUP; b++) {
		if (m->rec[b].use == REC_FREE)
			return b;
	}
	return -1;
}

/* Is there a free claim in the group in use, if need be an idle reader's? */
static bool
has_free(struct lhi_mag *m)
{
	return find_free(m) >= 0 || recall_idle(m);
}

static int
refill(struct lhi_mag *m)
{
	struct lhi_group *g = NULL, *first;
	int error, looks;

	if (m->group != NULL) {
		look_through(m);
		for (looks = 0; !has_free(m) && m->parked != NULL &&
		    looks < PARKED_LOOKS; looks++)
			rotate(m);
		if (has_free(m))
			return 0;
	}
	/* a pooled group may have all its leases out: keep it, take the next */
	do {
		lhi_proc_lock();
		error = new_group(m->lh, &g);
		lhi_proc_unlock();
		if (error != 0)
			break;
		if (m->group != NULL)
			park(m, m->group);
		use_group(m, g);
	} while (!has_free(m));
	if (error == 0 || m->group == NULL)
		return error;
	/* nothing new to be had: look through everything we have */
	first = m->group;
	do {
		if (m->parked == NULL)
			break;
		rotate(m);
	} while (!has_free(m) && m->group != first);
	return has_free(m) ? 0 : error;
}

/*
 * Is somebody to be told of every lease?  Then all goes the slow way: no tick
 * fits, and no lease is remembered.
 */
static void
watch(struct lhi_mag *m)
{
	m->watched = lhi_view_watched(&m->lh->v);
	if (!m->watched)
		return;
	m->usual = NULL;
	m->ttl_ms = -1;
	for (uint32_t b = 0; b < SHM_GROUP; b++) {
		if (m->rec[b].use == REC_HELD || m->rec[b].use == REC_LENT ||
		    m->rec[b].use == REC_SHARED)
			m->rec[b].use = REC_OUT;
	}
}

int
lhi_mag_take(struct lhi_mag *m)
{
	int bit = find_free(m), error;

	lhi_mag_tell(m);
	watch(m);
	if (bit < 0) {
		if ((error = refill(m)) != 0)
			return error;
		bit = find_free(m);
	}
	m->rec[bit].use = REC_OUT;
	m->lent.home = 0;	/* claim 0 may be announced for another key */
	return bit;
}

void
lhi_mag_put(struct lhi_mag *m, int bit)
{
	m->rec[bit].id = lhi_mag_claim_id(&m->lh->v, m->base + (uint32_t)bit);
	m->rec[bit].home = 0;
	m->rec[bit].use = REC_FREE;
}

void
lhi_mag_tick(struct lhi_mag *m, const struct timespec *ts, int64_t ttl_ms)
{
	struct lhi_view *v = &m->lh->v;
	int64_t now;

	lhi_mag_tell(m);
	lhi_mag_bounds(m);
	m->lent.home = 0;
	m->tick_sec = ts->tv_sec;
	m->tick_nsec = ts->tv_nsec;
	m->ttl_ms = ttl_ms;
	tell_reaper(m);
	m->usual = ttl_ms == DEFAULT_TTL_MS ? m->lh : NULL;
	/* the other clock has no coarse reading; this one came after ts, and
	 * before whatever is granted while that stands */
	now = v->clock == CLOCK_MONOTONIC ? lhi_timespec_ns(ts) :
	    lhi_now_ns(v);
	m->held = state_make(ST_HELD, 0, lhi_deadline_coarse(v, now + ttl_ms *
	    NS_PER_MS));
	m->span = (lhi_pair){ (uint64_t)now,
	    (uint64_t)lhi_deadline_ns(v, state_deadline(m->held)) };
	m->since = lhi_since(v, now, m->tid);
	/* "since when": here, once a tick, rather than in every acquire; claims
	 * that are held now get it when they are next acquired */
	for (uint32_t b = 0; m->group != NULL && b < SHM_GROUP; b++) {
		if (m->rec[b].use == REC_FREE || m->rec[b].use == REC_IDLE)
			sh64_store_rlx(&m->claims[b].since, m->since);
		else if (m->rec[b].use == REC_HELD)
			m->rec[b].home = 0;
	}
	watch(m);
}
