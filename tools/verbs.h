/* SPDX-License-Identifier: MIT */
/*
 * The verbs of the `leasehold` command.
 *
 * Calls go down only, and only leasehold.c calls a verb:
 *
 *	leasehold.c		main(): chooses the verb; calls all verbs
 *	verb_NAME.c		one verb (verb_session.c: renew too,
 *				verb_break.c: ask); no file but leasehold.c
 *				calls one
 *	open_table.c		the table that the options name
 *	output.c		standard output
 *	file_lock.c		flock(2) with a limit of time
 *	process_watch.c		ends a wait with the process that it is for
 *	error_status.c		the exit status of a library's error
 *	parse.c			options that every verb has, and keys
 *	message.c		messages on standard error
 *	show.c			a key, in words and as JSON
 *	show_event.c		events of `log`
 *	log_query.c		what `log` asks the recorder for
 *	log_at.c		who held a key at a time
 *	log_history.c		what an event does to the holders
 *	show_counters.c		counters of `stats`
 *	rates.c			rates of `top`
 *	table_scan.c		the tables of the machine, for `tables`
 *	other_user.c		becomes another user, for --uid
 *	complete.c		what could be typed next, for shells
 *	complete_live.c		names of keys, sessions and tables for that
 *	snapshot_diff.c		changes between two looks, for `watch`
 *
 * Of `bench` (bench/ uses those that do not print, too):
 *
 *	bench_measure.c		the measurements
 *	bench_relay.c		a lock that goes from one process to another
 *	bench_clock.c		clocks
 *	bench_rounds.c		timing, in interleaved rounds
 *	bench_peers.c		locks of the C library and the kernel
 *	bench_process.c		processes, and the memory that they share
 *	bench_machine.c		the machine, in words
 *	bench_print.c		the figures, in words and as JSON
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
#ifndef TOOLS_VERBS_H
#define TOOLS_VERBS_H

/* How the name of a session begins that `acquire` makes for one lease. */
#define IMPLICIT_SESSION "acquire-"

/*
 * Each carries out a verb and returns the exit status.  argv[0] is the verb.
 * optind is 0, so that getopt_long() starts afresh.
 */
int verb_run(int argc, char **argv);
int verb_acquire(int argc, char **argv);
int verb_renew(int argc, char **argv);
int verb_release(int argc, char **argv);
int verb_session(int argc, char **argv);
int verb_flock(int argc, char **argv);
int verb_held(int argc, char **argv);
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
int verb_mark_consistent(int argc, char **argv);
int verb_rm(int argc, char **argv);
int verb_gate(int argc, char **argv);
int verb_explain(int argc, char **argv);
int verb_convert(int argc, char **argv);
int verb_verify(int argc, char **argv);
int verb_watch(int argc, char **argv);
int verb_top(int argc, char **argv);
int verb_tables(int argc, char **argv);
int verb_bench(int argc, char **argv);
int verb_value(int argc, char **argv);
int verb_version(int argc, char **argv);

#endif
