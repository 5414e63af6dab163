/* SPDX-License-Identifier: MIT */
/*
 * Deadlocks: when a wait searches for one, and which wait ends.
 *
 * No process watches: the waits find their own circles (inspect/waits_for.c),
 * and one wait of each gives way.
 *
 * The victim.  Of the waits on a circle: the lowest priority; of these the one
 * that began last; of these the largest claim index.  Waits with LH_NO_DEADLOCK
 * are chosen only if there is no other.  All waits compute the same victim, and
 * only the victim acts, so it is one for each circle.  A wait that finds a
 * circle and is not its victim sets a flag of the victim (WAITER_LOOK) and
 * wakes it.  The victim searches for itself, only along waits that go before
 * it: so it finds its circle even if there are others through it.  Its lease,
 * if it waits for an upgrade, and all its other leases stay as they are.
 *
 * When.  The wait that closes a circle is the youngest on it, and finds it 40
 * ms after it began; the others search again ever more seldom, up to a second.
 * A wait that no lease waits for (lhi_waits_for_is_needed()) searches once.
 * Each circle has a wait whose lease is waited for; that one searches again.
 * So the waits of threads that hold nothing sleep on.
 * If more than 64 threads of the attachment wait, all intervals are that many
 * times longer.  A search reads the claims of a process, and many searches
 * would delay the very processes that they wait for.
 *
 * Writes: WAITER_LOOK and a wake-up; nothing else depends on anything here.  A
 * crash or stop anywhere leaves at worst a flag, which costs a search.  A
 * stopped victim ends its wait when it runs again; until then deadlines must
 * suffice.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "inspect/waits_for_thread.h"
#include "op/deadlock.h"
#include "shm/session_liveness.h"
#include "shm/wait_queue.h"

#define CROWD 64u
#define GAP_NS (20 * NS_PER_MS)		/* between searches at first */
#define GAP_MAX_NS NS_PER_SEC
#define AGAIN_NS (5 * NS_PER_MS)	/* something changed, or was found */
#define TELL_MAX 3u		/* waits of a circle described one by one */

void
lhi_deadlock_begin(struct lhi_deadlock *d, int64_t now_ns, uint32_t crowd)
{
	int64_t times = 1 + crowd / CROWD;

	d->next_ns = now_ns + times * DEADLOCK_FIRST_NS;
	d->gap_ns = times * GAP_NS;
	d->gap_max_ns = times * GAP_MAX_NS;
	d->soon.n = 0;
}

uint32_t
lhi_deadlock_flags(const struct lhi_acquire_request *ask)
{
	return ask->no_deadlock ? WAITER_NO_DEADLOCK : 0;
}

/* Reports a circle that this wait does not leave: makes its victim search. */
static void
wake_victim(struct lhi_waits_for *q)
{
	struct lhi_view *v = q->v;
	uint32_t victim = q->hop[0].wait;
	struct shm_claim *c;

	for (uint32_t i = 1; i < q->n; i++) {
		if (lhi_waits_for_is_victim(v, q->hop[i].wait, victim))
			victim = q->hop[i].wait;
	}
	c = &v->claims[victim];
	if (victim == q->hop[0].wait ||
	    (sh32_load(&c->wflags) & WAITER_NO_DEADLOCK))
		return;
	(void)sh32_fetch_or(&c->wflags, WAITER_LOOK);
	lhi_point("deadlock.pointed_out");
	lhi_queue_wake(v, c);
}

/* Names the process of wait i on the circle. */
static void
describe_thread(struct lhi_waits_for *q, uint32_t i, char *buf, size_t size)
{
	uint32_t ci = q->hop[i].wait;
	struct shm_session *se = lhi_waits_for_session(q->v, ci);
	char name[sizeof(se->application)] = "";

	(void)snprintf(buf, size, "this thread");
	if (i == 0 || se == NULL)
		return;
	memcpy(name, se->application, sizeof(name) - 1);
	(void)snprintf(buf, size, "process %u%s (%s), thread %u",
	    sh32_load(&se->pid), lhi_session_is_foreign(q->v,
	    lhi_claim_owner(q->v, ci)) ? " of another pid namespace" : "",
	    name, lhi_claim_tid(&q->v->claims[ci]));
}

