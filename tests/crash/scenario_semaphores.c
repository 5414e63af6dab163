/* SPDX-License-Identifier: MIT */
/*
 * The scenarios of semaphores: see scenario.h.
 *
 * There is one of two permits.  If the subject was killed in the middle, the
 * next process opens it with that limit, has both permits, and no third one;
 * and can destroy it.  (Beside a stop the usual server looks at KEY: what a
 * permit is, any key is.)
 *
 * Making one first checks whether any of 256 limits stands: here it is made
 * to look for the first four of them, since each look is stepped through.
 *
 * The subject has no live thread: who waits for a permit looks for itself.
 */
#include <errno.h>
#include <unistd.h>
#include "crash/subject.h"
#include "live/live_set.h"
#include "live/semaphore.h"

#define NAME "s"
#define LIMIT 2
#define PROMPT_MS 100

static const int says_busy_or_late[] = { -EAGAIN, -ETIMEDOUT, 0 };
static const int says_late_or_lost[] = { -ESTALE, -ETIMEDOUT, 0 };

static struct lh_sem *sem;
static struct lh_lease permit[LIMIT];
static struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;

static void
open_sem(struct trial *p, struct lh *lh)
{
	sub_must(p, lh_sem_open(lh, NAME, LIMIT, &sem), "a semaphore");
}

static void
prep_unmade(struct trial *p)
{
	lhi_live_by_hand = true;
	lhi_sem_most = 4;
	prep_warm(p);
}

static void
prep_open(struct trial *p)
{
	prep_unmade(p);
	open_sem(p, sub.lh);
}

/* Every permit was held once: their keys exist. */
static void
prep_permits(struct trial *p)
{
	prep_open(p);
	for (int i = 0; i < LIMIT; i++)
		sub_must(p, lh_sem_acquire(sem, NULL, &permit[i]), "hold it");
	for (int i = 0; i < LIMIT; i++)
		sub_must(p, lh_sem_release(sem, &permit[i]), "release it");
}

static void
prep_full(struct trial *p)
{
	struct lh_acquire_opts o = participant_opts(SUB_LONG_MS, 0);

	prep_open(p);
	for (int i = 0; i < LIMIT; i++)
		sub_must(p, lh_sem_acquire(sem, &o, &permit[i]), "hold it");
	sub.opts.max_wait_ms = p->wait_ms;
}

/* One of them ends before the wait is up. */
static void
prep_lapsing(struct trial *p)
{
	prep_full(p);
	sub_must(p, lh_extend(sub.lh, &permit[1], 4), "extend");
}

static void
prep_held(struct trial *p)
{
	prep_open(p);
	sub.opts.ttl_ms = p->ttl_ms;
	sub_must(p, lh_sem_acquire(sem, &sub.opts, &p->lease), "hold one");
	p->has_lease = true;
}

static void
open_session(struct trial *p, struct lh *lh, uint32_t flags)
{
	struct lh_session_opts o = LH_SESSION_OPTS_INIT;

	o.ttl_ms = SUB_LONG_MS;
	o.flags = flags;
	sub_must(p, lh_session_open(lh, "s", &o, &more.session),
	    "the session");
	more.request[0] = 1;
}

/* By a request id, into a session that lives on. */
static void
prep_request(struct trial *p)
{
	prep_permits(p);
	open_session(p, sub.lh, 0);
	sub.opts.more = &more;
}

static void
act_sem_open(struct trial *p)
{
	p->result = lh_sem_open(sub.lh, NAME, LIMIT, &sem);
}

static void
act_sem_acquire(struct trial *p)
{
	p->result = lh_sem_acquire(sem, &sub.opts, &p->lease);
	p->has_lease = p->result == 0;
}

static void
act_sem_release(struct trial *p)
{
	p->result = lh_sem_release(sem, &p->lease);
}

static void
act_sem_destroy(struct trial *p)
{
	p->result = lh_sem_destroy(sub.lh, NAME);
}

