/* SPDX-License-Identifier: MIT */
/* test: slow 8 */
/*
 * Guarantees G4, G5, G6 and G7, timing T3: a reader cannot join the present
 * readers, because the key is in an old range of tokens.  It is stopped before
 * each of its accesses to shared memory, from the moment when it finds that
 * until it sleeps like a writer.
 *
 * The other callers		Then
 * leave				it acquires the key at once
 * are joined by a reader		that reader acquires, and it joins
 * are followed by a writer	the writer acquires within T3
 *
 * Otherwise a stopped reader would keep all others out of a free key, or would
 * itself sleep on beside a free key.
 */
#include "sweep.h"
#include "behaviour/fence.h"

#define KEYS	150
#define MOST	200		/* it sleeps after about 150 accesses */
#define LATE_MS	(10 * 60)	/* T3 behind a stopped waiter */

static const char *table;
static struct lh *first, *lh, *other;
static struct lh_lease held[KEYS];
static int used;

struct caller {
	struct sweep s;
	struct lh *lh;
	char key[16];
	struct lh_acquire_opts o;
	struct lh_lease l;
	int n;
};

static struct caller
caller(struct lh *by, int key, uint32_t mode, uint32_t scope, int n)
{
	struct caller c = { .lh = by, .o = t_opts(REPLAY_LONG_MS, REPLAY_MS),
	    .n = n };

	c.o.mode = mode;
	c.o.scope = scope;
	(void)snprintf(c.key, sizeof(c.key), "k%d", key);
	return c;
}

static int
acquire(void *arg)
{
	struct caller *c = arg;
	struct lh_lease warm;

	if (lh_acquire(c->lh, "warm", NULL, &warm) == 0)
		(void)lh_release(c->lh, &warm);
	sweep_now(&c->s, "wait.barred", c->n > 0);
	return lh_acquire(c->lh, c->key, &c->o, &c->l);
}

static bool
ended(struct caller *c)
{
	return t_until(t_ms(LATE_MS), atomic_load(&c->s.ended.count) > 0);
}

/* The next key that is read since before the range ended. */
static int
next_key(void)
{
	if (used == KEYS)
		bail_out("more keys are needed");
	return used++;
}

static void
release_first(int key)
{
	if (lh_release(first, &held[key]) != 0)
		fail("the first reader's release");
}

static void
release_held(const char *what, int n, struct caller *c)
{
	if (lh_verify(c->lh, &c->l) != 0 || lh_release(c->lh, &c->l) != 0)
		sweep_bad(what, n, "a lease is lost: %s", lh_error_detail());
}

/* Another caller comes: 0 none, 1 a reader, 2 a writer; 40 ms each. */
static int
freed(int how)
{
	static const char *const what[] = { "alone", "a reader", "a writer" };
	bool stands = true;
	int n;

	for (n = 1; stands && n < MOST; n += how != 0 ? 7 : 3) {
		int key = next_key();
		struct caller r = caller(lh, key, LH_SHARED, LH_LOCAL, n);
		struct caller x = caller(other, key, how == 2 ? LH_EXCLUSIVE :
		    LH_SHARED, LH_LOCAL, 0);

		sweep_go(&r.s, acquire, &r);
		stands = sweep_stands(&r.s) && sweep_on(&r.s, NULL, n);
		if (how != 0)
			sweep_go(&x.s, acquire, &x);
		if (how != 0 && n % 2)
			t_sleep_ms(2);
		release_first(key);
		if (how != 0 && !ended(&x))
			sweep_bad(what[how], n,
			    "the other caller is kept waiting");
		if (how == 2) {
			if (sweep_end(&x.s) != 0)
				sweep_bad(what[how], n, "the writer fails");
			release_held(what[how], n, &x);
		}
		t_post(&r.s.on);
		if (!ended(&r))
			sweep_bad(what[how], n, "the reader is late itself");
		if (sweep_end(&r.s) != 0)
			sweep_bad(what[how], n, "the reader fails");
		release_held(what[how], n, &r);
		if (how == 1) {
			if (sweep_end(&x.s) != 0)
				sweep_bad(what[how], n,
				    "the other reader fails");
			release_held(what[how], n, &x);
		}
	}
	return n;
}

int
main(void)
{
	int n;

	table = sweep_begin();
	(void)alarm(120);
	first = fence_open(table);
	for (int i = 0; i < KEYS; i++) {
		struct caller c = caller(first, i, LH_SHARED, LH_LOCAL, 0);

		if (lh_acquire(first, c.key, &c.o, &held[i]) != 0)
			bail_out("%s", lh_error_detail());
	}
	(void)fence_gap(table, 14);
	lh = fence_open(table);
	other = fence_open(table);
	for (int how = 0; how < 3; how++) {
		n = freed(how);
		cmp(n, >=, MOST, "variant %d: stopped until it sleeps", how);
		is(t_findings(other), 0, "the table is sound");
	}
	t_close(other);
	t_close(lh);
	(void)lh_close(first);
	return done();
}
