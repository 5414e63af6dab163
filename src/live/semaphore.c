/* SPDX-License-Identifier: MIT */
/*
 * Semaphores: keys and leases, without a structure of their own in shared
 * memory.
 *
 *	NAME \1 permit N	held by the holder of permit N
 *	NAME \1 limit N		such a permanent key exists: N permits
 *	NAME \1			held while the semaphore is made or destroyed
 *
 * Invariants.
 *  I1	No process has a permit above the limit with which it opened the
 *	semaphore, and there is one limit at a time: it is set and removed under
 *	the lease on NAME \1.  A process that loses that lease meanwhile undoes
 *	its change.
 *  I2	A limit is removed only while its destroyer has all permits.  A process
 *	that is granted one checks the limit afterwards: so a permit of a
 *	removed limit is not reported.  A destroyer that is killed may leave its
 *	key without the mark (api/destroy_api.c), so that it may be evicted at
 *	any time: a process that finds it so marks it again.
 *
 * Acquiring tries all permits, beginning at another one each time; then it
 * waits by a ticket for each.  The first that is granted is used and the others
 * are cancelled, which releases grants of the same moment.
 *
 * A crash or stop anywhere leaves leases and tickets, which end as usual.
 *
 * Not guaranteed: I1 and I2 against a maker or destroyer that is stopped for
 * ten seconds between its last check of its leases and the making or removal of
 * the key.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <leasehold/key.h>
#include "base/error.h"
#include "shm/damaged.h"
#include "live/semaphore.h"
#include "live/ticket.h"
#include "op/acquire_target.h"
#include "prim/futex.h"

#define LOOK_NS (250 * NS_PER_MS)	/* between two checks of the tickets */
#define KEEP_TRIES 100		/* each time it was just evicted */

uint32_t lhi_sem_most = LH_SEM_MAX;

struct wait {
	struct lh_sem *sem;
	const struct lhi_acquire_request *ask;	/* of each ticket */
	struct lh_cancel *cancel;
	struct lh_ticket *ticket[LH_SEM_MAX];
	shm_u32 park;
};

void
lhi_sem_key(char to[LH_KEY_MAX + 1], const char *name, const char *what,
    uint32_t n)
{
	(void)snprintf(to, LH_KEY_MAX + 1, "%s\1%s %u", name, what, n);
}

int
lhi_sem_check(const struct lh_sem *sem)
{
	return sem == NULL ? lhi_fail(-EINVAL, "no semaphore was given (NULL)")
	    : lhi_own(sem->lh);
}

/* Returns 1 if there is such a permanent key; 0; -errno. */
static int
is_kept(struct lh *lh, const char *key)
{
	struct lhi_key_name n;
	struct lhi_ref ref = { 0 };
	int found = lhi_own_to_look(lh);

	if (found == 0)
		found = lhi_name_set(&n, key);
	if (found != 0)
		return found;
	for (int i = 0; i < KEEP_TRIES; i++) {
		found = lhi_slot_find(&lh->v, &n, &ref);
		if (found <= 0 || lhi_mutant_on(sem_unkept) ||
		    (sh32_load(&ref.slot->key_info) & KEY_KEPT) ||
		    lhi_slot_flag(&lh->v, &ref, KEY_KEPT))	/* I2 */
			return found;
	}
	return lhi_damaged(&lh->v, "a key is not what it says", ref.slot_ref,
	    n.hash);
}

int
lhi_sem_has_limit(struct lh *lh, const char *name, uint32_t limit)
{
	char key[LH_KEY_MAX + 1];

	lhi_sem_key(key, name, "limit", limit);
	return is_kept(lh, key);
}

int
lhi_sem_limit(struct lh *lh, const char *name)
{
	for (uint32_t n = 1; n <= lhi_sem_most; n++) {
		int found = lhi_sem_has_limit(lh, name, n);

		if (found != 0)
			return found < 0 ? found : (int)n;
	}
	return 0;
}

