/* SPDX-License-Identifier: MIT */
/*
 * Tickets: waits without a sleeping thread.
 *
 * A ticket is an attempt like that of a waiting thread (op/acquire_wait.c),
 * taken step by step.  After a round its claim is parked, and the ticket put
 * into a tree by the moment at which that thread would look again by itself.
 * The sleep on the claim's park becomes one on the session's doorbell: a claim
 * with WAITER_BELL rings that when it is woken, and the live thread finds out
 * which of the session's tickets were woken.  So places, bounds, probes,
 * suspicion and the state after a crash are those of any waiter.
 *
 * ticket_options.c handles the rarer options.
 *
 *	T_WAITS -> T_GRANTED	a round acquired the key
 *	T_WAITS -> T_FAILED		timed out, table gone, lh_close(), ...
 *	T_GRANTED -> T_FAILED	LH_KEEP, and it is lost; lh_close()
 *
 * Claims.  They are of a claim cache that belongs to no thread but to the
 * holder of lhi_live_lock(), under which every step is taken; so only one
 * thread at a time uses its claims.  As its groups of claims go round while
 * tickets wait, a ticket remembers its claim, not a place in the claim cache.
 * A claim that is given back elsewhere is found when claims run out.  They have
 * no thread's number: op/admission.c asks whether the process is stopped.
 *
 * Under the lock a round may ask the kernel (whether the holder lives), and in
 * scope local, once in 2^32 tokens, the disk.  If two with one request id come
 * in the same moment, one gives way for some microseconds.  Nothing else there
 * waits.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <bsd/string.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/handle.h"
#include "live/ticket.h"
#include "shm/damaged.h"
#include "op/acquire_attempt.h"
#include "op/acquire_target.h"
#include "prim/futex.h"
#include "proc/claim_cache.h"

#define GONE_MAX 1000u		/* lives of the key that ended, consecutively */
#define RETRY_PART 20		/* of the ttl, after a renewal that failed */
#define ASK_NS (5 * NS_PER_MS)	/* ticket_options.c: interval of checks for
				 * the result */
#define HAND_NS NS_PER_MS	/* ... and to hand over again */

RB_HEAD(due, lh_ticket);
TAILQ_HEAD(tickets, lh_ticket);

static struct due due = RB_INITIALIZER(&due);
static struct tickets all = TAILQ_HEAD_INITIALIZER(all);

static int
order_by_due(const struct lh_ticket *a, const struct lh_ticket *b)
{
	if (a->due_ns != b->due_ns)
		return a->due_ns < b->due_ns ? -1 : 1;
	return a < b ? -1 : a > b;
}

RB_GENERATE_INTERNAL(due, lh_ticket, timer, order_by_due,
    static __attribute__((unused)))

static int64_t
mono_ns(void)
{
	return lhi_clock_ns(CLOCK_MONOTONIC);
}

static void
stop_timer(struct lh_ticket *t)
{
	if (t->timed)
		(void)RB_REMOVE(due, &due, t);
	t->timed = false;
}

/* Nothing is due for it any more. */
static void
end_timer(struct lh_ticket *t)
{
	bool was_timed = t->timed;

	stop_timer(t);
	if (was_timed && RB_EMPTY(&due))
		lhi_wakeup_wake();	/* to linger, and end */
}

static void
set_timer(struct lh_ticket *t, int64_t due_ns)
{
	stop_timer(t);
	t->due_ns = due_ns;
	t->timed = true;
	(void)RB_INSERT(due, &due, t);
	if (RB_MIN(due, &due) == t)
		lhi_wakeup_wake();
}

/* Sets the timer to a moment of the table's clock. */
static int64_t
to_timer_clock(const struct lh_ticket *t, int64_t at_ns)
{
	return at_ns == INT64_MAX ? at_ns :
	    mono_ns() + (at_ns - lhi_now_ns(&t->lh->v));
}

static void
plan_renewal(struct lh_ticket *t, int64_t part)
{
	set_timer(t, mono_ns() + t->ask.ttl_ns / part);
}

