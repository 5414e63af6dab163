/* SPDX-License-Identifier: MIT */
/*
 * The slow path of acquire: trying, queueing and sleeping.  acquire_options.c
 * and live/ticket_api.c call it.
 *
 * A lock is never handed to a waiter.  A process that wants it reads the word,
 * frees it if its holder is gone (shm/lock_word.c), checks that it is its turn
 * (op/admission.c), and swaps the word itself (op/acquire_slow.c), like the
 * fast path.  A release or an expiry only makes the word FREE and wakes the
 * first waiter.  So nothing has to be undone when a waiter dies, stops or gives
 * up.
 *
 *	A wait		announces WAIT, with ticket and priority; links into the
 *			queue; then looks, and sleeps on claim.park, repeatedly
 *	Sleep		park = ASLEEP, then one more look, then the futex.
 *			Pairs with release: word = FREE, then look at queue and
 *			park (Dekker: both sides read-modify-write first and
 *			then load, all sequentially consistent).  A waker may
 *			die between its two steps, so every sleep is bounded
 *			(amendment C4)
 *	Bounds		The first waiter looks again after 20 ms, or at the
 *			holder's deadline; the last after 40 ms, in case the
 *			first is stopped or dead; the others more seldom
 *			(op/wait_watch.c), whether or not a daemon lives
 *	Starving	The first waiter says that it starves when it has been
 *			first for 1 ms.  If it was woken and lost against a
 *			newcomer, it sleeps quietly until then, so that not
 *			every release wakes it
 *
 * A crash or stop of a waiter
 *
 *	before it is linked	leaves only a claim, which is freed with its
 *				session
 *	linked			dead: removed on proof; stopped: suspect
 *
 * Readers are granted while the word is FREE or S and no writer is ahead.  Each
 * that enters wakes those behind it, so that all readers in a row enter
 * together.  A writer waits until the chain of readers is empty; the first live
 * reader is to it what the holder is.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include "base/error.h"
#include "op/acquire_attempt.h"
#include "op/busy_detail.h"
#include "inspect/explain.h"
#include "op/policy.h"
#include "prim/futex.h"
#include "proc/claim_cache.h"
#include "shm/claim_record.h"
#include "shm/damaged.h"
#include "shm/events.h"
#include "shm/lock_word.h"
#include "shm/wait_queue.h"

#define PROBE_NS (20 * NS_PER_MS)	/* between probes, if it is awake */
#define IDLE_NS (3 * NS_PER_MS)		/* while a free lock is not taken */
#define STARVE_NS (1 * NS_PER_MS)
#define STALE_CHECK_NS (200 * NS_PER_MS)
#define TAKES 100		/* attempts before the clock is read */

static struct lhi_view *view(struct lhi_attempt *a) { return &a->lh->v; }
static int64_t now_ns(struct lhi_attempt *a) { return lhi_now_ns(view(a)); }

/* True if the word allows the grant, whoever's turn it is. */
static bool
can_be_granted(const struct lhi_attempt *a, uint64_t w)
{
	return word_mode(w) == WORD_FREE ?	/* unless it is delayed */
	    lhi_named_delayed(&a->lh->v, a->t.s, w) == 0 :
	    a->ask->shared && !a->reader_deferred && word_mode(w) == WORD_S;
}

/* Makes sure that the waiter whose turn it is takes the lock, which the word
 * allows. */
static bool
prod_first(struct lhi_attempt *a, uint64_t w, int64_t now_ns)
{
	return word_mode(w) == WORD_FREE
		   ? lhi_admission_prod_or_suspect(&a->t, w, now_ns)
		   : lhi_admission_prod_barrier(&a->t, w, now_ns);
}

/* Returns the range of tokens of the key's word w. */
static uint64_t
range_of_word(const struct lhi_attempt *a, uint64_t w)
{
	return lhi_lock_token(a->t.s, w) >> lhi_range_bits;
}

