/* SPDX-License-Identifier: MIT */
/* test: slow 12 */
/*
 * doc/cluster.md, "permission denied": a host may not write a cluster key, for
 * some time, in one mode, or beside another key.  A process that waits for or
 * tries the key gets -EACCES; processes that want what is permitted get it, at
 * the same time; and the key goes to another host as soon as it can.
 *
 * Otherwise a process would wait for a key that it can never have, or one
 * forbidden key would stop the permitted ones.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "support/asked.h"
#include "support/hosts.h"
#include "support/part.h"

#define KEY		"cluster:k"
#define OPEN		"cluster:open"
#define SECRET		"cluster:secret"
#define TOKENS_MAX	1200000	/* more than one revision has */
#define SOON_MS		3000

static struct host *const a = &hosts[0], *const b = &hosts[1];
static _Atomic bool denied;		/* the permission is missing now */
static const char *denied_prefix;	/* of the keys that it is missing for */

/* Host A may not write keys of that prefix: all of a transaction is denied for
 * one key of it, as etcd does it. */
static enum fake_mishap
deny_prefix(unsigned host, uint64_t call, void *arg)
{
	(void)call;
	(void)arg;
	return host == 0 && denied && asked_to_write(denied_prefix) ?
	    FAKE_DENIED : FAKE_NONE;
}

/* It may not put a key that needs its session and something else: it draws no
 * new revision. */
static enum fake_mishap
deny_revision(unsigned host, uint64_t call, void *arg)
{
	(void)host;
	(void)call;
	(void)arg;
	return denied && asked_to(KV_PUT) && asked->n_compares >= 2 ?
	    FAKE_DENIED : FAKE_NONE;
}

static void
do_begin(void *arg)
{
	fake_store_mishaps(hosts_store, arg != NULL ? deny_revision :
	    deny_prefix, NULL, NULL);
	asked_watch(a->engine);
}

static void
begin(unsigned n, const char *prefix)
{
	static char revision;

	hosts_begin(n);
	denied_prefix = prefix;
	denied = prefix != NULL;
	hosts_do(do_begin, prefix == NULL ? &revision : NULL);
}

/* Acquires and releases until that fails: the error. */
static int
use_up(uint64_t *token, int *n)
{
	struct lh_acquire_opts o = t_opts(60000, T_HANG_MS);
	struct lh_lease l;
	int e = 0;

	for (*n = 0; e == 0 && *n < TOKENS_MAX; ++*n) {
		e = lh_acquire(a->lh, KEY, &o, &l);
		if (e != 0)
			break;
		*token = l.token;
		(void)lh_release(a->lh, &l);
	}
	return e;
}

/* A host that has the key may draw no new revision. */
static void
play_revision(void)
{
	struct lh_acquire_opts o = t_opts(60000, T_HANG_MS);
	struct lh_acquire_opts try = t_opts(60000, 0);
	uint64_t last = 0;
	struct lh_lease l;
	int n;

	begin(1, NULL);
	is(lh_acquire(a->lh, KEY, &o, &l), 0, "host A acquires the key");
	is(lh_release(a->lh, &l), 0, "and releases it");
	denied = true;
	is(use_up(&last, &n), -EACCES, "an acquire fails at last");
	cmp(n, >, 1000000, "when all tokens of the revision are used");
	ok(strstr(lh_error_detail(), "permission denied") != NULL,
	    "with the reason: %s", lh_error_detail());
	is(lh_acquire(a->lh, KEY, &try, &l), -EACCES, "so does a try");
	is(host_right(a, KEY), RIGHT_EXCLUSIVE, "the key stays here");
	denied = false;
	ok(t_until(T_HANG_MS, lh_acquire(a->lh, KEY, &o, &l) == 0),
	    "with permission it is soon granted");
	cmp(l.token, >, last, "with a larger token");
	is(lh_release(a->lh, &l), 0, "released");
	cmp(host_counts(a).reanchored, >, 0, "a new revision was drawn");
	is(host_counts(a).returned, 0, "the key stayed here");
	hosts_end();
}

static void
both_then_one(int64_t wait_ms, const char *how)
{
	struct lh_item item[2] = { { .key = OPEN }, { .key = SECRET } };
	struct lh_acquire_opts o = t_opts(60000, wait_ms);
	struct lh_lease two[2], one = { 0 };

	is(lh_acquire_many(a->lh, item, 2, &o, two), -EACCES,
	    "%s: both keys are refused", how);
	is(lh_acquire(a->lh, OPEN, &o, &one), 0,
	    "%s: the permitted key is granted", how);
	if (one.token != 0)
		is(lh_release(a->lh, &one), 0, "released");
	is(lh_acquire(a->lh, SECRET, &o, &one), -EACCES,
	    "%s: the other key is refused", how);
	host_down(a);		/* and all is forgotten */
	is(host_up(a), 0, "another shim");
	ok(t_until(T_HANG_MS, host_reaches_now(a)), "it is up");
	hosts_do(do_begin, NULL);
}

