/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1, G9 and G11 of leasehold/pthread.h: who has lost a lock gets no
 * success, and spoils nothing of the next holder's.  It is lost when an
 * operator breaks it, and in a child of fork().  Another table is refused, and
 * copies are one lock.  A thread can unlock until its destructors have run.
 *
 * Otherwise two threads or processes would each believe that they alone have
 * it, or a repaired mutex be lost for ever.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
#include <leasehold/pthread.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

struct shared {
	lh_mutex_t m, robust;
	lh_rwlock_t l;
	struct t_event held, go;
	int error;
};

static struct shared *sh;
static const char *table;
static struct lh *lh;

static void
init(lh_mutex_t *m, int type, int robust)
{
	lh_mutexattr_t a;

	(void)lh_mutexattr_init(&a);
	(void)lh_mutexattr_settype(&a, type);
	(void)lh_mutexattr_setrobust(&a, robust);
	if (lh_mutex_init(m, &a) != 0)
		bail_out("no mutex");
}

static void
break_it(uint64_t id)
{
	char key[30];

	(void)snprintf(key, sizeof(key), "pthread/%016llx",
	    (unsigned long long)id);
	is(lh_break(lh, key, NULL, 0), 1, "an operator breaks it");
}

static void *
try_it(void *arg)
{
	static int error;

	error = lh_mutex_trylock(arg);
	if (error == 0)
		(void)lh_mutex_unlock(arg);
	return &error;
}

static int
another_tries(lh_mutex_t *m)
{
	return *(int *)t_join(t_thread(try_it, m));
}

/* Locks twice, unlocks once when it may, and again. */
static void *
have_it_twice(void *arg)
{
	static int error;
	uint32_t before = sh->go.count;

	error = lh_mutex_lock(arg);
	if (error == 0)
		error = lh_mutex_lock(arg);
	t_post(&sh->held);
	(void)t_await(&sh->go, before + 1, T_HANG_MS);
	if (error == 0)
		error = lh_mutex_unlock(arg);
	t_post(&sh->held);
	(void)t_await(&sh->go, before + 2, T_HANG_MS);
	if (error == 0)
		error = lh_mutex_unlock(arg);
	return &error;
}

static void
recursive_is_broken(void)
{
	lh_mutex_t *m = &sh->m;
	unsigned long other;

	init(m, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED);
	is(lh_mutex_lock(m), 0, "recursive: locked");
	is(lh_mutex_lock(m), 0, "twice");
	break_it(m->id);
	other = t_thread(have_it_twice, m);
	ok(t_await(&sh->held, 1, T_HANG_MS), "another thread has it, twice");
	is(lh_mutex_lock(m), ESTALE, "another lock: it is lost");
	is(lh_mutex_trylock(m), ESTALE, "another try");
	is(lh_mutex_unlock(m), ESTALE, "so says its unlock");
	is(lh_mutex_unlock(m), ESTALE, "and the second one");
	is(lh_mutex_unlock(m), EPERM, "and then it has none");
	t_post(&sh->go);
	ok(t_await(&sh->held, 2, T_HANG_MS), "the other unlocks once");
	is(lh_mutex_trylock(m), EBUSY, "and has it still");
	t_post(&sh->go);
	is(*(int *)t_join(other), 0, "until its second unlock");
	is(lh_mutex_trylock(m), 0, "now it is free");
	is(lh_mutex_unlock(m), 0, "unlocked");
}

static void *
write_it(void *arg)
{
	uint32_t before = sh->go.count;
	static int error;

	error = lh_rwlock_wrlock(arg);
	t_post(&sh->held);
	(void)t_await(&sh->go, before + 1, T_HANG_MS);
	if (error == 0)
		error = lh_rwlock_unlock(arg);
	return &error;
}

static void
reader_is_broken(void)
{
	uint32_t before = sh->held.count;
	unsigned long writer;

	is(lh_rwlock_rdlock(&sh->l), 0, "locked for reading");
	break_it(sh->l.id);
	writer = t_thread(write_it, &sh->l);
	ok(t_await(&sh->held, before + 1, T_HANG_MS), "a writer has it");
	is(lh_rwlock_rdlock(&sh->l), ESTALE, "reading again: it is lost");
	is(lh_rwlock_tryrdlock(&sh->l), ESTALE, "another try");
	is(lh_rwlock_trywrlock(&sh->l), ESTALE, "to write");
	is(lh_rwlock_unlock(&sh->l), ESTALE, "so says its unlock");
	t_post(&sh->go);
	is(*(int *)t_join(writer), 0, "the writer unlocks");
	is(lh_rwlock_rdlock(&sh->l), 0, "and it is free");
	is(lh_rwlock_unlock(&sh->l), 0, "unlocked");
}