/* Holds both permits, whatever the dead held; and no third. */
static void
both_permits(struct trial *p, struct lh *lh)
{
	struct lh_acquire_opts o = participant_opts(SUB_LONG_MS, PROMPT_MS);
	struct lh_lease third;
	int error = 0;

	lhi_live_by_hand = false;
	open_sem(p, lh);
	for (int i = 0; error == 0 && i < LIMIT; i++)
		error = lh_sem_acquire(sem, &o, &permit[i]);
	o.max_wait_ms = 0;
	if (error == 0 && lh_sem_acquire(sem, &o, &third) != -EAGAIN)
		blame(p, "a third permit of two");
	for (int i = 0; error == 0 && i < LIMIT; i++)
		error = lh_sem_release(sem, &permit[i]);
	if (error == 0)
		error = lh_sem_destroy(lh, NAME);
	if (error != 0)
		blame(p, "its permits: %s: %s", lh_strerror(error),
		    lh_error_detail());
	(void)lh_sem_close(sem);
}

static void
check_sem(struct trial *p)
{
	struct lh *lh = participant_open(p);

	both_permits(p, lh);
	(void)lh_close(lh);
	checker_check(p);
}

/* The request is repeated: one permit, and the session ends with it. */
static void
check_request(struct trial *p)
{
	const uint64_t id[2] = { 1, 0 };
	struct lh_acquire_opts o = participant_opts(SUB_LONG_MS, 1000);
	struct lh_sem_status st = { .size = sizeof(st) };
	struct lh *lh = participant_open(p);
	struct lh_lease lease;

	lhi_live_by_hand = false;
	open_session(p, lh, LH_NO_CREATE);
	open_sem(p, lh);
	o.more = &more;
	sub_must(p, lh_sem_acquire(sem, &o, &lease), "G10: repeat it");
	if (p->has_lease && p->lease.token != lease.token)
		blame(p, "G10: token %llu, and then %llu",
		    (unsigned long long)p->lease.token,
		    (unsigned long long)lease.token);
	sub_must(p, lh_sem_status(sem, &st), "look");
	if (st.held != 1)
		blame(p, "G10: %u permits are held", st.held);
	sub_must(p, lh_release_request(lh, more.session, id), "by the id");
	sub_must(p, lh_sem_close(sem), "close");
	sub_must(p, lh_session_destroy(more.session), "end the session");
	lh_session_close(more.session);
	both_permits(p, lh);
	(void)lh_close(lh);
	checker_check(p);
}

static const struct scenario scenarios_semaphores[] = {
	{ .name = "sem-make", .what = "of two permits",
	  .prepare = prep_unmade, .act = act_sem_open,
	  .finish = finish_plain, .check = check_sem,
	  .allowed = says_late },
	{ .name = "sem-open", .what = "which is there",
	  .prepare = prep_open, .act = act_sem_open,
	  .finish = finish_plain, .check = check_sem },
	{ .name = "sem-acquire", .what = "one of two permits",
	  .stop_ttl_ms = 120, .prepare = prep_permits, .act = act_sem_acquire,
	  .finish = finish_alone, .check = check_sem, .allowed = says_stale },
	{ .name = "sem-timeout", .what = "when both are held",
	  .flags = SC_FIFO, .prepare = prep_full, .act = act_sem_acquire,
	  .finish = finish_alone, .check = check_sem,
	  .allowed = says_busy_or_late },
	{ .name = "sem-wait", .what = "until one is over", .flags = SC_FIFO,
	  .stop_ttl_ms = 120, .prepare = prep_lapsing,
	  .act = act_sem_acquire, .finish = finish_alone, .check = check_sem,
	  .allowed = says_late_or_lost },
	{ .name = "sem-release", .what = "a permit", .stop_ttl_ms = 120,
	  .prepare = prep_held, .act = act_sem_release,
	  .finish = finish_plain, .check = check_sem,
	  .allowed = says_stale },
	{ .name = "sem-destroy", .what = "a semaphore",
	  .prepare = prep_permits, .act = act_sem_destroy,
	  .finish = finish_plain, .check = check_sem },
	{ .flags = SC_NAMED, .name = "sem-request",
	  .what = "a permit by a request id, into a session",
	  .stop_ttl_ms = 120, .prepare = prep_request,
	  .act = act_sem_acquire, .finish = finish_alone,
	  .check = check_request, .allowed = says_stale },
};

SCENARIOS(scenarios_semaphores)
