/* SPDX-License-Identifier: MIT */
/*
 * Is hard to examine, as a user who has nothing to do with a table (65533):
 *
 *	stranger unmapped FILE	a child has unmapped all its memory; FILE is
 *				written, to be executed
 *	stranger churn N	N processes whose first thread has ended, and
 *				whose other one is always a new one
 *	stranger flip N		N descriptors are a new unix socket and a pipe
 *				by turns
 *	stranger tables N MANY	N threads, each with a table of its own of MANY
 *				sockets
 *
 * Prints "ready".  Status 2: that does not work on this kernel.
 */
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define USER 65533
#define STACK 65536
#define SECONDS 100
#define FIRST_FD 100

static int n, many;

static void
become_user(void)
{
	if (setgroups(0, NULL) != 0 || setgid(USER) != 0 || setuid(USER) != 0)
		exit(1);
	(void)alarm(SECONDS);
}

static void
say_ready(void)
{
	puts("ready");
	(void)fflush(stdout);
}

/* munmap(0, 0xffffe000) of a 32-bit process: nothing is left, no page of the
 * kernel's either, as a 64-bit one would have */
static const unsigned char program[] = {
	0x7f, 'E', 'L', 'F', 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	2, 0, 3, 0, 1, 0, 0, 0,
	0x54, 0x80, 0x04, 0x08,		/* begins at */
	0x34, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0x34, 0, 0x20, 0, 1, 0, 0, 0, 0, 0, 0, 0,
	1, 0, 0, 0, 0, 0, 0, 0,		/* the one segment */
	0, 0x80, 0x04, 0x08, 0, 0x80, 0x04, 0x08,
	0x70, 0, 0, 0, 0x70, 0, 0, 0, 5, 0, 0, 0, 0, 0x10, 0, 0,
	0xb8, 91, 0, 0, 0,		/* mov $SYS_munmap, %eax */
	0x31, 0xdb,			/* xor %ebx, %ebx */
	0xb9, 0, 0xe0, 0xff, 0xff,	/* mov $0xffffe000, %ecx */
	0xcd, 0x80,			/* int $0x80 */
	0xeb, 0xfe,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
};

static void
unmap_all(const char *file)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	int status;
	pid_t pid;

	if (fd < 0 || write(fd, program, sizeof(program)) !=
	    (ssize_t)sizeof(program) || fchmod(fd, 0755) != 0 ||
	    close(fd) != 0)
		exit(1);
	become_user();
	pid = fork();
	if (pid == 0) {
		(void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		(void)execl(file, "unmapped", (char *)NULL);
		_exit(2);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) ||
	    ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_EXITKILL) != 0 ||
	    ptrace(PTRACE_CONT, pid, NULL, NULL) != 0)
		exit(2);
	/* it has no code left to go on with */
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) ||
	    WSTOPSIG(status) != SIGSEGV)
		exit(2);
	printf("unmapped %d\n", (int)pid);
}

static void *
make_next(void *arg)
{
	pthread_attr_t a;
	pthread_t next;

	(void)pthread_attr_init(&a);
	(void)pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
	(void)pthread_attr_setstacksize(&a, STACK);
	while (pthread_create(&next, &a, make_next, NULL) != 0)
		(void)sched_yield();
	return arg;
}

static void
churn(void)
{
	become_user();
	for (int i = 0; i < n; i++) {
		if (fork() != 0)
			continue;
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)alarm(SECONDS);
		(void)make_next(NULL);
		pthread_exit(NULL);
	}
}

static void
flip(void)
{
	int s = -1, p[2];

	become_user();
	if (pipe(p) != 0)
		exit(1);
	say_ready();
	for (;;) {
		if (s >= 0)
			(void)close(s);
		s = socket(AF_UNIX, SOCK_DGRAM, 0);
		for (int i = 0; i < n; i++)
			(void)dup2(s, FIRST_FD + i);
		for (int i = 0; i < n; i++)
			(void)dup2(p[0], FIRST_FD + i);
	}
}

static void *
keep_table(void *arg)
{
	if (unshare(CLONE_FILES) != 0)
		exit(1);
	(void)pthread_barrier_wait(arg);
	(void)pause();
	return NULL;
}

static void
keep_tables(void)
{
	static pthread_barrier_t kept;
	struct rlimit r;
	pthread_attr_t a;
	pthread_t t;
	int s;

	(void)getrlimit(RLIMIT_NOFILE, &r);
	r.rlim_cur = r.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &r);
	become_user();
	s = socket(AF_INET, SOCK_DGRAM, 0);
	for (int i = 0; i < many; i++)
		if (dup(s) < 0)
			exit(2);
	(void)pthread_barrier_init(&kept, NULL, (unsigned)n + 1);
	(void)pthread_attr_init(&a);
	(void)pthread_attr_setstacksize(&a, STACK);
	for (int i = 0; i < n; i++)
		if (pthread_create(&t, &a, keep_table, &kept) != 0)
			exit(2);
	(void)pthread_barrier_wait(&kept);
}

int
main(int argc, char **argv)
{
	if (argc < 3)
		return 1;
	n = atoi(argv[2]);
	many = argc > 3 ? atoi(argv[3]) : 0;
	if (strcmp(argv[1], "unmapped") == 0)
		unmap_all(argv[2]);
	else if (strcmp(argv[1], "churn") == 0)
		churn();
	else if (strcmp(argv[1], "flip") == 0)
		flip();
	else
		keep_tables();
	say_ready();
	(void)pause();
	return 0;
}