/* Makes a reader wait as a writer, because its token cannot be chosen while
 * others read (op/token_ceiling.c).  So the present readers come to an end. */
static void
wait_as_writer(struct lhi_attempt *a, uint64_t w)
{
	a->reader_deferred = true;
	a->deferred_in = range_of_word(a, w);
	a->t.reader = false;
	if (a->t.queued)
		(void)sh32_fetch_and(&a->c->wflags, ~WAITER_SHARED);
	lhi_point("wait.barred");
}

/* Makes such a reader wait as a reader again, because the present readers are
 * in another range, perhaps the latest.  It may join them, and so may those
 * behind it. */
static void
wait_as_reader(struct lhi_attempt *a, uint64_t w)
{
	if (!a->reader_deferred || word_mode(w) != WORD_S ||
	    range_of_word(a, w) == a->deferred_in ||
	    lhi_mutant_on(barred_for_good))
		return;
	a->reader_deferred = false;
	a->t.reader = true;
	if (a->t.queued)
		(void)sh32_fetch_or(&a->c->wflags, WAITER_SHARED);
}

/* Looks once, and takes the lock if it can.  Returns 0 if granted; WAITING,
 * with the word in *w; -errno; KEY_GONE. */
static int
look_and_take(struct lhi_attempt *a, bool probe, uint64_t *w)
{
	struct lhi_view *v = view(a);
	uint32_t tries = 0;

	do {
		unsigned how =
		    (probe ? SETTLE_PROBE : 0) |
		    (a->ask->shared && !a->reader_deferred ? 0
							   : SETTLE_READERS);
		int64_t now = now_ns(a);
		int error = lhi_lock_settle(v, a->t.s, now, how, w), turn;

		if (error != 0)
			return error;
		if (probe)
			lhi_policy_tend_key(v, a->t.s, *w, now);
		if (word_mode(*w) == WORD_NONE ||
		    sh32_load(&a->t.s->gen) != a->slot_ref >> 32)
			return KEY_GONE;
		wait_as_reader(a, *w);
		if (!can_be_granted(a, *w) && !a->t.queued)
			return WAITING;
		if (!can_be_granted(a, *w)) {
			/* only the deputy asks whether the first lives */
			error = lhi_admission_find_first(&a->t, probe &&
			    a->watch.behind == 0);
			return error != 0 ? error : WAITING;
		}
		turn = lhi_admission_can_take(&a->t, probe);
		if (turn < 0)
			return turn;
		if (turn) {
			lhi_point("wait.turn");
			error = lhi_attempt_take(a, *w);
			if (error == READER_DEFERRED) {
				wait_as_writer(a, *w);
				continue;
			}
			if (error != WAITING)
				return error;
			a->lost = true;
			if (tries < TAKES)
				continue;
			return WAITING;	/* check the clock and the switch */
		}
		if (!probe) {
			if (word_mode(*w) == WORD_FREE)
				lhi_queue_wake_first(v, a->t.s);
			return WAITING;
		}
		if (!prod_first(a, *w, now))
			return WAITING;
		/* each waiter of a long queue may have to be passed over */
	} while (LHI_WITHIN(tries, LHI_SWAPS_MAX + lhi_hop_limit(v)));
	return lhi_damaged_restless(v, "the lock word of a slot",
	    lhi_slot_idx(v, a->t.s));
}

static int
try_once(struct lhi_attempt *a)
{
	uint64_t w;
	int error = look_and_take(a, false, &w);

	/* amendment C16: "busy" is reported only of a holder that lives (the
	 * kernel was asked) */
	if (error == WAITING && !lhi_mutant_on(never_probes))
		error = look_and_take(a, true, &w);
	return error != WAITING ? error :
	    lhi_busy_detail_fail(view(a), a->t.s, w, -EAGAIN);
}

