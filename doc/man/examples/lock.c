/* SPDX-License-Identifier: MIT */
/* Examples of leasehold/lock.h, for its manual pages (tools/man3). */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <leasehold.h>

/* Holds a key that is renewed by itself, and stops when it is lost. */
static int
work_under_live_handle(struct lh *lh, int steps)
{
	struct lh_lock *lock;
	int e = lh_lock_open(lh, "nightly-report", NULL, &lock);

	if (e != 0)
		return e;
	e = lh_lock_acquire(lock, NULL);
	if (e == 0) {
		while (steps-- > 0 && lh_lock_valid(lock) == 0)
			;	/* ... a step ... */
		e = lh_lock_release(lock);	/* -ESTALE: it was lost */
	}
	lh_lock_close(lock);
	return e;
}

/* Acquires a second key, which ends with the handle's. */
static int
acquire_two(struct lh *lh, struct lh_lease *second)
{
	struct lh_lock_opts lo = LH_LOCK_OPTS_INIT;
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	struct lh_acquire_more m = LH_ACQUIRE_MORE_INIT;
	struct lh_lock *lock;
	int e;

	lo.flags = LH_LOCK_OWN_SESSION;
	e = lh_lock_open(lh, "build", &lo, &lock);
	if (e != 0)
		return e;
	o.more = &m;
	e = lh_lock_acquire(lock, NULL);
	if (e == 0)
		e = lh_lock_session(lock, &m.session);
	if (e == 0)
		e = lh_acquire(lh, "scratch-disk", &o, second);
	if (e == 0)
		e = lh_lock_release(lock);	/* both keys are free now */
	lh_lock_close(lock);
	return e;
}

/* Makes a live handle of a lease, renewed each second. */
static int
keep_lease(struct lh *lh, const struct lh_lease *lease, struct lh_lock **lock)
{
	struct lh_lock_opts o = LH_LOCK_OPTS_INIT;

	o.renew_ms = 1000;
	return lh_lock_adopt(lh, lease, 10000, &o, lock);
}

/* Asks for ten minutes, and prints when they end. */
static int
ask_for_more_time(struct lh_lock *lock)
{
	int64_t expires_ns;
	int e = lh_lock_extend(lock, 600000, &expires_ns);

	if (e == 0)
		printf("until %" PRId64 "\n", expires_ns);
	return e;
}

/* Lets the lease end at its deadline from now on. */
static int
stop_renewing(struct lh_lock *lock)
{
	return lh_lock_renew_every(lock, 0);
}

/* Prints what a handle holds. */
static int
print_state(struct lh_lock *lock)
{
	struct lh_lock_state state = { .size = sizeof(state) };
	int e = lh_lock_state(lock, &state);

	if (e == 0)
		printf("status %" PRIu32 ", token %" PRIu64 ", renewed %"
		    PRIu64 " times\n", state.status, state.lease.token,
		    state.renewals);
	return e;
}

/* Waits for an event of the handle, for a second at most. */
static int
next_event(struct lh_watch *watch, struct lh_event *event)
{
	struct pollfd pfd = { .fd = lh_watch_fd(watch), .events = POLLIN };

	*event = (struct lh_event)LH_EVENT_INIT;
	poll(&pfd, 1, 1000);
	return lh_watch_next(watch, event);	/* -EAGAIN: none yet */
}

/* Releases, and waits for the event of that. */
static int
watch_release(struct lh_lock *lock)
{
	struct lh_event event;
	struct lh_watch *watch;
	int e = lh_lock_watch(lock, LH_EVENT_RELEASED, &watch);

	if (e != 0)
		return e;
	e = lh_lock_release(lock);
	if (e == 0)
		e = next_event(watch, &event);
	if (e == 0 && event.what != LH_EVENT_RELEASED)
		e = -EINVAL;
	lh_watch_close(watch);
	return e;
}

static int
rotate_logs(const struct lh_held *held, void *arg)
{
	printf("token %" PRIu64 "\n", held->lease.token);
	++*(int *)arg;
	return 0;
}

/* Runs a function under the key, if the key is free. */
static int
rotate_if_free(struct lh *lh, int *runs)
{
	int result, e = lh_with(lh, "rotate", NULL, rotate_logs, runs, &result);

	return e == -EAGAIN ? 0 : e == 0 ? result : e;	/* busy is no error */
}

int
main(void)
{
	struct lh_lease lease;
	struct lh_lock *lock;
	struct lh *lh;
	int runs = 0;

	if (lh_open(&lh, NULL, NULL) != 0 ||
	    work_under_live_handle(lh, 3) != 0 ||
	    acquire_two(lh, &lease) != 0 || lh_release(lh, &lease) == 0 ||
	    lh_acquire(lh, "k", NULL, &lease) != 0 ||
	    keep_lease(lh, &lease, &lock) != 0 || print_state(lock) != 0 ||
	    ask_for_more_time(lock) != 0 || stop_renewing(lock) != 0 ||
	    watch_release(lock) != 0 ||
	    lh_lock_close(lock) != 0 || rotate_if_free(lh, &runs) != 0 ||
	    runs != 1)
		return EXIT_FAILURE;
	return lh_close(lh) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
