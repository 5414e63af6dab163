/* SPDX-License-Identifier: MIT */
/*
 * Steps a key: does what its state demands next.  Every event that changes a
 * key calls key_step().
 *
 * While this host has no right to a wanted key, the shim holds the key locally
 * (local_hold.c), so that local processes queue behind the shim.  The state of
 * a key consists of
 *
 * - its local hold: none, waits, held;
 * - its claim in the cluster: none, requested, granted;
 * - its right in the table; and
 * - who wants it: local processes, or hosts behind us.
 *
 * Each event changes one of these.  The next action follows from the state
 * alone.
 *
 *	right	claim	  wanted here?	then
 *	none	none	  no		release the hold, forget the key
 *	none	none	  yes		hold it, and request a claim	   ask
 *	none	requested no		leave the claim
 *	none	requested yes		hold it, and wait
 *	none	granted	  yes		hold it; base, right, release	   take
 *	none	granted	  no		hold it; leave the claim
 *	set	granted	  		others want it: hold it; right := none;
 *					hold it again if that was lost; leave
 *					the claim		   return
 *	set	granted	  newer base	hold it; raise the base, release
 *	set	gone			void: right := none, leases broken
 *
 * Each row begins with "hold it"; the rest of the row waits for that.
 *
 * Invariants of a key (KI1, KI2):
 *
 * KI1	When a claim is left, no local process has the key.  It is left only
 *	while the shim holds the key, after the right was cleared and the hold
 *	was verified again.  A lease under the right was granted before that and
 *	would conflict with the hold.  A process that is granted the key later
 *	sees no right.
 * KI2	When a right is set, no process that was granted the key before still
 *	has it, because the shim holds the key.  There is one exception, below.
 *
 * The exception: the shim may be stopped between the check of its hold and the
 * action, and its lease may expire.  Then a local process may have the key when
 * the right is set.  This is sound, because that process checks the right after
 * its grant, and it belongs to this host.  If the hold turns out to be lost
 * after the right was cleared, KI1 is restored before anything else is done.
 *
 * A try for a key that another host has: that host may keep the key only
 * because nobody else has wanted it.  So the try queues for BUSY_AFTER_NS, and
 * the other host is recalled as for any waiter.  After that the answer is
 * "busy".
 *
 * Fairness.  When a host waits behind us, the key is returned as soon as no
 * local process has it.  Local waiters may keep it for at least hold_min from
 * the grant.  Then the shim queues among them, and after LINGER_NS, or behind
 * too many of them, before all of them.  If a local process was just granted
 * the key and has not acquired it yet, the shim waits FRESH_NS.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "daemon/daemon_log.h"
#include "shim.h"

#define FRESH_NS (2 * NS_PER_MS)
#define LINGER_NS (20 * NS_PER_MS)
#define LINGER_GRANTS 64
#define BUSY_AFTER_NS (50 * NS_PER_MS)
#define BUSY_FREE_NS (10 * NS_PER_MS)	/* later than that */
#define RETRY_NS (250 * NS_PER_MS)

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	key_step(arg);
}

/* Schedules another step of the key at `ns`. */
static void
step_at(struct key *k, int64_t ns)
{
	int64_t left_us = (ns - shim_now_ns()) / 1000 + 1;
	struct timeval tv = { left_us / 1000000, left_us % 1000000 };

	if (left_us < 0)
		tv.tv_sec = tv.tv_usec = 0;
	if (k->timer == NULL)
		k->timer = evtimer_new(k->s->o.base, on_timer, k);
	if (k->timer != NULL)
		(void)evtimer_add(k->timer, &tv);
}

/* True if the right must be returned: another host wants the key, or this host
 * needs a stronger right. */
static bool
has_to_return(const struct key *k)
{
	return k->must_return || k->s->ending ||
	    (k->recalled == RIGHT_EXCLUSIVE ||
	    (k->recalled == RIGHT_SHARED && k->right == RIGHT_EXCLUSIVE)) ||
	    (k->right == RIGHT_SHARED && k->n_exclusive > 0);
}

bool
key_has_right(const struct key *k, unsigned mode)
{
	return k->right >= mode && k->hold.state == LOCAL_HOLD_NONE &&
	       shim_table_has_right(k);
}

/* Handles a local failure: all requests for the key fail. */
static void
fail_locally(struct key *k, int e)
{
	const char *why = lh_error_detail();

	if (e == -ESTALE) {
		k->s->over = true;
		k->s->o.over("the table was removed", k->s->o.arg);
		return;
	}
	log_line(LOG_ERR, "key %s: %s", k->name, why);
	requests_fail(k, false, FRAME_FAILED, -e, why);
	k->waiters_mode = RIGHT_NONE;
	step_at(k, shim_now_ns() + RETRY_NS);
}

/* True if the shim holds the key now; otherwise it waits for it. */
static bool
hold_key(struct key *k, bool first)
{
	int e = local_hold_acquire(k, first);

	if (e == 0)
		return true;
	if (e != -EAGAIN)
		fail_locally(k, e);
	return false;
}

