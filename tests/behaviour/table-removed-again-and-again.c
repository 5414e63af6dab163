/* SPDX-License-Identifier: MIT */
/* test: slow 6 */
/*
 * Guarantee G2: while processes open a table, acquire a key and leave, others
 * remove it under them, by force or not, or are killed in that.  Each table has
 * a range of tokens of its own, above all before it; a refused process (only
 * -ESTALE and the like) has no lease; without force nobody's table is removed.
 *
 * Otherwise re-creation would give a token twice.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define USERS 4
#define GRANTS_MAX 500000

struct grant {
	uint64_t base, token;
};

static struct shared {
	_Atomic bool stop;
	_Atomic uint32_t n, removed, busy, lost, odd;
	_Atomic int odd_code;
	struct grant grants[GRANTS_MAX];
} *sh;

static const char *table;

static void
note_odd(int code)
{
	atomic_store(&sh->odd_code, code);
	(void)atomic_fetch_add(&sh->odd, 1);
}

/* One visit: the tokens of a table, from the moment that it was opened. */
static void
visit(bool forced)
{
	struct lh_open_opts o = t_open_opts();
	struct lh_stats st = { .size = sizeof(st) };
	struct lh_lease l;
	struct lh *lh;
	int e = lh_open(&lh, table, &o);

	if (e != 0) {
		note_odd(e);
		return;
	}
	e = lh_stats(lh, &st);
	for (int i = 0; e == 0 && i < 3; i++) {
		uint32_t n;

		e = t_acquire(lh, i == 1 ? "own" : "k", t_ms(5000),
		    t_ms(5000), &l);
		if (e == -ESTALE && forced) {
			(void)atomic_fetch_add(&sh->lost, 1);
			e = 0;
			break;
		}
		if (e != 0)
			break;
		n = atomic_fetch_add(&sh->n, 1);
		if (n < GRANTS_MAX)
			sh->grants[n] = (struct grant){ st.token_base,
			    l.token };
		e = lh_release(lh, &l);
	}
	if (e != 0)
		note_odd(e);
	(void)lh_close(lh);
}

static int
use(void *arg)
{
	while (!atomic_load(&sh->stop)) {
		int64_t begin = t_now_ns(), took;

		visit(arg != NULL);
		took = (t_now_ns() - begin) / T_NS_PER_MS;
		if (arg == NULL)	/* else there is always somebody */
			t_sleep_ms(took * USERS > 4 ? took * USERS : 4);
	}
	return 0;
}

static int
take_away(void *arg)
{
	while (!atomic_load(&sh->stop)) {
		int e = lh_table_remove(table, arg != NULL ? LH_FORCE : 0);

		if (e == 0)
			(void)atomic_fetch_add(&sh->removed, 1);
		else if (e == -EBUSY)
			(void)atomic_fetch_add(&sh->busy, 1);
		else if (e != -ENOENT)
			note_odd(e);
		if (arg != NULL)
			t_sleep_ms(1);
	}
	return 0;
}

static int
by_base(const void *a, const void *b)
{
	const struct grant *x = a, *y = b;

	if (x->base != y->base)
		return x->base < y->base ? -1 : 1;
	return (x->token > y->token) - (x->token < y->token);
}

static void
judge(const char *how)
{
	uint32_t n = atomic_load(&sh->n), tables = 1, wrong = 0;

	n = n < GRANTS_MAX ? n : GRANTS_MAX;
	qsort(sh->grants, n, sizeof(sh->grants[0]), by_base);
	for (uint32_t i = 0; i < n; i++) {
		const struct grant *g = &sh->grants[i];

		wrong += g->token <= g->base;
		if (i == 0 || g[-1].base == g->base)
			continue;
		tables++;
		wrong += g[-1].token >= g->base;
	}
	cmp(n, >, 0, "%s: there were grants", how);
	is(wrong, 0, "%s: each table has tokens of its own, above the last "
	    "one's", how);
	is(atomic_load(&sh->odd), 0, "%s: no other error", how);
	if (atomic_load(&sh->odd) != 0)
		diag("it was %d", atomic_load(&sh->odd_code));
	diag("%s: %u grants in %u tables, %u removed, %u busy, %u lost", how, n,
	    tables, atomic_load(&sh->removed), atomic_load(&sh->busy),
	    atomic_load(&sh->lost));
}

static void
play(const char *how, bool forced, bool killed)
{
	void *arg = forced ? sh : NULL;
	pid_t users[USERS], removers[2];
	/* not stretched: a slow build does less, and less is enough */
	int64_t end = t_now_ns() + 1500 * T_NS_PER_MS;
	int64_t last = t_now_ns() + T_HANG_MS / 2 * T_NS_PER_MS;
	int bad = 0;

	atomic_store(&sh->stop, false);
	atomic_store(&sh->n, 0);
	atomic_store(&sh->removed, 0);
	atomic_store(&sh->busy, 0);
	atomic_store(&sh->lost, 0);
	for (int i = 0; i < USERS; i++)
		users[i] = t_fork(use, arg);
	for (int i = 0; i < 2; i++)
		removers[i] = t_fork(take_away, arg);
	while (t_now_ns() < end || (t_now_ns() < last &&
	    (atomic_load(&sh->n) == 0 || atomic_load(&sh->removed) == 0))) {
		t_sleep_ms(3);
		if (!killed)
			continue;
		t_kill(removers[0]);
		removers[0] = t_fork(take_away, arg);
	}
	atomic_store(&sh->stop, true);
	for (int i = 0; i < USERS; i++)
		bad += t_reap(users[i], T_HANG_MS) != 0;
	for (int i = 0; i < 2; i++)
		bad += t_reap(removers[i], T_HANG_MS) != 0;
	is(bad, 0, "%s: all end well", how);
	judge(how);
	cmp(atomic_load(&sh->removed), >, 0, "%s: tables were removed", how);
}

int
main(void)
{
	table = t_table();
	sh = t_shared(sizeof(*sh));
	play("asked", false, false);
	play("forced", true, false);
	play("forced, and killed", true, true);
	return done();
}
