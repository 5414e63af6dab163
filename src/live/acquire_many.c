/* SPDX-License-Identifier: MIT */
/*
 * Many keys: acquired one after the other, in one order for all, and released
 * if not all of them can be acquired.
 *
 * Shared memory contains no sets.  Each key is acquired, extended and released
 * like any other, so the properties of a lease hold for each of these.  A crash
 * leaves nothing half-done: the leases of a process that dies here are freed
 * with its session (timing T2), those of a stopped one end at their deadlines.
 *
 * Cluster keys come first, and this host's rights to all of them are requested
 * together, before any key is acquired: if all are free, they are granted by
 * one transaction.  Otherwise each one comes when it can (member/batch.c), and
 * goes to another host that wants it while no process here has the key.  So a
 * right that is missing when it is a key's turn is requested again, by itself
 * (op/cluster_acquire.c), while the keys before it are held.
 *
 * Invariants
 *  I1	Keys are acquired in the order of their bytes, compared as unsigned
 *	ones, cluster keys before the others.  A caller that waits in here holds
 *	only keys before the one that it waits for: no circle of such waits, nor
 *	with processes of other hosts, which have the same order
 *	(tests/model/sets.pml).
 *  I2	Acquired leases are renewed at least every third of the ttl for as long
 *	as this call lasts: between two keys, and during the wait for one, where
 *	the wait calls us (struct lhi_wait_callback).  The wait is not cut into
 *	pieces for that, because it would go to the back of the queue each time,
 *	and might never reach the front.
 *  I3	Before 0 is returned, all have been renewed once more, and the clock
 *	was before the first deadline after the last renewal: they were all
 *	held at one moment.
 *  I4	With any other result, the acquired leases have been released (but I5).
 *  I5	With a request id each key has one of its own in each round, derived
 *	from it.  A repeat goes the same way.  A round that was given up is
 *	followed by another; one in which a key failed has failed; one that was
 *	granted and ended has ended (-ESTALE).  A call that fails at a key for
 *	which it has waited itself releases all, since then no other call with
 *	that id can have them all.  One that gives up while another waits for
 *	the key releases nothing, because that may be granted it just then;
 *	nor does one whose items are not those of the id (-EINVAL), or that
 *	finds a lease lost of a set that was granted.
 *
 * Lost.  A renewal that finds a lease lost ends the round.  All the others are
 * released, so that no process waits for keys that cannot be used here, and a
 * new round begins, until the time limit of the whole call.  A lost lease
 * itself is not renewed or acquired back (G9): the next round gets a new one.
 * A renewal that fails otherwise is tried again after a twentieth of the ttl,
 * as live handles do, until the deadline decides.
 *
 * Options are checked once, before any key is made or acquired.  A wait ends at
 * the one deadline: a wait for the last key may be short because that for the
 * first was long.
 *
 * Not guaranteed: that a set is acquired while others keep taking its keys one
 * by one.  Each key is waited for in turn, in its queue (G7), and held
 * meanwhile, so that in the end all are acquired, unless others hold a later
 * one for ever.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include "base/clock.h"
#include "base/error.h"
#include "live/acquire_many.h"
#include "op/cluster_acquire.h"
#include "op/handoff.h"
#include "op/acquire_target.h"
#include "shm/request_record.h"

#define GIVEN_UP 1		/* an earlier call has given up this round */
#define AT_WORK 2		/* an earlier call still waits in it */

struct many {
	struct lhi_wait_callback
	    callback; /* first, because the wait passes its address */
	struct lh *lh;
	const struct lh_item *items;
	struct lhi_acquire_request ask;
	struct lh_acquire_more more;	/* ask's */
	uint64_t request[2];	/* the options' */
	uint32_t priority;	/* the options' */
	uint32_t round;
	uint32_t n;
	uint32_t clustered;	/* order[0 .. clustered - 1] are a cluster's */
	uint32_t won;		/* order[0 .. won - 1] */
	bool anew;		/* this call acquired some of them: not just
				 * a repeat's answers */
	uint8_t order[LH_MANY_MAX];	/* of the items */
	struct lh_lease leases[LH_MANY_MAX];	/* as the items */
	struct lhi_shim_request shim_request;
};

static bool
is_cluster_item(const struct many *m, uint32_t i)
{
	struct lhi_key_name name;

	return lhi_name_set(&name, m->items[i].key) == 0 &&
	    lhi_cluster_acquire_is_needed(m->lh, &name);
}

