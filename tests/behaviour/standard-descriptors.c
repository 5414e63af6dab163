/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1 and G12, issue 21 A3: a program with closed standard
 * descriptors: nothing that the library opens, keeps or returns is 0, 1 or 2. A
 * child closes some of the three, uses everything that opens descriptors, and
 * looks at them, while another thread prints.
 *
 * Otherwise the table would be the program's standard output, and its own
 * messages would overwrite the table for everybody.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define ROUNDS 50
#define MARK "printed into a table"

static const char *name;
static char gate_path[64];
static atomic_bool stop;

struct outcome {
	int closed;		/* bits: 1 << descriptor */
	int failed;		/* a call's error */
	int taken;		/* bits: standard descriptors in use */
	int printed;		/* what was printed went somewhere */
};

static struct outcome *seen;

/* Prints to all three until it is stopped. */
static void *
print_always(void *arg)
{
	struct outcome *o = arg;

	while (!atomic_load(&stop)) {
		for (int fd = 0; fd < 3; fd++) {
			if ((o->closed & 1 << fd) &&
			    write(fd, MARK, sizeof(MARK)) >= 0)
				o->printed = 1;
		}
	}
	return NULL;
}

static void
look_at_standard(struct outcome *o)
{
	for (int fd = 0; fd < 3; fd++) {
		if ((o->closed & 1 << fd) && fcntl(fd, F_GETFD) >= 0)
			o->taken |= 1 << fd;
	}
}

static int
use_everything(struct outcome *o)
{
	struct lh_open_opts opts = t_open_opts();
	struct lh_gate *gate;
	struct lh_lease lease;
	struct lh_watch *watch;
	struct lh_lock *lock;
	struct lh *lh;
	int error, fd;

	opts.flags = LH_LIVENESS_FD;
	error = lh_open(&lh, name, &opts);
	if (error != 0)
		return error;
	look_at_standard(o);
	error = lh_acquire(lh, "k", NULL, &lease);
	fd = lh_liveness_fd(lh);
	if (fd < 3)
		o->taken |= fd < 0 ? 8 : 1 << fd;
	if (error == 0)
		error = lh_lock_open(lh, "live", NULL, &lock);
	if (error == 0)
		error = lh_lock_watch(lock, 0, &watch);
	if (error == 0 && lh_watch_fd(watch) < 3)
		o->taken |= 16;
	if (error == 0)
		error = lh_lock_acquire(lock, NULL);
	if (error == 0)
		error = lh_gate_open(&gate, gate_path, NULL, 0);
	look_at_standard(o);
	if (error == 0)
		error = lh_gate_check(gate, lease.token, lease.mode);
	if (error == 0) {
		lh_gate_close(gate);
		lh_watch_close(watch);
		error = lh_lock_close(lock);
	}
	if (error == 0)
		error = lh_release(lh, &lease);
	(void)close(fd);
	lh_close(lh);
	look_at_standard(o);
	return error;
}

static int
with_closed(void *arg)
{
	struct outcome *o = arg;
	pthread_t printer;

	for (int fd = 0; fd < 3; fd++) {
		if (o->closed & 1 << fd)
			(void)close(fd);
	}
	if (pthread_create(&printer, NULL, print_always, o) != 0)
		return 1;
	for (int i = 0; i < ROUNDS && o->failed == 0; i++)
		o->failed = use_everything(o);
	atomic_store(&stop, true);
	(void)pthread_join(printer, NULL);
	return 0;
}

int
main(void)
{
	struct lh *lh;

	name = t_table();
	seen = t_shared(8 * sizeof(*seen));
	(void)snprintf(gate_path, sizeof(gate_path), "/dev/shm/test-gate.%d",
	    (int)getpid());
	t_remove_at_exit(gate_path);
	lh = t_open(name);
	for (int closed = 1; closed < 8; closed++) {
		struct outcome *o = &seen[closed];

		o->closed = closed;
		is(t_reap(t_fork(with_closed, o), T_HANG_MS), 0,
		    "closed %d: runs", closed);
		is(o->failed, 0, "closed %d: everything works", closed);
		is(o->taken, 0, "closed %d: no descriptor of ours is there",
		    closed);
		is(o->printed, 0, "closed %d: nothing was printed anywhere",
		    closed);
	}
	is(t_findings(lh), 0, "the table is sound");
	t_close(lh);
	return done();
}
