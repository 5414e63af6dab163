/* SPDX-License-Identifier: MIT */
/*
 * Declares what the files of the `leasehold` command share.
 *
 *	leasehold.c		main(): chooses the verb; calls all verbs
 *	verb_NAME.c		one verb (verb_acquire.c: release too,
 *				verb_session.c: renew, verb_break.c: ask); no
 *				file but leasehold.c calls one
 *	open_table.c		the table that the options name
 *	output.c		standard output
 *	error_status.c		the exit status of a library's error
 *	parse.c			options that every verb has, and keys
 *	message.c		messages on standard error
 *	show.c			a key, in words and as JSON
 *	show_event.c		events of `log`
 *	log_query.c		what `log` asks the recorder for
 *	log_at.c		who held a key at a time
 *	show_counters.c		counters of `stats`
 *	rates.c			rates of `top`
 *	snapshot_diff.c		changes between two looks, for `watch`
 *
 * Of `run` and `sem run`:
 *
 *	run_command.c		the steps, in order
 *	run_options.c		the options
 *	nesting.c		a `run` inside another one's command
 *	run_keys.c		one key, or several at once
 *	run_wait.c, blocker.c	waits for the lease; says who blocks it
 *	run_launch.c		from the lease to the running command
 *	run_child.c		the command's signals, environment, descriptors
 *	run_guard.c		renews while the command runs, ends it in time
 *	renewal_schedule.c	when to renew, when to end the command
 *	run_events.c		requests to release that reach `run`
 *	process_tree.c		the command's descendants
 *
 * Numbers, names and exit statuses are in src/daemon, which the daemons use as
 * well.
 */
#ifndef TOOL_H
#define TOOL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <leasehold.h>
#include "daemon/exit_status.h"
#include "daemon/number.h"
#include "daemon/text.h"
#include "daemon/usage_error.h"
#include "daemon/version.h"

/* What every verb takes. */
struct table_opts {
	const char *name;	/* NULL: $LEASEHOLD_TABLE, or "default" */
	bool system;
	bool json;
};

/*
 * Verbs.  argv[0] is the verb; the result is the exit status.  optind is 0, so
 * that getopt_long() starts afresh.
 */
int verb_run(int argc, char **argv);
int verb_acquire(int argc, char **argv);
int verb_renew(int argc, char **argv);
int verb_release(int argc, char **argv);
int verb_session(int argc, char **argv);
int verb_list(int argc, char **argv);
int verb_status(int argc, char **argv);
int verb_init(int argc, char **argv);
int verb_stats(int argc, char **argv);
int verb_fsck(int argc, char **argv);
int verb_dump(int argc, char **argv);
int verb_ask(int argc, char **argv);
int verb_break(int argc, char **argv);
int verb_sem(int argc, char **argv);
int verb_log(int argc, char **argv);
int verb_destroy(int argc, char **argv);
int verb_rm(int argc, char **argv);
int verb_gate(int argc, char **argv);
int verb_explain(int argc, char **argv);
int verb_convert(int argc, char **argv);
int verb_verify(int argc, char **argv);
int verb_watch(int argc, char **argv);
int verb_top(int argc, char **argv);
int verb_value(int argc, char **argv);
int verb_version(int argc, char **argv);

/*
 * open_table.c: attach.  flags and application as in lh_open_opts.  0, or the
 * error code of lh_open(); nothing has been said about it yet.
 */
int open_table(struct lh **lh, const struct table_opts *opts, uint32_t flags,
    const char *application);

/* The name that these options mean, for a table that could not be opened. */
const char *open_table_name(const struct table_opts *opts);

/* Say that there is none; EX_NO. */
int open_table_missing(const struct table_opts *opts);

/* error_status.c: what an error code of the library is as an exit status. */
int error_status(int error);

/* output.c: everything printed has arrived?  status, or EX_SYSTEM after a
 * complaint. */
int output_flush(int status);

/* parse.c: 0, or EX_BAD_USAGE after a sentence that names `what`. */
int parse_key(const char *key);
int parse_lease_id(const char *what, const char *text, uint64_t id[2]);

/*
 * parse.c: say what is wrong with the option that getopt_long() has just
 * refused (it returned `c`); always EX_BAD_USAGE.
 */
int parse_refused_option(const char *verb, int c, char **argv);

/*
 * The options of a verb: --help, --json, --system, --table, and its own, if it
 * has any.  False: that was all, or wrong, and *status is the exit status;
 * true: optind is at the first argument.  A verb that prints nothing refuses
 * table->json itself.
 */
struct option;			/* of <getopt.h> */
#define VERB_OPTS_MAX 24
struct verb_opts {
	/* Ended by one without a name; their values are letters other than
	 * 'h', or 256 to 65535. */
	const struct option *options;
	const char *letters;	/* as for getopt(): "nw:"; NULL: none */
	/* One was there, with this value: 0, or the exit status after a
	 * sentence. */
	int (*take)(int c, char *value, void *arg);
	void *arg;
};

bool parse_verb_opts(const char *verb, const char *help, int argc,
    char **argv, struct table_opts *table, const struct verb_opts *own,
    int *status);
/* The same for a verb that has none of its own. */
bool parse_table_opts(const char *verb, const char *help, int argc,
    char **argv, struct table_opts *table, int *status);

/* message.c: one line to standard error, after "leasehold: ". */
void message(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void message_sentence(const char *sentence);	/* for usage_error_to() */
/* The library's error in words; returns its exit status. */
int message_error(int error, const char *detail, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* A line that the next one replaces; only on a terminal. */
void message_progress(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));
bool message_has_terminal(void);
/* From now on rather lose a message than wait for room on standard error. */
void message_never_block(void);
/* Colour sequences, or "" where there is no call for them. */
const char *message_bold(int fd);
const char *message_plain(int fd);

#endif
