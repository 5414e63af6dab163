/* SPDX-License-Identifier: MIT */
/*
 * Replays: a schedule written by hand, with real calls.
 *
 * A replay has roles.  A role is a thread, or a child process, that makes calls
 * of the public API; each usually has an attachment of its own, which makes it
 * a stranger to the others whether or not it is a process.  The director (the
 * main thread) says where a role is to stop, waits until it stands there, lets
 * others run, and lets it go on:
 *
 *	replay_stop("A", "acquire.announced", replay_acquire, &op);
 *	...				// what the others do meanwhile
 *	is(replay_finish("A"), -EAGAIN, "it comes too late");
 *
 * Where.  A library built with LHI_HOOKS calls lhi_hook() at named points of
 * the protocol (lhi_point("...") in src/) and before every access to shared
 * memory, whose names are "load", "store", "cas", "xchg", "add", "or", "and".
 * A role stops at its nth arrival at such a name.  A held role is as good as
 * one that was stopped there by a signal, except that nobody can see it.
 *
 * Nothing hangs: what does not come within REPLAY_MS fails a check and ends the
 * program, and so does an alarm after 10 s.
 *
 * One file per amendment of the protocol (C1..C16 in doc/protocol.md), named
 * after it; the g-*.c replay the guarantees that no single amendment stands
 * for.  Each passes on F=hooks and fails with a mutant on, which leaves out the
 * repair that it shows (src/prim/mutants.def).  tests/replay/mutants refuses a
 * replay without a mutant unless its head has a line "no mutant: REASON".
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

/* What a role is given to arrive, or to end; far more than it needs. */
#define REPLAY_MS 4000

/* A lease that outlives every replay. */
#define REPLAY_LONG_MS 3600000

/* Before anything else: from here on, points are seen.  A table's name. */
const char *replay_begin(void);

/* Attach, with room for so many sessions (0: plenty); bail out if it fails. */
struct lh *replay_open(const char *table, uint32_t max_sessions);

/* Options of a table as above. */
struct lh_open_opts replay_opts(uint32_t max_sessions);

/* Let a role run fn(arg) in a thread. */
void replay_go(const char *role, int (*fn)(void *arg), void *arg);

/* The same in a child process; arg in t_shared() memory if it is to answer.
 * Only while no other thread is inside the library. */
pid_t replay_fork(const char *role, int (*fn)(void *arg), void *arg);

/* Stop the role when it next (at its nth arrival) comes to that point; before
 * it runs, or while it is held. */
void replay_hold(const char *role, const char *point);
void replay_hold_nth(const char *role, const char *point, int n);

/* Until it stands there. */
void replay_wait_held(const char *role);

/* The same, for who may end before he comes there: false. */
bool replay_comes(const char *role);

/* Let it go on. */
void replay_release(const char *role);

/* Is it still running (or held)? */
bool replay_running(const char *role);

/* What its fn returned, once it has; the role can then run again. */
int replay_result(const char *role);

/* Runs fn(arg) as the role in a thread, and returns when it is stopped at that
 * point (at its nth arrival there). */
void replay_stop(const char *role, const char *point, int (*fn)(void *arg),
    void *arg);
void replay_stop_nth(const char *role, const char *point, int n,
    int (*fn)(void *arg), void *arg);

/* Lets a stopped role go on, and returns when it is stopped at that point. */
void replay_stop_next(const char *role, const char *point);

/* Lets a stopped role go on to its end: what its fn returned. */
int replay_finish(const char *role);

/* End a child process with SIGKILL, wherever it stands. */
void replay_kill(const char *role);

/* A child process, of that role, is killed when it comes to that point. */
void replay_killed_at(const char *role, const char *point,
    int (*fn)(void *arg), void *arg);

/* One call for a role to make, and what came of it. */
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
int replay_repair(void *unused);	/* of the table; as lh_table_repair() */

/* A try by the caller: what lh_acquire() says; a lease is kept in *lease. */
int replay_try(struct lh *lh, const char *key, struct lh_lease *lease);

/* A named session, with that lock-delay. */
struct lh_session *replay_session(struct lh *at, const char *name,
    int64_t ttl_ms, int64_t delay_ms);

/* One that outlives every replay, and that takes its keys with it. */
struct lh_session *replay_session_deletes(struct lh *at, const char *name);

/* Destroy it. */
void replay_session_end(struct lh_session *s);

/* How many leases it has. */
int replay_leases_in(struct lh_session *s);

/* Acquire into it (NULL: the attachment's own), with a long lease, waiting 2 s
 * at the most: what lh_acquire() says. */
int replay_into(struct lh *at, const char *key, struct lh_session *to,
    uint32_t policy, uint32_t mode, struct lh_lease *lease);

/* The lease of the key's one holder, as anybody may have it. */
int replay_find(struct lh *lh, const char *key, struct lh_lease *lease);

/* Until the lease's deadline has surely passed. */
void replay_sleep_past(const struct lh_lease *lease);

#endif
