/* SPDX-License-Identifier: MIT */
/*
 * Acquiring and releasing with a request id: what each caller gets.
 *
 * shm/request_record.c describes the records, and who may change them.  This
 * file has the steps of an acquire with one, before it waits and after, and
 * those of a release.
 *
 * Scope of ids.  An id is unique in a session: in the attachment's own, or in
 * the named one that the lease is to live in.  Only the latter outlives a
 * process, so only there another process may continue the first one's request.
 *
 * Release.  The record says RELEASED before the lock word is freed.  If the
 * process is killed in between, a repeated release sees RELEASED and the lease
 * held, and frees it; afterwards, RELEASED and nothing held.  A release that
 * comes too late says LOST. A lease's request is named by its claim's aside.
 * (Without memory for that, the release is not noted, and the lease counts as
 * LOST.) Copies of a lease that was released, and whose claim is in another use
 * by now, are found by a walk over all records: only a release that found
 * nothing to release needs that.
 *
 * Remembering.  Each attachment remembers the requests that it has ended, in
 * private memory, and forgets the first ones when there are more than 1,024.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/error.h"
#include "op/handoff.h"
#include "op/idempotency.h"
#include "op/cluster_check.h"
#include "op/lease_value.h"
#include "shm/claim_note.h"

/* the record's notes for the lease; several keys have another bit */
#define NOTES_MASK (LH_NOTE_PREVIOUS_DIED | LH_NOTE_PREVIOUS_EXPIRED | \
	LH_NOTE_PREVIOUS_BROKEN | LH_NOTE_INCONSISTENT)

#define FINALS 1024u		/* a power of two */
#define NAP_MIN_NS (NS_PER_MS / 4)
#define NAP_MAX_NS (10 * NS_PER_MS)

struct lhi_finals {
	uint32_t next;
	struct {
		struct shm_request *r;
		uint64_t state;
	} at[FINALS];
};

/* The session in which the id is unique. */
static uint64_t
session_of_request(const struct lh *lh, const struct lh_session *session)
{
	return session == NULL ? lh->sid : session->sid;
}

/* Remembers that q has ended, as the latest. */
static void
remember_final(struct lh *lh, const struct lhi_request *q)
{
	struct lhi_finals *f;
	uint32_t i;

	lhi_proc_lock();
	if (lh->finals == NULL)
		lh->finals = calloc(1, sizeof(*lh->finals));
	f = lh->finals;
	if (f != NULL) {	/* else it may be remembered too long */
		i = f->next++ % FINALS;
		if (f->at[i].r != NULL)
			lhi_request_forget(f->at[i].r, f->at[i].state);
		f->at[i].r = q->r;
		f->at[i].state = q->state;
	}
	lhi_proc_unlock();
}

/* Returns the lease that it was granted, in its present form. */
static void
fill_lease(struct lhi_view *v, const struct lhi_request *q, struct lh_lease *l)
{
	uint32_t ci = lid_claim(q->lease);
	struct shm_claim *c = &v->claims[ci];
	uint64_t st = sh64_load(&c->state), slot_ref = sh64_load(&c->slot_ref);
	struct shm_slot *s = lhi_slot(v, (uint32_t)slot_ref);
	bool shared = state_kind(st) == ST_READ;

	/* being converted: the word decides */
	if (s != NULL && state_seq(st) != lid_seq(q->lease))
		shared = word_mode(sh64_load(&s->word)) == WORD_S;
	*l = (struct lh_lease){
		.notes = q->notes & NOTES_MASK,
		.mode = shared ? LH_SHARED : LH_EXCLUSIVE,
		.id = { lhi_view_session_id(v, lhi_claim_owner(v, ci)),
		    q->lease },
		.token = q->token,
		.expires_ns = lhi_ends_ns(v, st),
	};
	lhi_lease_set_key(l, slot_ref);
}

