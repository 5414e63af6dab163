/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G8 and G9, issue 24 F4: a live handle with a session of its own.
 * The other leases in that session end with the handle's lease: when it is
 * released or lost, when the handle or the attachment is closed, and when the
 * process is killed.  A session that the handle was given is not touched.
 *
 * Otherwise the leases that somebody acquired under a lock would outlive the
 * lock, up to their own deadlines.
 */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include "behaviour/session.h"
#include "proc/attachment.h"
#include "replay.h"
#include "support/child.h"

#define LONG_MS 3600000
#define SHORT_MS t_ms(500)

static const char *table;
static struct lh *other;

static struct lh_lock *
open_lock(struct lh *lh, uint32_t flags, struct lh_session *session)
{
	struct lh_lock_opts o = LH_LOCK_OPTS_INIT;
	struct lh_lock *lock = NULL;

	o.flags = flags;
	o.session = session;
	if (lh_lock_open(lh, "lock", &o, &lock) != 0)
		bail_out("no handle: %s", lh_error_detail());
	return lock;
}

static int
acquire_inner(struct lh *lh, struct lh_session *s)
{
	struct lh_lease l;

	return acquire_into(lh, s, "inner", LH_EXCLUSIVE, &l);
}

/* Acquires both keys through a handle with a session of its own. */
static struct lh_lock *
hold_both(struct lh *lh, int64_t ttl_ms)
{
	struct lh_acquire_opts o = t_opts(ttl_ms, 0);
	struct lh_lock *lock = open_lock(lh, LH_LOCK_OWN_SESSION, NULL);
	struct lh_session *s = NULL;

	is(lh_lock_session(lock, &s), -ENOENT, "it has no session yet");
	is(lh_lock_acquire(lock, &o), 0, "the handle acquires");
	is(lh_lock_session(lock, &s), 0, "and has a session");
	is(acquire_inner(lh, s), 0, "into which another key is acquired");
	return lock;
}

static bool
can_try(const char *key)
{
	struct lh_lease l;

	return t_acquire(other, key, LONG_MS, 0, &l) == 0 &&
	    lh_release(other, &l) == 0;
}

static void
both_are_free(const char *what)
{
	ok(t_until(T_HANG_MS, can_try("lock")), "%s: the key is free", what);
	ok(t_until(T_HANG_MS, can_try("inner")), "%s: the other, too", what);
}

static void
both_are_held(const char *what)
{
	ok(!can_try("lock") && !can_try("inner"), "%s: both are held", what);
}

static void
released(struct lh *lh)
{
	struct lh_lock *lock = hold_both(lh, SHORT_MS);
	struct lh_session_info info;
	struct lh_session *s, *next;

	t_sleep_ms(3 * SHORT_MS);
	both_are_held("after three times the ttl");
	is(lh_lock_session(lock, &s), 0, "its session");
	is(lh_lock_release(lock), 0, "released");
	ok(can_try("lock") && can_try("inner"), "both are free at once");
	is(lh_session_info(s, &info), -ESTALE, "the session has ended");
	is(acquire_inner(lh, s), -ESTALE, "and takes no lease");
	is(lh_lock_acquire(lock, NULL), 0, "acquired again");
	is(lh_lock_session(lock, &next), 0, "in another session");
	is(lh_session_info(s, &info), -ESTALE, "the old one is of no use");
	is(acquire_inner(lh, next), 0, "the other key, too");
	is(lh_lock_close(lock), 0, "closed while it holds");
	both_are_free("closed");
}

static void
lost(struct lh *lh)
{
	struct lh_lock *lock = hold_both(lh, LONG_MS);
	struct lh_lock_state st = { .size = sizeof(st) };
	uint32_t bell = sh32_load(&lh->v.me->doorbell);

	is(lh_break(other, "lock", NULL, 0), 1, "an operator breaks the lock");
	ok(sh32_load(&lh->v.me->doorbell) != bell, "our bell is rung for it");
	both_are_free("broken");
	is(lh_lock_state(lock, &st), 0, "its state");
	is(st.loss, LH_LOSS_BROKEN, "says so");
	is(lh_lock_release(lock), -ESTALE, "the handle has lost it");
	is(lh_lock_close(lock), 0, "closed");
}

static void
not_acquired(struct lh *lh)
{
	struct lh_lock *lock = open_lock(lh, LH_LOCK_OWN_SESSION, NULL);
	struct lh_acquire_opts o = t_opts(LONG_MS, 0);
	struct lh_session_info info;
	struct lh_session *s;
	struct lh_lease l;

	is(t_acquire(other, "lock", LONG_MS, 0, &l), 0, "another one holds it");
	is(lh_lock_acquire(lock, &o), -EAGAIN, "a try fails");
	is(lh_lock_session(lock, &s), 0, "its session is known");
	is(lh_session_info(s, &info), -ESTALE, "and has ended");
	is(lh_release(other, &l), 0, "released");
	is(lh_lock_close(lock), 0, "closed");
}

/* Its session never ends before its lease, whatever that is extended to, and
 * though its thread does not run: lh_lock_valid() would be true too long. */
static void
stopped(void)
{
	int ready[2];
	char c = 0;
	pid_t pid;

	if (pipe(ready) != 0)
		bail_out("no pipe");
	pid = fork();
	if (pid == 0) {
		struct lh_acquire_opts o = t_opts(SHORT_MS, 0);
		struct lh_lock *lock =
		    open_lock(t_open(table), LH_LOCK_OWN_SESSION, NULL);

		if (lh_lock_acquire(lock, &o) != 0 ||
		    lh_lock_extend(lock, LONG_MS, NULL) != 0 ||
		    write(ready[1], &c, 1) != 1)
			_exit(1);
		(void)pause();
		_exit(1);
	}
	is(read(ready[0], &c, 1), 1, "a child extends its lease");
	is(t_signal(pid, SIGSTOP), 0, "and is stopped");
	t_sleep_ms(3 * SHORT_MS);
	ok(!can_try("lock"), "it holds the key past the first ttl");
	t_kill(pid);
	both_are_free("killed");
	(void)close(ready[0]);
	(void)close(ready[1]);
}