/* True if item i is to be acquired before item j. */
static bool
is_before(const struct many *m, uint32_t i, uint32_t j)
{
	bool first = is_cluster_item(m, i);

	return first != is_cluster_item(m, j) ? first :
	    strcmp(m->items[i].key, m->items[j].key) < 0;
}

static void
sort_items(struct many *m)
{
	for (uint32_t i = 0; i < m->n; i++) {
		uint32_t at = i;

		for (; at > 0 && is_before(m, i, m->order[at - 1]); at--)
			m->order[at] = m->order[at - 1];
		m->order[at] = (uint8_t)i;
		m->clustered += is_cluster_item(m, i);
	}
}

/* Checks that the items fit the requested scope. */
static int
check_scope(const struct many *m)
{
	struct lhi_key_name name;
	int error = 0;

	for (uint32_t i = 0; error == 0 && i < m->n; i++) {
		error = lhi_name_set(&name, m->items[i].key);
		if (error == 0)
			error = lhi_cluster_acquire_check_opts(m->lh, &m->ask,
			    &name);
	}
	return error;
}

static struct lh_lease *
lease_won(struct many *m, uint32_t k)
{
	return &m->leases[m->order[k]];
}

static bool
has_request(const struct many *m)
{
	return (m->request[0] | m->request[1]) != 0;
}

static bool
is_shared_with_calls(const struct many *m)
{
	return has_request(m) || m->more.holder != NULL;
}

/* Renews a lease.  Another call with the same holder or request id may have it
 * for longer. */
static int
renew(const struct many *m, struct lh_lease *l, int64_t ttl_ms)
{
	return is_shared_with_calls(m) ? lhi_extend_later(m->lh, l, ttl_ms) :
	    lh_extend(m->lh, l, ttl_ms);
}

/* Renews the acquired leases. Returns 0; CALLBACK_FAILED: one is lost. */
static int
renew_won(struct lhi_wait_callback *callback)
{
	struct many *m = (struct many *)callback;
	int64_t ttl_ns = m->ask.ttl_ns, next_ns = ttl_ns / 3;

	for (uint32_t k = 0; k < m->won; k++) {
		int error = renew(m, lease_won(m, k), ttl_ns / NS_PER_MS);

		if (error == -ESTALE)
			return CALLBACK_FAILED;
		if (error != 0)
			next_ns = ttl_ns / 20;
	}
	callback->at_ns = lhi_now_ns(&m->lh->v) + next_ns;
	return 0;
}

/* Sets the id of the k-th key's request; {0, 0} would be none. */
static void
set_request(const struct many *m, uint32_t round, uint32_t k, uint64_t id[2])
{
	id[1] = m->request[1] + (uint64_t)round * LH_MANY_MAX + k;
	id[0] = (m->request[0] | id[1]) == 0 ? UINT64_MAX : m->request[0];
}

/* Returns the state of that request of ours: enum lhi_request_is. */
static int
look_up_request(struct many *m, uint32_t round, uint32_t k,
    struct lhi_request *q)
{
	const struct lh_session *s = m->more.session;
	struct lhi_request_name n = {
		.session = s != NULL ? s->sid : m->lh->sid };

	set_request(m, round, k, n.id);
	return lhi_request_used(&m->lh->v) ?
	    lhi_request_find(&m->lh->v, &n, q) : REQUEST_NONE;
}

/* Decides whether a repeated request's lease ended with the whole set (I5).  A
 * round in which one of them was never requested, or was left without an
 * answer (-EHOSTUNREACH, -ENOENT), was given up.  If another call still waits,
 * it finds out itself that it has lost one. */
static int
answer_repeat(struct many *m)
{
	struct lhi_request q;
	bool whole = true, busy = false;
	int is;

	for (uint32_t k = 0; k < m->n; k++) {
		is = look_up_request(m, m->round, k, &q);
		whole &= is != REQUEST_NONE;
		busy |= is == REQUEST_BUSY;
		if (is == REQUEST_FAILED)
			return lhi_fail(-(int)req_who(q.state), "this request "
			    "for %u keys has failed so for '%.64s'", m->n,
			    m->items[m->order[k]].key);
	}
	if (look_up_request(m, m->round + 1, 0, &q) != REQUEST_NONE)
		return GIVEN_UP;
	m->callback.others |= busy;
	return busy ? AT_WORK : whole ? -ESTALE : GIVEN_UP;
}