/* Like hold_key(), for a key that is to be returned (see Fairness). */
static bool
hold_key_to_return(struct key *k)
{
	int64_t now_ns = shim_now_ns(), from_ns = now_ns, end_ns;
	bool first;

	if (k->return_since_ns == 0)
		k->return_since_ns = now_ns;
	end_ns = k->return_since_ns + LINGER_NS;
	/* a local process that needs a stronger right does not wait */
	first = k->must_return || k->s->ending || k->n_exclusive > 0 ||
	    now_ns >= end_ns;
	if (!first && k->hold.state == LOCAL_HOLD_NONE) {
		bool waited_for = shim_table_has_waiters(k);

		if (waited_for)
			from_ns = k->since_ns + k->s->o.hold_min_ms *
			    NS_PER_MS;
		else if (k->fresh)
			from_ns = k->since_ns + FRESH_NS;
		first = !waited_for;
	}
	if (!first && from_ns > now_ns) {
		step_at(k, from_ns < end_ns ? from_ns : end_ns);
		return false;
	}
	if (!first && k->hold.state == LOCAL_HOLD_WAITS)
		first = lh_ticket_rank(k->hold.ticket) > LINGER_GRANTS;
	if (hold_key(k, first))
		return true;
	if (!k->hold.first && k->hold.state == LOCAL_HOLD_WAITS)
		step_at(k, end_ns);
	return false;
}

/* Draws a newer base, now or later. */
static void
anchor_key(struct key *k)
{
	if (!cluster_claim_anchor(k))
		step_at(k, shim_now_ns() + RETRY_NS);
}

/* First half of "return": clears the right.  The caller then checks that the
 * key is still held. */
static void
clear_right(struct key *k)
{
	log_line(LOG_DEBUG, "key %s: right cleared", k->name);
	lhi_point("shim.returning");
	shim_table_clear_right(k);
	lhi_point("shim.cleared");
	key_set_right(k, RIGHT_NONE);
}

/* Fails all requests because the right or its base cannot be set. */
static void
fail_set_right(struct key *k, int e)
{
	log_line(LOG_ERR, "key %s: cannot set its right: %s", k->name,
	    e == -ERANGE ? "the cluster's revision is too large for a token" :
	    lh_strerror(e));
	requests_fail(k, false, FRAME_FAILED, -e, "the shim cannot set the "
	    "key's right");
	k->waiters_mode = RIGHT_NONE;
}

/* Sets the right of a granted claim ("take").  Returns false if that failed. */
static bool
set_right(struct key *k)
{
	struct cluster_claim *p = k->claim;
	int e;

	lhi_point("shim.taking");
	e = shim_table_find_slot(k->s, k);
	if (e == 0)
		e = shim_table_set_right(k, p->mode, p->revision);
	lhi_point("shim.taken");
	if (e != 0) {
		fail_set_right(k, e);
		return false;
	}
	key_set_right(k, p->mode);
	k->base = p->revision;
	k->fresh = !TAILQ_EMPTY(&k->requests);
	k->waiters_mode = RIGHT_NONE;
	k->busy_after_ns = 0;
	k->s->count.taken++;
	log_line(LOG_DEBUG, "key %s: taken, %s, revision %lld", k->name,
	    k->right == RIGHT_SHARED ? "shared" : "exclusive",
	    (long long)p->revision);
	/* answers come last: a granted try tries once, and must not meet the
	 * shim's hold */
	local_hold_release(k);
	lhi_point("shim.let_go");
	requests_grant(k);
	return true;
}

/* Steps a key with a right.  Returns true if the key must be stepped again. */
static bool
step_right(struct key *k)
{
	int e = 0;

	if (!shim_table_has_right(k)) { /* the slot belongs to another key now,
					 * with its leases */
		key_set_right(k, RIGHT_NONE);
		return true;
	}
	if (has_to_return(k)) {
		if (!hold_key_to_return(k))
			return false;
		k->claim->returning = true;
		clear_right(k);
		k->waiters_mode = shim_table_waiters_mode(k);
		k->s->count.returned++;
		return true;
	}
	if (k->claim->revision > k->base || requests_has_newer_base(k)) {
		if (!hold_key(k, true))
			return false;
		if (k->claim->revision <= k->base) {
			anchor_key(k);
			return false;
		}
		if (!local_hold_is_valid(k))
			return true;
		e = shim_table_set_right(k, k->right, k->claim->revision);
		if (e == 0)
			k->base = k->claim->revision;
	}
	local_hold_release(k);
	requests_grant(k);
	if (e != 0)		/* the remaining requests need a newer base */
		fail_set_right(k, e);
	return false;
}

/* Steps a key with a granted claim and no right.  Returns true if the key must
 * be stepped again. */
