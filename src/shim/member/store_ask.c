/* SPDX-License-Identifier: MIT */
/*
 * Asking the store until the answer is definite.
 *
 * An ask is built anew each time that it is sent, from what its owner wants at
 * that moment, and is made so that it can be done twice.  Of the three outcomes
 *
 *	DONE		is told to the owner, and that is the end of it
 *	NOT_APPLIED	is told to the owner as a refusal, if all that was sent
 *			before is known not to have been applied either
 *	UNKNOWN		is asked again, after a while that doubles, with jitter
 *
 * Nothing is sent while the store is away, and everything at once when it is
 * back.  An ask that is dropped while it is under way stays until its answer,
 * which nobody is told.
 */
#include <stdlib.h>
#include <string.h>
#include <bsd/string.h>
#include "member.h"

#define AGAIN_MS 10u
#define AGAIN_MAX_MS 1000u

static void
ask_free(struct ask *a)
{
	TAILQ_REMOVE(&a->r->asks, a, all);
	(void)event_del(&a->timer);
	free(a->data);
	free(a);
}

static void
again(struct ask *a)
{
	unsigned most = a->r->o.ttl_ms / 8 < AGAIN_MAX_MS ?
	    a->r->o.ttl_ms / 8 : AGAIN_MAX_MS;
	unsigned ms = AGAIN_MS << (a->tries < 7 ? a->tries : 7);

	if (ms > most)
		ms = most;
	a->tries++;
	timer_start(&a->timer, with_jitter(ms));
}

static void
send_it(struct ask *a)
{
	if (a->in_flight || a->r->store != KV_HERE)
		return;
	(void)event_del(&a->timer);
	a->sent_ns = boottime_ns();
	if (a->ops->send(a) != 0) {
		again(a);
		return;
	}
	a->in_flight = a->sent = true;
	a->r->stats.calls++;
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	send_it(arg);
}

struct ask *
ask_start(struct recipe *r, const struct ask_ops *ops, void *owner)
{
	struct ask *a = calloc(1, sizeof(*a));

	if (a == NULL)
		return NULL;
	a->r = r;
	a->ops = ops;
	a->owner = owner;
	(void)evtimer_assign(&a->timer, r->o.base, on_timer, a);
	TAILQ_INSERT_TAIL(&r->asks, a, all);
	/* not before the owner knows of it */
	if (r->store == KV_HERE)
		event_active(&a->timer, 0, 0);
	return a;
}

void
ask_drop(struct ask *a)
{
	if (a == NULL)
		return;
	a->dropped = true;
	if (!a->in_flight && !a->telling)
		ask_free(a);
}

void
ask_all_again(struct recipe *r)
{
	struct ask *a, *next;

	TAILQ_FOREACH_SAFE(a, &r->asks, all, next) {
		a->tries = 0;
		send_it(a);
	}
}

void
ask_free_all(struct recipe *r)
{
	struct ask *a;

	while ((a = TAILQ_FIRST(&r->asks)) != NULL)
		ask_free(a);
}

/* True: it is over. */
static bool
is_over(struct ask *a, const struct kv_answer *answer)
{
	const struct ask_ops *ops = a->ops;

	if (answer->fate == FATE_DONE) {
		ops->done(a, answer);
		return true;
	}
	if (answer->fate == FATE_UNKNOWN)
		a->unknown = true;
	if (ops->refused == NULL || (!ops->once &&
	    (answer->fate == FATE_UNKNOWN || (a->unknown && !ops->anyway))))
		return false;
	return ops->refused(a, answer);
}

static void
on_answer(const struct kv_answer *answer, void *arg)
{
	struct ask *a = arg;
	struct recipe *r = a->r;
	bool freed = false;

	r->freed = &freed;
	a->in_flight = false;
	/* until then, and of our session, it says why there is not more */
	if (answer->fate != FATE_DONE && r->store == KV_HERE &&
	    (!r->settled || a == r->session_ask))
		(void)strlcpy(r->why, answer->why, sizeof(r->why));
	if (answer->fate == FATE_UNKNOWN)
		r->stats.unknown++;
	else if (answer->fate == FATE_NOT_APPLIED)
		r->stats.refused++;
	a->telling = true;	/* and may be dropped by who is told */
	if (!a->dropped && is_over(a, answer) && !freed)
		a->dropped = true;
	if (!freed && !a->dropped) {
		again(a);
		if (a->ops->paused != NULL)
			a->ops->paused(a);
	}
	if (freed)
		return;
	a->telling = false;
	if (a->dropped)
		ask_free(a);
	r->on_answered(r);
}

/* Building. */

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
	struct kv_op *op = then(&r->txn, KV_PUT, one_key(key));

	op->value = value;
	op->lease = r->lease;
}

void
txn_delete(struct txn *t, struct kv_range range)
{
	(void)then(t, KV_DELETE, range);
}

/* If it is not, `otherwise` says so first. */
void
txn_session(struct recipe *r)
{
	struct kv_range key = one_key(text_bytes(r->session_key));

	txn_compare(&r->txn, key, KV_CREATE, r->session.create_revision);
	(void)txn_get(&r->txn, false, key);
}

bool
session_is_there(struct recipe *r, const struct kv_answer *answer)
{
	const struct kv_result *q = answer->results;

	return answer->n_results > 0 && q->n == 1 &&
	    q->pairs->create_revision == r->session.create_revision;
}

int
txn_send(struct ask *a)
{
	struct recipe *r = a->r;

	return r->e->ops->txn(r->e, &r->txn.t, (int)r->o.timeout_ms, on_answer,
	    a);
}

int
ask_grant(struct ask *a, int64_t id, int64_t ttl_s)
{
	struct engine *e = a->r->e;

	return e->ops->grant(e, id, ttl_s, (int)a->r->o.timeout_ms, on_answer,
	    a);
}

int
ask_revoke(struct ask *a)
{
	struct engine *e = a->r->e;

	return e->ops->revoke(e, a->number, (int)a->r->o.timeout_ms, on_answer,
	    a);
}
