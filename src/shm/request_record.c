/* SPDX-License-Identifier: MIT */
/*
 * Request ids: whether a request was made before, and with which result.
 *
 * Layout.  An array of records, which gets memory on first use, all at once.  A
 * request may be in 16 of them: in two groups of eight that follow from its
 * session and id.  There is no chain that could break.  The state word contains
 * the time of its last change, and changes by exact swaps only.  With the time
 * and a number in it, no value returns.  The transitions are RQ1 to RQ10 in
 * doc/protocol.md ("Request").
 *
 * Granted or not?  Before each swap of a lock word, the worker announces which
 * use of which claim will then hold the key.  So that claim and that word alone
 * show whether a dead worker had been granted the key, and the record need not
 * be written in the same instant.
 *
 * Invariants.
 *  I1	Fields up to the key are written by the taker, in TAKEN; only a dead
 *	taker's record is taken over.  So a process that sees ASKED or a later
 *	state before and after reading them has read one request.
 *  I2	At most one record of a request is PENDING or later, until it is
 *	forgotten: of two that are ASKED, each reads all 16 places after its own
 *	record is visible, and throws the other out or gives way (Dekker).  A
 *	place that changes while it is read is read again, because it may just
 *	be going from ASKED to PENDING.  (tests/model/request.pml)
 *  I3	A record is taken over, or reused in TAKEN, ASKED or PENDING, only when
 *	its worker is proved dead.  So no process writes fields of a record that
 *	it has lost.
 *
 * request_state.c finds out whether a worker is dead, a lease held, and a
 * record reusable.
 *
 * Reuse.  A record that is FREE or whose request is forgotten (ended 60 s ago
 * or more); then one of a dead session; then the one that ended longest ago.  A
 * request that is under way, or whose lease is held, keeps its place: if all 16
 * are such, there is no room.
 *
 * A crash or stop
 *	after RQ1, RQ2	delays no other process: such a record is no request
 *		yet; a dead worker's is reused, a stopped one's rival throws it
 *		out (RQ3)
 *	after RQ4	a repeated request takes it over (RQ5), or, while the
 *		worker is stopped, waits within its own time
 *	after the swap of the lock word		as RQ6
 *	after RQ8	a repeated release finds the lease held and releases
 *		it, or finds it released
 *
 * Not guaranteed: 60 s, if other requests use up the table's places.
 */
#include <errno.h>
#include <string.h>
#include <time.h>
#include "base/error.h"
#include "base/hash.h"
#include "shm/damaged.h"
#include "shm/backing_grow.h"
#include "shm/request_record.h"

#define GROUP 8u
#define PLACES (2 * GROUP)
#define LOOKS 1000		/* reads of a place that keeps changing */
#define ROUNDS 1000		/* against rivals */

int
lhi_request_back(struct lhi_view *v)
{
	int error;

	if (lhi_request_used(v))
		return 0;
	error = lhi_grow_part(v, v->geo.requests_off,
	    (uint64_t)v->geo.n_requests * sizeof(struct shm_request),
	    "begin with request ids", "request ids");
	if (error != 0)
		return error;
	lhi_point("request.backed");
	sh32_store(&v->hdr->ready_requests, v->geo.n_requests);
	return 0;
}

/* The two groups in which a request may be. */
struct groups {
	uint32_t first[2];		/* record of each */
};

static struct groups
groups_of(const struct lhi_view *v, const struct lhi_request_name *n)
{
	const uint64_t all[] = { n->session, n->id[0], n->id[1] };
	uint64_t hash = lhi_hash(all, sizeof(all));
	uint32_t last = v->geo.n_requests / GROUP - 1;
	uint32_t g = (uint32_t)hash & last, h = (uint32_t)(hash >> 32) & last;

	if (h == g)
		h ^= 1;
	return (struct groups){ { g * GROUP, h * GROUP } };
}

/* Returns the ith of its places. */
static struct shm_request *
place_of(const struct lhi_view *v, const struct groups *g, unsigned i)
{
	return &v->requests[g->first[i / GROUP] + i % GROUP];
}

