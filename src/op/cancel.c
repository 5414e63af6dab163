/* SPDX-License-Identifier: MIT */
/*
 * Cancelling: a switch in the caller's memory, and the list of the waits that
 * use it.  A private mutex protects the list.  A waiter is in it only while it
 * waits, so a switch may be set at any time.
 *
 *	opaque[0]	1: set
 *	opaque[1]	first lhi_canceller
 *	opaque[2]	number of forks of the process that owns the list (a
 *			child has none of its parent's waits, and other stacks
 *			in their place)
 */
#include <errno.h>
#include <unistd.h>
#include "base/error.h"
#include "op/acquire.h"
#include "prim/futex.h"

bool
lhi_cancel_is_set(const struct lh_cancel *c)
{
	return c != NULL && __atomic_load_n(&c->opaque[0], __ATOMIC_SEQ_CST);
}

/* Empties the list if it belongs to the parent process.  Under
 * lhi_cancel_lock(). */
static void
reset_list_after_fork(struct lh_cancel *c)
{
	if (c->opaque[2] != lhi_forks())
		c->opaque[1] = 0;
	c->opaque[2] = lhi_forks();
}

static void
add_canceller(struct lh_cancel *c, struct lhi_canceller *me)
{
	lhi_cancel_lock();
	reset_list_after_fork(c);
	me->next = (struct lhi_canceller *)(uintptr_t)c->opaque[1];
	c->opaque[1] = (uintptr_t)me;
	lhi_cancel_unlock();
}

void
lhi_cancel_join(struct lh_cancel *c, struct lhi_canceller *me, shm_u32 *park)
{
	me->park = park;
	me->fd = -1;
	if (c != NULL)
		add_canceller(c, me);
}

void
lhi_cancel_join_fd(struct lh_cancel *c, struct lhi_canceller *me, int fd)
{
	me->park = NULL;
	me->fd = fd;
	if (c != NULL)
		add_canceller(c, me);
}

void
lhi_cancel_leave(struct lh_cancel *c, struct lhi_canceller *me)
{
	struct lhi_canceller *p;

	if (c == NULL)
		return;
	lhi_cancel_lock();
	p = (struct lhi_canceller *)(uintptr_t)c->opaque[1];
	if (p == me) {
		c->opaque[1] = (uintptr_t)me->next;
	} else {
		while (p->next != me)
			p = p->next;
		p->next = me->next;
	}
	lhi_cancel_unlock();
}

/* If the write fails, the eventfd is set already. */
static void
ring_eventfd(int fd)
{
	const uint64_t one = 1;
	int saved = errno;

	(void)!write(fd, &one, sizeof(one));
	errno = saved;
}

/* If the claim is held by now, its park may have another value. */
static void
wake_waiter(shm_u32 *park)
{
	uint32_t was, n = 0;

	do {
		/* pairs with: the waiter's swap of park before its last look */
		was = sh32_load_sc(park);
		if (was != PARK_ASLEEP && was != PARK_QUIET)
			return;
	} while (!sh32_cas(park, was, PARK_AWAKE) &&
	    LHI_WITHIN(n, LHI_SWAPS_MAX));
	/* also if the word kept changing: the waiter looks anyway */
	lhi_futex_wake(park);
}

int
lh_cancel(struct lh_cancel *c)
{
	struct lhi_canceller *p;

	if (c == NULL)
		return lhi_fail(-EINVAL, "no switch was given (NULL)");
	lhi_cancel_lock();
	reset_list_after_fork(c);
	__atomic_store_n(&c->opaque[0], 1, __ATOMIC_SEQ_CST);
	p = (struct lhi_canceller *)(uintptr_t)c->opaque[1];
	/* ends: the list is this process's own */
	for (; p != NULL; p = p->next) {
		if (p->park == NULL)
			ring_eventfd(p->fd);
		else
			wake_waiter(p->park);
	}
	lhi_cancel_unlock();
	return 0;
}