static int
await_answer(struct lh *lh, const struct lhi_acquire_request *ask, int64_t
    *nap_ns)
{
	struct timespec ts = { 0, (long)*nap_ns };

	if (ask->try_only)
		return lhi_fail(-EBUSY, "this very request is being waited "
		    "for, and was not to be waited for");
	if (lhi_cancel_is_set(ask->cancel))
		return lhi_fail(-ECANCELED, "the wait for this request, which "
		    "is being waited for already, was cancelled");
	if (lhi_now_ns(&lh->v) >= ask->until_ns)
		return lhi_fail(-ETIMEDOUT, "this very request is being waited "
		    "for already, and has got no answer in time");
	if (ask->callback != NULL &&
	    lhi_now_ns(&lh->v) >= ask->callback->at_ns &&
	    ask->callback->run(ask->callback) != 0)
		return CALLBACK_FAILED;
	if (lhi_now_ns(&lh->v) + *nap_ns > ask->until_ns)
		ts.tv_nsec = (long)(ask->until_ns - lhi_now_ns(&lh->v));
	if (ts.tv_nsec > 0)
		(void)nanosleep(&ts, NULL);
	if (*nap_ns < NAP_MAX_NS)
		*nap_ns *= 2;
	return lhi_view_retired(&lh->v) ? lhi_view_fresh(&lh->v) : 0;
}

static int
wait_for_answer(struct lh *lh, const struct lhi_acquire_request *ask, int64_t
    *nap_ns)
{
	int error = await_answer(lh, ask, nap_ns);

	if (error != 0 && ask->callback != NULL)
		ask->callback->others = true;
	return error;
}

/* Returns the result of a request that is not ours to do. */
static int
answer_repeat(struct lh *lh, const struct lhi_request *q, int found,
    struct lh_lease *lease)
{
	int64_t age_ms = (int64_t)(lhi_request_age(&lh->v, q->state) <<
	    TICK_SHIFT) / NS_PER_MS;

	switch (found) {
	case REQUEST_HELD:
		fill_lease(&lh->v, q, lease);
		return 0;
	case REQUEST_FAILED:
		return lhi_fail(-(int)req_who(q->state), "this request has "
		    "failed so %lld.%03lld s ago, and that is its answer for a "
		    "minute: to try anew, make a new request id",
		    (long long)(age_ms / 1000), (long long)(age_ms % 1000));
	default:
		return lhi_fail(-ESTALE, "the lease that this request was "
		    "granted %s: to acquire anew, make a new request id",
		    found == REQUEST_RELEASED ? "has been released" : "is "
		    "lost, or has another id by now");
	}
}

int
lhi_idempotency_try(struct lh *lh, const struct lhi_key_name *name,
    const struct lhi_acquire_request *ask, struct lhi_request *q,
    struct lh_lease *lease)
{
	const struct lhi_request_name n = {
		.session = session_of_request(lh, ask->more->session),
		.id = { ask->more->request[0], ask->more->request[1] },
		.key = name->hash,
	};
	int found = lhi_request_back(&lh->v);

	if (found == 0)
		found = lhi_request_begin(&lh->v, &n, q);
	return found < 0 || found == REQUEST_OURS || found == REQUEST_BUSY ?
	    found : answer_repeat(lh, q, found, lease);
}

int
lhi_idempotency_begin(struct lh *lh, const struct lhi_acquire_target *want,
    const struct lhi_acquire_request *ask, struct lhi_request *q,
    struct lh_lease *lease)
{
	int64_t nap_ns = NAP_MIN_NS;
	int found, error;

	lhi_request_pass_tick(&lh->v);
	/* ends: at the caller's deadline or cancel, wait_for_answer() */
	while ((found = lhi_idempotency_try(lh, want->name, ask, q, lease)) ==
	    REQUEST_BUSY) {
		error = wait_for_answer(lh, ask, &nap_ns);
		if (error != 0)
			return error;
	}
	return found;
}

/*
 * Sets the value if the first caller may have been killed before it was set;
 * but a later holder of the lease may have set another one since, or cleared
 * it.  The lease is not ours to release if that fails: another call was granted
 * it, and may be using it.
 */
int
lhi_idempotency_set_value(struct lh *lh, const struct lhi_acquire_request *ask,
    struct lhi_request *q, struct lh_lease *lease)
{
	/* a cluster key's may not be this host's by now, or not finally */
	int error;

	lhi_cluster_check_shorten(lh, lease);
	error = lh_verify(lh, lease);	/* its claim may be of another use */

	if (error != 0 || ask->more->value == NULL ||
	    req_who(q->state) == REQUEST_WHOLE)
		return error;
	error = lhi_lease_value_set_once(lh, ask, lease);
	if (error == 0)
		(void)lhi_request_move(&lh->v, q, REQ_GRANTED, REQUEST_WHOLE);
	return error;
}