static int
enqueue_claim(struct lhi_attempt *a)
{
	struct shm_claim *c = a->c;

	sh64_store_rlx(&c->slot_ref, a->slot_ref);
	sh32_store_rlx(&c->priority, a->ask->priority);
	sh32_store_rlx(&c->ticket, sh32_fetch_add(&a->t.s->ticket, 1));
	sh32_store_rlx(&c->wflags, lhi_claim_epoch(c) << WAITER_BITS |
	    (a->ask->shared && !a->reader_deferred ? WAITER_SHARED : 0) |
	    (a->threadless ? WAITER_BELL : 0) | lhi_deadlock_flags(a->ask));
	sh32_store_rlx(&c->park, PARK_AWAKE);
	sh64_store_rlx(&c->grant, lhi_attempt_session(a));
	a->queued_ns = now_ns(a);
	sh64_store_rlx(&c->since, lhi_since(view(a), a->queued_ns, a->m->tid));
	/* claim #2 */
	lhi_attempt_announce(a, ST_WAIT, 0);
	lhi_point("wait.announced");
	lhi_counters_spent(view(a));
	lhi_counters_add(view(a), STAT_WAITS, 1);
	lhi_event_lease(view(a), LH_LOG_WAIT_BEGAN, a->ask->shared, a->t.s,
	    a->t.ci, 0, 0);
	lhi_deadlock_begin(&a->dead, a->queued_ns,
	    atomic_load_explicit(&a->lh->waiting, memory_order_relaxed));
	if (a->threadless)	/* a wait without a thread is in no deadlock */
		a->dead.next_ns = INT64_MAX;
	a->t.queued = true;
	return lhi_queue_insert(view(a), a->t.s, a->t.ci);
}

/* Returns until when to sleep while the word is w, and sets how deep. */
static int64_t
choose_wake_time(struct lhi_attempt *a, uint64_t w, int64_t now,
    uint32_t *depth)
{
	struct lhi_wait_watch *watch = &a->watch;
	struct shm_claim *holder;
	int64_t until, d;
	uint64_t st;

	*depth = PARK_ASLEEP;
	if (lhi_mutant_on(waiter_sleeps_on))
		return now + 3600 * NS_PER_SEC;
	if (a->t.first == a->t.ci) {
		if (a->front_since_ns == 0)
			a->front_since_ns = now;
		if (!a->starving && now - a->front_since_ns >= STARVE_NS) {
			a->starving = true;
			(void)sh32_fetch_or(&a->c->wflags, WAITER_STARVING);
		}
		if (!a->starving && view(a)->order != LH_ORDER_FIFO) {
			if (a->lost)
				*depth = PARK_QUIET;
			return a->front_since_ns + STARVE_NS;
		}
	} else {
		a->front_since_ns = 0;
	}
	if (word_mode(w) == WORD_FREE && can_be_granted(a, w))
		return now + IDLE_NS;
	lhi_wait_watch_read(&a->t, a->threadless ? 0 :
	    atomic_load_explicit(&a->lh->waiting, memory_order_relaxed), watch);
	if (watch->seen == 0 || a->timed_out)
		lhi_wait_watch_first(&a->t, watch);
	until = now + watch->period_ns;
	holder = lhi_claim(view(a), word_idx(w));
	if (holder != NULL && watch->ahead == 0 && !can_be_granted(a, w)) {
		st = sh64_load(&holder->state);
		d = lhi_policy_next_look_ns(view(a), word_idx(w), st, now);
		if (state_held(st) && d < until)
			until = d > now ? d : now;
	}
	return until;
}

/* Returns `until` in the futexes' clock.  If the thread is stopped in here, the
 * result is too early. */
static int64_t
to_futex_clock(struct lhi_attempt *a, int64_t until)
{
	int64_t mono;

	if (view(a)->clock == CLOCK_MONOTONIC)
		return until;
	mono = lhi_clock_ns(CLOCK_MONOTONIC);
	return mono + (until - now_ns(a));
}

/* Prepares to sleep, as deep as *depth, until a->wake_ns.  Returns false if
 * something has happened: look again at once. */