/* True if all of it was granted to another call, for the same request.  That
 * call has returned 0, or may have, so the remaining leases are its own. */
static bool
was_granted(struct many *m)
{
	struct lhi_request q;
	int is;

	if (!has_request(m) || m->anew || lhi_mutant_on(repeat_begins_anew))
		return false;
	for (uint32_t k = m->won; k < m->n; k++) {
		is = look_up_request(m, m->round, k, &q);
		if (is != REQUEST_HELD && is != REQUEST_RELEASED &&
		    is != REQUEST_LOST)
			return false;
	}
	return true;
}

/* Handles the loss of a lease that another call was granted: is there a later
 * round?  Returns GIVEN_UP; -errno.  (I5) */
static int
fail_set_ended(struct many *m)
{
	int error = answer_repeat(m);

	return error != -ESTALE ? error : lhi_fail(-ESTALE, "one of the %u "
	    "leases that this request was granted has ended: to acquire anew, "
	    "make a new request id", m->n);
}

/* Returns the options of the k-th key in order.  One request id is given for
 * all: theirs are the numbers from it on, of which each round has its own. */
static void
ask_for_item(struct many *m, uint32_t k)
{
	const struct lh_item *item = &m->items[m->order[k]];

	m->ask.shared = item->mode == LH_SHARED;
	m->ask.priority = item->priority > m->priority ? item->priority :
	    m->priority;
	if (has_request(m))
		set_request(m, m->round, k, m->more.request);
}

/* Acquires the k-th key in order.  Errors as lh_acquire(); CALLBACK_FAILED;
 * GIVEN_UP. */
static int
acquire_item(struct many *m, uint32_t k)
{
	struct lhi_key_name name;
	struct lhi_acquire_target want = { .name = &name };
	int error =
	    lhi_key_name_check(m->lh, m->items[m->order[k]].key, 0, &name);

	ask_for_item(m, k);
	if (error == 0)
		error = lhi_key_name_resolve(m->lh, &name, m->ask.no_create ?
		    LH_NO_CREATE : 0, &want.ref);
	m->callback.told = m->callback.others = false;
	if (error == 0)
		error =
		    lhi_acquire_checked(m->lh, &want, &m->ask, lease_won(m, k));
	m->anew |= error == 0 && !m->callback.told;
	return error == -ESTALE && has_request(m) ? answer_repeat(m) : error;
}

/* Returns 1 if this host has the rights to all of them. */
static int
has_rights(struct many *m)
{
	for (uint32_t k = 0; k < m->clustered; k++) {
		const struct lh_item *item = &m->items[m->order[k]];
		struct lhi_key_name name;
		struct lhi_ref ref;
		int found = lhi_name_set(&name, item->key);

		if (found == 0)
			found = lhi_slot_find(&m->lh->v, &name, &ref);
		if (found < 0)
			return found;
		if (found == 0 || !lhi_right_is_valid(&m->lh->v, &ref,
		    item->mode == LH_SHARED, NULL))
			return 0;
	}
	return 1;
}

/* Requests the missing rights, all together. */
static int
ask_for_rights(struct many *m)
{
	struct lhi_cluster_acquire_item items[LH_MANY_MAX];
	int error = has_rights(m);

	if (error != 0)
		return error < 0 ? error : 0;
	for (uint32_t k = 0; k < m->clustered; k++) {
		items[k].key = m->items[m->order[k]].key;
		items[k].shared = m->items[m->order[k]].mode == LH_SHARED;
	}
	return lhi_cluster_acquire_ask_shim(m->lh, &m->shim_request, items,
	    m->clustered, &m->ask, 0);
}

static bool
is_due(const struct many *m)
{
	return lhi_now_ns(&m->lh->v) >= m->callback.at_ns;
}

static int
acquire_items(struct many *m)
{
	int error;

	m->callback.at_ns = INT64_MAX;
	m->callback.others = m->anew = false;
	error = ask_for_rights(m);
	/* ends: m->won, the caller's own, rises with each key */
	for (m->won = 0; error == 0 && m->won < m->n;) {
		if (is_due(m))
			error = renew_won(&m->callback);
		if (error == 0)
			error = acquire_item(m, m->won);
		if (error != 0)
			break;
		if (m->won++ == 0)
			m->callback.at_ns = lhi_now_ns(&m->lh->v) +
			    m->ask.ttl_ns / 3;
		lhi_point("many.won");
	}
	if (error == 0 && (m->n > 1 || is_shared_with_calls(m)))
		error = renew_won(&m->callback);
	for (uint32_t k = 0; error == 0 && k < m->n; k++)
		if (lhi_now_ns(&m->lh->v) >= lease_won(m, k)->expires_ns)
			error = CALLBACK_FAILED; /* I3 */
	return error;
}

