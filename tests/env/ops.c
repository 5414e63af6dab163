/* SPDX-License-Identifier: MIT */
/*
 * The classes of operations that are tried in each environment.
 *
 * Each is what a program does with the library, with its usual outcome: 0.
 * Keys have the process's number in their names, but for three of the driver's:
 * held (by a holder that lives), dying (by one that soon kills itself) and
 * lapsing (by one that is stopped, for a second).
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "env/ops.h"

static char key[64];

struct lh_acquire_opts
ops_opts(int64_t wait_ms)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;

	o.ttl_ms = 60000;
	o.max_wait_ms = wait_ms;
	return o;
}

const char *
ops_name(const char *what)
{
	(void)snprintf(key, sizeof(key), "%s-%d", what, (int)getpid());
	return key;
}

/* Acquire, use and release; in both modes, by name and opened. */
static int
run_lease(struct lh *lh)
{
	struct lh_acquire_opts o = ops_opts(0);
	struct lh_lease l;
	struct lh_key *k;
	int e = 0;

	for (int i = 0; e == 0 && i < 4; i++) {
		o.mode = i & 1 ? LH_SHARED : LH_EXCLUSIVE;
		e = lh_acquire(lh, ops_name("lease"), &o, &l);
		if (e == 0)
			e = lh_verify(lh, &l);
		if (e == 0)
			e = lh_extend(lh, &l, 60000);
		if (e == 0)
			e = lh_convert(lh, &l, LH_SHARED);
		if (e == 0)
			e = lh_release(lh, &l);
	}
	if (e == 0)
		e = lh_key_open(lh, ops_name("lease"), 0, &k);
	if (e != 0)
		return e;
	e = lh_key_acquire(k, NULL, &l);
	if (e == 0)
		e = lh_release(lh, &l);
	(void)lh_key_close(k);
	return e != 0 ? e : lh_destroy(lh, key);
}

/* A holder that lives keeps its key: a try and a wait end, and say so. */
static int
run_exclusion(struct lh *lh)
{
	struct lh_acquire_opts o = ops_opts(0);
	struct lh_lease l;
	int e = lh_acquire(lh, "held", &o, &l);

	if (e != -EAGAIN)
		return e == 0 ? -EEXIST : e;
	o.max_wait_ms = 300;
	e = lh_acquire(lh, "held", &o, &l);
	if (e != -ETIMEDOUT)
		return e == 0 ? -EEXIST : e;
	o.mode = LH_SHARED;
	e = lh_acquire(lh, "held", &o, &l);
	return e == -ETIMEDOUT ? 0 : e == 0 ? -EEXIST : e;
}

/* A holder that dies is found out, long before its deadline. */
static int
run_death(struct lh *lh)
{
	struct lh_acquire_opts o = ops_opts(4000);
	struct lh_lease l;
	int e = lh_acquire(lh, "dying", &o, &l);

	return e != 0 ? e : lh_release(lh, &l);
}

/* A holder that is stopped has its key until its deadline, and no longer. */
static int
run_stall(struct lh *lh)
{
	struct lh_acquire_opts o = ops_opts(4000);
	struct lh_lease l;
	int e = lh_acquire(lh, "lapsing", &o, &l);

	return e != 0 ? e : lh_release(lh, &l);
}

static int
run_session(struct lh *lh)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts o = ops_opts(0);
	struct lh_session *s;
	struct lh_lease l;
	int e = lh_session_open(lh, ops_name("session"), NULL, &s);

	if (e != 0)
		return e;
	more.session = s;
	o.more = &more;
	e = lh_acquire(lh, key, &o, &l);
	if (e == 0)
		e = lh_session_renew(s) < 0 ? -ESTALE : 0;
	if (e == 0)
		e = lh_session_destroy(s);
	lh_session_close(s);
	return e;
}

/* A live handle is renewed by a thread, and its callback gets each change. */
static int
run_live(struct lh *lh)
{
	struct lh_lock *lock;
	struct lh_watch *watch;
	struct pollfd p = { .events = POLLIN };
	int e = lh_lock_open(lh, ops_name("live"), NULL, &lock);

	if (e != 0)
		return e;
	e = lh_lock_watch(lock, 0, &watch);
	if (e == 0) {
		struct lh_acquire_opts o = ops_opts(0);

		e = lh_lock_acquire(lock, &o);
		p.fd = lh_watch_fd(watch);
		if (e == 0 && poll(&p, 1, 5000) != 1)
			e = -ETIME;
		if (e == 0)
			e = lh_lock_valid(lock);
		if (e == 0)
			e = lh_lock_release(lock);
		(void)lh_watch_close(watch);
	}
	(void)lh_lock_close(lock);
	return e;
}

