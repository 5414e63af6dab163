/* SPDX-License-Identifier: MIT */
/*
 * See canceller.h.  lh_cancel() is called under the lock, so that disarming
 * means that the switch, which lives on the waiter's stack, is out of use.
 */
#include <time.h>

#include "canceller.h"
#include "history/journal.h"

static void *
cancel_loop(void *arg)
{
	struct canceller *c = arg;

	pthread_mutex_lock(&c->lock);
	while (!c->quit) {
		struct timespec at = { c->at_ns / 1000000000,
		    c->at_ns % 1000000000 };

		if (!c->sw) {
			pthread_cond_wait(&c->changed, &c->lock);
		} else if (now_ns() < c->at_ns) {
			pthread_cond_timedwait(&c->changed, &c->lock, &at);
		} else {
			(void)lh_cancel(c->sw);
			c->sw = NULL;
		}
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

int
canceller_start(struct canceller *c)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&c->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&c->changed, &attr);
	pthread_condattr_destroy(&attr);
	return -pthread_create(&c->thread, NULL, cancel_loop, c);
}

void
canceller_stop(struct canceller *c)
{
	pthread_mutex_lock(&c->lock);
	c->quit = true;
	pthread_cond_signal(&c->changed);
	pthread_mutex_unlock(&c->lock);
	pthread_join(c->thread, NULL);
	pthread_cond_destroy(&c->changed);
	pthread_mutex_destroy(&c->lock);
}

void
canceller_arm(struct canceller *c, struct lh_cancel *sw, int64_t at_ns)
{
	pthread_mutex_lock(&c->lock);
	c->sw = sw;
	c->at_ns = at_ns;
	pthread_cond_signal(&c->changed);
	pthread_mutex_unlock(&c->lock);
}
