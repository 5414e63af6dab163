/* SPDX-License-Identifier: MIT */
/*
 * Calls to the store, repeated until their outcome is definite.  All other
 * files of the member send through it.
 *
 * A call is built anew each time it is sent, from what its owner wants at that
 * moment.  Doing it twice has the same effect as doing it once.  Outcomes:
 *
 *	DONE		done() is called, and the call is over
 *	NOT_APPLIED	refused() is called, if no earlier sending
 *			can have been applied
 *	UNKNOWN		the call is sent again, after a delay that doubles, with
 *			jitter
 *
 * While the store is away nothing is sent; when it is back, everything is sent
 * at once.  A dropped call that is in flight stays until its answer comes,
 * which is ignored.
 *
 * Lanes.  If LANE_CALLS calls of a lane are in flight, further calls of that
 * lane wait until one of them is answered.  Each is answered in the end, at the
 * latest with UNKNOWN after its timeout.  So however much one lane sends, calls
 * of other lanes and heartbeats have at most LANE_CALLS of its calls before
 * them.
 */
#include <stdlib.h>
#include <string.h>
#include <bsd/string.h>
#include "member.h"

#define AGAIN_MS 10u
#define AGAIN_MAX_MS 1000u

/* Removes the call from its lane's waiting list. */
static void
leave_lane(struct store_call *call)
{
	if (call->in_lane)
		TAILQ_REMOVE(&call->lane->waiting, call, of_lane);
	call->in_lane = false;
}

/* True if the call may be sent now; otherwise it waits in its lane. */
static bool
enter_lane(struct store_call *call)
{
	struct lane *l = call->lane;

	if (l == NULL)
		return true;
	if (l->in_flight < LANE_CALLS) {
		leave_lane(call);
		return true;
	}
	if (!call->in_lane)
		TAILQ_INSERT_TAIL(&l->waiting, call, of_lane);
	call->in_lane = true;
	return false;
}

static void
free_call(struct store_call *call)
{
	leave_lane(call);
	TAILQ_REMOVE(&call->r->calls, call, all);
	(void)event_del(&call->timer);
	free(call->data);
	free(call);
}

/* Schedules the next sending. */
static void
send_later(struct store_call *call)
{
	unsigned most = call->r->o.ttl_ms / 8 < AGAIN_MAX_MS ?
	    call->r->o.ttl_ms / 8 : AGAIN_MAX_MS;
	unsigned ms = AGAIN_MS << (call->tries < 7 ? call->tries : 7);

	if (ms > most)
		ms = most;
	call->tries++;
	timers_start(&call->timer, timers_jitter_ms(ms));
}

/* Sends a call, if the store is there and the lane has room. */
static void
send_now(struct store_call *call)
{
	if (call->in_flight || call->r->store != KV_HERE)
		return;
	(void)event_del(&call->timer);
	if (!enter_lane(call))
		return;
	call->sent_ns = timers_boottime_ns();
	if (call->ops->send(call) != 0) {
		send_later(call);
		return;
	}
	call->in_flight = call->sent = true;
	if (call->lane != NULL)
		call->lane->in_flight++;
	call->r->stats.calls++;
}

/* Sends waiting calls of the lane while it has room.  (When the store comes
 * back, all calls of all lanes are sent again.) */
static void
send_waiting(struct lane *l)
{
	struct store_call *call;

	while (l != NULL && l->in_flight < LANE_CALLS &&
	    (call = TAILQ_FIRST(&l->waiting)) != NULL) {
		leave_lane(call);
		send_now(call);
	}
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	send_now(arg);
}

struct store_call *
store_call_start(struct recipe *r, const struct store_call_ops *ops,
    void *owner, struct lane *lane)
{
	struct store_call *call = calloc(1, sizeof(*call));

	if (call == NULL)
		return NULL;
	call->r = r;
	call->ops = ops;
	call->owner = owner;
	call->lane = lane;
	(void)evtimer_assign(&call->timer, r->o.base, on_timer, call);
	TAILQ_INSERT_TAIL(&r->calls, call, all);
	/* from the loop: the caller has not stored the call yet */
	if (r->store == KV_HERE)
		event_active(&call->timer, 0, 0);
	return call;
}

void
store_call_drop(struct store_call *call)
{
	if (call == NULL)
		return;
	call->dropped = true;
	if (!call->in_flight && !call->notifying)
		free_call(call);
}

void
store_call_send_all(struct recipe *r)
{
	struct store_call *call, *next;

	TAILQ_FOREACH_SAFE(call, &r->calls, all, next) {
		call->tries = 0;
		send_now(call);
	}
}

void
store_call_free_all(struct recipe *r)
{
	struct store_call *call;

	while ((call = TAILQ_FIRST(&r->calls)) != NULL)
		free_call(call);
}