/* True if the limit is the one with which it was opened. */
static int
check_stands(const struct lh_sem *sem)
{
	int found = lhi_sem_has_limit(sem->lh, sem->name, sem->limit);

	return found > 0 ? 0 : found < 0 ? found : lhi_fail(-ESTALE, "the "
	    "semaphore '%.64s' was destroyed since it was opened with %u "
	    "permits: close it, and open it again", sem->name, sem->limit);
}

static int
fail_all_held(const struct lh_sem *sem, int code)
{
	return lhi_fail(code, "all %u permits of the semaphore '%.64s' are "
	    "held%s", sem->limit, sem->name, code == -ETIMEDOUT ?
	    ", and were until the wait was up" : "");
}

/* Tries all permits. Returns 0; -EAGAIN: none is free now. */
static int
try_permits(struct lh_sem *sem, const struct lhi_acquire_request *ask,
    struct lh_lease *permit)
{
	uint32_t from = atomic_fetch_add(&sem->next, 1);
	struct lhi_acquire_request try = *ask;
	char key[LH_KEY_MAX + 1];
	struct lhi_key_name name;
	struct lhi_acquire_target want = { .name = &name };
	int error = -EAGAIN;

	try.try_only = true;
	for (uint32_t i = 0; error == -EAGAIN && i < sem->limit; i++) {
		lhi_sem_key(key, sem->name, "permit",
		    (from + i) % sem->limit + 1);
		error = lhi_key_name_check(sem->lh, key, 0, &name);
		if (error == 0)
			error =
			    lhi_key_name_resolve(sem->lh, &name, 0, &want.ref);
		if (error == 0)
			error = lhi_acquire_key(sem->lh, &want, &try,
			    permit);
	}
	return error;
}

static int
start_ticket(struct wait *w, uint32_t i)
{
	char key[LH_KEY_MAX + 1];

	lhi_sem_key(key, w->sem->name, "permit", i + 1);
	return lhi_ticket_start(w->sem->lh, key, w->ask, false, &w->park,
	    &w->ticket[i]);
}

/* Finds a ticket that has ended. Returns 0: granted; -EAGAIN: none has. */
static int
take_granted(struct wait *w, struct lh_lease *permit)
{
	for (uint32_t i = 0; i < w->sem->limit; i++) {
		int error = lhi_ticket_is_settled(w->ticket[i]) ?
		    lh_ticket_finish(w->ticket[i], permit) : -EAGAIN;

		if (error == -EAGAIN)
			continue;
		w->ticket[i] = NULL;
		if (error != -ESTALE || lhi_view_gone(&w->sem->lh->v))
			return error;
		error = start_ticket(w, i); /* its ttl was over before it was
					     * collected */
		if (error != 0)
			return error;
	}
	return -EAGAIN;
}

/* Waits until a ticket is granted; all of them have been started. */
static int
await_ticket(struct wait *w, struct lh_lease *permit)
{
	struct lh *lh = w->sem->lh;
	int error;

	/* ends: at the caller's deadline or cancel */
	for (;;) {
		int64_t left = w->ask->until_ns - lhi_now_ns(&lh->v);

		(void)sh32_xchg(&w->park, PARK_ASLEEP);
		error = take_granted(w, permit);
		if (error == -EAGAIN && lhi_cancel_is_set(w->cancel))
			return lhi_fail(-ECANCELED, "the wait for a permit of "
			    "'%.64s' was cancelled", w->sem->name);
		if (error == -EAGAIN && left <= 0)
			error = -ETIMEDOUT;
		if (error == -ETIMEDOUT)
			return fail_all_held(w->sem, error);
		if (error != -EAGAIN)
			return error;
		lhi_futex_wait(&w->park, PARK_ASLEEP,
		    lhi_clock_ns(CLOCK_MONOTONIC) +
		    (left < LOOK_NS ? left : LOOK_NS));
	}
}

