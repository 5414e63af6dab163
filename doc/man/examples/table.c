/* SPDX-License-Identifier: MIT */
/* Examples of leasehold/table.h, for its manual pages (tools/man3). */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <leasehold.h>

/* Opens the usual table, making it if it does not exist, and says which. */
static int
open_and_close(void)
{
	struct lh *lh;
	int e = lh_open(&lh, NULL, NULL);

	if (e != 0) {
		fprintf(stderr, "%s: %s\n", lh_strerror(e), lh_error_detail());
		return e;
	}
	printf("table %s, session %016" PRIx64 "\n", lh_table_name(lh),
	    lh_session_id(lh));
	return lh_close(lh);
}

/* Says when a lease ends, by the wall clock. */
static void
print_end(struct lh *lh, const struct lh_lease *lease)
{
	printf("%" PRId64 " ms left, until %" PRId64 " ms since 1970\n",
	    (lease->expires_ns - lh_clock_ns(lh)) / 1000000,
	    lh_epoch_ms(lh, lease->expires_ns));
}

/* Lets a child process keep the lease alive, if this process dies. */
static int
start_child_with_lease(struct lh *lh, const char *program)
{
	int fd = lh_liveness_fd(lh);
	pid_t pid;

	if (fd < 0)
		return fd;
	pid = fork();
	if (pid == 0) {
		execlp(program, program, (char *)NULL);
		_exit(127);
	}
	close(fd);		/* the child has its copy */
	return pid < 0 ? -1 : 0;
}

/* The program's own handler of SIGBUS: a truncated table is no crash. */
static void
on_sigbus(int sig, siginfo_t *info, void *context)
{
	if (!lh_sigbus(sig, info, context))
		_exit(70);	/* it was not a table's */
}

/* Removes the table, if no process uses it. */
static int
remove_table(void)
{
	int e = lh_table_remove(NULL, 0);

	if (e != 0)
		fprintf(stderr, "not removed: %s\n", lh_error_detail());
	return e;
}

int
main(void)
{
	struct sigaction sa = { .sa_sigaction = on_sigbus,
	    .sa_flags = SA_SIGINFO };
	struct lh_open_opts o = LH_OPEN_OPTS_INIT;
	struct lh_lease lease;
	struct lh *lh;

	sigaction(SIGBUS, &sa, NULL);
	o.flags = LH_LIVENESS_FD;
	if (open_and_close() != 0 || lh_open(&lh, NULL, &o) != 0 ||
	    lh_acquire(lh, "k", NULL, &lease) != 0)
		return EXIT_FAILURE;
	print_end(lh, &lease);
	if (start_child_with_lease(lh, "true") != 0 ||
	    lh_release(lh, &lease) != 0 || lh_close(lh) != 0)
		return EXIT_FAILURE;
	sleep(1);
	return remove_table() == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