/* A wait that is rung for: from before its claim is parked until it ends.  (So
 * a ticket that is granted at once wakes no thread, and starts none.) */
static void
start_listening(struct lh_ticket *t)
{
	if (!t->listens)
		lhi_wakeup_listen(t->lh);
	t->listens = true;
}

static void
stop_listening(struct lh_ticket *t)
{
	if (t->listens)
		lhi_wakeup_ignore(t->lh);
	t->listens = false;
}

/* Ends the wait: moves from T_WAITS to another state, and reports it. */
static void
settle_ticket(struct lh_ticket *t, enum lhi_ticket_state state, int error)
{
	if (error == -EAGAIN)	/* for example of a repeated try: final */
		error = -ETIMEDOUT;
	lhi_ticket_options_finish(t, error);
	lhi_ticket_cluster_end(t);
	stop_listening(t);
	t->state = state;
	t->error = error;
	if (error != 0)
		(void)strlcpy(t->detail, lh_error_detail(), sizeof(t->detail));
	if (error == 0 && t->keep)
		plan_renewal(t, 3);
	else
		end_timer(t);
	if (t->fd.fd >= 0)
		lhi_readable_raise(&t->fd);
	if (t->park != NULL && sh32_xchg(t->park, PARK_AWAKE) != PARK_AWAKE)
		lhi_futex_wake(t->park);
}

/* Begins its attempt. */
static int
begin_attempt(struct lh_ticket *t)
{
	int error = lhi_view_retired(&t->lh->v) ? lhi_view_fresh(&t->lh->v) :
	    0;

	if (error == 0)
		error = lhi_attempt_begin(&t->a, t->lh,
		    lhi_claim_cache_of_no_thread(t->lh), &t->ref, &t->ask,
		    &t->lease);
	t->a.threadless = true;
	t->a.probed_ns = lhi_now_ns(&t->lh->v);
	return error;
}

/* Moves to the key's new slot.  (Until the next round has announced it, another
 * search for free claims could take the claim: so that is done at once.) */
static int
begin_attempt_anew(struct lh_ticket *t)
{
	int error;

	lhi_attempt_withdraw(&t->a, KEY_GONE);
	error = lhi_key_name_resolve(t->lh, &t->name,
	    t->ask.no_create ? LH_NO_CREATE : 0, &t->ref);
	return error != 0 ? error : begin_attempt(t);
}

/* Does T_QUEUES. Returns 0; WAITING; -errno: withdrawn. */
static int
wait_in_queue(struct lh_ticket *t)
{
	uint32_t n = 0;
	int error;

	while ((error = lhi_attempt_round(&t->a)) == KEY_GONE) {
		if (!LHI_WITHIN(n, GONE_MAX))
			return lhi_damaged_restless(&t->lh->v,
			    "the slot of a key",
			    lhi_slot_idx(&t->lh->v, t->ref.slot));
		error = begin_attempt_anew(t);
		if (error != 0)
			return error;
	}
	lhi_point("ticket.looked");
	if (error < 0)
		lhi_attempt_withdraw(&t->a, error);
	return error;
}

/* Does the steps that are possible now, whatever it waits for. */
static int
advance_phase(struct lh_ticket *t)
{
	int error;

	if (t->phase == T_ASKS) {
		error = lhi_ticket_options_ask(t);
		if (error != TICKET_QUEUE)
			return error;
		t->phase = T_ASKS_SHIM;
	}
	if (t->phase == T_ASKS_SHIM) {
		error = lhi_ticket_cluster_advance(t);
		if (error != TICKET_QUEUE)
			return error;
		error = begin_attempt(t);
		if (error != 0)
			return error;
		t->phase = T_QUEUES;
	}
	if (t->phase == T_QUEUES) {
		error = wait_in_queue(t);
		if (error != 0)
			return error;
		t->phase = T_HAS;
		error = lhi_ticket_cluster_confirm(t);
		if (error != 0)
			return error;
	}
	return lhi_ticket_options_grant(t);
}

