/* SPDX-License-Identifier: MIT */
/*
 * Robust keys, as programs know robust mutexes.  The owner dies; the next one
 * finds the note, and declares the resource consistent or does not.  So it is
 * with tries, timed waits, forks, the exit of a thread, and many keys at once:
 * what glibc's tst-robust* programs test.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

#define MANY 50

static const char *table;
static struct lh *lh;

static struct lh_acquire_opts
robust(int64_t ttl_ms, int64_t wait_ms)
{
	struct lh_acquire_opts o = t_opts(ttl_ms, wait_ms);

	o.flags = LH_ROBUST;
	return o;
}

/* A process that holds the key, robustly. */
static struct t_actor *
holder(const char *key)
{
	struct lh_acquire_opts o = robust(600000, 0);
	struct t_actor *a = t_actor(table);

	t_begin_acquire_opts(a, key, &o);
	is(t_result(a), 0, "a robust holder");
	return a;
}

static void
kill_it(struct t_actor *a)
{
	t_actor_kill(a);
	t_actor_free(a);
}

/* Acquires: true if the note is there. */
static bool
acquire(const char *key, uint32_t flags, struct lh_lease *l)
{
	struct lh_acquire_opts o = t_opts(600000, T2_MS);

	o.flags = flags;
	is(lh_acquire(lh, key, &o, l), 0, "%s is acquired", key);
	return l->notes & LH_NOTE_INCONSISTENT;
}

static void
give_back(struct lh_lease *l)
{
	is(lh_release(lh, l), 0, "released");
}

static int
note_of(const struct lh_key_info *info, void *arg)
{
	(void)arg;
	return info->inconsistent ? 1 : 2;
}

static void
owner_died(void)
{
	struct lh_lease l;

	kill_it(holder("died"));
	is(lh_status(lh, "died", NULL, note_of, NULL), 1, "status shows it");
	ok(acquire("died", 0, &l), "the owner died: the next one finds it");
	ok(l.notes & LH_NOTE_PREVIOUS_DIED, "and how");
	is(lh_mark_consistent(lh, &l), 0, "it declares it consistent");
	is(l.notes & LH_NOTE_INCONSISTENT, 0, "its own note is gone");
	is(lh_mark_consistent(lh, &l), -EINVAL, "not twice");
	give_back(&l);
	ok(!acquire("died", 0, &l), "the one after it finds none");
	is(lh_status(lh, "died", NULL, note_of, NULL), 2, "nor shown it");
	give_back(&l);
}

static void
not_consistent(void)
{
	struct lh_acquire_opts o = t_opts(600000, 0);
	struct lh_lease l, reader;
	struct lh_key *k;

	kill_it(holder("left"));
	for (int i = 0; i < 3; i++) {
		ok(acquire("left", i == 1 ? LH_ROBUST : 0, &l),
		    "not marked: holder %d finds the note", i);
		is(lh_convert(lh, &l, LH_SHARED), -EINVAL, "not to be shared");
		give_back(&l);
	}
	o.mode = LH_SHARED;
	is(lh_acquire(lh, "left", &o, &reader), -ENOTRECOVERABLE,
	    "a reader is refused");
	ok(t_has_detail(), "with words");
	is(lh_key_open(lh, "left", 0, &k), 0, "an opened key");
	for (int i = 0; i < 3; i++) {
		is(lh_key_acquire(k, NULL, &l), 0, "acquired");
		ok(l.notes & LH_NOTE_INCONSISTENT, "finds it, too");
		give_back(&l);
	}
	is(lh_evict(lh, "left", 0), 0, "it is not evicted");
	ok(acquire("left", LH_ROBUST, &l), "a robust one finds it");
	is(lh_mark_consistent(lh, &l), 0, "and marks it");
	is(lh_convert(lh, &l, LH_SHARED), -EINVAL, "it is robust itself");
	give_back(&l);
	is(lh_acquire(lh, "left", &o, &reader), 0, "then readers come");
	is(lh_mark_consistent(lh, &reader), -EINVAL, "who mark nothing");
	give_back(&reader);
	is(lh_key_acquire(k, NULL, &l), 0, "and others");
	is(l.notes & LH_NOTE_INCONSISTENT, 0, "without a note");
	give_back(&l);
	is(lh_key_close(k), 0, "closed");
}