void
lhi_idempotency_finish(struct lh *lh, const struct lhi_acquire_request *ask,
    struct lhi_request *q, int error)
{
	lhi_point("request.done");
	if (error == 0)
		/* RQ6; a value may still be requested with it, once */
		(void)lhi_request_move(&lh->v, q, REQ_GRANTED,
		    ask->more->value != NULL ? REQUEST_WHOLE : 0);
	else if (error == CALLBACK_FAILED || error == -EHOSTUNREACH)
		/* as if it had not been requested */
		lhi_request_forget(q->r, q->state);
	else if (lhi_request_move(&lh->v, q, REQ_FAILED, (uint32_t)-error))
		/* request RQ7 */
		remember_final(lh, q);
}

/* Finds the request by which this lease was acquired, from its claim's aside.
 * Returns its state; REQUEST_NONE. */
static int
request_of_lease(struct lh *lh, const struct lh_lease *l, struct lhi_request *q)
{
	struct lhi_request_name n = { .session = lhi_lease_sid(lh, l) };
	struct lhi_claim_note a;
	int found;

	if (!lhi_claim_note_read(&lh->v, l->id[1], &a) ||
	    (a.request[0] | a.request[1]) == 0)
		return REQUEST_NONE;
	memcpy(n.id, a.request, sizeof(n.id));
	found = lhi_request_find(&lh->v, &n, q);
	return found > 0 && q->lease == l->id[1] && q->token == l->token ?
	    found : REQUEST_NONE;
}

void
lhi_idempotency_begin_release(struct lh *lh, const struct lh_lease *l,
    struct lhi_request *q)
{
	q->r = NULL;
	if (lhi_own(lh) != 0 || l == NULL || !lhi_lease_is_live(l) ||
	    !lhi_request_used(&lh->v) ||
	    lhi_claim(&lh->v, lid_claim(l->id[1])) == NULL)
		return;
	if (request_of_lease(lh, l, q) != REQUEST_HELD ||
	    (req_st(q->state) != REQ_RELEASED &&
	    /* request RQ8 */
	    !lhi_request_move(&lh->v, q, REQ_RELEASED, 0)))
		q->r = NULL;
	lhi_point("request.leaves");
}

/* Another process releases it as well, and was quicker with the record. */
static int
find_request_again(struct lh *lh, const struct lh_lease *l,
    struct lhi_request *q)
{
	const struct lhi_request_name n = q->name;
	int found = lhi_request_find(&lh->v, &n, q);

	return found > 0 && q->lease == l->id[1] && q->token == l->token ?
	    found : REQUEST_NONE;
}

int
lhi_idempotency_end_release(struct lh *lh, struct lh_lease *l,
    struct lhi_request *q, int error)
{
	bool others = false;

	if (q->r != NULL && error == 0) {
		/* again, so that a late caller can see it; one may have said
		 * LOST when the key was already free */
		if (!lhi_request_move(&lh->v, q, REQ_RELEASED, 0) &&
		    find_request_again(lh, l, q) == REQUEST_LOST)
			(void)lhi_request_move(&lh->v, q, REQ_RELEASED, 0);
		remember_final(lh, q);
	} else if (q->r != NULL) {
		/* request RQ9 */
		if (lhi_request_move(&lh->v, q, REQ_LOST, 0))
			remember_final(lh, q);
		else
			others = find_request_again(lh, l, q) ==
			    REQUEST_RELEASED;
	} else if (error == -ESTALE) {
		others = lhi_request_find_lease(&lh->v, lhi_lease_sid(lh, l),
		    l->id[1], l->token, q) == REQUEST_RELEASED;
	}
	if (!others)
		return error;
	l->opaque = LEASE_RELEASED;
	return 0;
}

int
lhi_idempotency_find(struct lh *lh, const struct lh_session *session,
    const uint64_t id[2], struct lh_lease *lease)
{
	struct lhi_request_name n = {
	    .session = session_of_request(lh, session)};
	struct lhi_request q;
	int found;

	memcpy(n.id, id, sizeof(n.id));
	found = lhi_request_find(&lh->v, &n, &q);
	if (found == REQUEST_HELD)
		fill_lease(&lh->v, &q, lease);
	return found;
}
