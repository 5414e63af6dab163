/* SPDX-License-Identifier: MIT */
/*
 * Does the daemon's work on each table that it serves:
 *
 * - passes of its reaper (reap.c), when they are due;
 * - once a second, a check that the next tokens of scope local are available;
 *   and
 * - statistics, on request.
 *
 * Only the token check accesses a disk: a dozen system calls, and rarely a new
 * file.  A disk that hangs delays the daemon and nobody else.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <leasehold/error.h>
#include "api/stats_api.h"
#include "daemon/daemon_log.h"
#include "daemon/now.h"
#include "guard.h"
#include "op/token_ceiling.h"
#include "table_pass.h"

#define KEEP_NS NS_PER_SEC

static int64_t tick_ns;

/* Arguments and results of a guarded call. */
struct job {
	struct table *t;
	int64_t now_ns;
	struct lh_stats *stats;
	int error;
};

void
table_pass_configure(const struct conf *conf)
{
	tick_ns = conf->tick_min_ms * NS_PER_MS;
}

void
table_pass_wake(uint32_t i)
{
	struct table *t = tables_at(i);
	int64_t soonest;

	if (t == NULL || t->state != TABLE_SERVED)
		return;
	t->woken = true;
	soonest = t->began_ns + tick_ns;
	if (t->next_ns > soonest)
		t->next_ns = soonest;
}

/* Closes a table that was truncated. */
static void
leave_cut_table(struct table *t)
{
	log_line(LOG_ERR, "table %s is not served: it was truncated", t->name);
	tables_close(t, TABLE_LEFT, -EPROTO);
}

static void
do_pass(void *arg)
{
	struct job *job = arg;

	job->error = lhi_reap_pass(job->t->reaper, job->now_ns,
	    &job->t->next_ns);
}

static void
run_pass(struct table *t)
{
	struct job job = { .t = t, .now_ns = mono_ns() };
	int64_t soonest = job.now_ns + tick_ns, took;

	t->began_ns = job.now_ns;
	t->next_ns = soonest;
	if (!guard_run(do_pass, &job)) {
		leave_cut_table(t);
		return;
	}
	took = mono_ns() - job.now_ns;
	t->spent_ns += took;
	if (took > t->longest_ns)
		t->longest_ns = took;
	if (t->next_ns < soonest)
		t->next_ns = soonest;
	if (job.error == -ESTALE) {
		log_line(LOG_INFO, "table %s was removed", t->name);
		tables_close(t, TABLE_ABSENT, 0);
		tables_scan_soon();
	} else if (job.error == -EUCLEAN) {
		if (!t->damaged)
			log_line(LOG_ERR, "table %s is damaged: %s; see "
			    "\"leasehold fsck\"", t->name, lh_error_detail());
		t->damaged = true;	/* the pass did everything else */
	} else if (job.error != 0) {
		log_line(LOG_ERR, "table %s is not served: %s", t->name,
		    lh_error_detail());
		tables_close(t, TABLE_LEFT, job.error);
	}
	if (t->state == TABLE_SERVED && t->woken) {
		t->woken = false;
		(void)tables_arm(t, EPOLL_CTL_MOD);
	}
}

static void
do_keep_tokens(void *arg)
{
	struct job *job = arg;

	job->error =
	    lhi_token_ceiling_keep_ahead(lhi_reap_view(job->t->reaper));
}

/* Checks that the next range of local tokens is on disk. */
static void
keep_tokens_ahead(struct table *t)
{
	struct job job = { .t = t };

	t->keep_ns = mono_ns() + KEEP_NS;
	if (!guard_run(do_keep_tokens, &job)) {
		leave_cut_table(t);
		return;
	}
	if (job.error == -ESTALE)
		return;		/* the next pass reports it */
	if (job.error != 0 && !t->rangeless)
		log_line(LOG_ERR, "table %s cannot issue tokens of scope "
		    "local: %s",
		    t->name, lh_error_detail());
	if (job.error == 0 && t->rangeless)
		log_line(LOG_INFO, "table %s can issue tokens of scope local "
		    "again", t->name);
	t->rangeless = job.error != 0;
}

int64_t
table_pass_run_due(void)
{
	int64_t next_ns = INT64_MAX;

	for (uint32_t i = 0; i < TABLES_MAX; i++) {
		struct table *t = tables_at(i);

		if (t != NULL && t->state == TABLE_SERVED &&
		    t->next_ns <= mono_ns())
			run_pass(t);
		if (t != NULL && t->state == TABLE_SERVED &&
		    t->keep_ns <= t->began_ns)
			keep_tokens_ahead(t);
		if (t != NULL && t->state == TABLE_SERVED &&
		    t->next_ns < next_ns)
			next_ns = t->next_ns;
	}
	return next_ns;
}

static void
do_stats(void *arg)
{
	struct job *job = arg;

	lhi_stats_of(lhi_reap_view(job->t->reaper), job->stats);
}

bool
table_pass_stats(uint32_t i, struct lh_stats *stats)
{
	struct job job = { .t = tables_at(i), .stats = stats };

	if (job.t == NULL || job.t->state != TABLE_SERVED)
		return false;
	if (guard_run(do_stats, &job))
		return true;
	leave_cut_table(job.t);
	return false;
}
