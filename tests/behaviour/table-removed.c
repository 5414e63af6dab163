/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G2 and G9: a table is not removed while anybody is attached,
 * whether this process, another, or a stopped one; dead processes do not count.
 * By force, it is retired under its users: all waiters notice within a quarter
 * of a second (asserted: ten times that), free and new keys are refused, held
 * leases stay valid.  The next table's tokens are above all of the old one,
 * also above those that its users may still get.
 *
 * Otherwise a removal would grant a key twice, or leave waiters asleep for
 * ever.
 */
#include <errno.h>
#include <unistd.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

#define WAITERS 12
#define LEARN_MS t_ms(2500)

static const char *table;

static void
refused_in_use(void)
{
	struct lh *lh = t_open(table), *late;
	struct t_actor *a;

	is(lh_table_remove(table, 0), -EBUSY, "our own attachment is a user");
	ok(t_has_detail(), "with a reason");
	is(access(t_object(table), F_OK), 0, "the table is there");
	a = t_actor(table);
	is(lh_close(lh), 0, "we leave");
	is(lh_table_remove(table, 0), -EBUSY, "another process is one");
	t_stop(a->pid);
	is(lh_table_remove(table, 0), -EBUSY, "stopped, too");
	is(lh_open(&late, table, NULL), 0, "the table can be opened still");
	is(lh_close(late), 0, "and closed");
	t_actor_kill(a);
	is(lh_table_remove(table, 0), 0, "killed, it is not");
	is(access(t_object(table), F_OK), -1, "the table is gone");
	is(lh_table_remove(table, 0), -ENOENT, "once");
	is(lh_table_remove(table, 0x40), -EINVAL, "a flag that is none");
	is(lh_table_remove("a/b", 0), -EINVAL, "a name that is none");
}

struct waiter {
	struct lh *lh;
	int result;
	int64_t ended_ns;
};

static void *
wait_for_it(void *arg)
{
	struct waiter *w = arg;
	struct lh_lease l;

	w->result = t_acquire(w->lh, "held", t_ms(60000), t_ms(60000), &l);
	w->ended_ns = t_now_ns();
	return NULL;
}

static void
forced(void)
{
	struct lh_stats old = { .size = sizeof(old) }, new = old;
	struct lh *lh = t_open(table), *fresh;
	struct t_actor *a = t_actor(table);
	struct lh_key *key, *other;
	struct waiter w[WAITERS];
	unsigned long threads[WAITERS];
	struct lh_lease mine, l;
	int64_t removed_ns, slowest = 0;
	int learnt = 0;

	is(lh_key_open(lh, "opened", 0, &key), 0, "a key is opened");
	is(lh_key_acquire(key, NULL, &l), 0, "used");
	is(lh_release(lh, &l), 0, "and free again");
	mine = t_hold(lh, "held");
	for (int i = 0; i < WAITERS; i++) {
		w[i] = (struct waiter){ .lh = lh };
		threads[i] = t_thread(wait_for_it, &w[i]);
	}
	t_begin_acquire(a, "held", t_ms(60000), t_ms(60000));
	ok(t_await_waiters(lh, "held", WAITERS + 1), "many wait for another");
	is(lh_table_remove(table, 0), -EBUSY, "in use");
	ok(t_waiters(lh, "held") == WAITERS + 1, "they wait still");

	removed_ns = t_now_ns();
	is(lh_table_remove(table, LH_FORCE), 0, "removed by force");
	for (int i = 0; i < WAITERS; i++) {
		(void)t_join(threads[i]);
		learnt += w[i].result == -ESTALE;
		if (w[i].ended_ns - removed_ns > slowest)
			slowest = w[i].ended_ns - removed_ns;
	}
	is(learnt, WAITERS, "our waiters learn it");
	cmp(slowest / T_NS_PER_MS, <=, LEARN_MS, "soon");
	is(t_result(a), -ESTALE, "and the other process's");
	cmp((a->ended_ns - removed_ns) / T_NS_PER_MS, <=, LEARN_MS, "soon");

	is(lh_key_open(lh, "new", 0, &other), -ESTALE, "a new key is refused");
	ok(t_has_detail(), "with a reason");
	is(lh_key_acquire(key, NULL, &l), -ESTALE, "an opened, free one, too");
	is(t_acquire(lh, "held", 1000, 0, &l), -ESTALE, "and a held one");
	is(lh_verify(lh, &mine), 0, "the lease is a lease");
	is(lh_extend(lh, &mine, t_ms(60000)), 0, "can be extended");

	fresh = t_open(table);
	is(lh_stats(lh, &old), 0, "the old table");
	is(lh_stats(fresh, &new), 0, "and the new one");
	cmp(new.token_base, >=, old.token_ceiling, "a token's range each");
	l = t_hold(fresh, "held");
	cmp(l.token, >, mine.token, "the new token is larger");
	is(lh_release(lh, &mine), 0, "the old lease is released");
	is(lh_verify(fresh, &l), 0, "the new one does not notice");
	is(lh_close(lh), 0, "the old attachment closes");
	t_actor_end(a);
	is(lh_release(fresh, &l), 0, "the new lease is released");
	t_close(fresh);
}

int
main(void)
{
	table = t_table();
	refused_in_use();
	forced();
	return done();
}