/* Names the blocker of wait i, and its relation to the next wait. */
static void
describe_blocker(struct lhi_waits_for *q, uint32_t i, char *buf, size_t size)
{
	const struct lhi_way *w = &q->hop[i].way[q->hop[i].at];
	char next[112], name[LH_APPLICATION_MAX + 1] = "";
	struct shm_session *se;

	describe_thread(q, (i + 1) % q->n, next, sizeof(next));
	if (w->hold == 0 || w->kind == WAY_THREAD) {
		(void)snprintf(buf, size, "%s %s", w->hold != 0 ? "held by" :
		    "in whose queue stands first", next);
		return;
	}
	se = &q->v->sessions[sid_idx(w->owner)];	/* it was found */
	memcpy(name, se->application, sizeof(name) - 1);
	if (w->kind == WAY_SESSION)
		(void)snprintf(buf, size, "held by session '%s', which %s "
		    "acquires into", name, next);
	else
		(void)snprintf(buf, size, "held by process %u (%s) for its "
		    "job, %s", sh32_load(&se->pid), name, next);
}

/* Names the key that wait i waits for, and its blocker. */
static void
describe_hop(struct lhi_waits_for *q, uint32_t i, char *buf, size_t size)
{
	struct lhi_hop *h = &q->hop[i];
	char key[SHM_KEY_MAX + 1], blocker[256];

	if (lhi_slot_key(q->v, lhi_slot(q->v, (uint32_t)h->slot_ref), key) == 0)
		key[0] = '\0';
	describe_blocker(q, i, blocker, sizeof(blocker));
	(void)snprintf(buf, size, "%s waits for '%.48s', %s",
	    i == 0 ? "this thread" : "; that one", key, blocker);
}

/* Writes the circle in words. */
static int
fail_with_circle(struct lhi_waits_for *q)
{
	char text[1000] = "";
	size_t len;

	/* ends: i only rises, to q->n, which is the caller's own */
	for (uint32_t i = 0; i < q->n; i++) {
		len = strlen(text);
		if (i == TELL_MAX && q->n > TELL_MAX + 1) {
			(void)snprintf(text + len, sizeof(text) - len,
			    "; and so on, %u more, until",
			    q->n - TELL_MAX - 1);
			len = strlen(text);
			i = q->n - 1;
		}
		describe_hop(q, i, text + len, sizeof(text) - len);
	}
	return lhi_fail(-EDEADLK, "a deadlock: %s.  Nothing has changed: "
	    "release what you hold, and try again", text);
}

/* Decides for a circle that was found. Returns 0; -EDEADLK. */
static int
look_for_circle(struct lhi_waits_for *q, uint32_t ci, struct lhi_deadlock *d)
{
	bool no_deadlock =
	    sh32_load(&q->v->claims[ci].wflags) & WAITER_NO_DEADLOCK;

	d->next_ns = q->now + d->gap_ns;
	d->gap_ns = d->gap_ns * 2 < d->gap_max_ns ? d->gap_ns * 2 :
	    d->gap_max_ns;
	if (!no_deadlock && lhi_waits_for_find(q, ci, true, false)) {
		if (lhi_waits_for_is_proved(q))
			return fail_with_circle(q);
		d->next_ns = q->now + AGAIN_NS;
	} else if ((no_deadlock || q->pruned) &&
	    lhi_waits_for_find(q, ci, false, false)) {
		if (lhi_waits_for_is_proved(q))
			wake_victim(q);
		d->next_ns = q->now + AGAIN_NS;
	} else if (q->soon_ns != INT64_MAX) {
		(void)lhi_waits_for_find(q, ci, false, true);
	} else if (!lhi_waits_for_is_needed(q->v, ci)) {
		d->next_ns = INT64_MAX;
	}
	/* when the lease has ended, or was renewed */
	if (q->soon_ns < d->next_ns)
		d->next_ns = q->soon_ns + NS_PER_MS;
	d->soon = q->soon;
	return 0;
}

int
lhi_deadlock_look(struct lhi_view *v, uint32_t ci, struct lhi_deadlock *d)
{
	struct shm_claim *c = &v->claims[ci];
	bool told = sh32_load(&c->wflags) & WAITER_LOOK;
	int64_t now = lhi_now_ns(v);
	struct lhi_waits_for *q;
	int error;

	if (now < d->next_ns && !told)
		return 0;
	if (told)
		(void)sh32_fetch_and(&c->wflags, ~WAITER_LOOK);
	q = malloc(sizeof(*q));
	if (q == NULL) {
		d->next_ns = now + GAP_MAX_NS;
		return 0;
	}
	q->v = v;
	q->soon_before = &d->soon;
	q->now = now;
	q->pruned = false;
	q->soon_ns = INT64_MAX;
	q->soon.n = 0;
	error = look_for_circle(q, ci, d);
	free(q);
	return error;
}
