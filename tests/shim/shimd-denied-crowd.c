/* SPDX-License-Identifier: MIT */
/*
 * Permission is taken away while processes wait in the table's queue, of which
 * the shim knows nothing any more (the key was here, and went to another host).
 * They get -EACCES, and so does each new caller, and the cluster is not asked
 * again and again.
 *
 * Otherwise such waiters would wait for ever, or burden the cluster.
 */
#include <errno.h>
#include "support/asked.h"
#include "support/hosts.h"

#define WAITERS 3

static const char key[] = "cluster:k";
static _Atomic bool denied;
static unsigned claims;
static _Atomic int told[WAITERS];

/* A key is put if the session is there, and something else. */
static enum fake_mishap
deny(unsigned host, uint64_t call, void *arg)
{
	if (!asked_to(KV_PUT) || asked->n_compares < 2)
		return FAKE_NONE;
	claims++;
	return denied ? FAKE_DENIED : FAKE_NONE;
}

static void
do_begin(void *arg)
{
	fake_store_mishaps(hosts_store, deny, NULL, NULL);
	asked_watch(((struct host *)arg)->engine);
}

static void
do_count(void *arg)
{
	*(unsigned *)arg = claims;
}

static unsigned
claims_now(void)
{
	unsigned n;

	hosts_do(do_count, &n);
	return n;
}

/* Does A's shim stand in front of them? */
static void
do_look(void *arg)
{
	const struct key *k = keys_find(hosts[0].shim, key, strlen(key));

	*(bool *)arg = k != NULL && k->hold.state == LOCAL_HOLD_WAITS &&
	    k->hold.first;
}

static bool
is_in_front(void)
{
	bool yes;

	hosts_do(do_look, &yes);
	return yes;
}

static void *
await(void *arg)
{
	struct lh_acquire_opts o = t_opts(60000, T_HANG_MS);
	_Atomic int *e = arg;
	struct lh_lease l;

	*e = lh_acquire(hosts[0].lh, key, &o, &l);
	return NULL;
}

static void *
take_there(void *arg)
{
	*(int *)arg = take(&hosts[1], key, RIGHT_EXCLUSIVE, T_HANG_MS,
	    &(struct lh_lease){ 0 });
	return NULL;
}

static int
count_waiters(const struct lh_key_info *i, void *arg)
{
	*(uint32_t *)arg = i->n_waiters;
	return 0;
}

static uint32_t
waiters(void)
{
	uint32_t n = 0;

	(void)lh_status(hosts[0].lh, key, NULL, count_waiters, &n);
	return n;
}

/* Without a thread that waits. */
static int
finish(void)
{
	struct lh_acquire_opts o = t_opts(60000, T_HANG_MS);
	struct lh_ticket *t;
	struct lh_lease l;
	int e = lh_acquire_start(hosts[0].lh, "cluster:t", &o, &t);

	if (e != 0)
		return e;
	(void)t_until(T_HANG_MS, (e = lh_ticket_finish(t, &l)) != -EAGAIN);
	return e;
}

int
main(void)
{
	struct lh_item item[2] = { { .key = "cluster:x" },
	    { .key = "cluster:y" } };
	struct lh_lease both[2];
	struct lh_acquire_opts o = t_opts(60000, T_HANG_MS);
	pthread_t waiter[WAITERS], other;
	struct lh_lease l;
	unsigned before;
	int there = -1;

	hosts_begin(2);
	hosts_do(do_begin, &hosts[0]);
	is(lh_acquire(hosts[0].lh, key, &o, &l), 0, "A has the key");
	for (int i = 0; i < WAITERS; i++)
		waiter[i] = t_thread(await, (void *)&told[i]);
	ok(t_until(T_HANG_MS, waiters() == WAITERS), "others wait for it");
	denied = true;
	before = claims_now();
	other = t_thread(take_there, &there);
	ok(t_until(T_HANG_MS, waiters() > WAITERS), "so does A's shim, for B");
	ok(t_until(T_HANG_MS, is_in_front()), "in front of them");
	is(lh_release(hosts[0].lh, &l), 0, "released");
	(void)t_join(other);
	is(there, 0, "B has it");
	for (int i = 0; i < WAITERS; i++) {
		(void)t_join(waiter[i]);
		is(told[i], -EACCES, "the waiter is refused");
	}
	cmp(claims_now() - before, <=, 2 * WAITERS, "claims of A's");
	before = claims_now();
	is(lh_acquire(hosts[0].lh, "cluster:z", &o, &l), -EACCES,
	    "a wait for another key is refused");
	ok(strstr(lh_error_detail(), "permission denied") != NULL, "why: %s",
	    lh_error_detail());
	is(claims_now() - before, 1, "it was asked for once");
	is(lh_acquire_many(hosts[0].lh, item, 2, &o, both), -EACCES,
	    "who waits for two");
	is(finish(), -EACCES, "and with a ticket");
	denied = false;
	ok(t_until(T_HANG_MS, lh_acquire(hosts[0].lh, "cluster:z", &o, &l) ==
	    0), "with permission it is soon granted");
	hosts_end();
	return done();
}