static bool
park_claim(struct lhi_attempt *a, uint32_t *depth)
{
	uint64_t again;

	(void)sh32_xchg(&a->c->park, PARK_ASLEEP);
	lhi_point("wait.parked");
	/* pairs with: release's swap of the word, and a leaver's of the queue,
	 * before they look at park */
	again = sh64_load_sc(&a->t.s->word);
	a->wake_ns = choose_wake_time(a, a->w, now_ns(a), depth);
	if (a->wake_ns > a->ask->until_ns)
		a->wake_ns = a->ask->until_ns;
	if (a->ask->callback != NULL && a->wake_ns > a->ask->callback->at_ns)
		a->wake_ns = a->ask->callback->at_ns;
	if (a->t.first == a->t.ci && !can_be_granted(a, a->w) &&
	    !a->threadless)
		a->wake_ns = lhi_death_hint_choose(view(a), &a->hint, a->w,
		    now_ns(a), a->wake_ns);
	else
		lhi_death_hint_drop(&a->hint);
	if (a->wake_ns > a->dead.next_ns && !lhi_mutant_on(waiter_sleeps_on))
		a->wake_ns = a->dead.next_ns;
	if (*depth != PARK_ASLEEP)
		(void)sh32_cas(&a->c->park, PARK_ASLEEP, *depth);
	a->lost = false;
	a->spun = false;
	a->probed = false;
	a->timed_out = true;
	return !lhi_cancel_is_set(a->ask->cancel) && !a->hint.told &&
	    (again == a->w || *depth == PARK_QUIET) &&
	    !lhi_queue_is_out(view(a), a->t.ci);
}

bool
lhi_attempt_park(struct lhi_attempt *a)
{
	uint32_t depth;

	return park_claim(a, &depth);
}

void
lhi_attempt_unpark(struct lhi_attempt *a)
{
	if (sh32_xchg(&a->c->park, PARK_AWAKE) == PARK_AWAKE) {
		a->timed_out = false;
		a->lost = true;		/* unless the next look succeeds */
	} else if (now_ns(a) < a->wake_ns) {
		a->timed_out = false;	/* a signal, or no sleep at all */
	}
	if (sh32_load(&a->c->wflags) & WAITER_SUSPECT)
		(void)sh32_fetch_and(&a->c->wflags, ~WAITER_SUSPECT);
}

/* Sleeps until it is woken, or until there may be something to do. */
static void
sleep_parked(struct lhi_attempt *a)
{
	uint32_t depth;

	if (park_claim(a, &depth))
		lhi_death_hint_sleep(&a->hint, &a->c->park, depth,
		    to_futex_clock(a, a->wake_ns));
	lhi_attempt_unpark(a);
}

/* True if it is time to probe the holder and the first waiter: after a sleep
 * that nobody ended, by the clock, because signals and wake-ups may end every
 * sleep early, and when the kernel has told of a death. */
static bool
is_probe_due(struct lhi_attempt *a, uint64_t w)
{
	int64_t now = now_ns(a), each = word_mode(w) == WORD_FREE ? IDLE_NS :
	    PROBE_NS;

	if (!lhi_death_hint_take(view(a), &a->hint) &&
	    (!a->timed_out || a->probed) && now - a->probed_ns < each)
		return false;
	a->probed_ns = now;
	a->probed = true;
	return true;
}

/* Runs the callback if it is due. */
static int
run_callback(struct lhi_attempt *a)
{
	struct lhi_wait_callback *c = a->ask->callback;

	return c != NULL && now_ns(a) >= c->at_ns ? c->run(c) : 0;
}

