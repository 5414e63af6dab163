/* SPDX-License-Identifier: MIT */
/*
 * lh_log(), the flight recorder: events off the fast path are reported
 * afterwards, in order, with the process that caused them, also from a copy of
 * the table, and when all processes are dead.
 *
 * Otherwise a failure could not be explained after the fact.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

#define EVENTS 500
#define HOUR_MS (3600 * 1000)

static struct lh_log_entry events[EVENTS];
static char keys[EVENTS][16];
static int n_events;

static int
collect(const struct lh_log_entry *e, void *arg)
{
	(void)arg;
	if (n_events == EVENTS)
		bail_out("too many events");
	events[n_events] = *e;
	(void)snprintf(keys[n_events++], sizeof(keys[0]), "%s",
	    e->key != NULL ? e->key : "");
	return 0;
}

static int
read_log(const char *table, const char *file, const char *key)
{
	struct lh_log_opts o = LH_LOG_OPTS_INIT;

	o.file = file;
	o.key = key;
	n_events = 0;
	return lh_log(table, &o, collect, NULL);
}

/* The only one of that kind by that process; bad otherwise. */
static const struct lh_log_entry *
one(unsigned kind, pid_t pid, const char *what)
{
	const struct lh_log_entry *found = NULL;
	static const struct lh_log_entry none;
	int n = 0;

	for (int i = 0; i < n_events; i++) {
		if (events[i].kind == kind && (pid_t)events[i].pid == pid) {
			found = &events[i];
			n++;
		}
	}
	is(n, 1, "%s", what);
	return found != NULL ? found : &none;
}

static void
in_order(void)
{
	int bad = 0;

	for (int i = 1; i < n_events; i++)
		bad += events[i].time_ns < events[i - 1].time_ns;
	is(bad, 0, "in the order of time");
}

static void
copy(const char *from, const char *to)
{
	char buf[65536];
	int in = open(from, O_RDONLY), out = open(to, O_CREAT | O_WRONLY, 0600);
	ssize_t n;

	while ((n = read(in, buf, sizeof(buf))) > 0) {
		if (write(out, buf, (size_t)n) != n)
			bail_out("cannot copy");
	}
	(void)close(in);
	(void)close(out);
}

static void
check(const char *table, const char *file, const struct t_actor *waiter,
    const struct t_actor *heir, const struct t_actor *dead)
{
	const struct lh_log_entry *e;

	is(read_log(table, file, NULL), 0, "the log is read");
	in_order();
	(void)one(LH_LOG_SESSION_BEGAN, dead->pid, "who began");
	(void)one(LH_LOG_WAIT_BEGAN, waiter->pid, "who waited");
	(void)one(LH_LOG_TIMED_OUT, waiter->pid, "a wait that timed out");
	e = one(LH_LOG_WAIT_GRANTED, heir->pid, "who was granted it");
	is(e->token, heir->lease.token, "with that token");
	is(e->ending, LH_ENDED_DIED, "after one who had died");
	ok(e->session_id == heir->lease.id[0], "in that session");
	e = one(LH_LOG_FOUND_DEAD, heir->pid, "who found the dead");
	is(e->other_pid, dead->pid, "whose process that was");
	e = one(LH_LOG_FREED_DEAD, heir->pid, "and ended its lease");
	is(e->token, dead->lease.token, "of that token");
	e = one(LH_LOG_EXPIRED, waiter->pid, "who ended the next one");
	is(e->token, heir->lease.token, "of its token");
	e = one(LH_LOG_TOLD_LOST, heir->pid, "the holder that learned of it");
	is(e->ending, LH_ENDED_EXPIRED, "that it had run out");
	is(read_log(table, file, "k"), 0, "of one key");
	in_order();
	for (int i = 0; i < n_events; i++)
		is_str(keys[i], "k", "only of that");
	cmp(n_events, >=, 6, "all of those");
	is(read_log(table, file, "never seen"), 0, "of a key that is none");
	is(n_events, 0, "nothing");
}

int
main(void)
{
	const char *table = t_table();
	struct lh *lh = t_open(table);
	struct t_actor *dead = t_actor(table), *waiter = t_actor(table);
	struct t_actor *heir = t_actor(table);
	struct stat st;
	char image[64];
	pid_t pid;

	is(t_do_acquire(dead, "k", HOUR_MS, 0), 0, "one has it");
	is(t_do_acquire(waiter, "k", HOUR_MS, t_ms(50)), -ETIMEDOUT,
	    "one waits");
	t_begin_acquire(heir, "k", t_ms(300), HOUR_MS);
	ok(t_await_waiters(lh, "k", 1), "another does");
	t_close(lh);	/* which will not notice the death then */
	t_actor_kill(dead);
	is(t_result(heir), 0, "and has it when the first dies");
	t_sleep_ms(t_ms(310));
	is(t_do_acquire(waiter, "k", HOUR_MS, 0), 0, "it runs out");
	is(t_do_extend(heir, 1000), -ESTALE, "and its holder's lease is lost");
	check(table, NULL, waiter, heir, dead);
	pid = waiter->pid;
	t_actor_kill(waiter);
	waiter->pid = pid;
	pid = heir->pid;
	t_actor_kill(heir);
	heir->pid = pid;
	check(table, NULL, waiter, heir, dead);
	(void)snprintf(image, sizeof(image), "/tmp/leasehold-test-log.%d",
	    (int)getpid());
	t_remove_at_exit(image);
	copy(t_object(table), image);
	is(unlink(t_object(table)), 0, "the table is gone");
	is(read_log(table, NULL, NULL), -ENOENT, "no log of it");
	is(stat(image, &st), 0, "but a copy");
	check(NULL, image, waiter, heir, dead);
	t_actor_free(waiter);
	t_actor_free(heir);
	t_actor_free(dead);
	return done();
}