static int
run_ticket(struct lh *lh)
{
	struct lh_acquire_opts o = ops_opts(5000);
	struct lh_ticket *t;
	struct lh_lease l;
	struct pollfd p = { .events = POLLIN };
	int e = lh_acquire_start(lh, ops_name("ticket"), &o, &t);

	if (e != 0)
		return e;
	p.fd = lh_ticket_fd(t);
	if (p.fd < 0) {
		(void)lh_ticket_cancel(t);
		return p.fd;
	}
	if (poll(&p, 1, 5000) != 1)
		return -ETIME;
	e = lh_ticket_finish(t, &l);
	return e != 0 ? e : lh_release(lh, &l);
}

static int
run_many(struct lh *lh)
{
	struct lh_acquire_opts o = ops_opts(0);
	struct lh_item items[2] = { { "many-a", 0, 0 }, { "many-b", 0, 0 } };
	struct lh_lease l[2];
	struct lh_sem *sem;
	int e = lh_acquire_many(lh, items, 2, &o, l);

	if (e == 0)
		e = lh_release_many(lh, l, 2);
	if (e == 0)
		e = lh_sem_open(lh, "sem", 2, &sem);
	if (e != 0)
		return e;
	e = lh_sem_acquire(sem, &o, &l[0]);
	if (e == 0)
		e = lh_sem_release(sem, &l[0]);
	(void)lh_sem_close(sem);
	return e;
}

static int
run_value(struct lh *lh)
{
	char got[256];
	size_t len = sizeof(got);
	struct lh_lease l;
	int e = lh_acquire(lh, ops_name("value"), NULL, &l);

	if (e == 0)
		e = lh_value_set(lh, &l, "v", 1);
	if (e == 0)
		e = lh_value_get(lh, key, got, &len, NULL);
	return e != 0 ? e : lh_release(lh, &l);
}

static int
no_key(const struct lh_key_info *info, void *arg)
{
	return 0;
}

static void
no_text(const char *text, void *arg)
{
}

/* The calls that only look, and name the holder. */
static int
run_look(struct lh *lh)
{
	struct lh_stats st = { .size = sizeof(st) };
	int e = lh_list(lh, "", no_key, NULL);

	if (e == 0)
		e = lh_status(lh, "held", NULL, no_key, NULL);
	if (e == 0)
		e = lh_explain(lh, "held", no_key, NULL);
	if (e == 0)
		e = lh_stats(lh, &st);
	return e != 0 ? e : lh_check(lh, no_text, NULL);
}

/* A second attachment: the table is opened (or not) in the environment. */
static int
run_open(struct lh *lh)
{
	struct lh *other;
	int e = lh_open(&other, lh_table_name(lh), NULL);

	return e != 0 ? e : lh_close(other);
}

static int
run_make(struct lh *lh)
{
	struct lh_open_opts o = LH_OPEN_OPTS_INIT;
	char table[80];
	struct lh *other;
	int e;

	/* (numbers of processes are used twice in pid namespaces) */
	(void)snprintf(table, sizeof(table), "%s.made", lh_table_name(lh));
	o.max_keys = o.max_leases = 1024;
	o.max_sessions = 64;
	e = lh_open(&other, table, &o);
	if (e != 0)
		return e;
	e = lh_close(other);
	return e != 0 ? e : lh_table_remove(table, LH_FORGET_TOKENS);
}

static int
run_gate(struct lh *lh)
{
	char path[120];
	struct lh_gate *g;
	int e;

	(void)snprintf(path, sizeof(path), "/tmp/leasehold-env-gate-%s",
	    lh_table_name(lh));
	e = lh_gate_open(&g, path, NULL, 0);
	if (e == 0) {
		e = lh_gate_check(g, 7, LH_EXCLUSIVE);
		(void)lh_gate_close(g);
	}
	(void)unlink(path);
	return e;
}

const struct class classes[] = {
	{ "lease", run_lease }, { "exclusion", run_exclusion },
	{ "death", run_death }, { "stall", run_stall },
	{ "session", run_session }, { "live", run_live },
	{ "ticket", run_ticket }, { "many", run_many }, { "value", run_value },
	{ "look", run_look }, { "open-again", run_open }, { "make", run_make },
	{ "gate", run_gate }, { "fork", forks_run },
};

const int n_classes = sizeof(classes) / sizeof(classes[0]);
