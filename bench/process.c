/* SPDX-License-Identifier: MIT */
/*
 * The processes of the benchmark, and the cleanup.
 *
 *	supervisor	waits for the others
 *	  janitor	removes the tables' objects and the scratch directory
 *	  body		starts the groups, one after the other
 *	    group	measures; may crash with the library under test
 *	      workers	one crowd or holder at a time
 *
 * Every process but the janitor is killed by the kernel when its parent dies
 * (PR_SET_PDEATHSIG), so the supervisor's death is everyone's.  All of them
 * hold the writing end of a pipe, and never write.  The janitor reads it, and
 * gets the end of file when the last of them has ended in any way: done,
 * crashed, interrupted, killed, or because the reader of our output went away.
 * So it removes nothing that a process may still use or create again.  It is a
 * session of its own and ignores the signals that end the others; only a
 * SIGKILL of the janitor itself leaves files behind.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <leasehold.h>

#include "bench.h"

#define SHM_DIR "/dev/shm"

static volatile sig_atomic_t body_pid;

void bench_table_path(char *path, size_t size, const char *table)
{
	snprintf(path, size, SHM_DIR "/leasehold.%u/%s.table",
	    (unsigned int)getuid(), table);
}

/* Unlink all of a directory's files of which wanted() says so. */
static void unlink_those(const char *where, bool (*wanted)(const char *name))
{
	char path[sizeof(bench.scratch) + 1 + sizeof(((struct dirent *)0)
	    ->d_name)];
	struct dirent *entry;
	DIR *dir;

	dir = opendir(where);
	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		snprintf(path, sizeof(path), "%s/%s", where, entry->d_name);
		if (wanted(entry->d_name) && unlink(path) < 0)
			fprintf(stderr, "bench: %s: %s\n", path,
			    strerror(errno));
	}
	closedir(dir);
}

static int remove_one(const char *path, const struct stat *st, int what,
    struct FTW *where)
{
	(void)st, (void)what, (void)where;
	if (remove(path) < 0)
		fprintf(stderr, "bench: %s: %s\n", path, strerror(errno));
	return 0;
}

/* bench.<pid>, and bench.<pid>.<anything>; and what a removed table leaves. */
static bool of_our_tables(const char *name)
{
	size_t len = strlen(bench.table);

	return strncmp(name, bench.table, len) == 0 && name[len] == '.';
}

/* Never returns. */
static void clean_up_in_the_end(int alive)
{
	int null = open("/dev/null", O_RDWR);
	char place[64];
	ssize_t got;
	char c;

	setsid();
	/* whoever reads our output is not to wait for this process */
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	do {
		got = read(alive, &c, 1);
	} while (got < 0 && errno == EINTR);
	nftw(bench.scratch, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	snprintf(place, sizeof(place), SHM_DIR "/leasehold.%u",
	    (unsigned int)getuid());
	unlink_those(place, of_our_tables);
	_exit(0);
}

static void on_signal(int number)
{
	(void)number;
	if (body_pid > 0)
		kill(body_pid, SIGKILL);
}

/* Signals from outside that end a program, as far as they can be caught. */
static const int endings[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE };
#define N_ENDINGS (sizeof(endings) / sizeof(endings[0]))

static void on_endings(void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler };
	size_t i;

	for (i = 0; i < N_ENDINGS; i++)
		sigaction(endings[i], &action, NULL);
}

/* The descriptor that the janitor waits for the last copy of. */
static int start_janitor(int *pid)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	*pid = fork();
	if (*pid == 0) {
		close(ends[1]);
		on_endings(SIG_IGN);
		clean_up_in_the_end(ends[0]);
	}
	close(ends[0]);
	if (*pid > 0)
		return ends[1];
	close(ends[1]);
	return -1;
}

static int await(int pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

/*
 * Run body in a child and see that somebody cleans up behind it.  The exit
 * status is body's.  Until body_pid is stored, signals are held back.
 */
int bench_supervise(int (*body)(void))
{
	sigset_t ours, before;
	int alive, janitor;
	int status;
	size_t i;
	int pid;

	signal(SIGCHLD, SIG_DFL);	/* ignored, it hides how they end */
	sigemptyset(&ours);
	for (i = 0; i < N_ENDINGS; i++)
		sigaddset(&ours, endings[i]);
	sigprocmask(SIG_BLOCK, &ours, &before);
	snprintf(bench.table, sizeof(bench.table), "bench.%d", (int)getpid());
	snprintf(bench.scratch, sizeof(bench.scratch),
	    SHM_DIR "/leasehold-bench.XXXXXX");
	if (!mkdtemp(bench.scratch)) {
		fprintf(stderr, "bench: %s: %s\n", bench.scratch,
		    strerror(errno));
		return COULD_NOT_MEASURE;
	}
	alive = start_janitor(&janitor);
	if (alive < 0) {
		fprintf(stderr, "bench: pipe or fork: %s\n", strerror(errno));
		rmdir(bench.scratch);
		return COULD_NOT_MEASURE;
	}
	pid = bench_fork();
	if (pid == 0) {
		/* also if whoever started us ignores it: an end, not an error
		 * at each further line */
		signal(SIGPIPE, SIG_DFL);
		sigprocmask(SIG_SETMASK, &before, NULL);
		status = body();
		fflush(stdout);
		_exit(status);
	}
	body_pid = pid;
	on_endings(on_signal);
	sigprocmask(SIG_SETMASK, &before, NULL);
	status = await(pid);
	body_pid = 0;
	close(alive);
	await(janitor);
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	if (WTERMSIG(status) != SIGPIPE)
		fprintf(stderr, "bench: measuring was ended by signal %d\n",
		    WTERMSIG(status));
	return COULD_NOT_MEASURE;
}