/* A child that holds both until it is killed; or, told so, closes its table. */
static void
in_a_child(bool closes)
{
	int ready[2], go[2];
	char c = 0;
	pid_t pid;

	if (pipe(ready) != 0 || pipe(go) != 0)
		bail_out("no pipe");
	pid = fork();
	if (pid == 0) {
		struct lh *lh = t_open(table);
		struct lh_acquire_opts o = t_opts(LONG_MS, 0);
		struct lh_lock *lock = open_lock(lh, LH_LOCK_OWN_SESSION, NULL);
		struct lh_session *s;

		if (lh_lock_acquire(lock, &o) != 0 ||
		    lh_lock_session(lock, &s) != 0 ||
		    acquire_inner(lh, s) != 0 || write(ready[1], &c, 1) != 1 ||
		    read(go[0], &c, 1) != 1 || lh_close(lh) != 0)
			_exit(1);
		(void)write(ready[1], &c, 1);
		(void)pause();
		_exit(1);
	}
	is(read(ready[0], &c, 1), 1, "a child holds both");
	both_are_held("by the child");
	if (closes) {
		is(write(go[1], &c, 1), 1, "it closes its table");
		is(read(ready[0], &c, 1), 1, "done");
		both_are_free("attachment closed");
	}
	t_kill(pid);
	both_are_free(closes ? "and dead" : "killed");
	for (int i = 0; i < 2; i++) {
		(void)close(ready[i]);
		(void)close(go[i]);
	}
}

static void
given(struct lh *lh)
{
	struct lh_session_info info = { .size = sizeof(info) };
	struct lh_session *s, *same;
	struct lh_lock *lock;

	is(lh_session_open(lh, "given", NULL, &s), 0, "a session");
	lock = open_lock(lh, 0, s);
	is(lh_lock_session(lock, &same), 0, "is the handle's");
	ok(same == s, "the very same");
	is(lh_lock_acquire(lock, NULL), 0, "acquired");
	is(lh_session_info(s, &info), 0, "the session");
	is(info.leases, 1, "has the lease");
	is(acquire_inner(lh, s), 0, "and another one");
	is(lh_lock_release(lock), 0, "released");
	ok(can_try("lock") && !can_try("inner"), "the other lease stays");
	is(lh_lock_close(lock), 0, "the handle is closed");
	ok(!can_try("inner"), "it stays still");
	is(lh_session_destroy(s), 0, "destroyed");
	both_are_free("destroyed");
	lh_session_close(s);
}

static void
refused(struct lh *lh)
{
	struct lh_lock_opts o = LH_LOCK_OPTS_INIT;
	struct lh_acquire_opts a = LH_ACQUIRE_OPTS_INIT;
	struct lh_acquire_more m = LH_ACQUIRE_MORE_INIT;
	struct lh_session *s;
	struct lh_lock *lock;
	struct lh_lease l;

	is(lh_session_open(lh, NULL, NULL, &s), 0, "a session");
	o.flags = 2;
	is(lh_lock_open(lh, "lock", &o, &lock), -EINVAL, "an unknown flag");
	o.flags = LH_LOCK_OWN_SESSION;
	o.session = s;
	is(lh_lock_open(lh, "lock", &o, &lock), -EINVAL, "both sessions");
	o.session = NULL;
	is(t_acquire(lh, "lock", LONG_MS, 0, &l), 0, "a lease");
	is(lh_lock_adopt(lh, &l, LONG_MS, &o, &lock), -EINVAL,
	    "is not adopted");
	is(lh_release(lh, &l), 0, "released");
	lock = open_lock(lh, LH_LOCK_OWN_SESSION, NULL);
	m.session = s;
	a.more = &m;
	is(lh_lock_acquire(lock, &a), -EINVAL, "another session is named");
	is(lh_lock_session(lock, NULL), -EINVAL, "nowhere to put it");
	is(lh_lock_close(lock), 0, "closed");
	is(lh_lock_session(lock, &s), -EINVAL, "of a closed handle");
	lh_session_destroy(s);
	lh_session_close(s);
}

/* A strict lease has no deadline, and its session none that comes. */
static void
strict(struct lh *lh)
{
	struct lh_lock *lock = open_lock(lh, LH_LOCK_OWN_SESSION, NULL);
	struct lh_session_info info = { .size = sizeof(info) };
	struct lh_acquire_opts a = t_opts(SHORT_MS, 0);
	struct lh_acquire_more m = LH_ACQUIRE_MORE_INIT;
	struct lh_session *s;

	m.policy = LH_POLICY_STRICT;
	a.more = &m;
	is(lh_lock_acquire(lock, &a), 0, "a strict lease");
	is(lh_lock_session(lock, &s), 0, "has a session");
	is(lh_session_info(s, &info), 0, "which is known");
	is(info.ttl_ms, LH_SESSION_TTL_MAX_MS, "and is the longest");
	is(lh_lock_close(lock), 0, "closed");
	both_are_free("strict");
}

int
main(void)
{
	struct lh *lh;

	table = t_table();
	other = t_open(table);
	lh = t_open(table);
	released(lh);
	lost(lh);
	not_acquired(lh);
	given(lh);
	refused(lh);
	strict(lh);
	stopped();
	in_a_child(false);
	in_a_child(true);
	t_close(lh);
	t_close(other);
	return done();
}
