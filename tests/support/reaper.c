/* SPDX-License-Identifier: MIT */
/* Reapers for tests: see reaper.h. */
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "support/child.h"
#include "support/reaper.h"
#include "support/support.h"
#include "tap.h"

struct lhi_reaper *
t_reaper(const char *table)
{
	struct lhi_reaper *r;

	if (lhi_reap_open(&r, t_object(table)) != 0)
		bail_out("no reaper: %s", lh_error_detail());
	return r;
}

int
t_pass(struct lhi_reaper *r, int64_t *next_ns)
{
	int64_t next;

	return lhi_reap_pass(r, t_now_ns(), next_ns != NULL ? next_ns : &next);
}

/* Until the descriptor tells, or next_ns has come. */
static void
wait_for_next(struct lhi_reaper *r, int64_t next_ns)
{
	struct pollfd p = { .fd = lhi_reap_fd(r), .events = POLLIN };
	int64_t left = next_ns - t_now_ns();
	struct timespec ts;

	if (left < 0)
		left = 0;
	ts.tv_sec = left / (1000 * T_NS_PER_MS);
	ts.tv_nsec = left % (1000 * T_NS_PER_MS);
	(void)ppoll(&p, 1, &ts, NULL);
}

void
t_reap_for(struct lhi_reaper *r, int64_t ms)
{
	int64_t end = t_now_ns() + ms * T_NS_PER_MS, next = 0;

	while (t_now_ns() < end) {
		if (t_pass(r, &next) != 0)
			return;
		wait_for_next(r, next < end ? next : end);
	}
}

struct t_reaping {
	struct lhi_reaper *r;
	unsigned long thread;
	_Atomic bool enough;
	int result;
};

static void *
reap(void *arg)
{
	struct t_reaping *rp = arg;
	int64_t next = 0;

	while (!atomic_load(&rp->enough)) {
		rp->result = t_pass(rp->r, &next);
		if (rp->result != 0 && rp->result != -EUCLEAN)
			break;
		wait_for_next(rp->r, next);
	}
	return NULL;
}

struct t_reaping *
t_reaping(const char *table)
{
	struct t_reaping *rp = calloc(1, sizeof(*rp));

	if (rp == NULL)
		bail_out("out of memory");
	rp->r = t_reaper(table);
	rp->thread = t_thread(reap, rp);
	return rp;
}

int
t_reaping_end(struct t_reaping *rp, struct lhi_reap_counts *counts)
{
	int result;

	atomic_store(&rp->enough, true);
	(void)t_join(rp->thread);
	result = rp->result;
	if (counts != NULL)
		*counts = *lhi_reap_count(rp->r);
	lhi_reap_close(rp->r);
	free(rp);
	return result;
}