/* Reads a place. Returns false if it keeps changing. */
static bool
read_place(struct shm_request *r, struct lhi_request *q)
{
	q->several = false;
	for (int i = 0; i < LOOKS; i++) {
		/* pairs with: RQ2, the rival's swap to ASKED before it reads */
		q->r = r;
		q->state = sh64_load_sc(&r->state);
		q->name.session = sh64_load(&r->session);
		q->name.id[0] = sh64_load(&r->id[0]);
		q->name.id[1] = sh64_load(&r->id[1]);
		q->name.key = sh64_load(&r->key);
		q->lease = sh64_load(&r->lease);
		q->token = sh64_load(&r->token);
		q->notes = (uint32_t)sh64_load(&r->notes);
		lhi_point("request.read");
		if (sh64_load(&r->state) == q->state)
			return true;
	}
	return false;
}

static bool
is_named(const struct lhi_request *q, const struct lhi_request_name *n)
{
	return q->name.session == n->session && q->name.id[0] == n->id[0] &&
	    q->name.id[1] == n->id[1];
}

void
lhi_request_forget(struct shm_request *r, uint64_t state)
{
	(void)sh64_cas(&r->state, state, req_make(REQ_FREE,
	    req_seq(state) + 1, 0, req_time(state)));		/* RQ10 */
}

/*
 * For PENDING with a dead worker.  `adopt`: makes it ours if it had no result.
 */
static int
take_over(struct lhi_view *v, struct lhi_request *q, bool adopt)
{
	int held;

	lhi_point("request.orphan");
	/* read again: the dead write no more */
	q->lease = sh64_load(&q->r->lease);
	q->token = sh64_load(&q->r->token);
	q->notes = (uint32_t)sh64_load(&q->r->notes);
	held = lhi_mutant_on(won_unseen) ? 0 : lhi_request_won(v, q);
	if (held < 0)
		return held;
	if (held)
		return lhi_request_move(v, q, REQ_GRANTED, 0) ?
		    REQUEST_HELD : -EAGAIN;			/* RQ6 */
	if (!adopt)
		return REQUEST_NONE;
	return lhi_request_move(v, q, REQ_PENDING, 0) ? REQUEST_OURS :
	    -EAGAIN;						/* RQ5 */
}

/* Returns the present state of q, which was found. -EAGAIN: it changed. */
static int
judge_request(struct lhi_view *v, struct lhi_request *q, bool adopt)
{
	switch (req_st(q->state)) {
	case REQ_PENDING:
		return lhi_request_gone(v, q->state) &&
		    !lhi_mutant_on(pending_not_taken) ? take_over(v, q, adopt) :
		    REQUEST_BUSY;
	case REQ_GRANTED:
		if (lhi_request_held(v, q))
			return REQUEST_HELD;
		return lhi_request_move(v, q, REQ_LOST, 0) ?
		    REQUEST_LOST : -EAGAIN;			/* RQ9 */
	case REQ_RELEASED:
		return !adopt && !lhi_mutant_on(released_unseen) &&
		    lhi_request_held(v, q) ? REQUEST_HELD :
		    REQUEST_RELEASED;
	case REQ_LOST:
		return REQUEST_LOST;
	default:
		return REQUEST_FAILED;
	}
}

/* Finds its place, if it is PENDING or later. Returns 1; 0: none; -EAGAIN. */
static int
find_place(struct lhi_view *v, const struct lhi_request_name *n,
    struct lhi_request *q)
{
	const struct groups g = groups_of(v, n);

	for (unsigned i = 0; i < PLACES; i++) {
		if (!read_place(place_of(v, &g, i), q))
			return -EAGAIN;
		if (req_st(q->state) >= REQ_PENDING &&
		    req_st(q->state) <= REQ_FAILED && is_named(q, n) &&
		    !lhi_request_forgotten(v, q->state))
			return 1;
	}
	return 0;
}

