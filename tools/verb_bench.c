/* SPDX-License-Identifier: MIT */
/*
 * `leasehold bench`: what locks cost on this machine, or in a table of the
 * user's.
 *
 * Three kinds of processes:
 *
 *	this one	opens the table, waits, cleans up, prints
 *	  the body	measures (bench_measure.c)
 *	    others	of bench_relay.c
 *
 * The body and the others have the writing end of a pipe and never write.  The
 * end of file says that the last of them has ended in any way, so nothing that
 * is removed is used or made again.  A signal that would end this process ends
 * the body first.  Nothing is printed before the table is clean, so that a
 * closed pipe does not matter.
 *
 * If this process is killed the kernel ends the others, and the sessions' end
 * frees what they held.  The names stay: two keys, or the private table.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <leasehold.h>
#include "bench_clock.h"
#include "bench_measure.h"
#include "bench_print.h"
#include "bench_process.h"
#include "daemon/exit_status.h"
#include "daemon/number.h"
#include "daemon/usage_error.h"
#include "error_status.h"
#include "message.h"
#include "open_table.h"
#include "parse.h"
#include "verbs.h"

#define SECONDS		10
#define SECONDS_MAX	600
#define NAME_ROOM	64
#define PROGRESS_MS	250
#define NAMES		10	/* tried, if others have them */
/* How long a process that was killed may keep a key. */
#define CLEAN_NS	UINT64_C(5000000000)
#define CLEAN_PAUSE_US	5000

static const char help[] =
"usage: leasehold bench [OPTION...]\n"
"\n"
"Measures what locks cost on this machine, beside a robust mutex and flock:\n"
"acquire + release, hand-over to a waiting process, the processor time of\n"
"that, takeover after kill -9.  Uses a private table, which it removes.\n"
"\n"
"      --seconds N   take about that long; default 10\n"
"      --json        print JSON\n"
"      --table NAME  use that table, with keys that it destroys at the end\n"
"      --system      with --table: the machine's table of that name\n"
"      --help        print this\n";

/* Memory of all processes of the run. */
struct shared {
	struct bench_results results;
	_Atomic int failed;		/* a process has filled the next two */
	int error;
	char sentence[1024];
};

struct bench {
	struct table_opts table;
	bool private;
	uint64_t seconds;
	char name[NAME_ROOM];		/* of the private table */
	char relay_key[NAME_ROOM], pair_key[NAME_ROOM];
	uint32_t flags;
	struct lh *lh;
	struct shared *shared;
};

static struct shared *failure;		/* of note_failure() */
static volatile sig_atomic_t interrupted;
static volatile sig_atomic_t body_pid;