int
lhi_attempt_round(struct lhi_attempt *a)
{
	int error;

	/* ends: at the caller's deadline or cancel, and after each sleep */
	for (;;) {
		error = look_and_take(a, is_probe_due(a, a->w), &a->w);
		if (error != WAITING)
			return error;
		lhi_point("wait.looked");
		if (lhi_cancel_is_set(a->ask->cancel))
			return lhi_busy_detail_fail(view(a), a->t.s, a->w,
			    -ECANCELED);
		if (now_ns(a) >= a->ask->until_ns)
			return lhi_busy_detail_fail(view(a), a->t.s, a->w,
			    -ETIMEDOUT);
		error = run_callback(a);
		if (error != 0)
			return error;
		if (!a->t.queued) {
			error = enqueue_claim(a);
			if (error != 0)
				return error;
			continue;
		}
		if (lhi_queue_is_out(view(a), a->t.ci)) {
			error = lhi_queue_insert(view(a), a->t.s, a->t.ci);
			if (error != 0)
				return error;
			continue;
		}
		if (a->starving && !a->spun && !a->timed_out &&
		    a->t.first == a->t.ci) {
			/* nobody overtakes any more: it may be free soon */
			lhi_attempt_spin(a, a->w);
			a->spun = true;
			continue;
		}
		if (a->timed_out && now_ns(a) >= a->stale_check_ns) {
			a->stale_check_ns = now_ns(a) + STALE_CHECK_NS;
			/* a thread that waits enters no other namespace */
			error = lhi_view_gone(view(a)) ? lhi_view_fresh(view(a))
			    : lhi_damaged_or(view(a), 0);
		} else if (lhi_view_retired(view(a))) {
			error = lhi_view_fresh(view(a));
		}
		if (error == 0)
			error = lhi_deadlock_look(view(a), a->t.ci, &a->dead);
		return error != 0 ? error : WAITING;
	}
}

static int
wait_until_granted(struct lhi_attempt *a)
{
	int error;

	/* ends: at the caller's deadline or cancel */
	while ((error = lhi_attempt_round(a)) == WAITING)
		sleep_parked(a);
	return error;
}

static int
wait_in_queue(struct lhi_attempt *a)
{
	struct lhi_canceller me;
	uint64_t w;
	int error = look_and_take(a, false, &w);

	if (error == WAITING && !can_be_granted(a, w) &&
	    link_idx(sh64_load(&a->t.s->waitq)) == 0) {
		lhi_attempt_spin(a, w);
		error = look_and_take(a, false, &w);
	}
	if (error != WAITING)
		return error;
	a->probed_ns = now_ns(a);
	atomic_fetch_add(&a->lh->waiting, 1);
	a->m->wait.counted = true;
	lhi_cancel_join(a->ask->cancel, &me, &a->c->park);
	error = wait_until_granted(a);
	lhi_cancel_leave(a->ask->cancel, &me);
	a->m->wait.counted = false;
	atomic_fetch_sub(&a->lh->waiting, 1);
	return error;
}

int
lhi_acquire_wait(struct lh *lh, const struct lhi_ref *ref,
    const struct lhi_acquire_request *ask, struct lh_lease *lease)
{
	struct lhi_attempt a;
	int error, cancel;

	if (lhi_cancel_is_set(ask->cancel))
		return lhi_fail(-ECANCELED, "the wait was cancelled before it "
		    "began");
	if (lhi_view_retired(&lh->v))
		return lhi_view_fresh(&lh->v);
	error =
	    lhi_attempt_begin(&a, lh, lhi_claim_cache_get(lh), ref, ask, lease);
	if (error != 0)
		return error;
	/* what is queued and counted must be undone: the cancellation points
	 * below must not end the thread */
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (!ask->try_only)
		lhi_attempt_note_wait(&a, cancel);
	error = ask->try_only ? try_once(&a) : wait_in_queue(&a);
	if (error != 0 && ask->explain)
		lhi_explain_failure(lh, ref, a.t.ci, error);
	if (error != 0)
		lhi_attempt_withdraw(&a, error);
	if (error != 0 && ask->explain)
		lhi_explain_finish();
	lhi_attempt_note_return(&a);
	(void)pthread_setcancelstate(cancel, NULL);
	return error;
}