/* Of two keys that are wanted at once one is forbidden. */
static void
play_one_of_two(void)
{
	begin(1, "/q/secret/");
	both_then_one(T_HANG_MS, "wait");
	both_then_one(0, "try");
	hosts_end();
}

static void *
take_there(void *arg)
{
	struct lh_acquire_opts o = t_opts(60000, 3 * T_HANG_MS);
	static struct lh_lease l;

	*(int *)arg = lh_acquire(b->lh, KEY, &o, &l);
	return NULL;
}

/* A host has the key, and may not give it back, which is a write, too: when its
 * shim ends, its session ends, and the other host has the key at once. */
static void
play_give_back(void)
{
	struct lh_acquire_opts o = t_opts(60000, T_HANG_MS);
	unsigned long other;
	struct lh_lease l;
	int64_t then_ns;
	int there = -1;

	a->opts.ttl_ms = b->opts.ttl_ms = (unsigned)t_ms(20000);
	begin(2, "/q/k/");
	denied = false;
	is(lh_acquire(a->lh, KEY, &o, &l), 0, "host A acquires the key");
	is(lh_release(a->lh, &l), 0, "and releases it");
	denied = true;
	other = t_thread(take_there, &there);
	ok(t_until(T_HANG_MS, host_right(a, KEY) == RIGHT_NONE),
	    "host B wants it: host A has no right any more");
	then_ns = t_now_ns();
	host_ended(a);
	(void)t_join(other);
	is(there, 0, "host B acquires it");
	cmp(t_since_ms(then_ns), <, t_ms(10000), "when A's shim has ended");
	hosts_end();
}

/* Both are heard before anything is answered. */
static void
do_try_both(void *arg)
{
	int fd = *(int *)arg;

	hosts_want(fd, 1, KEY, RIGHT_EXCLUSIVE, FRAME_TRY);
	hosts_want(fd, 2, KEY, RIGHT_SHARED, FRAME_TRY);
}

/* The host may have the key shared only, and both modes are tried at once. */
static void
play_try_both_modes(void)
{
	static struct lhi_frame f[2];
	int fd, type[2], which;

	begin(1, "/q/k/w/");
	fd = dial(a);
	hosts_do(do_try_both, &fd);
	type[0] = hear(fd, &f[0], T_HANG_MS);
	type[1] = hear(fd, &f[1], T_HANG_MS);
	which = f[0].id == 1 ? 0 : 1;
	is(type[which], FRAME_DENIED, "exclusive: denied");
	is(type[!which], FRAME_GRANTED, "shared, at the same time: granted");
	(void)close(fd);
	hosts_end();
}

struct waiter {
	unsigned mode;
	int e;
	_Atomic bool done;
};

static void *
wait_for_key(void *arg)
{
	struct lh_acquire_opts o = t_opts(60000, SOON_MS + T_HANG_MS);
	struct waiter *w = arg;
	struct lh_lease l;

	o.mode = w->mode;
	w->e = lh_acquire(a->lh, KEY, &o, &l);
	w->done = true;
	if (w->e == 0)
		(void)lh_release(a->lh, &l);
	return NULL;
}

/* The same with waiters, while another host has the key. */
static void
play_wait_both_modes(void)
{
	static struct waiter alone = { .mode = LH_EXCLUSIVE };
	static struct waiter shared = { .mode = LH_SHARED };
	struct lh_lease l;
	unsigned long t[2];

	begin(2, "/q/k/w/");
	is(take(b, KEY, RIGHT_EXCLUSIVE, T_HANG_MS, &l), 0,
	    "another host has the key");
	host_cut(a, true);	/* so that both wait before it is asked */
	t[0] = t_thread(wait_for_key, &alone);
	t_sleep_ms(200);
	t[1] = t_thread(wait_for_key, &shared);
	t_sleep_ms(200);
	host_cut(a, false);
	ok(t_until(SOON_MS, alone.done), "the exclusive wait soon ends");
	ok(!shared.done, "while the shared one goes on");
	(void)t_join(t[0]);
	is(alone.e, -EACCES, "it is refused");
	is(lh_release(b->lh, &l), 0, "released");
	(void)t_join(t[1]);
	is(shared.e, 0, "the shared one is granted then");
	hosts_end();
}

int
main(void)
{
	t_part(play_revision, 2000, "no new revision");
	t_part(play_one_of_two, 2000, "one of two keys");
	t_part(play_give_back, 2000, "the key is not given back");
	t_part(play_try_both_modes, 2000, "one of two modes, tried");
	t_part(play_wait_both_modes, 2000, "one of two modes, waited for");
	return done();
}
