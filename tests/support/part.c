/* SPDX-License-Identifier: MIT */
/* Parts that are played again: see part.h. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "support/child.h"
#include "support/part.h"
#include "support/support.h"
#include "tap.h"

#define PLAYS		3
#define PROCESSES	64
#define TASKS		1024
#define SAMPLES		64		/* the span is divided into fewer */
#define LOOK_MS		t_ms(5)
#define NOT_HELD	3		/* exit status: checks did not hold */

/* Shared by the processes of a part with the one that watches it. */
static struct part {
	_Atomic int stretch;
	_Atomic int n;
	_Atomic pid_t pid[PROCESSES];
} *part;

/* How long each task has waited for a processor, when last looked at. */
static struct task {
	pid_t tid;
	int64_t waited_ns;
} tasks[TASKS];
static int n_tasks;
static int64_t stolen_ns;

/* Lost processor time of late: when, and how much. */
static struct lost {
	int64_t at_ns, ns;
} lost[SAMPLES];
static unsigned n_lost;

int
t_stretch(void)
{
	return part == NULL ? 1 : atomic_load(&part->stretch);
}

int64_t
t_long(int64_t ms)
{
	return t_ms(ms) * t_stretch();
}

void
t_part_joined(pid_t pid)
{
	int n;

	if (part == NULL)
		return;
	n = atomic_fetch_add(&part->n, 1);
	atomic_store(&part->pid[n % PROCESSES], pid);
}

/* By how much has the task waited more than when it was last seen? */
static int64_t
more_of(pid_t tid, int64_t waited_ns)
{
	int64_t more;
	int i;

	for (i = 0; i < n_tasks && tasks[i].tid != tid; i++)
		continue;
	if (i == TASKS)
		return 0;
	if (i == n_tasks)
		tasks[n_tasks++] = (struct task){ tid, 0 };
	more = waited_ns - tasks[i].waited_ns;
	tasks[i].waited_ns = waited_ns;
	return more > 0 ? more : 0;
}

static int64_t
waited_more(pid_t pid, const char *tid)
{
	long long ran_ns, waited_ns = 0;
	char path[96];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%.20s/schedstat",
	    (int)pid, tid);
	f = fopen(path, "re");
	if (f == NULL)
		return 0;	/* it has ended */
	if (fscanf(f, "%lld %lld", &ran_ns, &waited_ns) != 2)
		waited_ns = 0;
	fclose(f);
	return more_of(atoi(tid), waited_ns);
}

static int64_t
process_waited_more(pid_t pid)
{
	int64_t ns = 0;
	struct dirent *e;
	char path[64];
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	while (d != NULL && (e = readdir(d)) != NULL)
		if (isdigit((unsigned char)e->d_name[0]))
			ns += waited_more(pid, e->d_name);
	if (d != NULL)
		closedir(d);
	return ns;
}

/* Time that the host has taken from this machine since the last look. */
static int64_t
stolen_more(void)
{
	long long steal = 0;
	int64_t was = stolen_ns;
	FILE *f = fopen("/proc/stat", "re");

	if (f == NULL || fscanf(f, "cpu %*d %*d %*d %*d %*d %*d %*d %lld",
	    &steal) != 1)
		steal = 0;
	if (f != NULL)
		fclose(f);
	stolen_ns = steal * 1000000000 / sysconf(_SC_CLK_TCK);
	return stolen_ns - was;
}

/* One look; the most that was lost in a span of that length up to now. */
static int64_t
look(int64_t late_ns, int64_t span_ns)
{
	struct lost now = { t_now_ns(), late_ns + stolen_more() };
	int n = atomic_load(&part->n);
	int64_t sum = 0;

	for (int i = 0; i < n && i < PROCESSES; i++)
		now.ns += process_waited_more(atomic_load(&part->pid[i]));
	lost[n_lost++ % SAMPLES] = now;
	for (int i = 0; i < SAMPLES; i++)
		if (lost[i].at_ns > now.at_ns - span_ns)
			sum += lost[i].ns;
	return sum;
}

static int
run(void (*play)(void))
{
	pid_t parent = getpid(), pid = fork();

	if (pid < 0)
		bail_out("fork: %s", strerror(errno));
	if (pid > 0)
		return pid;
	/* not t_fork(): what is lost in here is to be found */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	t_part_joined(getpid());
	play();
	exit(tap_child_status() == 0 ? 0 : NOT_HELD);
}

/* It went wrong otherwise: a crash, what a sanitizer or valgrind found. */
static void
go_down(int status)
{
	if (WIFEXITED(status)) {
		diag_failed("the part ended with status %d",
		    WEXITSTATUS(status));
		exit(WEXITSTATUS(status));
	}
	diag_failed("the part was ended by signal %d", WTERMSIG(status));
	signal(WTERMSIG(status), SIG_DFL);
	raise(WTERMSIG(status));
}

/* Play it: whether all held; and the most that was lost in such a span. */
static bool
played(void (*play)(void), int64_t span_ms, int64_t *lost_ms)
{
	int64_t nap_ms = span_ms / 16 > LOOK_MS ? span_ms / 16 : LOOK_MS;
	int64_t end = t_now_ns() + 5 * T_HANG_MS * T_NS_PER_MS, was, ns;
	bool late = false;
	int status;
	pid_t pid;

	n_tasks = 0;
	memset(lost, 0, sizeof(lost));
	*lost_ms = 0;
	(void)stolen_more();
	atomic_store(&part->n, 0);
	t_watch();
	pid = run(play);
	while (waitpid(pid, &status, WNOHANG) == 0) {
		was = t_now_ns();
		late = was >= end;
		if (late)
			kill(pid, SIGKILL);
		t_sleep_ms(nap_ms);
		ns = look(t_now_ns() - was - nap_ms * T_NS_PER_MS,
		    (span_ms + nap_ms) * T_NS_PER_MS);
		if (ns / T_NS_PER_MS > *lost_ms)
			*lost_ms = ns / T_NS_PER_MS;
	}
	if (late || (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM))
		diag_failed("the part did not end");
	else if (WIFSIGNALED(status) || WEXITSTATUS(status) > NOT_HELD)
		go_down(status);
	else if (WEXITSTATUS(status) == 1)
		*lost_ms = 0;		/* it broke off: leave it at that */
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int
plays(void)
{
	const char *s = getenv("LH_TEST_PLAYS");

	return s == NULL ? PLAYS : atoi(s);
}

void
t_part(void (*play)(void), int64_t limit_ms, const char *name)
{
	int64_t lost_ms;
	bool held;

	if (part == NULL)
		part = t_shared(sizeof(*part));
	atomic_store(&part->stretch, 1);
	for (int n = 1;; n++) {
		held = played(play, t_ms(limit_ms), &lost_ms);
		if (held || n >= plays() || lost_ms < t_ms(limit_ms) / 2)
			break;
		diag_failed("held up for %lld ms of %lld: once more",
		    (long long)lost_ms, (long long)t_ms(limit_ms));
		atomic_store(&part->stretch, 4 * n);
	}
	ok(held, "%s", name);
	atomic_store(&part->stretch, 1);
}
