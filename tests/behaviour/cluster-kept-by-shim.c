/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G3 and G9: while this host has no right to a cluster key, the shim
 * keeps the key in the table.  lh_break() and lh_ask_release() refuse that: the
 * waiter goes on to wait.  lh_status() marks the shim as no holder.  It reports
 * a key that the table does not know if another host has it, or if that is not
 * known.  A lease of the host is not reported to last after its right.
 *
 * Otherwise an operator who breaks it would make each waiter take the key and
 * give it back, again and again; and a key of another host would look free.
 */
#include <errno.h>
#include <string.h>
#include "support/shim.h"
#include "support/support.h"
#include "tap.h"

static const char *table;

static int
wait_for_it(void *arg)
{
	struct lh_acquire_opts o = t_opts(t_long(20000), t_long(20000));
	struct lh *lh = t_open(table);
	struct lh_lease l;

	(void)arg;
	return lh_acquire(lh, "cluster:k", &o, &l) == 0 ? 0 : 1;
}

static int
see(const struct lh_key_info *info, void *arg)
{
	*(struct lh_key_info *)arg = *info;
	return info->n_holders == 0 ? 0 : (int)info->holders[0].flags;
}

static int64_t
left_ms(struct lh *lh, int64_t expires_ns)
{
	return (expires_ns - lh_clock_ns(lh)) / T_NS_PER_MS;
}

/* Of a process of this host, under each policy. */
static void
ends_with_right(struct lh *lh, const struct t_shim *s, uint32_t policy)
{
	struct lh_lease_info li = { .size = sizeof(li) };
	struct lh_acquire_opts o = t_opts(t_long(600000), t_long(5000));
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_key_info info;
	struct lh_lease l;

	more.policy = policy;
	o.more = &more;
	is(lh_acquire(lh, "cluster:e", &o, &l), 0, "policy %u: held", policy);
	cmp(lh_status(lh, "cluster:e", NULL, see, &info) &
	    (int)LH_PARTY_ENDS_WITH_RIGHT, !=, 0, "status: with the right");
	is(info.others, LH_OTHERS_NONE, "no other host has it");
	is(lh_lease_info(lh, &l, &li), 0, "its info");
	cmp(left_ms(lh, li.expires_ns), <=, s->ttl_ms, "no later than D");
	cmp(left_ms(lh, li.expires_ns), >, 0, "and later than now");
	is(lh_release(lh, &l), 0, "released");
}

/* The sentence of a wait that has timed out names another host only if the
 * cluster says that one has the key. */
static void
times_out(struct lh *lh, struct t_shim *s)
{
	struct lh_acquire_opts o = t_opts(t_long(20000), t_long(300));
	struct lh_lease l;

	is(lh_acquire(lh, "cluster:k", &o, &l), -ETIMEDOUT, "another waits");
	ok(strstr(lh_error_detail(), "belongs to another host now") != NULL,
	    "for another host: %s", lh_error_detail());
	s->nobody = WITHOUT_HOLDER;
	is(lh_acquire(lh, "cluster:k", &o, &l), -ETIMEDOUT, "and again");
	ok(strstr(lh_error_detail(), "another host") == NULL &&
	    strstr(lh_error_detail(), "is kept for the cluster") != NULL,
	    "no host has it now: %s", lh_error_detail());
	s->nobody = WITHOUT_ANSWER;
	is(lh_acquire(lh, "cluster:k", &o, &l), -ETIMEDOUT, "and again");
	ok(strstr(lh_error_detail(), "is kept for the cluster") != NULL,
	    "it is not known: %s", lh_error_detail());
	s->nobody = 0;
}

int
main(void)
{
	struct lh_key_info info;
	struct t_shim *s;
	struct lh *lh;
	pid_t waiter;

	table = t_table();
	lh = t_open(table);
	s = t_shim(table);
	s->ttl_ms = t_long(3000);
	t_sleep_ms(50);
	ends_with_right(lh, s, LH_POLICY_LEASE);
	ends_with_right(lh, s, LH_POLICY_STRICT);
	is(lh_status(lh, "cluster:no", NULL, see, &info), 0,
	    "a key that the table does not know");
	is(info.others, LH_OTHERS_HOLD, "another host has it");
	is(info.n_holders, 0, "nobody here");
	is(lh_status(lh, "plain", NULL, see, &info), -ENOENT,
	    "a key of this host alone");
	s->says = SHIM_QUEUES;
	waiter = t_fork(wait_for_it, NULL);
	ok(t_await_waiters(lh, "cluster:k", 1), "a process waits");
	is(lh_break(lh, "cluster:k", NULL, 0), -EBUSY, "break is refused: %s",
	    lh_error_detail());
	is(lh_ask_release(lh, "cluster:k", NULL, 0), -EBUSY, "and ask: %s",
	    lh_error_detail());
	cmp(lh_status(lh, "cluster:k", NULL, see, &info) &
	    (int)LH_PARTY_FOR_CLUSTER, !=, 0, "the shim is no holder");
	is(info.n_waiters, 1, "the process waits still");
	is(info.others, LH_OTHERS_HOLD, "another host has it");
	times_out(lh, s);
	t_shim_kill(s);
	is(lh_status(lh, "cluster:no", NULL, see, &info), 0, "no shim");
	is(info.others, LH_OTHERS_UNKNOWN, "not known who has it");
	is(lh_explain(lh, "cluster:no", see, &info), 0, "explain");
	is(info.others, LH_OTHERS_UNKNOWN, "not known who has it");
	is(t_reap(waiter, T_HANG_MS), 1, "the waiter has an error");
	t_close(lh);
	return done();
}