int
lhi_request_find(struct lhi_view *v, const struct lhi_request_name *n,
    struct lhi_request *q)
{
	int found;

	if (!lhi_request_used(v))
		return REQUEST_NONE;
	for (int i = 0; i < ROUNDS; i++) {
		found = find_place(v, n, q);
		if (found > 0)
			found = judge_request(v, q, false);
		if (found != -EAGAIN)
			return found;
	}
	return lhi_fail(-EBUSY, "what became of the request is just changing");
}

int
lhi_request_find_lease(struct lhi_view *v, uint64_t session, uint64_t lease,
    uint64_t token, struct lhi_request *q)
{
	if (!lhi_request_used(v))
		return REQUEST_NONE;
	for (uint32_t i = 0; i < v->geo.n_requests; i++) {
		if (sh64_load(&v->requests[i].lease) != lease ||
		    !read_place(&v->requests[i], q) ||
		    req_st(q->state) < REQ_PENDING || q->lease != lease ||
		    q->token != token || q->name.session != session ||
		    lhi_request_forgotten(v, q->state))
			continue;
		return judge_request(v, q, false);
	}
	return REQUEST_NONE;
}

/*
 * Chooses a place for it: in the group that has more of the best ones, so that
 * both fill up alike; of ended ones, the first that ended.  Returns false if
 * there is none.
 */
static bool
choose_place(struct lhi_view *v, const struct lhi_request_name *n, bool probe,
    struct lhi_request *best)
{
	const struct groups g = groups_of(v, n);
	unsigned top = 0, room[2] = { 0, 0 }, group = 0;
	struct lhi_request q;

	for (unsigned i = 0; i < PLACES; i++) {
		unsigned w = read_place(place_of(v, &g, i), &q) ?
		    lhi_request_worth(v, &q, probe) : 0;

		if (w == 0 || w < top)
			continue;
		if (w > top)
			room[0] = room[1] = 0;
		room[i / GROUP]++;
		if (w > top || (w == 1 ?
		    lhi_request_age(v, q.state) >
		    lhi_request_age(v, best->state) : i / GROUP != group &&
		    room[1] > room[0])) {
			*best = q;
			group = i / GROUP;
		}
		top = w;
	}
	return top != 0;
}

/* Reads all other places.  Returns 1: no other record has the request, 0: one
 * has; -EUCLEAN. */
static int
has_no_rival(struct lhi_view *v, const struct lhi_request *mine)
{
	const struct groups g = groups_of(v, &mine->name);
	struct lhi_request q;

	for (unsigned i = 0; i < PLACES; i++) {
		struct shm_request *r = place_of(v, &g, i);
		uint32_t n = 0;

		if (r == mine->r)
			continue;
		while (LHI_WITHIN(n, LHI_SWAPS_MAX)) {
			if (!read_place(r, &q))
				return 0;
			if (req_st(q.state) < REQ_ASKED ||
			    req_st(q.state) > REQ_FAILED ||
			    !is_named(&q, &mine->name) ||
			    lhi_request_forgotten(v, q.state))
				break;
			if (req_st(q.state) != REQ_ASKED ||
			    lhi_mutant_on(asked_stays))
				return 0;
			lhi_point("request.rival");
			if (lhi_request_move(v, &q, REQ_FREE, 0)) /* RQ3 */
				break;
		}
		if (LHI_REACHED(n, LHI_SWAPS_MAX))
			return lhi_damaged_restless(v, "a request", i);
	}
	return 1;
}

static void
write_fields(struct lhi_request *q)
{
	struct shm_request *r = q->r;

	sh64_store(&r->session, q->name.session);
	sh64_store(&r->id[0], q->name.id[0]);
	lhi_point("request.half");
	sh64_store(&r->id[1], q->name.id[1]);
	sh64_store(&r->key, q->name.key);
	sh64_store(&r->token, 0);
	sh64_store(&r->notes, 0);
	sh64_store(&r->lease, 0);
}

