/* SPDX-License-Identifier: MIT */
/*
 * Replays: a schedule written by hand, with real calls.
 *
 * A replay has roles.  A role is a thread or a child process that makes calls
 * of the public API.  Each role usually has an attachment of its own, so that
 * the library treats it as another session even if it is a thread.  The
 * director (the main thread) says where a role stops, waits until it is stopped
 * there, runs others, and then lets the role continue:
 *
 *	replay_stop("A", "acquire.announced", replay_acquire, &op);
 *	...				// what the others do meanwhile
 *	is(replay_finish("A"), -EAGAIN, "it comes too late");
 *
 * Where.  A library built with LHI_HOOKS calls lhi_hook() at named points of
 * the protocol (lhi_point("...") in src/) and before every access to shared
 * memory, whose names are "load", "store", "cas", "xchg", "add", "or", "and".
 * A role stops at its nth arrival at such a name.  A stopped role is like one
 * that was stopped there by a signal, except that other processes cannot see
 * that it is stopped.
 *
 * Nothing hangs: a role that does not arrive within REPLAY_MS fails a check and
 * ends the program, and so does an alarm after 10 s.
 *
 * There is one file for each amendment of the protocol (amendments C1 to C16 of
 * doc/protocol.md), named after it; the files g-*.c replay guarantees that no
 * single amendment covers.  Each passes on F=hooks, and fails with its mutant,
 * which leaves out the repair that the replay shows (src/prim/mutants.def).
 * tests/replay/mutants refuses a replay without a mutant, unless its head has a
 * line "no mutant: REASON".
 */
#ifndef TESTS_REPLAY_H
#define TESTS_REPLAY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <leasehold.h>
#include "support/child.h"
#include "support/part.h"
#include "support/support.h"
#include "tap.h"

/* A waiter watches the holder's process (prim/process_end.c) on x86 only. */
#if defined(__x86_64__) || defined(__i386__)
#define REPLAY_WATCHES 1
#else
#define REPLAY_WATCHES 0
#endif

/* The time that a role has to arrive or to end; far more than it needs. */
#define REPLAY_MS 4000

/* A lease that outlives every replay. */
#define REPLAY_LONG_MS 3600000

/* Call it first: from then on roles stop at points.  Returns a table's name. */
const char *replay_begin(void);

/* Attaches, with room for that many sessions (0: plenty), or bails out. */
struct lh *replay_open(const char *table, uint32_t max_sessions);

/* Returns the options of such a table. */
struct lh_open_opts replay_opts(uint32_t max_sessions);

/* Runs fn(arg) as the role in a thread. */
void replay_go(const char *role, int (*fn)(void *arg), void *arg);

/* The same in a child process; arg is in t_shared() memory if the child writes
 * to it.  Call it only while no other thread is inside the library. */
pid_t replay_fork(const char *role, int (*fn)(void *arg), void *arg);

/* Stops the role at its next (nth) arrival at that point.  Call it before the
 * role runs, or while it is stopped. */
void replay_hold(const char *role, const char *point);
void replay_hold_nth(const char *role, const char *point, int n);

/* Waits until the role is stopped there. */
void replay_wait_held(const char *role);

/* The same for a role that may end before it arrives: then false. */
bool replay_comes(const char *role);

/* Lets the stopped role continue. */
void replay_release(const char *role);

/* True if the role is still running or stopped. */
bool replay_running(const char *role);

/* True if it is to be held and has not come to the point yet. */
bool replay_is_to_be_held(const char *role);

/* Waits for the role's end, and returns the result of its fn.  The role can
 * then run again. */
int replay_result(const char *role);

/* Runs fn(arg) as the role in a thread, and returns when it is stopped at that
 * point (at its nth arrival there). */
void replay_stop(const char *role, const char *point, int (*fn)(void *arg),
    void *arg);
void replay_stop_nth(const char *role, const char *point, int n,
    int (*fn)(void *arg), void *arg);

/* Lets the stopped role continue until it is stopped at that point. */
void replay_stop_next(const char *role, const char *point);

/* Lets the stopped role continue to its end, and returns the result of its
 * fn. */
int replay_finish(const char *role);

/* Ends the role's child process with SIGKILL. */
void replay_kill(const char *role);

/* Makes the processes of other sessions ones of a pid namespace that nobody can
 * see, so that nothing but their bytes proves that they have ended. */
void replay_hide_dead(struct lh *lh);

/* Runs fn(arg) in a child process, and kills it at that point. */
void replay_killed_at(const char *role, const char *point,
    int (*fn)(void *arg), void *arg);

/* One call that a role makes, and its outcome. */
struct replay_call {
	struct lh *lh;
	const char *key;
	int64_t ttl_ms, wait_ms;
	struct lh_cancel *cancel;
	struct lh_lease lease;		/* out, or in for those below */
	int64_t ended_ns;		/* out */
};

#define REPLAY_CALL(lh_, key_, ttl_ms_, wait_ms_) \
	{ .lh = (lh_), .key = (key_), .ttl_ms = (ttl_ms_), \
	  .wait_ms = (wait_ms_) }

int replay_acquire(void *call);
int replay_release_lease(void *call);
int replay_extend(void *call);		/* to ttl_ms from now */
int replay_read_local(void *call);	/* acquire, shared, in scope local */
/* repairs the table; as lh_table_repair() */
int replay_repair(void *unused);

/* Tries to acquire the key exclusively for long: the result of lh_acquire(). */
int replay_try(struct lh *lh, const char *key, struct lh_lease *lease);

/* Opens a named session with that lock-delay. */
struct lh_session *replay_session(struct lh *at, const char *name,
    int64_t ttl_ms, int64_t delay_ms);

/* Opens one that outlives every replay, and that deletes its keys when it
 * ends. */
struct lh_session *replay_session_deletes(struct lh *at, const char *name);

/* Destroys and closes it. */
void replay_session_end(struct lh_session *s);

/* Returns how many leases it has. */
int replay_leases_in(struct lh_session *s);

/* Acquires into a session (NULL: the attachment's own) for long, waiting for 2
 * s at most: the result of lh_acquire(). */
int replay_into(struct lh *at, const char *key, struct lh_session *to,
    uint32_t policy, uint32_t mode, struct lh_lease *lease);

/* Finds the lease of the key's one holder, as status reports it. */
int replay_find(struct lh *lh, const char *key, struct lh_lease *lease);

/* Sleeps until the lease's deadline has surely passed. */
void replay_sleep_past(const struct lh_lease *lease);

#endif
