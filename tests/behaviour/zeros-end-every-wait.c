/* SPDX-License-Identifier: MIT */
/* test: slow 10 */
/*
 * Guarantee G12, timing T7, issue 21 A2: a process sleeps in a wait when its
 * table is truncated, punched or overwritten with zeros.  The wait returns
 * -EUCLEAN within the time of its next look (1 s); live handles are lost, and
 * tickets become readable.
 *
 * Otherwise a waiter would sleep for ever beside a table that is gone.
 */
#include "behaviour/zeros.h"

#define LOOK_MS (10 * t_ms(1000))

struct waits {
	struct world w;
	struct t_event ready;
	int error[5];
	int64_t end_ns;
};

static struct waits *all;

static void *
wait_for_lock(void *arg)
{
	struct lh_acquire_opts o = t_opts(600000, 600000);
	struct lh_lease l;

	t_post(&all->ready);
	all->error[0] = lh_acquire(all->w.lh, "busy", &o, &l);
	return NULL;
}

static void *
wait_as_reader(void *arg)
{
	struct lh_acquire_opts o = t_opts(600000, 600000);
	struct lh_lease l;

	o.mode = LH_SHARED;
	t_post(&all->ready);
	all->error[1] = lh_acquire(all->w.lh, "busy", &o, &l);
	return NULL;
}

static void *
wait_to_convert(void *arg)
{
	struct lh_acquire_opts o = t_opts(600000, 600000);
	struct lh_lease l;

	o.mode = LH_SHARED;
	must(lh_acquire(all->w.lh, "read", &o, &l), "read");
	t_post(&all->ready);
	all->error[2] = lh_convert_wait(all->w.lh, &l, LH_EXCLUSIVE, &o);
	return NULL;
}

static void *
wait_until_free(void *arg)
{
	struct lh_acquire_opts o = t_opts(600000, 600000);

	t_post(&all->ready);
	all->error[3] = lh_wait_free(all->w.lh, "busy", &o);
	return NULL;
}

static bool
is_readable(int fd)
{
	struct pollfd p = { fd, POLLIN, 0 };

	return poll(&p, 1, (int)LOOK_MS) == 1;
}

static int
subject_waits(void *arg)
{
	static t_thread_fn *const fn[] = { wait_for_lock, wait_as_reader,
	    wait_to_convert, wait_until_free };
	static const char *const what[] = { "acquire", "acquire shared",
	    "convert", "wait_free" };
	struct job *j = arg;
	unsigned long thread[4];
	int64_t since;

	all = t_shared(sizeof(*all));
	zeros_enter(&all->w, j->table);
	for (int i = 0; i < 4; i++)
		thread[i] = t_thread(fn[i], NULL);
	ok(t_await(&all->ready, 4, T_HANG_MS), "all wait");
	(void)t_until(T_HANG_MS, t_waiters(all->w.lh, "busy") == 2 &&
	    t_waiters(all->w.lh, "read") == 1);
	t_sleep_ms(30);
	since = t_now_ns();
	zeros_destroy(j->table, j->way);
	for (int i = 0; i < 4; i++) {
		(void)t_join(thread[i]);
		is(all->error[i], -EUCLEAN, "%s", what[i]);
	}
	cmp(t_since_ms(since), <, LOOK_MS, "in time");
	ok(is_readable(lh_ticket_fd(all->w.ticket)), "the ticket is readable");
	is(ticket_finish(&all->w), -EUCLEAN, "the ticket");
	ok(is_readable(lh_watch_fd(all->w.watch)),
	    "the watch reports the loss");
	is(lh_lock_valid(all->w.lock), -ESTALE, "the live handle is lost");
	close_all(&all->w);
	return 0;
}

static int
holder(void *arg)
{
	struct lh_acquire_opts o = t_opts(600000, 0);
	struct t_event *ready = arg;
	const char *table = (const char *)(ready + 1);
	struct lh *lh = t_open(table);
	struct lh_lease a, b;

	o.mode = LH_EXCLUSIVE;
	must(lh_acquire(lh, "busy", &o, &a), "busy");
	o.mode = LH_SHARED;
	must(lh_acquire(lh, "read", &o, &b), "read");
	t_post(ready);
	(void)pause();	/* until it is killed */
	return 1;
}

int
main(void)
{
	struct t_event *ready = t_shared(4096);
	const char *table = t_table();

	strcpy((char *)(ready + 1), table);
	for (int way = 0; way < CUT; way++) {
		struct job j = { NULL, table, way };
		pid_t other = t_fork(holder, ready);

		ok(t_await(ready, (uint32_t)way + 1, T_HANG_MS), "held");
		is(t_reap(t_fork(subject_waits, &j), 3 * T_HANG_MS), 0,
		    "way %d: every wait ends", way);
		t_kill(other);
		(void)lh_table_remove(table, LH_FORCE);
		t_watch();
	}
	return done();
}