/* Marked, and died all the same: noted again. */
static void
died_again(void)
{
	struct lh_lease l;

	kill_it(holder("again"));
	kill_it(holder("again"));
	ok(acquire("again", LH_ROBUST, &l), "the note after two");
	is(lh_mark_consistent(lh, &l), 0, "marked");
	is(lh_break(lh, "again", NULL, 0), 1, "and broken");
	is(lh_mark_consistent(lh, &l), -ESTALE, "it has nothing to say now");
	ok(acquire("again", 0, &l), "the next one finds the note");
	give_back(&l);
	is(lh_destroy_consistent(lh, "again"), -ENOTRECOVERABLE,
	    "not destroyed with its note, unless that is wished");
	is(lh_destroy(lh, "again"), 0, "destroyed");
	ok(!acquire("again", 0, &l), "a new key has no note");
	give_back(&l);
}

static void
clean(void)
{
	struct lh_acquire_opts o = robust(600000, 0);
	struct lh_lease l;
	struct t_actor *a = holder("clean");

	is(t_do_release(a), 0, "a robust holder releases");
	t_actor_kill(a);
	t_actor_free(a);
	ok(!acquire("clean", LH_ROBUST, &l), "no note");
	is(lh_mark_consistent(lh, &l), -EINVAL, "nothing to declare");
	give_back(&l);
	o.mode = LH_SHARED;
	is(lh_acquire(lh, "clean", &o, &l), -EINVAL, "no robust readers");
	o = robust(600000, 0);
	is(lh_acquire(lh, "cluster:clean", &o, &l) == 0, false,
	    "nor robust cluster keys");
}

/* As pthread_mutex_timedlock() and trylock. */
static void
waits(void)
{
	struct t_actor *a = holder("timed"), *b = t_actor(table);
	struct lh_acquire_opts o = t_opts(600000, T_HANG_MS);
	struct lh_lease l;

	is(t_acquire(lh, "timed", 1000, t_ms(20), &l), -ETIMEDOUT,
	    "a timed wait for a living owner");
	t_begin_acquire_opts(b, "timed", &o);
	ok(t_await_waiters(lh, "timed", 1), "another one waits");
	kill_it(a);
	is(t_result(b), 0, "the owner dies: it is granted");
	ok(b->lease.notes & LH_NOTE_INCONSISTENT, "with the note");
	is(t_acquire(lh, "timed", 1000, 0, &l), -EAGAIN, "a try finds it");
	is(t_do_release(b), 0, "not marked");
	is(t_acquire(lh, "timed", 1000, 0, &l), 0, "a try");
	ok(l.notes & LH_NOTE_INCONSISTENT, "finds it");
	is(lh_mark_consistent(lh, &l), 0, "and marks it");
	give_back(&l);
	t_actor_end(b);
}

static int
in_child(void *arg)
{
	struct lh_lease l = *(struct lh_lease *)arg;

	is(lh_mark_consistent(lh, &l), -EPERM, "a child marks nothing");
	is(lh_release(lh, &l), -EPERM, "and releases nothing");
	return done();
}

static void
forked(void)
{
	struct lh_acquire_opts o = robust(600000, 0);
	struct lh_lease l, other;

	is(lh_acquire(lh, "fork", &o, &l), 0, "a robust lease");
	is(t_reap(t_fork(in_child, &l), T_HANG_MS), 0, "a child ends");
	is(lh_verify(lh, &l), 0, "it is held");
	is(t_acquire(lh, "fork", 1000, 0, &other), -EAGAIN, "by the parent");
	give_back(&l);
	ok(!acquire("fork", 0, &l), "and left no note");
	give_back(&l);
}