static bool
step_granted(struct key *k, unsigned least)
{
	if (!hold_key(k, true))
		return false;
	if (!local_hold_is_valid(k))
		return true;
	if (least != RIGHT_NONE && least <= k->claim->mode &&
	    !k->claim->returning && host_can_grant(k->s)) {
		if (requests_has_newer_base(k) &&
		    k->claim->revision <= k->base) {
			anchor_key(k);
			return false;
		}
		return set_right(k);
	}
	cluster_claim_leave(k);
	return true;
}

/* Steps a key without right and claim.  Returns true if the key must be stepped
 * again. */
static bool
step_new(struct key *k, unsigned most)
{
	bool try = requests_is_only_tries(k) && k->waiters_mode == RIGHT_NONE &&
	    k->busy_after_ns == 0;
	int e;

	if (!hold_key(k, true) || !k->s->settled)
		return false;
	e = cluster_claim_request(k->s, &k, &most, 1, try);
	if (e != 0) {
		requests_fail(k, false, FRAME_FAILED, -e,
		    "the shim cannot send the request to the cluster");
		k->waiters_mode = RIGHT_NONE;
	}
	return e != 0;
}

static unsigned
stronger_right(unsigned a, unsigned b)
{
	return a > b ? a : b;
}

/* `who` is empty: the key is free, and others of its set are not.  One of those
 * is to give the answer, so this one is later. */
void
key_defer_busy(struct key *k, const char *who)
{
	k->busy_after_ns = shim_now_ns() + BUSY_AFTER_NS +
	    (who[0] == '\0' ? BUSY_FREE_NS : 0);
	free(k->busy_by);
	k->busy_by = who[0] == '\0' ? NULL : strdup(who);
	step_at(k, k->busy_after_ns);
}

/* Answers "busy" if the tries' moment is over.  A timer can be early by the
 * duration of the loop's round in which it was set, and a key has only one
 * timer. */
static void
end_busy_deferral(struct key *k)
{
	if (k->busy_after_ns == 0)
		return;
	if (shim_now_ns() < k->busy_after_ns) {
		step_at(k, k->busy_after_ns);
		return;
	}
	k->busy_after_ns = 0;
	requests_fail(k, true, FRAME_BUSY, 0, k->busy_by != NULL ? k->busy_by :
	    "another host");
}

/* A waiter that got QUEUED now finds no right and asks again; only then it gets
 * the answer.  So the denial is remembered for a while. */
void
key_deny(struct key *k, unsigned mode, const char *why)
{
	requests_deny(k, mode, why);
	if (mode != DENY_NEWER) {
		k->waiters_mode = RIGHT_NONE;
		k->busy_after_ns = 0;
	}
	k->denied = mode;
	k->denied_ns = shim_now_ns() + RETRY_NS;
	free(k->reason);
	k->reason = strdup(why);
	step_at(k, k->denied_ns);
}

const char *
key_denial(struct key *k, unsigned mode)
{
	if (k->denied != RIGHT_NONE && shim_now_ns() >= k->denied_ns)
		k->denied = RIGHT_NONE;
	return k->denied == RIGHT_NONE || mode < k->denied ? NULL :
	    k->reason != NULL ? k->reason : "permission denied";
}

/* Does one step.  Returns true if the key must be stepped again. */
static bool
step_once(struct key *k)
{
	unsigned most =
	    stronger_right(requests_strongest_mode(k), k->waiters_mode);
	unsigned least = requests_weakest_mode(k);

	if (least == RIGHT_NONE ||
	    (k->waiters_mode != RIGHT_NONE && k->waiters_mode < least))
		least = k->waiters_mode;
	if (k->right != RIGHT_NONE)
		return step_right(k);
	if (k->claim != NULL && k->claim->granted)
		return step_granted(k, least);
	if (most != RIGHT_NONE && host_can_grant(k->s)) {
		if (k->claim == NULL)
			return step_new(k, most);
		(void)hold_key(k, true);
		return false;
	}
	if (k->claim != NULL)
		cluster_claim_leave(k);
	local_hold_release(k);
	return false;
}

void
key_step(struct key *k)
{
	if (k->s->over)
		return;
	end_busy_deferral(k);
	/* ends: each step brings the key to a later state of its own */
	while (step_once(k))
		;
	if (k->right == RIGHT_NONE && k->claim == NULL &&
	    k->hold.state == LOCAL_HOLD_NONE && TAILQ_EMPTY(&k->requests) &&
	    k->waiters_mode == RIGHT_NONE && key_denial(k, DENY_NEWER) == NULL)
		key_free(k);
	else
		key_relist(k);
}

bool
keys_request(struct shim *s, struct key *const *k, const unsigned *mode,
    size_t n, bool try)
{
	for (size_t i = 0; i < n; i++) {
		if (k[i]->right != RIGHT_NONE || k[i]->claim != NULL ||
		    !hold_key(k[i], true))
			return false;
	}
	return s->settled && cluster_claim_request(s, k, mode, n, try) == 0;
}
