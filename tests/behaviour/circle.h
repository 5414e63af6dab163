/* SPDX-License-Identifier: MIT */
/*
 * Circles of waits: parties that hold keys and wait for others', each a process
 * of its own or a thread of one.
 *
 * A party acquires the key `have`, then waits for the key `want`.  It holds the
 * first until party_lets_go(), whatever the result of that wait.
 */
#ifndef TESTS_BEHAVIOUR_CIRCLE_H
#define TESTS_BEHAVIOUR_CIRCLE_H

#include <errno.h>
#include <stdio.h>
#include "upgrade.h"

#define CIRCLE_FN	__attribute__((unused)) static
#define PARTIES		16

#define T6_MS	t_ms(1000)	/* ten times the bound of the specification */

struct party {
	struct t_event asked, answered;
	uint32_t asks;
	int what;			/* enum below */
	char key[32];
	struct lh_acquire_opts opts;
	int result;
	int64_t ended_ns;
	char detail[640];
	struct lh_lease lease[4];	/* in the order they were taken */
	int n;
	/* of the party itself */
	const char *table;
	struct lh *lh;
	pid_t pid;
	unsigned long thread;
};

enum { TAKE, UPGRADE, LET_GO, LEAVE };

CIRCLE_FN int
party_do(struct party *p)
{
	int r = 0;

	switch (p->what) {
	case TAKE:
		r = lh_acquire(p->lh, p->key, &p->opts, &p->lease[p->n]);
		p->n += r == 0;
		return r;
	case UPGRADE:
		return lh_convert_wait(p->lh, &p->lease[0], LH_EXCLUSIVE,
		    &p->opts);
	default:
		while (p->n > 0) {
			int e = lh_release(p->lh, &p->lease[--p->n]);

			r = r != 0 ? r : e;
		}
		return r;
	}
}

CIRCLE_FN int
party_play(void *arg)
{
	struct party *p = arg;
	bool own = p->lh == NULL;

	if (own) {
		struct lh_open_opts o = t_open_opts();

		if (lh_open(&p->lh, p->table, &o) != 0)
			return 1;
	}
	for (uint32_t i = 1; t_await(&p->asked, i, t_ms(100000)); i++) {
		bool last = p->what == LEAVE;

		p->result = party_do(p);
		snprintf(p->detail, sizeof(p->detail), "%s",
		    lh_error_detail());
		p->ended_ns = t_now_ns();
		t_post(&p->answered);
		if (last)
			return own ? lh_close(p->lh) : 0;
	}
	return 1;
}

CIRCLE_FN void *
party_thread(void *arg)
{
	return (void *)(intptr_t)party_play(arg);
}

/* lh: a thread of this process's attachment; NULL: a process of its own. */
CIRCLE_FN struct party *
party_new(const char *table, struct lh *lh)
{
	struct party *p = t_shared(sizeof(*p));

	p->table = table;
	p->lh = lh;
	if (lh != NULL)
		p->thread = t_thread(party_thread, p);
	else
		p->pid = t_fork(party_play, p);
	return p;
}

CIRCLE_FN void
party_begin(struct party *p, int what, const char *key,
    const struct lh_acquire_opts *opts)
{
	p->what = what;
	snprintf(p->key, sizeof(p->key), "%s", key);
	p->opts = *opts;
	p->asks++;
	t_post(&p->asked);
}

CIRCLE_FN bool
party_answered(struct party *p)
{
	return atomic_load(&p->answered.count) == p->asks;
}

CIRCLE_FN int
party_result(struct party *p)
{
	return t_await(&p->answered, p->asks, T_HANG_MS) ? p->result : -ETIME;
}

/* Have that key, which is free. */
CIRCLE_FN void
party_has(struct party *p, const char *key, uint32_t mode, int64_t ttl_ms)
{
	struct lh_acquire_opts o = t_opts(ttl_ms, 0);
	int r;

	o.mode = mode;
	party_begin(p, TAKE, key, &o);
	r = party_result(p);
	if (r != 0)
		bail_out("a party cannot have %s: %s: %s", key, lh_strerror(r),
		    p->detail);
}

/* Want that key, as number n of those who wait for it. */
CIRCLE_FN void
party_wants(struct lh *lh, struct party *p, const char *key, uint32_t mode,
    uint32_t priority, int n)
{
	struct lh_acquire_opts o = t_opts(HOUR_MS, HOUR_MS);

	o.mode = mode;
	o.priority = priority;
	party_begin(p, TAKE, key, &o);
	/* on a busy machine it may have returned already */
	if (!t_until(T_HANG_MS, t_waiters(lh, key) == n || party_answered(p)))
		bail_out("a party does not wait for %s", key);
	t_sleep_ms(2);	/* the last to wait is known to the millisecond */
}

CIRCLE_FN int
party_lets_go(struct party *p)
{
	struct lh_acquire_opts o = t_opts(1, 0);

	party_begin(p, LET_GO, "", &o);
	return party_result(p);
}

/* Waits until it acquires the key that it waits for, and releases it. */
CIRCLE_FN void
party_follows(struct party *p, const char *who)
{
	is(party_result(p), 0, "%s", who);
	is(party_lets_go(p), 0, "released");
}

CIRCLE_FN void
party_end(struct party *p)
{
	struct lh_acquire_opts o = t_opts(1, 0);

	party_begin(p, LEAVE, "", &o);
	if (p->thread != 0)
		is((int)(intptr_t)t_join(p->thread), 0, "a thread ends");
	else
		is(t_reap(p->pid, T_HANG_MS), 0, "a process ends");
}

/* Waits for the first of n that returns. -1: none does. */
CIRCLE_FN int
party_first(struct party **p, int n, int64_t ms)
{
	int who = -1;

	(void)t_until(ms, __extension__ ({
		for (int i = 0; i < n && who < 0; i++)
			who = party_answered(p[i]) ? i : -1;
		who >= 0; }));
	return who;
}

/* How many have been answered. */
CIRCLE_FN int
party_count(struct party **p, int n)
{
	int count = 0;

	for (int i = 0; i < n; i++)
		count += party_answered(p[i]);
	return count;
}

#endif
