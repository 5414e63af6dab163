/* SPDX-License-Identifier: MIT */
/*
 * The place where the live thread sleeps: on the doorbells (shm/doorbell.c) of
 * all attachments that have something to report, held handles or tickets, and
 * on a word of its own, which this process's other threads ring.
 *
 * Sleeping on several words at once takes futex_waitv(). Without it (kernels
 * before 5.16, valgrind), or with more words than it takes: a single attachment
 * is slept on by its doorbell, and this process's threads ring that; with more
 * of them the thread polls every 10 ms.
 *
 * All of it is under lhi_live_lock(), which is released for the sleep alone.
 * So a thread that rings our own word does so after the sleeper read it.
 */
#include "base/clock.h"
#include "live/live_set.h"
#include "prim/futex.h"
#include "proc/attachment.h"
#include "shm/doorbell.h"

#define POLL_NS (10 * NS_PER_MS)

LIST_HEAD(listeners, lh);

static struct listeners listeners = LIST_HEAD_INITIALIZER(listeners);
static shm_u32 own;
static bool asleep;
static struct lh *slept_on;	/* slept on alone, without our own word */

void
lhi_wakeup_wake(void)
{
	(void)sh32_fetch_add(&own, 1);
	if (!asleep)
		return;
	if (slept_on != NULL)
		lhi_doorbell_ring(&slept_on->v, slept_on->sid, BELL_TURN);
	else
		lhi_futex_wake(&own);
}

void
lhi_wakeup_listen(struct lh *lh)
{
	if (lh->bell_uses++ > 0)
		return;
	lh->bell_seen = lhi_doorbell_listen(&lh->v);
	LIST_INSERT_HEAD(&listeners, lh, listening);
	lhi_wakeup_wake();	/* it sleeps on too few */
}

void
lhi_wakeup_ignore(struct lh *lh)
{
	if (--lh->bell_uses > 0)
		return;
	lhi_wakeup_wake();
	if (slept_on == lh)
		slept_on = NULL;
	LIST_REMOVE(lh, listening);
	lhi_doorbell_ignore(&lh->v);
}

uint32_t
lhi_wakeup_next_rung(struct lh **which)
{
	struct lh *lh;

	LIST_FOREACH(lh, &listeners, listening) {
		uint32_t now = lhi_doorbell_listen(&lh->v);
		uint32_t news = now ^ lh->bell_seen;

		if (news == 0)
			continue;
		lh->bell_seen = now;
		*which = lh;
		return (news >= BELL_LEASE ? BELL_LEASE : 0) | BELL_TURN;
	}
	return 0;
}

/*
 * Without futex_waitv(): sleeps on the one word, or on ours but not for long.
 */
static struct lhi_futex
choose_one_word(int64_t *until_ns)
{
	struct lh *first = LIST_FIRST(&listeners);
	int64_t soon = lhi_clock_ns(CLOCK_MONOTONIC) + POLL_NS;

	if (first != NULL && LIST_NEXT(first, listening) == NULL) {
		slept_on = first;
		return (struct lhi_futex){ &first->v.me->doorbell,
		    first->bell_seen };
	}
	if (first != NULL && soon < *until_ns)
		*until_ns = soon;
	return (struct lhi_futex){ &own, sh32_load(&own) };
}

void
lhi_wakeup_sleep(int64_t until_ns)
{
	struct lhi_futex on[FUTEX_ANY_MAX];
	uint32_t n = 1;
	struct lh *lh;

	on[0] = (struct lhi_futex){ &own, sh32_load(&own) };
	LIST_FOREACH(lh, &listeners, listening) {
		if (n < FUTEX_ANY_MAX)
			on[n] = (struct lhi_futex){ &lh->v.me->doorbell,
			    lh->bell_seen };
		n++;
	}
	if (n > FUTEX_ANY_MAX || !lhi_futex_any_works()) {
		on[0] = choose_one_word(&until_ns);
		n = 1;
	}
	asleep = true;
	lhi_live_unlock();
	if (n == 1)
		lhi_futex_wait(on[0].word, on[0].asleep, until_ns);
	else
		lhi_futex_wait_any(on, n, until_ns);
	lhi_live_lock();
	asleep = false;
	slept_on = NULL;
}

void
lhi_wakeup_forget(void)
{
	LIST_INIT(&listeners);
	asleep = false;
	slept_on = NULL;
}