static const int endings[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
#define N_ENDINGS (sizeof(endings) / sizeof(endings[0]))

static void
note_ending(int sig)
{
	interrupted = sig;
	if (body_pid > 0)
		(void)kill(body_pid, SIGKILL);
}

/* Keeps the first failure; its parent prints it. */
static void
note_failure(int error, const char *sentence)
{
	int none = 0;

	if (!atomic_compare_exchange_strong(&failure->failed, &none, 1))
		return;
	failure->error = error;
	(void)snprintf(failure->sentence, sizeof(failure->sentence), "%s",
	    sentence);
}

/* Opens a table of that name, which nobody else has. */
static int
make_table(struct bench *b)
{
	struct lh_open_opts opts = LH_OPEN_OPTS_INIT;
	int e;

	opts.flags = LH_CREATE_ONLY;
	e = lh_open(&b->lh, b->name, &opts);
	if (e != -EEXIST)
		return e;
	/* of a run that was killed, with the same process id */
	e = lh_table_remove(b->name, LH_FORGET_TOKENS);
	return e == 0 || e == -ENOENT ? lh_open(&b->lh, b->name, &opts) : e;
}

/* Opens the private table.  A run in another pid namespace may have the same
 * process id. */
static int
open_private(struct bench *b)
{
	int e;

	b->table.name = b->name;
	b->table.system = false;
	(void)snprintf(b->name, sizeof(b->name), "leasehold-bench.%d",
	    (int)getpid());
	e = make_table(b);
	for (int n = 1; (e == -EBUSY || e == -EEXIST) && n < NAMES; n++) {
		(void)snprintf(b->name, sizeof(b->name),
		    "leasehold-bench.%d.%d", (int)getpid(), n);
		e = make_table(b);
	}
	return e == 0 ? EX_YES : message_error(e, lh_error_detail(), "cannot "
	    "make a table to measure in");
}

static int
open_named(struct bench *b)
{
	struct lh_open_opts opts = LH_OPEN_OPTS_INIT;
	int e;

	opts.flags = b->flags;
	e = lh_open(&b->lh, b->table.name, &opts);
	if (e == -ENOENT)
		return open_table_missing(&b->table);
	return e == 0 ? EX_YES : message_error(e, lh_error_detail(), "cannot "
	    "measure in table '%s'", open_table_name(&b->table));
}

/* Never returns. */
static void
run_body(struct bench *b, const sigset_t *before)
{
	const struct bench_task task = {
		.place = { .table = b->table.name, .flags = b->flags,
		    .key = b->relay_key },
		.pair_key = b->pair_key,
		.seconds = (double)b->seconds,
	};

	(void)sigprocmask(SIG_SETMASK, before, NULL);
	failure = b->shared;
	bench_failure_to(note_failure);
	bench_measure(&task, &b->shared->results);
	_exit(EX_YES);
}

/* Catches the signals that would end this process, but those it ignores. */
static void
catch_endings(void)
{
	const struct sigaction sa = { .sa_handler = note_ending };
	struct sigaction old;

	for (size_t i = 0; i < N_ENDINGS; i++) {
		(void)sigaction(endings[i], NULL, &old);
		if (old.sa_handler != SIG_IGN)
			(void)sigaction(endings[i], &sa, NULL);
	}
}

/* Waits until all have ended; returns the body's wait status. */
static int
await_body(struct bench *b, int pid, int alive)
{
	struct pollfd end = { .fd = alive, .events = POLLIN };
	uint64_t begun = bench_clock_ns(), spent;
	bool shown = false;
	int status;

	while (poll(&end, 1, PROGRESS_MS) <= 0) {
		spent = (bench_clock_ns() - begun) / 1000000000;
		message_progress("measuring %s, %llu of about %llu s",
		    bench_phase_name(atomic_load(&b->shared->results.phase)),
		    (unsigned long long)spent, (unsigned long long)b->seconds);
		shown = true;
	}
	if (shown && message_has_terminal())
		(void)!write(STDERR_FILENO, "\r\033[K", 4);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

/* Destroys a key; a process that was killed may hold it for a moment yet. */
static int
destroy_key(struct lh *lh, const char *key)
{
	uint64_t end = bench_clock_ns() + CLEAN_NS;
	int e;

	while ((e = lh_destroy(lh, key)) == -EBUSY && bench_clock_ns() < end)
		bench_sleep_us(CLEAN_PAUSE_US);
	return e == 0 ? EX_YES : message_error(e, lh_error_detail(), "the key "
	    "'%s' stays", key);
}

static int
remove_private(struct bench *b)
{
	uint64_t end = bench_clock_ns() + CLEAN_NS;
	int e;

	(void)lh_close(b->lh);
	while ((e = lh_table_remove(b->name, LH_FORGET_TOKENS)) == -EBUSY &&
	    bench_clock_ns() < end)
		bench_sleep_us(CLEAN_PAUSE_US);
	return e == 0 ? EX_YES : message_error(e, lh_error_detail(), "the "
	    "table '%s' stays", b->name);
}

static int
clean_up(struct bench *b)
{
	int first, second;

	if (b->private)
		return remove_private(b);
	first = destroy_key(b->lh, b->relay_key);
	second = destroy_key(b->lh, b->pair_key);
	(void)lh_close(b->lh);
	return first != EX_YES ? first : second;
}

/* Prints the figures, or why there are none, after the body has ended. */
static int
print_outcome(struct bench *b, int wait_status)
{
	const struct bench_run run = { .table = open_table_name(&b->table),
	    .system = b->table.system, .private = b->private,
	    .seconds = (unsigned int)b->seconds,
	    .results = &b->shared->results };

	if (atomic_load(&b->shared->failed)) {
		message("cannot measure: %s", b->shared->sentence);
		return b->shared->error < 0 ? error_status(b->shared->error) :
		    EX_SYSTEM;
	}
	if (!bench_ended_well(wait_status)) {
		message("cannot measure: the measuring process was ended "
		    "(wait status 0x%x)", (unsigned int)wait_status);
		return EX_INTERNAL;
	}
	return b->table.json ? bench_print_json(&run) :
	    bench_print_table(&run);
}

/* With the signals of `endings` blocked. */
static int
measure_and_clean(struct bench *b, const sigset_t *before)
{
	int ends[2], status, cleaned, pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return message_error(-errno, NULL, "cannot make a pipe");
	status = b->private ? open_private(b) : open_named(b);
	if (status != EX_YES)
		return status;
	(void)snprintf(b->relay_key, NAME_ROOM, "leasehold-bench/%d/relay",
	    (int)getpid());
	(void)snprintf(b->pair_key, NAME_ROOM, "leasehold-bench/%d/pair",
	    (int)getpid());
	pid = bench_fork();
	if (pid == 0) {
		(void)close(ends[0]);
		run_body(b, before);
	}
	(void)close(ends[1]);
	body_pid = pid;
	catch_endings();
	(void)sigprocmask(SIG_SETMASK, before, NULL);
	status = await_body(b, pid, ends[0]);
	body_pid = 0;
	(void)close(ends[0]);
	cleaned = clean_up(b);
	if (interrupted)
		return EX_SIGNAL + interrupted;
	status = print_outcome(b, status);
	return status != EX_YES ? status : cleaned;
}

static int
take_option(int c, char *value, void *arg)
{
	struct bench *b = arg;
	int status;

	(void)c;
	status = parse_number("--seconds", value, SECONDS_MAX, &b->seconds);
	if (status == 0 && b->seconds == 0)
		return usage_error("--seconds: 0 is too short; 1 is the "
		    "least");
	return status;
}

int
verb_bench(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seconds", required_argument, NULL, 's' },
		{ NULL, 0, NULL, 0 },
	};
	struct bench b = { .seconds = SECONDS };
	const struct verb_opts own = { .options = options,
	    .take = take_option, .arg = &b };
	const char *system = secure_getenv("LEASEHOLD_SYSTEM");
	bool inherited = system != NULL && strcmp(system, "1") == 0;
	sigset_t blocked, before;
	int status;

	if (!parse_verb_opts("bench", help, argc, argv, &b.table, &own,
	    &status))
		return status;
	if (optind < argc)
		return usage_error("bench takes no argument ('%s'): the "
		    "table's name goes after --table", argv[optind]);
	/* the options decide: a job of `run --system` inherits its table */
	b.private = b.table.name == NULL;
	if (b.private && b.table.system && !inherited)
		return usage_error("bench --system needs --table: name the "
		    "table of the machine to measure in");
	b.flags = LH_NO_CREATE |
	    (b.table.system && !b.private ? LH_SYSTEM : 0);
	b.shared = bench_shared(sizeof(*b.shared));
	(void)sigemptyset(&blocked);
	for (size_t i = 0; i < N_ENDINGS; i++)
		(void)sigaddset(&blocked, endings[i]);
	(void)sigprocmask(SIG_BLOCK, &blocked, &before);
	status = measure_and_clean(&b, &before);
	if (interrupted) {
		(void)signal(interrupted, SIG_DFL);
		(void)raise(interrupted);
	}
	return status;
}
