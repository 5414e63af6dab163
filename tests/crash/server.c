/* SPDX-License-Identifier: MIT */
/*
 * Beside a stop: answers "whom does a process that is stopped here keep
 * waiting?"
 *
 * The server attaches before the subject begins (or, if there is to be nobody,
 * when it is stopped), and is asked when the subject is stopped.  It does once
 * what people do:
 *
 *	on another key	acquire and release by handle and by name; make a key;
 *			status; list; a new attachment; lh_check(): each at once
 *	on KEY		acquire, in both modes: no later than the stopped one's
 *			lease lasts, and a little (G5); living parts get their
 *			turns first
 *
 * "At once" is 50 ms, which is far more than any of it takes and far less than
 * any lease or sleep could hide in.  A longer time is a point that blocks.
 * Then the subject goes on, and when it is through the table is looked over
 * once more.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "crash/scenario.h"

#define AT_ONCE_MS 50
#define MARGIN_MS 60	/* T3: a waiter behind a stopped front */

static struct lh *lh;
static struct lh_key *other;

static int
nothing(const struct lh_key_info *info, void *arg)
{
	(void)info;
	(void)arg;
	return 0;
}

/* The answer of a call that must come at once. */
static void
at_once(struct trial *p, const char *what, struct stretch began, int error)
{
	int64_t ms = stretch_ms(began);

	if (ms > AT_ONCE_MS)
		blame_block(p, "%s took %lld ms", what, (long long)ms);
	else if (error != 0)
		blame_block(p, "%s: %s: %s", what, lh_strerror(error),
		    lh_error_detail());
}

#define AT_ONCE(p, what, call) do { \
	struct stretch began_ = stretch_begin(); \
	int error_ = (call); \
	at_once(p, what, began_, error_); \
} while (0)

/* It may have had to make room for another. */
static int
status_of_other(struct trial *p)
{
	int error = lh_status(lh, OTHER, NULL, nothing, NULL);

	return error == -ENOENT && (p->sc->flags & SC_LOOSE) ? 0 : error;
}

static void
another_key(struct trial *p)
{
	struct lh_acquire_opts o = participant_opts(30000, 0);
	struct lh_lease lease;
	struct lh *more = NULL;

	for (int i = 0; i < 3; i++) {
		AT_ONCE(p, "another key", lh_key_acquire(other, &o, &lease));
		if (!atomic_load(&p->blamed))
			AT_ONCE(p, "its release", lh_release(lh, &lease));
	}
	AT_ONCE(p, "a new key", lh_acquire(lh, "fresh", &o, &lease));
	if (atomic_load(&p->blamed))
		return;
	AT_ONCE(p, "its release", lh_release(lh, &lease));
	AT_ONCE(p, "status", status_of_other(p));
	AT_ONCE(p, "list", lh_list(lh, NULL, nothing, NULL));
	AT_ONCE(p, "open", lh_open(&more, p->table, &p->opts));
	if (more != NULL)
		AT_ONCE(p, "close", lh_close(more));
	check_findings(p, lh, "while it is stopped");
}

/* KEY, by then; but one look at the least. */
static bool
get_by(struct trial *p, int64_t end_ns, uint32_t mode, struct lh_lease *lease)
{
	struct lh_acquire_opts o = participant_opts(30000, 0);
	int error;

	o.mode = mode;
	o.deadline_ns = end_ns > trial_now_ns() ? end_ns :
	    trial_now_ns() + MARGIN_MS * NS_A_MS;
	error = lh_acquire(lh, KEY, &o, lease);
	if (error != 0)
		blame_block(p, "G5: the key was not granted (mode %u) within "
		    "a lease (%lld ms) and %d ms: %s: %s", mode,
		    (long long)p->ttl_ms, MARGIN_MS, lh_strerror(error),
		    lh_error_detail());
	return error == 0;
}

/* A reader first: it may get in beside the stopped one; then a writer. */
static void
same_key(struct trial *p, int64_t end_ns)
{
	uint64_t before = atomic_load(&p->max_token);
	struct lh_lease lease;
	int error;

	if (!get_by(p, end_ns, LH_SHARED, &lease))
		return;
	p->reader_ns = lh_clock_ns(lh);
	p->reader_token = lease.token;
	error = lh_release(lh, &lease);
	if (error != 0)
		blame(p, "a reader's release: %s: %s", lh_strerror(error),
		    lh_error_detail());
	if (!get_by(p, end_ns, LH_EXCLUSIVE, &lease))
		return;
	p->rival_ns = lh_clock_ns(lh);
	p->rival_token = lease.token;
	if (lease.token <= before || lease.token <= p->reader_token)
		blame(p, "G2: token %llu after %llu",
		    (unsigned long long)lease.token,
		    (unsigned long long)before);
	error = lh_verify(lh, &lease);
	if (error != 0)
		blame(p, "a fresh lease does not verify: %s",
		    lh_strerror(error));
	error = lh_release(lh, &lease);
	if (error != 0)
		blame(p, "release: %s: %s", lh_strerror(error),
		    lh_error_detail());
}

static void
come_in(struct trial *p)
{
	struct lh_lease lease;
	int error;

	lh = participant_open(p);
	error = lh_key_open(lh, OTHER, 0, &other);
	/* with claims of its own already, as a process that is at work */
	if (error == 0)
		error = lh_acquire(lh, OTHER, NULL, &lease);
	if (error == 0)
		error = lh_release(lh, &lease);
	if (error != 0)
		blame_block(p, "the server cannot begin: %s: %s",
		    lh_strerror(error), lh_error_detail());
}

void
server_serve(struct trial *p)
{
	int64_t end_ns;
	bool late = p->sc->flags & (SC_LATE | SC_EMPTY);

	if (!late)
		come_in(p);
	flag_set(&p->ready, 1);
	if (!flag_wait(&p->go, 1, 60000))
		_exit(0);
	end_ns = trial_now_ns() + (p->ttl_ms + MARGIN_MS) * NS_A_MS;
	if (late)
		come_in(p);
	if (!atomic_load(&p->blamed))
		another_key(p);
	if (!atomic_load(&p->blamed))
		survivors_check(p, lh, end_ns);
	if (!atomic_load(&p->blamed))
		same_key(p, end_ns);
	flag_set(&p->served, 1);
	if (!flag_wait(&p->last_look, 1, 60000))
		_exit(0);
	check_findings(p, lh, "after it went on");
}
