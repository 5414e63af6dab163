/* SPDX-License-Identifier: MIT */
/*
 * The chaos run's participants as threads of one process, for race detectors:
 * they see what happens between threads on one mapping, and nothing else.
 *
 * Each thread has an attachment of its own, or all share one.  Nobody is killed
 * or stopped, so a life never ends before its thread does.
 */
#include <errno.h>
#include <string.h>

#include "round.h"
#include "tap.h"

struct member {
	struct round *r;
	struct lh *lh;		/* NULL: attaches itself */
	uint32_t slot;
	pthread_t thread;
	int rc;
};

static void *
member_main(void *arg)
{
	struct member *m = arg;

	m->rc = participate(m->r, m->lh, m->slot, m->slot);
	return NULL;
}

static void *
census_main(void *arg)
{
	struct member *m = arg;
	struct lh *lh;

	m->rc = lh_open(&lh, m->r->table, &m->r->open);
	if (m->rc)
		return NULL;
	observers_run(m->r, lh);
	m->rc = lh_close(lh);
	return NULL;
}

static void *
metronome_main(void *arg)
{
	struct member *m = arg;

	metronome_run(m->r);
	return NULL;
}

/* A thread that does not come home cannot be helped: nothing is left to do. */
static void
join(struct fault_injector *h, struct member *m)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 10 + (time_t)(10 * m->r->slow);
	if (pthread_timedjoin_np(m->thread, NULL, &until))
		bail_out("thread %u did not come home", m->slot);
	if (m->rc) {
		diag_failed("thread %u ended with %d", m->slot, m->rc);
		h->crashed++;
	}
}

static void
start(struct member *m, void *(*fn)(void *))
{
	int rc = pthread_create(&m->thread, NULL, fn, m);

	if (rc)
		bail_out("pthread_create: %s", strerror(rc));
}

void
fault_injector_threads(struct fault_injector *h, struct round *r,
    double seconds, bool shared)
{
	struct member m[MAX_WORKERS + 3];
	int64_t until = now_ns() + (int64_t)(seconds * 1e9);
	unsigned threads = r->j->n_logs, i;
	struct lh *lh = NULL;

	memset(m, 0, sizeof(m));
	if (shared && lh_open(&lh, r->table, &r->open))
		bail_out("lh_open: %s", lh_error_detail());
	for (i = 0; i < threads + 2; i++) {
		m[i].r = r;
		m[i].slot = i;
		m[i].lh = lh;
	}
	h->n_lives = threads;
	for (i = 0; i < threads; i++) {
		h->lives[i] = (struct life){ 0, NEVER, NEVER };
		start(&m[i], member_main);
	}
	start(&m[threads], census_main);
	start(&m[threads + 1], metronome_main);
	sleep_until_ns(until);
	atomic_store(&r->j->quit, 1);
	for (i = 0; i < threads + 2; i++)
		join(h, &m[i]);
	if (lh && lh_close(lh))
		h->crashed++;
	for (i = 0; i < threads; i++)
		h->lives[i].session = atomic_load(&r->session[i]);
}
