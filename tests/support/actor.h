/* SPDX-License-Identifier: MIT */
/*
 * Actors: other processes, each attached to a table, that do what they are
 * told, one thing after another.
 *
 *	struct t_actor *a = t_actor(table);
 *
 *	is(t_do_acquire(a, "k", 1000, 0), 0, "another process takes it");
 *	t_stop(a->pid);
 *	...
 *	t_actor_end(a);
 *
 * A thing is a function that runs in the actor's process and returns an int;
 * t_begin() starts it, t_result() waits for it, t_do() is both.  Its argument
 * must be memory that both processes see (t_shared(), from before the actor
 * was started) or a number in disguise.  The actor's own record is shared: the
 * lease it acquired last stands in a->lease for everyone to read.
 */
#ifndef TESTS_ACTOR_H
#define TESTS_ACTOR_H

#include <leasehold.h>
#include "child.h"

struct t_actor {
	pid_t pid;
	struct t_event asked, answered;
	uint32_t asks;			/* the director's count */
	int (*fn)(struct t_actor *a, void *arg);
	void *arg;
	int result;
	int64_t began_ns, ended_ns;	/* of the last thing */
	char detail[256];		/* lh_error_detail() after it */
	/* what the short forms below are given */
	char key[256];
	struct lh_acquire_opts opts;
	int64_t ttl_ms;
	struct lh_lease lease;
	/* means something in the actor only */
	struct lh *lh;
};

/* -ETIME is what t_result() says when no answer comes. */
#define T_HUNG (-ETIME)

struct t_actor *t_actor(const char *table);
struct t_actor *t_actor_unattached(void);
void t_begin(struct t_actor *a, int (*fn)(struct t_actor *a, void *arg),
    void *arg);
bool t_answered(struct t_actor *a);
int t_result(struct t_actor *a);
int t_result_within(struct t_actor *a, int64_t ms);
int t_do(struct t_actor *a, int (*fn)(struct t_actor *a, void *arg),
    void *arg);

/* Close, exit, and be reaped; a test fails unless all of it went well. */
void t_actor_end(struct t_actor *a);

/* SIGKILL, gone when it returns; the record stays readable. */
void t_actor_kill(struct t_actor *a);

/* Give the record back, after either. */
void t_actor_free(struct t_actor *a);

/* Things.  Acquiring keeps the lease in a->lease, which the rest use. */
void t_begin_acquire(struct t_actor *a, const char *key, int64_t ttl_ms,
    int64_t wait_ms);
void t_begin_acquire_opts(struct t_actor *a, const char *key,
    const struct lh_acquire_opts *opts);
int t_do_acquire(struct t_actor *a, const char *key, int64_t ttl_ms,
    int64_t wait_ms);
int t_do_release(struct t_actor *a);
int t_do_extend(struct t_actor *a, int64_t ttl_ms);
int t_do_verify(struct t_actor *a);
int t_do_close(struct t_actor *a);

/*
 * Waits, and returns the actor of n that has answered, but for those whose
 * answer is known by `had`.  -1: none does.
 *
 * This checks order among waiters, instead of a wait for the one that is due.
 * On a machine so busy that a waiter does not run for 30 ms, the others are
 * right to pass over it, and the test tries again.
 */
int t_who(struct t_actor **actors, int n, const bool *had);

/* How long the last thing took, in ms. */
int64_t t_took_ms(const struct t_actor *a);

#endif