static void
park_ticket(struct lh_ticket *t)
{
	start_listening(t);
	t->parked = lhi_attempt_park(&t->a);
	if (!t->parked)
		lhi_attempt_unpark(&t->a);
	set_timer(t, t->parked ? to_timer_clock(t, t->a.wake_ns) : mono_ns());
}

void
lhi_ticket_advance(struct lh_ticket *t)
{
	int error;

	if (t->parked)
		lhi_attempt_unpark(&t->a);
	t->parked = false;
	error = advance_phase(t);
	if (error == WAITING && t->phase == T_QUEUES)
		park_ticket(t);
	else if (error == WAITING)
		set_timer(t,
		    mono_ns() + (t->phase == T_ASKS ? ASK_NS
				    : t->phase == T_ASKS_SHIM
					? lhi_ticket_cluster_retry_ns(t)
					: HAND_NS));
	else
		settle_ticket(t, error == 0 ? T_GRANTED : T_FAILED, error);
}

static void
renew_lease(struct lh_ticket *t)
{
	int error = lh_extend(t->lh, &t->lease, t->ask.ttl_ns / NS_PER_MS);

	if (error == -ESTALE)
		settle_ticket(t, T_FAILED, error);
	else
		plan_renewal(t, error == 0 ? 3 : RETRY_PART);
}

bool
lhi_ticket_serve(void)
{
	struct lh_ticket *t = RB_MIN(due, &due);

	if (t == NULL || t->due_ns > mono_ns())
		return false;
	stop_timer(t);
	if (t->state == T_WAITS)
		lhi_ticket_advance(t);
	else
		renew_lease(t);
	return true;
}

int64_t
lhi_ticket_next_ns(void)
{
	struct lh_ticket *t = RB_MIN(due, &due);

	return t == NULL ? INT64_MAX : t->due_ns;
}

bool
lhi_ticket_has_due(void)
{
	return !RB_EMPTY(&due);
}

void
lhi_ticket_wake_rung(struct lh *lh)
{
	int64_t now = mono_ns();
	struct lh_ticket *t;

	TAILQ_FOREACH(t, &all, all) {
		if (t->lh == lh && t->parked &&
		    sh32_load_sc(&t->a.c->park) == PARK_AWAKE)
			set_timer(t, now);
	}
}

void
lhi_ticket_end(struct lh_ticket *t)
{
	if (t->state == T_WAITS) {
		if (t->phase == T_QUEUES)
			lhi_attempt_withdraw(&t->a, -ECANCELED);
		else if (t->phase == T_HAS)
			(void)lh_release(t->lh, &t->lease);
		lhi_ticket_options_finish(t, -ECANCELED);
		lhi_ticket_cluster_end(t);
		stop_listening(t);
	} else if (t->state == T_GRANTED && !t->repeats) {
		(void)lh_release(t->lh, &t->lease);
	}
	end_timer(t);
	t->parked = false;
}

void
lhi_ticket_closing(struct lh *lh)
{
	struct lh_ticket *t;

	TAILQ_FOREACH(t, &all, all) {
		if (t->lh != lh)
			continue;
		if (t->state != T_FAILED) {
			lhi_ticket_end(t);
			settle_ticket(t, T_FAILED, lhi_fail(-ECANCELED, "the "
			    "table was closed while a ticket stood for "
			    "'%.64s'", t->key));
		}
		t->lh = NULL;
	}
}

void
lhi_ticket_forget(void)
{
	RB_INIT(&due);
	TAILQ_INIT(&all);
}

void
lhi_ticket_add(struct lh_ticket *t)
{
	TAILQ_INSERT_TAIL(&all, t, all);
}

void
lhi_ticket_discard(struct lh_ticket *t)
{
	end_timer(t);
	TAILQ_REMOVE(&all, t, all);
	if (t->fd.fd >= 0)
		lhi_readable_close(&t->fd);
	t->epoch = LIVE_CLOSED;
	lhi_handle_free(HANDLE_TICKET, t);
}
