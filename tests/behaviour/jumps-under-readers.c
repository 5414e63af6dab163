/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G2 and G8: readers overlap, so that their key is never free, while
 * the table goes on from range to range, 14 at a time.  Nobody takes the key to
 * another range under readers: a caller that asks for scope local goes on in
 * the key's range, or waits.
 *
 * Otherwise, after several such jumps, an old reader's token would be read 2^40
 * too high: its lease would count as lost, and nobody could release it.
 */
#include "fence.h"

#define JUMPS	12

static const char *table;
static struct lh *lh;
static struct lh_lease first, idle, back;

static struct lh_acquire_opts
reader(void)
{
	struct lh_acquire_opts o = t_opts(3600000, 0);

	o.mode = LH_SHARED;
	o.scope = LH_LOCAL;
	return o;
}

static void *
read_first(void *arg)
{
	struct lh_acquire_opts o = reader();

	is(lh_acquire(lh, "k", &o, &first), 0, "a reader");
	return arg;
}

static void *
read_and_go_idle(void *arg)
{
	struct lh_acquire_opts o = reader();

	is(lh_acquire(lh, "k", &o, &idle), 0, "one more");
	is(lh_release(lh, &idle), 0, "which goes idle");
	return arg;
}

/* Another thread, which has the claims of the one that has ended. */
static void *
come_back(void *arg)
{
	struct lh_acquire_opts o = reader();
	struct lh_lease l;

	o.scope = LH_EPHEMERAL;
	is(lh_acquire(lh, "k", &o, &l), 0, "a reader");
	is(lh_acquire(lh, "k", &o, &back), 0, "and one more");
	is(lh_release(lh, &l), 0, "released");
	return arg;
}

/* Does the first reader stay?  Else it goes when another has joined. */
static void
run(int stays)
{
	struct lh_acquire_opts o = reader();
	struct lh_lease l[JUMPS], x;
	struct lh *joins[JUMPS];
	uint64_t most = 0, latest = 0;

	table = t_table();
	lh = fence_open(table);
	t_aside(read_first);
	t_aside(read_and_go_idle);
	for (int i = 0; i < JUMPS; i++) {
		latest = fence_gap(table, 14);
		joins[i] = fence_open(table);
		o.scope = LH_LOCAL;
		is(lh_acquire(joins[i], "k", &o, &l[i]), -EAGAIN,
		    "a try to join in the latest range");
		o.scope = LH_EPHEMERAL;
		is(lh_acquire(joins[i], "k", &o, &l[i]), 0, "one joins");
		cmp(l[i].token, >, most, "with a larger token");
		most = l[i].token;
		if (i == 0 && !stays)
			is(lh_release(lh, &first), 0, "the first goes");
		if (!stays)
			continue;
		is(lh_verify(lh, &first), 0, "the first is held");
		is(lh_verify_token(lh, "k", first.token), 0, "its token too");
	}
	t_aside(come_back);
	if (back.token > most)
		most = back.token;
	if (stays) {
		is(lh_extend(lh, &first, 3600000), 0, "extended");
		is(lh_release(lh, &first), 0, "released");
	}
	is(lh_release(lh, &back), 0, "released");
	for (int i = 0; i < JUMPS; i++) {
		is(lh_release(joins[i], &l[i]), 0, "released");
		is(lh_close(joins[i]), 0, "closed");
	}
	o = reader();
	o.mode = LH_EXCLUSIVE;
	o.max_wait_ms = T_HANG_MS;
	is(lh_acquire(lh, "k", &o, &x), 0, "then a writer");
	cmp(x.token, >, most, "with a larger token than any reader's");
	is_u64(x.token >> 32, latest, "out of the latest range");
	is(lh_release(lh, &x), 0, "released");
	t_close(lh);
	(void)lh_table_remove(table, 0);
}

int
main(void)
{
	run(1);
	run(0);
	return done();
}
