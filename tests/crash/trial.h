/* SPDX-License-Identifier: MIT */
/*
 * A trial: the processes around one kill or one stop, and what they tell each
 * other.
 *
 * For every point that is tried a fresh table is made, the participants
 * (processes that hold, wait, or have died) take their places, and the subject
 * is run to the point.  All of them are forked from the one process that
 * directs, and share one anonymous mapping, struct trial.  It is zeroed before
 * each performance.
 *
 *	director	forks, traces, kills; never attaches to a table itself,
 *			so that what it forks has attached to nothing either
 *	parts		the participants; each walks through PART_... and obeys
 *			orders
 *	subject		prepares, then does the one operation under the stepper
 *	checker		after a kill: looks whether everything is in order
 *	server		beside a stop: sees what a stopped subject delays
 *
 * Writers: a part writes its own struct part except `order`; the subject writes
 * result, lease and begun; server and checker write the rival's fields; the
 * first that finds a fault writes the finding (blame()).
 *
 * No process survives the director (PDEATHSIG, PTRACE_O_EXITKILL), and none can
 * hang it: between trial_watch(ms) and trial_watch(0) an alarm kills the whole
 * company when the time is up, and that is a finding too.  Where much is done
 * step by step, what counts is the time that is used (trial_watch_used()).
 */
#ifndef CRASH_TRIAL_H
#define CRASH_TRIAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <leasehold.h>

#define TRIAL_PARTS	6
#define NS_A_MS		INT64_C(1000000)

/* Keys.  KEY is the one that the scenario is about. */
#define KEY		"key"
#define OTHER		"other"
#define THIRD		"third"

/* A number that only grows and can be waited for. */
struct flag {
	_Atomic uint32_t v;
};

void flag_set(struct flag *f, uint32_t v);
bool flag_wait(struct flag *f, uint32_t at_least, int64_t ms);
uint32_t flag_get(struct flag *f);

enum { PART_NEW, PART_ATTACHED, PART_WAITS, PART_HOLDS, PART_LEAVING,
	PART_LEFT };
enum { ORDER_RELEASE = 1, ORDER_QUIT };

struct part {
	struct flag state, order;
	pid_t pid;
	bool dead;		/* killed by the director before the curtain */
	bool shared;		/* has or wants KEY in shared mode */
	uint64_t token;
	int64_t since_ns;	/* when it was granted */
};

enum trial_mode { MODE_KILL, MODE_STOP, MODE_DOUBLE };

struct trial {
	const struct scenario *sc;
	enum trial_mode mode;
	bool slow;		/* single-stepped: spans must be long */
	bool full;		/* no shortcuts; trial_clear() leaves it */
	char table[64];		/* likewise */
	struct lh_open_opts opts;
	int64_t ttl_ms;		/* of the subject's leases */
	int64_t wait_ms;	/* how long a wait that is to fail may last */

	struct part part[TRIAL_PARTS];
	int n_parts;
	struct flag cue;	/* the subject lets a part come in */
	struct flag begun;	/* the operation begins now */
	struct flag finished;	/* the subject is through */
	struct flag elsewhere;	/* its other thread has the lease */
	struct flag ready, go, served, last_look;	/* the server */

	pid_t subject;
	_Atomic int met;	/* its other threads wait at a breakpoint */
	bool from_begin;	/* stopped before its first instruction */
	int result;		/* of the operation */
	bool has_lease;
	struct lh_lease lease;
	_Atomic uint64_t max_token;	/* seen by anyone on KEY (G2) */
	uint64_t rival_token;	/* the server's exclusive grant on KEY */
	int64_t rival_ns;	/* the moment it surely had it */
	uint64_t reader_token;	/* its shared one before */
	int64_t reader_ns;

	_Atomic int blamed;
	_Atomic int blocked;	/* the finding is: somebody was delayed */
	char finding[600];
	unsigned char toy[4096]	/* what selftest steps over */
	    __attribute__((aligned(64)));
};

/* The one trial there is; made by the director at its start. */
struct trial *trial_make(void);

/* Forget the last performance: everything zero but what is said above. */
void trial_clear(struct trial *p);

/* Say what is wrong.  The first to speak is heard. */
void blame(struct trial *p, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The same when what is wrong is that somebody was kept waiting. */
void blame_block(struct trial *p, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* A token of KEY that was granted: nobody may see a smaller one later. */
void trial_saw_token(struct trial *p, uint64_t token);

/* A child that runs fn and exits; registered with the watch. */
pid_t trial_fork(struct trial *p, void (*fn)(struct trial *p, void *arg),
    void *arg);

/* Wait for a child's next event; a wait status. */
int trial_waitpid(pid_t pid);

/* SIGKILL and reap. */
void trial_kill(pid_t pid);

/* Wait until it exits by itself; a wait status. */
int trial_reap(pid_t pid);

/* The same for one who judges: who dies of it has found nothing in order. */
void trial_await(struct trial *p, pid_t pid, const char *who);

/* Kill and reap everyone that is left, and remove the table's object. */
void trial_sweep(struct trial *p);

/* Forget a child that was reaped elsewhere. */
void trial_gone(pid_t pid);

/* Kill the company in ms; 0 calls that off.  True if it had come to that. */
bool trial_watch(int64_t ms);

/*
 * The same for when the director and pid work in turns: what either of them
 * waited for a processor does not count.  So others, who want it too, cannot
 * use up the time; who sleeps, or runs and does not come to an end, does.
 */
void trial_watch_used(int64_t ms, pid_t pid);

/* Has the company been killed since the watch was set? */
bool trial_overdue(void);

/* The path of the table's object. */
const char *trial_object(const struct trial *p);

/* Where its fence directory is, if it has one. */
const char *trial_fence(const struct trial *p);

/* Unlink it, and what a removed one leaves beside it; and the fence directory
 * with all that is in it. */
void trial_remove_object(void);

/* Is the main thread of that process asleep in the kernel? */
bool trial_asleep(pid_t pid);

int64_t trial_now_ns(void);

/*
 * A stretch of time, as those of others are to be judged by: what this thread
 * waited for a processor does not count.  (A process that was just forked by
 * one that has stepped thousands of times waits for half a second at times.)
 */
struct stretch {
	int64_t began_ns, delayed_ns;
};

struct stretch stretch_begin(void);
int64_t stretch_ms(struct stretch s);
void trial_nap_us(int64_t us);

#endif
