/* SPDX-License-Identifier: MIT */
/*
 * Somebody who cancels a wait at a given time: a second thread, because the
 * first one is in the wait.  It never cancels early.
 */
#ifndef CANCELLER_H
#define CANCELLER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <leasehold.h>

struct canceller {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct lh_cancel *sw;	/* NULL: nothing to cancel */
	int64_t at_ns;
	bool quit;
};

/* 0 or -errno */
int canceller_start(struct canceller *c);
void canceller_stop(struct canceller *c);

/* Cancel sw at that time; NULL: do not.  After that call sw is not touched. */
void canceller_arm(struct canceller *c, struct lh_cancel *sw, int64_t at_ns);

#endif