/* Gets a robust mutex after its holder, and is slow to repair. */
static void *
repair(void *arg)
{
	uint32_t before = sh->go.count;
	static int error[3];

	error[0] = lh_mutex_lock(arg);
	t_post(&sh->held);
	(void)t_await(&sh->go, before + 1, T_HANG_MS);
	error[1] = lh_mutex_consistent(arg);
	error[2] = lh_mutex_unlock(arg);
	return error;
}

static void
robust_is_broken(void)
{
	uint32_t before = sh->held.count;
	unsigned long other;
	int *error;

	is(lh_mutex_lock(&sh->robust), 0, "robust: locked");
	break_it(sh->robust.id);
	other = t_thread(repair, &sh->robust);
	ok(t_await(&sh->held, before + 1, T_HANG_MS), "the next one has it");
	is(lh_mutex_consistent(&sh->robust), EINVAL, "not for the one before");
	is(lh_mutex_unlock(&sh->robust), ESTALE, "whose unlock says why");
	t_post(&sh->go);
	error = t_join(other);
	is(error[0], EOWNERDEAD, "the next one was warned");
	is(error[1], 0, "and declares it consistent");
	is(error[2], 0, "and unlocks it");
	is(lh_mutex_lock(&sh->robust), 0, "so it is as ever");
	is(lh_mutex_unlock(&sh->robust), 0, "unlocked");
}

/* Ends as a thread, with what its parent has locked. */
static int
end_thread_in_child(void *arg)
{
	(void)arg;
	pthread_exit(NULL);
}

static void
child_ends_thread(void)
{
	pid_t pid;

	is(lh_mutex_lock(&sh->robust), 0, "robust: locked");
	pid = t_fork(end_thread_in_child, NULL);
	(void)t_reap(pid, T_HANG_MS);
	is(another_tries(&sh->robust), EBUSY,
	    "a thread of a child has ended: it is locked still");
	is(lh_mutex_unlock(&sh->robust), 0, "by its holder");
}

/* In a process of its own, which uses another table. */
static int
use_other_table(void *arg)
{
	(void)lh_pthread_end();
	is(lh_pthread_table(arg), 0, "a child: another table");
	is(lh_mutex_trylock(&sh->m), EXDEV, "refused: %s", lh_error_detail());
	is(lh_mutex_lock(&sh->m), EXDEV, "refused");
	is(lh_mutex_destroy(&sh->m), EXDEV, "and not destroyed");
	is(lh_rwlock_tryrdlock(&sh->l), EXDEV, "nor read");
	is(lh_mutex_unlock(&sh->m), EPERM, "and it has locked none");
	(void)lh_pthread_end();
	return tap_child_status();
}

static void
other_table(void)
{
	char name[80];

	(void)snprintf(name, sizeof(name), "%s.other", table);
	t_remove_at_exit(t_object(name));
	is(lh_mutex_lock(&sh->m), 0, "locked");
	is(t_reap(t_fork(use_other_table, name), T_HANG_MS), 0,
	    "by the tests of a child");
	is(lh_mutex_unlock(&sh->m), 0, "unlocked");
	(void)lh_table_remove(name, LH_FORGET_TOKENS);
}

static void *
lock_and_unlock(void *arg)
{
	static int error[2];

	error[0] = lh_mutex_lock(arg);
	error[1] = lh_mutex_unlock(arg);
	return error;
}

/* Its memory is written while a thread waits for it. */
static void
written_by_others(void)
{
	lh_mutex_t m = LH_MUTEX_INITIALIZER;
	unsigned long waiter;
	char key[30];
	int *error;

	is(lh_mutex_lock(&m), 0, "locked");
	(void)snprintf(key, sizeof(key), "pthread/%016llx",
	    (unsigned long long)m.id);
	waiter = t_thread(lock_and_unlock, &m);
	ok(t_await_waiters(lh, key, 1), "another waits");
	m.kind |= LH_MUTEX_ROBUST_BIT;
	is(lh_mutex_unlock(&m), 0, "it is robust now; unlocked");
	error = t_join(waiter);
	is(error[0], 0, "the other has it");
	is(error[1], 0, "and unlocks it");
}

static void
copies(void)
{
	lh_mutex_t a, b;

	init(&a, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED);
	b = a;
	is(lh_mutex_lock(&a), 0, "locked");
	is(lh_mutex_lock(&b), 0, "its copy as well");
	is(lh_mutex_unlock(&a), 0, "unlocked");
	is(another_tries(&b), EBUSY, "it is locked once more");
	is(lh_mutex_unlock(&b), 0, "unlocked by the copy");
	is(another_tries(&a), 0, "and free");
}

static pthread_key_t late;
static int late_error[2];