/* Passes an answer to the owner.  Returns true if the call is over. */
static bool
is_over(struct store_call *call, const struct kv_answer *answer)
{
	const struct store_call_ops *ops = call->ops;

	if (answer->fate == FATE_DONE) {
		ops->done(call, answer);
		return true;
	}
	if (answer->fate == FATE_UNKNOWN)
		call->unknown = true;
	if (ops->refused == NULL || (!ops->once &&
	    (answer->fate == FATE_UNKNOWN || (call->unknown && !ops->anyway))))
		return false;
	return ops->refused(call, answer);
}

/* Notes that the store is there and refuses a change, and reports each reason
 * once.  A permission for a single key, or a key's state, is none. */
static void
note_refusal(struct recipe *r, const struct kv_answer *answer)
{
	if (!answer->said || answer->denied || answer->absent ||
	    answer->exists || r->store != KV_HERE ||
	    strcmp(r->refusal, answer->why) == 0)
		return;
	(void)strlcpy(r->refusal, answer->why, sizeof(r->refusal));
	if (r->o.hooks->refused != NULL)
		r->o.hooks->refused(r->refusal, r->o.arg);
}

static void
on_answer(const struct kv_answer *answer, void *arg)
{
	struct store_call *call = arg;
	struct recipe *r = call->r;
	struct lane *lane = call->lane;
	bool freed = false;

	r->freed = &freed;
	call->in_flight = false;
	if (lane != NULL)
		lane->in_flight--;
	/* it explains why there is no session yet, or why ours is not
	 * confirmed */
	if (answer->fate != FATE_DONE && r->store == KV_HERE &&
	    (!r->settled || call == r->session_call))
		(void)strlcpy(r->why, answer->why, sizeof(r->why));
	if (answer->fate == FATE_UNKNOWN)
		r->stats.unknown++;
	else if (answer->fate == FATE_NOT_APPLIED)
		r->stats.refused++;
	if (answer->fate != FATE_DONE)
		note_refusal(r, answer);
	call->notifying = true;	/* the owner may drop it */
	if (!call->dropped && is_over(call, answer) && !freed)
		call->dropped = true;
	if (!freed && !call->dropped) {
		send_later(call);
		if (call->ops->paused != NULL)
			call->ops->paused(call);
	}
	if (freed)
		return;
	call->notifying = false;
	if (call->dropped)
		free_call(call);
	send_waiting(lane);
	r->on_answered(r);
}

/* Building transactions. */

struct txn *
txn_begin(struct recipe *r)
{
	r->txn.t = (struct kv_txn){ r->txn.compares, 0, r->txn.then,
	    r->txn.otherwise, 0, 0 };
	return &r->txn;
}

void
txn_compare(struct txn *t, struct kv_range range, enum kv_subject subject,
    int64_t number)
{
	t->compares[t->t.n_compares++] = (struct kv_compare){ range, subject,
	    KV_EQUAL, number };
}

static struct kv_op *
then(struct txn *t, enum kv_what what, struct kv_range range)
{
	struct kv_op *op = &t->then[t->t.n_then++];

	*op = (struct kv_op){ .what = what, .range = range };
	return op;
}

struct kv_op *
txn_get(struct txn *t, bool if_true, struct kv_range range)
{
	struct kv_op *op;

	if (if_true)
		return then(t, KV_GET, range);
	op = &t->otherwise[t->t.n_otherwise++];
	*op = (struct kv_op){ .what = KV_GET, .range = range };
	return op;
}

void
txn_put(struct recipe *r, struct kv_bytes key, struct kv_bytes value)
{
	struct kv_op *op = then(&r->txn, KV_PUT, kv_range_of_key(key));

	op->value = value;
	op->lease = r->lease;
}

void
txn_delete(struct txn *t, struct kv_range range)
{
	(void)then(t, KV_DELETE, range);
}

/* `otherwise` then reads the session's key first (txn_has_session). */
void
txn_require_session(struct recipe *r)
{
	struct kv_range key = kv_range_of_key(kv_bytes_of_text(r->session_key));

	txn_compare(&r->txn, key, KV_CREATE, r->session.create_revision);
	(void)txn_get(&r->txn, false, key);
}

bool
txn_has_session(struct recipe *r, const struct kv_answer *answer)
{
	const struct kv_result *q = answer->results;

	return answer->n_results > 0 && q->n == 1 &&
	    q->pairs->create_revision == r->session.create_revision;
}

int
txn_send(struct store_call *call)
{
	struct recipe *r = call->r;

	return r->e->ops->txn(r->e, &r->txn.t, (int)r->o.timeout_ms, on_answer,
	    call);
}

int
store_call_grant_lease(struct store_call *call, int64_t id, int64_t ttl_s)
{
	struct engine *e = call->r->e;

	return e->ops->grant(e, id, ttl_s, (int)call->r->o.timeout_ms,
	    on_answer, call);
}

int
store_call_revoke_lease(struct store_call *call)
{
	struct engine *e = call->r->e;

	return e->ops->revoke(e, call->number, (int)call->r->o.timeout_ms,
	    on_answer, call);
}
