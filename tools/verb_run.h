/* SPDX-License-Identifier: MIT */
/*
 * `leasehold run`, in the order in which it happens: run_command.c puts the
 * steps in order, run_options.c reads the options, run_keys.c the keys (and
 * does to all of them whatever is done to one), nesting.c refuses to wait for
 * ourselves, run_wait.c gets the lease (blocker.c says who is in the way),
 * run_launch.c starts the command in the world that run_child.c makes for it,
 * run_guard.c renews the lease and ends the command with it, run_events.c hears
 * who asks for it.
 */
#ifndef TOOLS_VERB_RUN_H
#define TOOLS_VERB_RUN_H

#include <signal.h>
#include <sys/types.h>
#include "tool.h"

struct run {
	/* What was asked for. */
	struct table_opts table;
	const char *key;	/* or several, with commas between them */
	char **argv;		/* the command, after a shell was put before */
	const char *title;	/* how others see us: the command's name */
	uint32_t mode;		/* enum lh_mode */
	int64_t wait_ms;	/* 0: try; LH_WAIT_FOREVER */
	int64_t ttl_ms;
	uint32_t priority;
	uint32_t scope;
	struct lh_acquire_more more;	/* --info, --policy,
					 * --value */
	uint32_t permits;	/* `key` is a semaphore of so many; 0: it is
				 * not */
	bool term_on_ask;	/* --on-ask term */
	int busy_code;
	int lost_code;
	bool warn_only;		/* --on-loss warn */
	bool no_fork;
	bool verbose;

	/* What there is. */
	struct lh *lh;
	struct lh_sem *sem;	/* with --permits */
	struct lh_item items[LH_MANY_MAX];	/* each key by itself */
	struct lh_lease leases[LH_MANY_MAX];
	size_t n;
	size_t lost;		/* which of them, once that is found out */
	int64_t expires_ns;	/* the first of their deadlines */
	char name[NAME_MAX_TEXT];	/* `key`, printable; cut, if long */
	bool nested;		/* an ancestor shares a key, as we shall */
	sigset_t old_mask;	/* the command gets it back */
	struct sigaction old_chld;	/* and this */
};

/*
 * run_command.c: holds a key while a command runs, as the arguments of
 * `leasehold run` say.  The exit status.
 */
int run_command(int argc, char **argv);

/*
 * run_options.c: reads those arguments.  False: that was all, or wrong, and
 * *status is the exit status.
 */
bool run_options_parse(struct run *r, int argc, char **argv, int *status);

/*
 * run_keys.c: `key` into items.  0; an exit status after a sentence.
 */
int run_keys_split(struct run *r);
/* The library's calls, on all of them: 0, or the first error.  After -ESTALE
 * of the middle two r->lost is set. */
int run_keys_acquire(struct run *r, const struct lh_acquire_opts *opts);
int run_keys_extend(struct run *r);
int run_keys_verify(struct run *r);
int run_keys_release(struct run *r);
/* Has somebody asked for one of them since the last time? */
bool run_keys_asked(struct run *r);
/* Of each lease, with commas between them: allocated, or NULL. */
enum run_keys_text { RUN_KEYS_TOKENS, RUN_KEYS_IDS };
char *run_keys_list(const struct run *r, enum run_keys_text what);

/*
 * run_child.c: signals.  Blocks those that we take from a descriptor, and makes
 * it; a signal that our caller ignores stays ignored (nohup; background jobs of
 * scripts).  The descriptor, or -errno.
 */
int run_child_take_signals(struct run *r);

/* From now on the signals that concern a holder, too.  The descriptor. */
int run_child_take_all_signals(int fd);

/* Next signal of the descriptor; 0 when there is none.  *by_kernel: it came
 * from the terminal, so that the command has got it as well. */
int run_child_next_signal(int fd, bool *by_kernel);

/* Is it one that asks a process to end? */
bool run_child_is_ending(int sig);

/*
 * Put into our environment what the command is to find in its own.
 * loss_fd -1: there is none.  0; -ENOMEM.
 */
int run_child_environment(struct run *r, int loss_fd);

/*
 * A descriptor that keeps this session alive in whoever inherits it, out of
 * the way of scripts' own numbers; closed in `exec`ed programs unless kept.
 * Or -errno.
 */
int run_child_liveness_fd(struct run *r);

/* Become the command (-F, and the child): an exit status if that failed. */
int run_child_exec(struct run *r, const int *keep_fds, int n_keep);

/* Fork the command.  Its pid, or -errno. */
pid_t run_child_start(struct run *r, const int *keep_fds, int n_keep);

/*
 * nesting.c: does an ancestor of ours (LEASEHOLD_HELD) hold a key of ours, so
 * that we would wait for ourselves?  That has been said then.  Where both are
 * shared it is false, and r->nested is set.
 */
bool nesting_is_deadlock(struct run *r);
/* nesting.c: LEASEHOLD_HELD with our leases added; allocated, or NULL. */
char *nesting_list(struct run *r);

/*
 * run_wait.c: get the leases.  True: r->leases are ours.  False: it has been
 * said why, and *status is what to exit with, which can be 0 (-E 0).  sigfd
 * from run_child_take_signals().
 */
bool run_wait_acquire(struct run *r, int sigfd, int *status);

/*
 * blocker.c: who stands between the key and the one that has this place in line
 * (0: none) and wants this mode, in words, for anybody to read.
 */
#define BLOCKER_TEXT_MAX 512
const char *blocker_text(char buf[BLOCKER_TEXT_MAX], struct lh *lh,
    const struct lh_key_info *info, uint32_t mode, uint32_t rank);
/* The writer in line that a reader of that rank comes after, or NULL. */
const struct lh_party *blocker_first_writer(const struct lh_key_info *info,
    uint32_t rank);

/* run_events.c: be told that somebody asks for a lease, or has broken it. */
struct run_events {
	struct lh_lock *lock[LH_MANY_MAX];
	struct lh_watch *watch[LH_MANY_MAX];
	size_t n;		/* none: nothing is heard */
};
struct pollfd;
void run_events_open(struct run_events *events, struct run *r);
void run_events_close(struct run_events *events);
void run_events_pollfds(const struct run_events *events,
    struct pollfd *fds); /* n of them */
uint32_t run_events_take(struct run_events
	*events); /* LH_EVENT_ASKED, _LOST, since then */

/* run_launch.c: start the command under the lease, and see it through; the exit
 * status. */
int run_launch(struct run *r, int sigfd);

/*
 * run_guard.c: keep the lease while the command runs, give it back; the exit
 * status.  loss_fd: to be closed when the lease is lost.
 */
int run_guard(struct run *r, int sigfd, pid_t command, int loss_fd);

/* process_tree.c: before the command starts: children that we have are not
 * its. */
void process_tree_begin(void);

/*
 * process_tree.c: our descendants, including those whose parents are gone (we
 * are their reaper).  Send sig to each; `group` not 0: only to those in that
 * process group; sig 0: only count.  Number of processes that were there, or
 * -errno.
 */
int process_tree_signal(int sig, pid_t group);

#endif
