/* SPDX-License-Identifier: MIT */
/* Examples of leasehold/lease.h, for its manual pages (tools/man3). */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <leasehold.h>

/* Waits for the key for 5 s, and does the work under a lease of a minute. */
static int
write_report(struct lh *lh)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	struct lh_lease lease;
	int e;

	o.max_wait_ms = 5000;
	o.ttl_ms = 60000;
	e = lh_acquire(lh, "nightly-report", &o, &lease);
	if (e == -ETIMEDOUT)
		fprintf(stderr, "%s\n", lh_error_detail());	/* who has it */
	if (e != 0)
		return e;
	printf("fence token %" PRIu64 "\n", lease.token);
	/* ... write, and let the resource compare the token ... */
	return lh_release(lh, &lease);
}

/* Works in steps, each of which is to end before the deadline. */
static int
work_in_steps(struct lh *lh, struct lh_lease *lease, int steps)
{
	int e = 0;

	for (int i = 0; i < steps && e == 0; i++) {
		e = lh_extend(lh, lease, 10000);	/* 10 s from now */
		/* ... one step ... */
		if (e == 0)
			e = lh_verify(lh, lease);	/* still ours? */
	}
	return e;			/* -ESTALE: lost; stop writing */
}

/* Says since when this process holds which key. */
static int
print_lease(struct lh *lh, const struct lh_lease *lease)
{
	struct lh_lease_info info = LH_LEASE_INFO_INIT;
	int e = lh_lease_info(lh, lease, &info);

	if (e == 0)
		printf("%s: held for %" PRId64 " ms\n", info.key,
		    (lh_clock_ns(lh) - info.acquired_ns) / 1000000);
	return e;
}

/* Reads with others, then writes alone, without losing the key in between. */
static int
read_then_write(struct lh *lh)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	struct lh_lease lease;
	int e;

	o.mode = LH_SHARED;
	e = lh_acquire(lh, "config", &o, &lease);
	if (e != 0)
		return e;
	/* ... read ... */
	e = lh_convert_wait(lh, &lease, LH_EXCLUSIVE, NULL);
	if (e == 0)
		/* ... write, then let readers in again ... */
		e = lh_convert(lh, &lease, LH_SHARED);
	return e == 0 ? lh_release(lh, &lease) : e;
}

/* Repairs what a holder that died has left. */
static int
acquire_robust(struct lh *lh, struct lh_lease *lease)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	int e;

	o.flags = LH_ROBUST;
	e = lh_acquire(lh, "ledger", &o, lease);
	if (e == 0 && (lease->notes & LH_NOTE_INCONSISTENT)) {
		/* ... repair the ledger ... */
		e = lh_mark_consistent(lh, lease);
	}
	return e;
}

/* Asks, as the resource, whether a token is that of the present holder. */
static int
accepts_token(struct lh *lh, const char *key, uint64_t token)
{
	int e = lh_verify_token(lh, key, token);

	if (e == -ESTALE)
		printf("refused: %s\n", lh_error_detail());
	return e == 0;
}

/* Asks the holders to release; ends the leases that are left. */
static int
take_away(struct lh *lh, const char *key)
{
	int n = lh_ask_release(lh, key, NULL, 0);

	if (n <= 0)
		return n;	/* 0: it is not held */
	/* ... give them some time ... */
	return lh_break(lh, key, NULL, 0);
}

/* Releases early, if another process has asked for the key. */
static int
release_if_asked(struct lh *lh, struct lh_lease *lease)
{
	int asked = lh_lease_asked(lh, lease);

	return asked == 1 ? lh_release(lh, lease) : asked;
}

/* Ends the wait when the caller's pipe is closed. */
static int
is_closed(void *fd)
{
	struct pollfd p = { .fd = *(int *)fd };

	return poll(&p, 1, 0) > 0 && (p.revents & POLLHUP);
}

static int
acquire_for(struct lh *lh, int caller, struct lh_lease *lease)
{
	return lh_acquire_watched(lh, "nightly-report", NULL, is_closed,
	    &caller, lease);
}

/* A wait that another thread ends. */
static struct lh_cancel stop = LH_CANCEL_INIT;

static void *
wait_until_stopped(void *lh)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	struct lh_lease lease;

	o.cancel = &stop;
	return lh_acquire(lh, "nightly-report", &o, &lease) == -ECANCELED ?
	    lh : NULL;
}

static int
stop_waiting(pthread_t waiter)
{
	void *cancelled;

	lh_cancel(&stop);	/* ends the waits that it was given to */
	pthread_join(waiter, &cancelled);
	return cancelled != NULL ? 0 : -1;
}

/* Gives a request an id: a repeat gets the same lease. */
static int
acquire_once(struct lh *lh, uint64_t number, struct lh_lease *lease)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;

	more.request[0] = 4711;		/* new for each request */
	more.request[1] = number;
	o.more = &more;
	return lh_acquire(lh, "order", &o, lease);
}

/* Ends the lease of a request whose answer was lost. */
static int
release_request(struct lh *lh, uint64_t number)
{
	const uint64_t request[2] = { 4711, number };

	return lh_release_request(lh, NULL, request);
}

int
main(void)
{
	struct lh_lease lease, order, again;
	pthread_t waiter;
	struct lh *lh;
	int caller[2];

	if (pipe(caller) != 0 || close(caller[1]) != 0)
		return EXIT_FAILURE;
	if (lh_open(&lh, NULL, NULL) != 0 || write_report(lh) != 0 ||
	    read_then_write(lh) != 0 || acquire_robust(lh, &lease) != 0 ||
	    work_in_steps(lh, &lease, 3) != 0 || print_lease(lh, &lease) != 0 ||
	    !accepts_token(lh, "ledger", lease.token) ||
	    accepts_token(lh, "ledger", 1) || release_if_asked(lh, &lease) != 0)
		return EXIT_FAILURE;
	if (take_away(lh, "ledger") != 1 || lh_verify(lh, &lease) != -ESTALE)
		return EXIT_FAILURE;
	if (acquire_once(lh, 1, &order) != 0 ||
	    acquire_once(lh, 1, &again) != 0 || again.token != order.token ||
	    release_request(lh, 1) != 0)
		return EXIT_FAILURE;
	if (lh_acquire(lh, "nightly-report", NULL, &lease) != 0 ||
	    acquire_for(lh, caller[0], &again) != -ECANCELED ||
	    pthread_create(&waiter, NULL, wait_until_stopped, lh) != 0 ||
	    stop_waiting(waiter) != 0 || lh_release(lh, &lease) != 0)
		return EXIT_FAILURE;
	return lh_close(lh) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
