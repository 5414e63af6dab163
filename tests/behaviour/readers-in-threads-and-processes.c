/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1, G2 and G6: readers in the threads of several processes, all at
 * once, and then coming and going while writers come between.  No reader holds
 * the key beside a writer, nor do two writers; tokens keep their order; no call
 * is refused, and no caller waits for ever.
 *
 * Otherwise a program with many readers would see changes of a writer half
 * done.
 */
#include <errno.h>
#include "readers.h"

#define PROCESSES	4
#define THREADS		4
#define CROWD		(PROCESSES * THREADS)
#define RUN_MS		400

static struct shared {
	struct t_event entered, leave;
	_Atomic uint32_t stop;
	_Atomic int readers, writers;
	_Atomic uint64_t highest_x, highest;	/* tokens seen */
	_Atomic uint64_t reads, writes, failures, together, wrong_tokens;
} *sh;

static struct lh *thread_lh;	/* of this process's threads */

static void
raise_to(_Atomic uint64_t *p, uint64_t v)
{
	uint64_t was = atomic_load(p);

	while (was < v && !atomic_compare_exchange_weak(p, &was, v))
		continue;
}

static int
read_once(struct lh *lh, int64_t hold_ms)
{
	struct lh_lease l;
	int r = t_read(lh, "k", HOUR_MS, HOUR_MS, &l);

	if (r != 0)
		return r;
	atomic_fetch_add(&sh->readers, 1);
	if (atomic_load(&sh->writers) != 0)
		sh->together++;
	if (l.token < sh->highest_x)
		sh->wrong_tokens++;
	raise_to(&sh->highest, l.token);
	if (hold_ms > 0) {
		t_post(&sh->entered);
		t_await(&sh->leave, 1, hold_ms);
	}
	r = lh_verify(lh, &l);
	atomic_fetch_sub(&sh->readers, 1);
	sh->reads++;
	return r != 0 ? r : lh_release(lh, &l);
}

static int
write_once(struct lh *lh)
{
	struct lh_lease l;
	int r = t_acquire(lh, "k", HOUR_MS, HOUR_MS, &l);

	if (r != 0)
		return r;
	if (atomic_fetch_add(&sh->writers, 1) != 0 ||
	    atomic_load(&sh->readers) != 0)
		sh->together++;
	if (l.token <= sh->highest)
		sh->wrong_tokens++;
	raise_to(&sh->highest, l.token);
	raise_to(&sh->highest_x, l.token);
	r = lh_verify(lh, &l);
	if (atomic_load(&sh->readers) != 0)
		sh->together++;
	atomic_fetch_sub(&sh->writers, 1);
	sh->writes++;
	return r != 0 ? r : lh_release(lh, &l);
}

static void *
one_of_them(void *arg)
{
	(void)arg;
	if (read_once(thread_lh, 2 * T_HANG_MS) != 0)
		sh->failures++;
	t_post(&sh->entered);
	while (!sh->stop)
		if (read_once(thread_lh, 0) != 0)
			sh->failures++;
	return NULL;
}

static int
crowd(struct t_actor *a, void *arg)
{
	unsigned long threads[THREADS];

	(void)arg;
	thread_lh = a->lh;
	for (int i = 0; i < THREADS; i++)
		threads[i] = t_thread(one_of_them, NULL);
	for (int i = 0; i < THREADS; i++)
		t_join(threads[i]);
	return 0;
}

static int
writer(struct t_actor *a, void *arg)
{
	(void)arg;
	while (!sh->stop) {
		if (write_once(a->lh) != 0)
			sh->failures++;
		t_nap();
	}
	return 0;
}

int
main(void)
{
	struct t_actor *a[PROCESSES], *w;
	const char *table = t_table();
	struct lh *lh;

	sh = t_shared(sizeof(*sh));
	for (int i = 0; i < PROCESSES; i++)
		a[i] = t_actor(table);
	w = t_actor(table);
	lh = t_open(table);
	for (int i = 0; i < PROCESSES; i++)
		t_begin(a[i], crowd, NULL);
	ok(t_await(&sh->entered, CROWD, T_HANG_MS),
	    "%d threads of %d processes are inside", CROWD, PROCESSES);
	is(sh->readers, CROWD, "all at once");
	is(t_holders(lh, "k"), CROWD, "as status says");
	is(t_do_acquire(w, "k", HOUR_MS, 0), -EAGAIN, "no writer gets in");
	t_post(&sh->leave);
	ok(t_await(&sh->entered, 2 * CROWD, T_HANG_MS), "they leave");

	t_begin(w, writer, NULL);
	t_sleep_ms(t_ms(RUN_MS));
	/* on a slow machine some may not have had a turn yet */
	(void)t_until(T_HANG_MS, sh->reads > CROWD && sh->writes > 0);
	sh->stop = 1;
	for (int i = 0; i < PROCESSES; i++)
		is(t_result(a[i]), 0, "the threads of process %d end", i);
	is(t_result(w), 0, "and the writer");
	diag("%llu reads, %llu writes", (unsigned long long)sh->reads,
	    (unsigned long long)sh->writes);
	is(sh->failures, 0, "nobody was refused or lost a lease");
	is(sh->together, 0, "no writer was inside with anybody");
	is(sh->wrong_tokens, 0, "tokens kept their order");
	cmp(sh->reads, >, CROWD, "readers came and went");
	cmp(sh->writes, >, 0, "and writers");
	is(t_holders(lh, "k"), 0, "nobody holds it in the end");
	is(t_waiters(lh, "k"), 0, "nobody waits");
	for (int i = 0; i < PROCESSES; i++)
		t_actor_end(a[i]);
	t_actor_end(w);
	t_close(lh);
	return done();
}