static int
wait_for_one(struct wait *w, struct lh_lease *permit)
{
	struct lhi_canceller me;
	int error = 0;

	lhi_cancel_join(w->cancel, &me, &w->park);
	for (uint32_t i = 0; error == 0 && i < w->sem->limit; i++)
		error = start_ticket(w, i);
	if (error == 0)
		error = await_ticket(w, permit);
	for (uint32_t i = 0; i < w->sem->limit; i++) {
		if (w->ticket[i] != NULL)
			(void)lh_ticket_cancel(w->ticket[i]);
	}
	lhi_cancel_leave(w->cancel, &me);
	return error;
}

/* Acquires any permit: at once, or by tickets. */
static int
acquire_any(struct lh_sem *sem, const struct lhi_acquire_request *ask,
    struct lh_cancel *cancel, struct lh_lease *permit)
{
	struct wait w = { .sem = sem, .ask = ask, .cancel = cancel };
	int error = check_stands(sem), state;

	if (error == 0)
		error = try_permits(sem, ask, permit);
	if (error != -EAGAIN)
		return error;
	if (ask->try_only)
		return fail_all_held(sem, error);
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	atomic_fetch_add(&sem->lh->waiting, 1);
	error = wait_for_one(&w, permit);
	atomic_fetch_sub(&sem->lh->waiting, 1);
	(void)pthread_setcancelstate(state, NULL);
	return error;
}

/*
 * Replaces the key in the chain of op/acquire_options.c: any permit, as an
 * ordinary lease of this process.  Of the rarer options it passes on only those
 * that are stored with a claim, and the policy.
 */
static int
acquire_permit(struct lh *lh, struct lhi_acquire_target *want,
    const struct lhi_acquire_request *ask, struct lh_lease *permit)
{
	struct lh_sem *sem = ask->of;
	struct lh_acquire_more more = *ask->more;
	struct lhi_acquire_request bare = *ask;
	int error;

	(void)want;
	more.session = NULL;
	more.holder = NULL;
	more.value = NULL;
	bare.more = &more;
	bare.how = NULL;
	bare.request = NULL;
	bare.cancel = NULL;
	bare.no_create = false;
	error = acquire_any(sem, &bare, ask->cancel, permit);
	if (error != 0)
		return error;
	error = check_stands(sem);				/* I2 */
	if (error != 0) {
		(void)lh_release(lh, permit);
	} else if (ask->request != NULL) {
		ask->request->several = true;
		if (ask->more->session == NULL)
			lhi_request_announce(ask->request, permit->id[1],
			    permit->token, permit->notes);
	}
	return error;
}

int
lh_sem_acquire(struct lh_sem *sem, const struct lh_acquire_opts *opts,
    struct lh_lease *permit)
{
	char key[LH_KEY_MAX + 1];
	struct lhi_key_name name;
	struct lhi_acquire_target want = { .name = &name };
	struct lh_lease got = { 0 };
	struct lhi_acquire_request ask;
	int error = lhi_sem_check(sem);

	if (error != 0)
		return error;
	if (permit == NULL)
		return lhi_fail(-EINVAL, "no lease was given to fill (NULL)");
	error = lhi_acquire_request_set(&sem->lh->v, &ask, opts);
	if (error == 0 && ask.shared)
		error = lhi_fail(-EINVAL, "a permit is not shared: a "
		    "semaphore of more permits lets more in");
	if (error == 0 && lhi_cancel_is_set(ask.cancel))
		error = lhi_fail(-ECANCELED, "the wait was cancelled before it "
		    "began");
	(void)snprintf(key, sizeof(key), "%s\1", sem->name);
	if (error == 0)
		error = lhi_key_name_check(sem->lh, key, 0, &name);
	if (error != 0)
		return error;
	ask.how = acquire_permit;
	ask.of = sem;
	error = lhi_acquire_checked(sem->lh, &want, &ask, &got);
	if (error == 0)
		*permit = got;
	return error;
}
