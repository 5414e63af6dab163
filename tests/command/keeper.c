/* SPDX-License-Identifier: MIT */
/*
 * Keeps descriptors where a look at the process's first thread does not show
 * them, for a minute:
 *
 *	keeper ended [FILE]	the first thread has ended, another has them
 *	keeper own [FILE]	a thread has them in a table of its own
 *	keeper high [FILE]	behind 5000 others
 *	keeper ring [FILE]	an io_uring has them, and no table
 *
 * Those that it inherited; or FILE, all bytes of which it locks.  Prints
 * "keeps".  Status 2: this kernel has no io_uring.
 */
#include <fcntl.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MANY 5000
#define INHERITED_MAX 1024

static const char *how, *file;
static pthread_barrier_t kept;

static void
fill_table(void)
{
	struct rlimit most = { 2 * MANY, 2 * MANY };

	if (setrlimit(RLIMIT_NOFILE, &most) != 0)
		exit(1);
	for (int i = 0; i < MANY; i++)
		if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0)
			exit(1);
}

/* The ring keeps it; our descriptor is closed. */
static void
give_to_ring(int fd)
{
	struct io_uring_params p = { 0 };
	int ring = (int)syscall(SYS_io_uring_setup, 4, &p);

	if (ring < 0 || syscall(SYS_io_uring_register, ring,
	    IORING_REGISTER_FILES, &fd, 1) != 0)
		exit(2);
	(void)close(fd);
}

static void
lock_file(void)
{
	struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = open(file, O_RDWR | O_CLOEXEC);

	if (fd < 0 || fcntl(fd, F_OFD_SETLK, &all) != 0)
		exit(1);
	if (strcmp(how, "ring") == 0)
		give_to_ring(fd);
}

static void *
keep(void *arg)
{
	(void)arg;
	if (strcmp(how, "own") == 0 && unshare(CLONE_FILES) != 0)
		exit(1);
	if (strcmp(how, "high") == 0)
		fill_table();
	if (file != NULL)
		lock_file();
	(void)pthread_barrier_wait(&kept);
	(void)sleep(60);
	_exit(0);
}

int
main(int argc, char **argv)
{
	pthread_t thread;

	/* (a `run` that dies ends its command) */
	(void)prctl(PR_SET_PDEATHSIG, 0);
	how = argc > 1 ? argv[1] : "";
	file = argc > 2 ? argv[2] : NULL;
	if (pthread_barrier_init(&kept, NULL, 2) != 0 ||
	    pthread_create(&thread, NULL, keep, NULL) != 0)
		return 1;
	(void)pthread_barrier_wait(&kept);
	if (strcmp(how, "own") == 0)
		for (int fd = 3; fd < INHERITED_MAX; fd++)
			(void)close(fd);
	(void)printf("keeps %d\n", (int)getpid());
	(void)fflush(stdout);
	if (strcmp(how, "ended") == 0)
		pthread_exit(NULL);
	return pthread_join(thread, NULL);
}