/* Makes an unknown request ours.  Returns REQUEST_OURS; -EAGAIN: a rival is
 * quicker; -ENOSPC; -EUCLEAN. */
static int
enter_request(struct lhi_view *v, const struct lhi_request_name *n,
    struct lhi_request *q)
{
	int alone;

	if (!choose_place(v, n, false, q) && !choose_place(v, n, true, q))
		return lhi_fail(-ENOSPC, "no place in %s is left for another "
		    "request id: its %u places are used up by requests whose "
		    "leases are held; use a table with more leases", v->path,
		    v->geo.n_requests);
	if (!lhi_request_move(v, q, REQ_TAKEN, 0))		/* RQ1 */
		return -EAGAIN;
	lhi_point("request.taken");
	q->name = *n;
	q->lease = q->token = q->notes = 0;
	write_fields(q);
	if (!lhi_request_move(v, q, REQ_ASKED, 0))		/* RQ2 */
		return -EAGAIN;
	lhi_point("request.asked");
	alone = lhi_mutant_on(request_unlooked) ? 1 : has_no_rival(v, q);
	if (alone > 0) {
		lhi_point("request.alone");
		if (lhi_request_move(v, q, REQ_PENDING, 0))	/* RQ4 */
			return REQUEST_OURS;
	} else {
		(void)lhi_request_move(v, q, REQ_FREE, 0);	/* RQ3 */
	}
	return alone < 0 ? alone : -EAGAIN;
}

/* After a lost race: long enough for the other to get through. */
static void
pause_for_rival(struct lhi_view *v)
{
	const struct timespec ts = { 0,
		(long)(20000 * (1 + (lhi_now_ns(v) >> 6) % 16)) };

	(void)nanosleep(&ts, NULL);
}

int
lhi_request_begin(struct lhi_view *v, const struct lhi_request_name *n,
    struct lhi_request *q)
{
	int found;

	for (int i = 0; i < ROUNDS; i++) {
		found = find_place(v, n, q);
		if (found > 0 && q->name.key != n->key)
			return lhi_fail(-EINVAL, "this request id was used for "
			    "another key less than a minute ago, or holds it: "
			    "make a new id for each request");
		if (found > 0)
			found = judge_request(v, q, true);
		else if (found == 0)
			found = enter_request(v, n, q);
		if (found != -EAGAIN)
			return found;
		pause_for_rival(v);
	}
	return lhi_fail(-EBUSY, "others make requests by this id all the time");
}

void
lhi_request_announce(struct lhi_request *q, uint64_t lease, uint64_t token,
    uint32_t notes)
{
	q->lease = lease;
	q->token = token;
	q->notes = notes | (q->several ? REQUEST_SEVERAL : 0);
	sh64_store(&q->r->token, token);
	sh64_store(&q->r->notes, q->notes);
	sh64_store(&q->r->lease, lease);
	lhi_point("request.announced");
}

const char *
lhi_request_wrong(struct lhi_view *v, uint32_t i)
{
	struct lhi_request q, other;
	bool placed = false, twice = false;
	struct groups g;

	if (!read_place(&v->requests[i], &q) ||
	    req_st(q.state) < REQ_PENDING ||
	    lhi_request_forgotten(v, q.state))
		return NULL;
	if (req_st(q.state) > REQ_FAILED)
		return "a request in no known state";
	g = groups_of(v, &q.name);
	for (unsigned n = 0; n < PLACES; n++) {
		struct shm_request *r = place_of(v, &g, n);

		placed |= r == q.r;
		twice |= r != q.r && read_place(r, &other) &&
		    req_st(other.state) >= REQ_PENDING &&
		    req_st(other.state) <= REQ_FAILED &&
		    is_named(&other, &q.name) &&
		    !lhi_request_forgotten(v, other.state);
	}
	if (sh64_load(&q.r->state) != q.state)
		return NULL;		/* it has changed */
	return !placed ? "a request that is not in its place" :
	    twice ? "a request that is known twice" : NULL;
}
