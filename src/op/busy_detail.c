/* SPDX-License-Identifier: MIT */
/* Collects the facts about a busy key: see busy_detail.h.  It only copies
 * facts; the sentence is made when the caller asks for it (base/error.h). */
#include <errno.h>
#include <string.h>
#include "base/clock.h"
#include "base/error.h"
#include "op/acquire.h"
#include "op/busy_detail.h"
#include "shm/session_sign.h"
#include "shm/readers.h"
#include "shm/events.h"
#include "shm/lock_word.h"
#include "shm/session_liveness.h"
#include "shm/cluster_right.h"
#include "shm/key_slot.h"
#include "shm/counters.h"
#include "shm/session_named.h"
#include "shm/wait_queue.h"
#include "proc/claim_cache.h"

#define COUNT_MAX 1000		/* an error must not cost a long walk */

struct count {
	uint32_t n;
	uint32_t first;
};

static bool
count_reader(struct lhi_view *v, uint32_t ci, void *arg)
{
	struct count *k = arg;

	if (state_held(sh64_load(&v->claims[ci].state)) && k->n++ == 0)
		k->first = ci;
	return k->n < COUNT_MAX;
}

/* Stops at a wait that is not this thread's own. */
static bool
is_own_wait(struct lhi_view *v, uint32_t ci, void *arg)
{
	bool *others = arg;
	uint64_t owner = lhi_claim_owner(v, ci);

	*others = sid_idx(owner) >= v->geo.max_sessions ||
	    &v->sessions[sid_idx(owner)] != v->me ||
	    lhi_claim_tid(&v->claims[ci]) != lhi_claim_cache_current->tid;
	return !*others;
}

/* Is it the holder's second sign that cannot be asked?  Not where its own bytes
 * say that it lives, because then nobody asks for that. */
static void
describe_lost_sign(struct lhi_view *v, uint32_t idx, struct lhi_busy_detail *b)
{
	int held = idx >= v->geo.max_sessions ||
	    !lhi_sign_is_promised(v, idx) ? 0 : lhi_sign_held(v, idx);

	if (held >= 0)
		return;
	b->blind = -held;
	b->sign_lost = true;
	b->sign_uid = lhi_sign_user(v, idx);
	b->sign_record = idx;
	b->sign_table = v->uuid[0];
}

/* The same end as in reports: inspect/describe_claim.c. */
static void
describe_right(const struct lhi_view *v, const struct shm_slot *s,
    struct lhi_busy_detail *b)
{
	enum lhi_right_bound bound = b->shim ? BOUND_NONE : lhi_right_bound(v,
	    s, b->readers > 0, b->since_ns, &b->expires_ns);

	b->with_right = bound == BOUND_BY_RIGHT;
	b->right_ended = bound == BOUND_ENDED;
	if (bound != BOUND_NONE)
		b->with_session = false;
}

static void
describe_holder(struct lhi_view *v, const struct shm_slot *s, uint32_t ci,
    struct lhi_busy_detail *b)
{
	uint64_t owner = lhi_claim_owner(v, ci);
	uint32_t si = sid_idx(owner);
	char name[NAMED_NAME_MAX + 1];
	int64_t until_ns;
	struct shm_session *se = &v->sessions[
	    si < v->geo.max_sessions ? si : 0];

	b->held = true;		/* whatever any member wrote into its record */
	b->pid = sh32_load_rlx(&se->pid);
	memcpy(b->application, se->application, sizeof(b->application) - 1);
	b->foreign = lhi_session_is_foreign(v, owner);
	b->shim = lhi_cluster_serves(v, owner);
	b->since_ns = lhi_claim_since_ns(v, &v->claims[ci]);
	b->expires_ns = lhi_ends_ns(v, sh64_load(&v->claims[ci].state));
	b->blind = atomic_load(&v->blind);
	if (b->blind != 0)
		describe_lost_sign(v, si, b);
	if (lhi_named_describe(v, owner, name, &until_ns)) {
		b->blind = 0;
		b->sign_lost = false;
		b->session = true;
		b->bound = sh32_load_rlx(&se->ttl_ms) == 0;
		b->with_session = until_ns < b->expires_ns;
		if (b->with_session)
			b->expires_ns = until_ns;
	}
	describe_right(v, s, b);
}

int
lhi_busy_detail_fail(struct lhi_view *v, struct shm_slot *s, uint64_t w, int
    code)
{
	char key[SHM_KEY_MAX + 1];
	struct count readers = { 0, 0 };
	struct lhi_busy_detail b;

	memset(&b, 0, sizeof(b));
	b.now_ns = lhi_now_ns(v);
	if (word_mode(w) == WORD_X && lhi_claim(v, word_idx(w)) != NULL) {
		describe_holder(v, s, word_idx(w), &b);
		b.token = lhi_lock_token(s, w);
	} else if (word_mode(w) == WORD_S) {
		(void)lhi_readers_walk(v, s, count_reader, &readers);
		b.readers = readers.n;
		if (readers.n > 0) {
			describe_holder(v, s, readers.first, &b);
			b.token = lhi_reader_token(s,
			    &v->claims[readers.first]);
		}
	}
	b.delayed_ns = lhi_named_delayed(v, s, w);
	if (!b.held)
		(void)lhi_queue_walk(v, s, is_own_wait, &b.waiters);
	if (lhi_slot_key(v, s, key) != 0)
		memcpy(b.key, key, strnlen(key, sizeof(b.key) - 1));
	return lhi_fail_busy(code, &b);
}

/* Why it was not granted; 0 of these: not counted. */
static unsigned
counter_of_error(int error)
{
	switch (error) {
	case -EAGAIN:
		return STAT_BUSY;
	case -ETIMEDOUT:
		return STAT_TIMEOUTS;
	case -ECANCELED:
		return STAT_CANCELLED;
	case -EDEADLK:
		return STAT_DEADLOCKS;
	case -ESTALE:
		return STAT_RETIRED;
	default:
		return 0;
	}
}

void
lhi_busy_detail_count(struct lhi_view *v, struct shm_slot *s, uint32_t ci,
    bool shared, int error)
{
	if (counter_of_error(error) != 0)
		lhi_counters_add(v, counter_of_error(error), 1);
	if (error == -ETIMEDOUT || error == -ECANCELED ||
	    error == CALLBACK_FAILED)
		lhi_event_lease(v, error == -ETIMEDOUT ? LH_LOG_TIMED_OUT :
		    LH_LOG_CANCELLED, shared, s, ci, 0, 0);
}