static void *
acquire_and_end(void *arg)
{
	struct lh_acquire_opts o = robust(600000, 0);

	is(lh_acquire(lh, "thread", &o, arg), 0, "a thread acquires, and ends");
	return NULL;
}

static void
thread_ends(void)
{
	struct lh_lease l, other;

	(void)t_join(t_thread(acquire_and_end, &l));
	is(t_acquire(lh, "thread", 1000, 0, &other), -EAGAIN,
	    "the lease goes on without its thread");
	give_back(&l);
	ok(!acquire("thread", 0, &l), "and no note is left");
	give_back(&l);
}

static int
hold_many(struct t_actor *a, void *arg)
{
	struct lh_acquire_opts o = robust(600000, 0);
	char key[16];
	struct lh_lease l;
	int error = 0;

	(void)arg;
	for (int i = 0; i < MANY && error == 0; i++) {
		snprintf(key, sizeof(key), "many%d", i);
		error = lh_acquire(a->lh, key, &o, &l);
		if (error == 0 && i % 5 == 0)
			error = lh_release(a->lh, &l);
	}
	return error;
}

static void
many(void)
{
	struct t_actor *a = t_actor(table);
	int noted = 0, wrong = 0;
	char key[16];
	struct lh_lease l;

	is(t_do(a, hold_many, NULL), 0, "many keys, a fifth of them released");
	kill_it(a);
	for (int i = 0; i < MANY; i++) {
		snprintf(key, sizeof(key), "many%d", i);
		if (t_acquire(lh, key, 600000, T2_MS, &l) != 0)
			bail_out("%s: %s", key, lh_error_detail());
		if (l.notes & LH_NOTE_INCONSISTENT) {
			noted++;
			wrong += i % 5 == 0 || lh_mark_consistent(lh, &l) != 0;
		}
		wrong += lh_release(lh, &l) != 0;
	}
	is(noted, MANY - MANY / 5, "each one that was held is noted");
	is(wrong, 0, "and marked");
}

static void
other_ends(void)
{
	struct lh_acquire_opts o = robust(t_ms(50), 0);
	struct lh_session_opts for_long = LH_SESSION_OPTS_INIT;
	struct lh *second = t_open(table);
	struct lh_session *s;
	struct lh_lease l, late;

	is(lh_acquire(lh, "expired", &o, &late), 0, "a robust lease");
	t_sleep_ms(t_ms(70));
	is(lh_wait_free(lh, "expired", &o), 0, "that expires: it is free");
	is(t_findings(lh), 0, "which is sound");
	ok(acquire("expired", 0, &l), "the next one finds it");
	is(lh_mark_consistent(lh, &late), -ESTALE, "the late one is not heard");
	is(lh_release(lh, &late), -ESTALE, "nor by its release");
	give_back(&l);
	ok(acquire("expired", 0, &l), "the note stands");
	give_back(&l);

	o = robust(600000, 0);
	is(lh_acquire(second, "closed", &o, &l), 0, "a robust lease");
	is(lh_close(second), 0, "and a close without a release");
	ok(acquire("closed", 0, &l), "the next one finds the note");
	give_back(&l);

	is(lh_session_open(lh, NULL, &for_long, &s), 0, "a session");
	is(lh_acquire(lh, "handed", &o, &l), 0, "a robust lease");
	is(lh_handoff(lh, &l, s), 0, "is handed over");
	is(lh_release(lh, &l), 0, "and released there");
	ok(!acquire("handed", LH_ROBUST, &l), "no note");
	is(lh_handoff(lh, &l, s), 0, "handed over again");
	is(lh_session_destroy(s), 0, "and its session ends");
	lh_session_close(s);
	ok(acquire("handed", 0, &l), "the next one finds the note");
	give_back(&l);
}

int
main(void)
{
	table = t_table();
	lh = t_open(table);
	owner_died();
	not_consistent();
	died_again();
	clean();
	waits();
	forked();
	thread_ends();
	many();
	other_ends();
	t_close(lh);
	return done();
}