static void
unlock_late(void *arg)
{
	late_error[0] = lh_mutex_unlock(&sh->m);
	late_error[1] = lh_mutex_unlock(&sh->robust);
	(void)arg;
}

/* The key for its data comes after those of the library. */
static void *
leave_to_destructor(void *arg)
{
	(void)lh_mutex_lock(&sh->m);
	(void)lh_mutex_lock(&sh->robust);
	(void)pthread_key_create(&late, unlock_late);
	(void)pthread_setspecific(late, &late);
	return arg;
}

static void
destructors(void)
{
	(void)t_join(t_thread(leave_to_destructor, NULL));
	is(late_error[0], 0, "a thread's destructor unlocks");
	is(late_error[1], 0, "a robust one as well");
	is(lh_mutex_lock(&sh->m), 0, "free");
	is(lh_mutex_lock(&sh->robust), 0, "free, and nobody was warned");
	is(lh_mutex_unlock(&sh->m), 0, "unlocked");
	is(lh_mutex_unlock(&sh->robust), 0, "unlocked");
}

/* Reads twice, and again after lh_pthread_end(). */
static void *
read_on(void *arg)
{
	static int error[2];
	uint32_t before = sh->go.count;

	if (lh_rwlock_rdlock(arg) != 0 || lh_rwlock_rdlock(arg) != 0)
		return NULL;
	t_post(&sh->held);
	(void)t_await(&sh->go, before + 1, T_HANG_MS);
	error[0] = lh_rwlock_rdlock(arg);
	error[1] = lh_rwlock_unlock(arg);
	return error;
}

static void
end_of_all(void)
{
	uint32_t before = sh->held.count;
	unsigned long reader = t_thread(read_on, &sh->l);
	int *error;

	ok(t_await(&sh->held, before + 1, T_HANG_MS), "a thread reads twice");
	is(lh_pthread_end(), 0, "all is given back");
	is(lh_pthread_table(table), 0, "the same table");
	t_post(&sh->go);
	error = t_join(reader);
	ok(error != NULL && error[0] == 0 && error[1] == 0,
	    "it reads once, and unlocks");
	is(lh_rwlock_trywrlock(&sh->l), 0, "and nobody has it");
	is(lh_rwlock_unlock(&sh->l), 0, "unlocked");
	is(lh_pthread_end(), 0, "all is given back");
}

/* In a process of its own, whose table is removed by force. */
static int
is_removed(void *arg)
{
	lh_mutex_t m = LH_RECURSIVE_MUTEX_INITIALIZER, fresh =
	    LH_MUTEX_INITIALIZER;

	(void)lh_pthread_end();
	is(lh_pthread_table(arg), 0, "a child: a table");
	is(lh_mutex_lock(&m), 0, "locked");
	is(lh_mutex_lock(&m), 0, "twice");
	is(lh_table_remove(arg, LH_FORCE), 0, "removed by force");
	is(lh_mutex_lock(&m), ESTALE, "not locked again");
	is(lh_mutex_unlock(&m), ESTALE, "its unlock says so");
	is(lh_mutex_unlock(&m), ESTALE, "each of them");
	is(lh_mutex_lock(&fresh), ESTALE, "nor is another one locked");
	is(lh_pthread_end(), 0, "the remedy");
	is(lh_pthread_table(arg), 0, "the same name");
	is(lh_mutex_lock(&fresh), 0, "that is of the new table");
	is(lh_mutex_lock(&m), EXDEV, "the old one is not");
	is(lh_mutex_unlock(&fresh), 0, "unlocked");
	(void)lh_pthread_end();
	(void)lh_table_remove(arg, LH_FORGET_TOKENS);
	return tap_child_status();
}

static void
removed_table(void)
{
	char name[80];

	(void)snprintf(name, sizeof(name), "%s.gone", table);
	t_remove_at_exit(t_object(name));
	is(t_reap(t_fork(is_removed, name), T_HANG_MS), 0,
	    "by the tests of a child");
}

int
main(void)
{
	char longest[200];

	table = t_table();
	for (size_t i = 0; i < sizeof(longest); i++)
		longest[i] = i + 1 < sizeof(longest) ? 'x' : '\0';
	is(lh_pthread_table("a/b"), EINVAL, "no name of a table");
	is(lh_pthread_table(".x"), EINVAL, "nor this");
	is(lh_pthread_table(longest), EINVAL, "nor one of 199 characters");
	is(lh_pthread_table(table), 0, "the table");
	sh = t_shared(sizeof(*sh));
	lh = t_open(table);
	init(&sh->robust, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST);
	recursive_is_broken();
	reader_is_broken();
	robust_is_broken();
	child_ends_thread();
	other_table();
	removed_table();
	written_by_others();
	copies();
	destructors();
	end_of_all();
	t_close(lh);
	return done();
}
