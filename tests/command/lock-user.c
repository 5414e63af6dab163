/* SPDX-License-Identifier: MIT */
/* lock-user FILE HELD: a program that uses the library and locks files as well,
 * for the tests of leasehold-preload.  It has a second thread.  Prints "ready",
 * and how the wait for a flock of HELD ends, whose signal comes after a second
 * (and may go to the other thread). */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>
#include <leasehold.h>

static void
on_alarm(int number)
{
	(void)number;
}

static void *
sleep_on(void *arg)
{
	for (;;)
		(void)sleep(1000);
	return arg;
}

int
main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_alarm };
	struct lh_lease lease;
	pthread_t thread;
	struct lh *lh;
	int file, held;

	if (argc != 3 || lh_open(&lh, NULL, NULL) != 0 ||
	    lh_acquire(lh, "its own", NULL, &lease) != 0)
		return 1;
	file = open(argv[1], O_RDWR);
	held = open(argv[2], O_RDWR);
	if (file < 0 || held < 0 || flock(file, LOCK_EX) != 0 ||
	    flock(file, LOCK_UN) != 0 ||
	    sigaction(SIGALRM, &action, NULL) != 0 ||
	    pthread_create(&thread, NULL, sleep_on, NULL) != 0)
		return 2;
	(void)puts("ready");
	(void)fflush(stdout);
	(void)alarm(1);
	if (flock(held, LOCK_EX) == 0)
		return 3;
	(void)puts(strerror(errno));
	return lh_release(lh, &lease) != 0 || lh_close(lh) != 0 ? 4 : 0;
}