/* Releases the last one first, and keeps the error's detail. */
static void
give_back(struct many *m)
{
	lhi_fail_mute(1);
	/* ends: m->won, the caller's own, falls */
	while (m->won > 0)
		(void)lh_release(m->lh, lease_won(m, --m->won));
	lhi_fail_mute(0);
}

/* A cluster key was lost, perhaps with all rights of this host: waits before
 * the next round. */
static int
rest_between_rounds(struct many *m)
{
	const struct timespec ts = { 0, NS_PER_MS };

	if (m->clustered == 0)
		return 0;
	if (lhi_cancel_is_set(m->ask.cancel))
		return lhi_fail(-ECANCELED, "the wait was cancelled");
	(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
	return 0;
}

/* Another call with this request id waits: waits for that to go on. */
static int
await_other_call(struct many *m)
{
	const struct timespec ts = { 0, NS_PER_MS };

	if (m->ask.try_only)
		return lhi_fail(-EBUSY, "this very request is being waited "
		    "for, and was not to be waited for");
	if (lhi_cancel_is_set(m->ask.cancel))
		return lhi_fail(-ECANCELED, "the wait was cancelled");
	if (lhi_now_ns(&m->lh->v) >= m->ask.until_ns)
		return lhi_fail(-ETIMEDOUT, "this very request is being waited "
		    "for already, and has got no answer in time");
	(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
	return 0;
}

/* Ends a round.  Returns 0: there is another one, m->round; -errno: there is
 * none, with that result. */
static int
end_round(struct many *m, int error)
{
	lhi_shim_request_end(&m->shim_request);
	if ((error == -ESTALE || error == CALLBACK_FAILED) && was_granted(m))
		error = fail_set_ended(m);
	else if (!m->callback.others && (error != -EINVAL || m->anew))
		give_back(m);
	lhi_point("many.given_back");
	if (error == AT_WORK || (error == CALLBACK_FAILED &&
	    m->callback.others))
		return await_other_call(m);
	m->round++;
	if (error != CALLBACK_FAILED)
		return error == GIVEN_UP ? 0 : error;
	error = rest_between_rounds(m);
	if (error != 0)
		return error;
	if (m->ask.try_only || lhi_now_ns(&m->lh->v) >= m->ask.until_ns)
		return lhi_fail(m->ask.try_only ? -EAGAIN : -ETIMEDOUT,
		    "one of %u keys was lost again before the last was won",
		    m->n);
	return 0;
}

/* Acquires in rounds, until the result is final. */
static int
acquire_in_rounds(struct many *m)
{
	int error, end = 0;

	/* ends: at the caller's deadline or cancel */
	while (end == 0) {
		error = acquire_items(m);
		if (error == 0)
			break;
		end = end_round(m, error);
	}
	lhi_shim_request_end(&m->shim_request);
	return end;
}

int
lh_acquire_many(struct lh *lh, const struct lh_item *items, size_t n,
    const struct lh_acquire_opts *opts, struct lh_lease *leases)
{
	struct many m = { .lh = lh, .items = items, .n = (uint32_t)n };
	int error = lhi_many_check(lh, items, n), cancel;

	if (error == 0 && leases == NULL)
		error = lhi_fail(-EINVAL, "no leases were given to fill "
		    "(NULL)");
	if (error == 0)
		error = lhi_acquire_request_set(&lh->v, &m.ask, opts);
	if (error == 0 && m.ask.more->value != NULL)
		error = lhi_fail(-EINVAL, "one value for many keys: set each "
		    "with lh_value_set()");
	if (error == 0)
		error = check_scope(&m);
	if (error != 0)
		return error;
	m.priority = m.ask.priority;
	m.more = *m.ask.more;
	m.ask.more = &m.more;
	memcpy(m.request, m.more.request, sizeof(m.request));
	m.callback.run = renew_won;
	m.ask.callback = &m.callback;
	sort_items(&m);
	/* a thread that is cancelled in here would keep the acquired leases */
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	error = acquire_in_rounds(&m);
	(void)pthread_setcancelstate(cancel, NULL);
	if (error == 0)
		memcpy(leases, m.leases, n * sizeof(*leases));
	return error;
}
