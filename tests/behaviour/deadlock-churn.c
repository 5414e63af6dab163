/* SPDX-License-Identifier: MIT */
/* test: slow 6 */
/*
 * Guarantee G6, timing T6: threads and processes acquire keys at random, in
 * both modes, and release them.  In the order of their names, with waits that
 * time out at random, no deadlock is possible, and no call reports one.  In any
 * order, with upgrades, long leases and endless waits, a call that fails with
 * -EDEADLK releases all its keys and tries again; all threads end.
 *
 * Otherwise callers would be refused without a deadlock, or would wait for each
 * other for ever.
 */
#include <errno.h>
#include <stdlib.h>
#include "upgrade.h"

#define KEYS	7
#define THREADS	4
#define PROCS	2
#define MOST	4		/* keys at a time */

static struct shared {
	_Atomic uint64_t rounds, granted, told, late;
	_Atomic int wrong;
	_Atomic int64_t until_ns;
	_Atomic int64_t longest_ns;
} *sh;

static const char *table;

struct one {
	struct lh *lh;
	unsigned seed;
	bool ordered;
	int rounds;
};

static int
random_of(struct one *o, int n)
{
	return (int)((unsigned)rand_r(&o->seed) >> 4) % n;
}

/* Count what a wait came to.  True: granted. */
static bool
count(struct one *o, int r, int64_t began_ns)
{
	int64_t took = t_now_ns() - began_ns, most;

	most = atomic_load(&sh->longest_ns);
	while (took > most &&
	    !atomic_compare_exchange_weak(&sh->longest_ns, &most, took))
		;
	if (r == 0)
		atomic_fetch_add(&sh->granted, 1);
	else if (r == -EDEADLK)
		atomic_fetch_add(&sh->told, 1);
	else if (o->ordered && r == -ETIMEDOUT)
		atomic_fetch_add(&sh->late, 1);
	else
		atomic_store(&sh->wrong, r);
	return r == 0;
}

static void
take_some(struct one *o)
{
	struct lh_lease l[MOST];
	int key[MOST], n = 1 + random_of(o, MOST), had = 0;
	bool on = true;

	for (int i = 0; i < n; i++) {
		bool again;

		do {
			key[i] = random_of(o, KEYS);
			again = false;
			for (int j = 0; j < i; j++)
				again = again || key[j] == key[i];
		} while (again);
	}
	for (int i = 1; o->ordered && i < n; i++) {
		for (int j = i; j > 0 && key[j] < key[j - 1]; j--) {
			int k = key[j];

			key[j] = key[j - 1];
			key[j - 1] = k;
		}
	}
	for (int i = 0; i < n && on; i++) {
		struct lh_acquire_opts a = t_opts(HOUR_MS, o->ordered ?
		    1 + random_of(o, 150) : HOUR_MS);
		int64_t ns = t_now_ns();
		char name[8];

		snprintf(name, sizeof(name), "k%d", key[i]);
		a.mode = random_of(o, 2) ? LH_SHARED : LH_EXCLUSIVE;
		a.priority = (uint32_t)random_of(o, 3);
		on = count(o, lh_acquire(o->lh, name, &a, &l[had]), ns);
		had += on;
		if (on && !o->ordered && a.mode == LH_SHARED &&
		    random_of(o, 3) == 0) {
			ns = t_now_ns();
			on = count(o, lh_convert_wait(o->lh, &l[had - 1],
			    LH_EXCLUSIVE, &a), ns);
		}
	}
	if (random_of(o, 4) == 0)
		t_sleep_ms(random_of(o, 20));
	while (had > 0) {
		int r = lh_release(o->lh, &l[--had]);

		if (r != 0)
			atomic_store(&sh->wrong, r);
	}
	atomic_fetch_add(&sh->rounds, 1);
}

static void *
run(void *arg)
{
	struct one *o = arg;

	if (o->ordered) {
		while (t_now_ns() < atomic_load(&sh->until_ns))
			take_some(o);
	} else {
		for (int i = 0; i < o->rounds; i++)
			take_some(o);
	}
	return NULL;
}

static int
crew(struct lh *lh, bool ordered, int rounds, unsigned seed)
{
	struct one o[THREADS];
	unsigned long t[THREADS];

	for (int i = 0; i < THREADS; i++) {
		o[i] = (struct one){ lh, seed + (unsigned)i * 7919, ordered,
		    rounds };
		t[i] = t_thread(run, &o[i]);
	}
	for (int i = 0; i < THREADS; i++)
		t_join(t[i]);
	return 0;
}

struct job {
	bool ordered;
	int rounds;
	unsigned seed;
};

static int
process(void *arg)
{
	struct job *j = arg;
	struct lh_open_opts o = t_open_opts();
	struct lh *lh;
	int r = lh_open(&lh, table, &o);

	if (r != 0)
		return 1;
	crew(lh, j->ordered, j->rounds, j->seed);
	return lh_close(lh) != 0;
}

static void
churn(bool ordered, int rounds)
{
	struct job j[PROCS];
	pid_t pid[PROCS];

	for (int i = 0; i < PROCS; i++) {
		j[i] = (struct job){ ordered, rounds,
		    (unsigned)(t_now_ns() >> 10) + (unsigned)i };
		pid[i] = t_fork(process, &j[i]);
	}
	for (int i = 0; i < PROCS; i++)
		is(t_reap(pid[i], t_ms(40000)), 0, "a process comes to its "
		    "end");
	is(atomic_load(&sh->wrong), 0, "nothing else is said");
	diag("%llu rounds, %llu grants, %llu too late, %llu told; longest wait "
	    "%lld ms", (unsigned long long)atomic_load(&sh->rounds),
	    (unsigned long long)atomic_load(&sh->granted),
	    (unsigned long long)atomic_load(&sh->late),
	    (unsigned long long)atomic_load(&sh->told),
	    (long long)(atomic_load(&sh->longest_ns) / T_NS_PER_MS));
}

int
main(void)
{
	struct lh *lh;

	table = t_table();
	sh = t_shared(sizeof(*sh));
	lh = t_open(table);
	/* a slow machine does less in it, and has had enough, too */
	atomic_store(&sh->until_ns, t_now_ns() + 4000 * T_NS_PER_MS);
	churn(true, 0);
	is((int)atomic_load(&sh->told), 0, "no call reports a deadlock");
	cmp(atomic_load(&sh->granted), >, 100, "they had much");
	memset(sh, 0, sizeof(*sh));
	churn(false, t_count(60, 20));
	cmp(atomic_load(&sh->told), >, 0, "there were some");
	t_close(lh);
	return done();
}
