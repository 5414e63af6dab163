/* SPDX-License-Identifier: MIT */
/*
 * Acquires the lease: tries, then waits so that a signal can end the wait.
 *
 * The library's waits do not end on signals, and must not be cut into pieces,
 * because each piece would start at the back of the queue.  So one thread waits
 * inside lh_acquire() and this one sleeps in poll(2), on "the wait is over" and
 * on signals.  INT, TERM, HUP and QUIT become lh_cancel(). A cancelled waiter
 * leaves the queue itself, so others have nothing to reclaim.  Other signals
 * keep their usual effect: TSTP stops us, and a stopped waiter is passed over
 * until it runs again.
 *
 * The first try is made without a thread, so that a free key costs none of
 * this.  It obeys the queue like any new request.
 *
 * A grant that arrives together with the signal is released: after
 * "interrupted" nothing is held.
 *
 * A reader inside a reader (nesting.c) does not queue.  It tries; if a queued
 * writer blocks it, it tries with the highest priority, which passes writers.
 * If that fails it is refused, because it would wait for a writer that waits
 * for its ancestor.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <leasehold.h>
#include "daemon/exit_status.h"
#include "daemon/text.h"
#include "blocker.h"
#include "error_status.h"
#include "message.h"
#include "nesting.h"
#include "run.h"
#include "run_child.h"
#include "run_keys.h"
#include "run_wait.h"
#include "show.h"

#define REPORT_FIRST_MS	50	/* later than short waits need */
#define REPORT_EVERY_MS	1000

struct waiter {
	struct run *r;
	struct lh_acquire_opts opts;
	struct lh_cancel cancel;
	int done_fd;
	int result;
	char detail[700];	/* the library keeps it per thread */
};

/* The state of -v's reports during the wait. */
struct wait_report {
	struct run *r;
	const char *key;	/* the key that is reported on */
	int64_t began_ns;
	uint64_t told_id[2];	/* the blocker reported last */
	bool told;
};

static int
report_position(const struct lh_key_info *info, void *arg)
{
	char ahead[BLOCKER_TEXT_MAX], mine[SPAN_MAX], name[NAME_MAX_TEXT];
	char place[48] = "";	/* "": not in the queue yet, or any more */
	struct wait_report *v = arg;
	const char *mode = show_mode(v->r->mode);
	const struct lh_party *p;
	uint32_t i, rank = 0;

	for (i = 0; i < info->n_waiters; i++)
		if (info->waiters[i].id[0] == lh_session_id(v->r->lh))
			rank = info->waiters[i].rank;
	if (rank == 0 && (v->r->n > 1 || info->cluster == LH_CLUSTER_LOCAL))
		return 0;	/* not in a queue, or in another key's */
	if (rank != 0)
		(void)snprintf(place, sizeof(place), "; %" PRIu32 " of %"
		    PRIu32 " in line", rank, info->n_waiters);
	(void)text_name(name, v->key);
	(void)blocker_text(ahead, v->r->lh, info, v->r->mode, rank);
	if (message_has_terminal()) {
		message_progress("waiting for '%s' (%s) since %s: %s%s", name,
		    mode, text_span(mine, lh_clock_ns(v->r->lh) -
		    v->began_ns), ahead, place);
		return 0;
	}
	if (info->n_holders == 0)
		return 0;	/* for a moment */
	p = show_oldest(info);
	if (!v->told || v->told_id[0] != p->id[0] || v->told_id[1] != p->id[1])
		message("waiting for '%s' (%s): %s%s", name, mode, ahead,
		    place);
	v->told = true;
	v->told_id[0] = p->id[0];
	v->told_id[1] = p->id[1];
	return 0;
}

static void
report_positions(struct wait_report *v)
{
	for (size_t i = 0; i < v->r->n; i++) {
		v->key = v->r->items[i].key;
		(void)lh_status(v->r->lh, v->key, NULL, report_position, v);
	}
}

static void
acquire_keys(struct waiter *w)
{
	w->result = run_keys_acquire(w->r, &w->opts);
	if (w->result != 0)
		(void)snprintf(w->detail, sizeof(w->detail), "%s",
		    lh_error_detail());
}

static void *
wait_in_library(void *arg)
{
	struct waiter *w = arg;
	uint64_t one = 1;

	acquire_keys(w);
	if (write(w->done_fd, &one, sizeof(one)) != sizeof(one))
		abort();	/* an eventfd at 0 has room */
	return NULL;
}

/* Sleeps until the wait is over. Returns 0, or the signal that ended it. */
static int
wait_until_done(struct waiter *w, int sigfd, struct wait_report *v)
{
	struct pollfd fds[2] = {
		{ .fd = w->done_fd, .events = POLLIN },
		{ .fd = sigfd, .events = POLLIN },
	};
	int ended_by = 0, sig, n, report_ms = REPORT_FIRST_MS;
	bool by_kernel;

	for (;;) {
		n = poll(fds, 2, w->r->verbose ? report_ms : -1);
		while ((sig = run_child_next_signal(sigfd, &by_kernel)) != 0) {
			if (run_child_is_ending(sig) && ended_by == 0) {
				ended_by = sig;
				(void)lh_cancel(&w->cancel);
			}
		}
		if (n > 0 && fds[0].revents != 0)
			return ended_by;
		if (n == 0) {
			report_ms = REPORT_EVERY_MS;
			report_positions(v);
		}
	}
}

static int
wait_in_queue(struct run *r, struct waiter *w, int sigfd)
{
	struct wait_report v = { .r = r, .began_ns = lh_clock_ns(r->lh) };
	pthread_t thread;
	int e, sig;

	w->done_fd = eventfd(0, EFD_CLOEXEC);
	if (w->done_fd < 0) {
		message("cannot wait: %s", strerror(errno));
		return EX_SYSTEM;
	}
	e = pthread_create(&thread, NULL, wait_in_library, w);
	if (e != 0) {
		message("cannot wait: %s", strerror(e));
		(void)close(w->done_fd);
		return EX_SYSTEM;
	}
	sig = wait_until_done(w, sigfd, &v);
	(void)pthread_join(thread, NULL);
	(void)close(w->done_fd);
	if (sig != 0) {
		if (w->result == 0)
			(void)run_keys_release(r);
		message("gave up waiting for '%s': %s", r->name,
		    strsignal(sig));
		return EX_SIGNAL + sig;
	}
	return 0;
}

static int
name_first_writer(const struct lh_key_info *info, void *arg)
{
	const struct lh_party *p = blocker_first_writer(info, 0);
	char party[PARTY_MAX], *text = arg;

	if (info->mode == LH_SHARED && p != NULL)
		(void)snprintf(text, BLOCKER_TEXT_MAX,
		    "; the writer %s goes first", show_party(party, p));
	return 0;
}

static int
report_refusal(struct run *r, const struct waiter *w)
{
	int code = error_status(w->result);
	char writer[BLOCKER_TEXT_MAX] = "";

	if (code == EX_BUSY && w->result != -EDEADLK &&
	    w->result != -ENOTRECOVERABLE && w->detail[0] != '\0') {
		if (r->mode == LH_SHARED)
			(void)lh_status(r->lh, r->key, NULL, name_first_writer,
			    writer);
		/* The detail names the key and its holder. */
		message_busy("no %s lease: %s%s", show_mode(r->mode), w->detail,
		    writer);
		return r->busy_code;
	}
	(void)message_error(w->result, w->detail, "cannot acquire '%s'",
	    r->name);
	return code == EX_BUSY ? r->busy_code : code;
}

/* Warns about each key that a robust holder left without a release. */
static void
report_inconsistent(const struct run *r)
{
	char name[NAME_MAX_TEXT];

	for (size_t i = 0; i < r->n; i++) {
		if (r->leases[i].notes & LH_NOTE_INCONSISTENT)
			message("warning: a holder of '%s' did not release it, "
			    "and what it guards may be inconsistent",
			    text_name(name, r->items[i].key));
	}
}

static void
report_grant(struct run *r, int64_t waited_ns)
{
	char span[SPAN_MAX], *tokens = run_keys_list(r, RUN_KEYS_TOKENS);
	const char *note = "";
	uint32_t notes = 0;

	for (size_t i = 0; i < r->n; i++)
		notes |= r->leases[i].notes;
	if (notes & LH_NOTE_PREVIOUS_BROKEN)
		note = "; the lease before was broken by an operator";
	else if (notes & LH_NOTE_PREVIOUS_DIED)
		note = "; the holder before us died with it";
	else if (notes & LH_NOTE_PREVIOUS_EXPIRED)
		note = "; the holder before us let it expire";
	message("holding '%s' (%s) with token %s after %s%s", r->name,
	    show_mode(r->mode), tokens != NULL ? tokens : "?", text_span(span,
	    waited_ns), note);
	free(tokens);
}

/* True if only a writer that waits for our ancestor blocks us.  (Of several
 * keys another one may be busy: nesting.c.) */
static bool
is_waiting_for_itself(struct run *r, struct waiter *w)
{
	if (r->n > 1)
		return false;
	w->opts.priority = UINT32_MAX;
	acquire_keys(w);
	w->opts.priority = r->priority;
	if (w->result != -EAGAIN)
		return false;
	if (nesting_is_deadlock(r))
		return true;
	if (r->nested)
		message("'%s' is held (shared) by the command that this one "
		    "was started from, and a writer waits for it: this one "
		    "would wait for itself", r->name);
	return r->nested;
}

bool
run_wait_acquire(struct run *r, int sigfd, int *status)
{
	struct waiter w = {
		.r = r,
		.opts = LH_ACQUIRE_OPTS_INIT,
		.cancel = LH_CANCEL_INIT,
	};
	int64_t began = lh_clock_ns(r->lh);

	w.opts.mode = r->mode;
	w.opts.flags |= r->robust ? LH_ROBUST : 0;
	w.opts.scope = r->scope;
	w.opts.priority = r->priority;
	w.opts.ttl_ms = r->ttl_ms;
	if (r->more.info != NULL || r->more.value != NULL ||
	    r->more.policy != LH_POLICY_LEASE)
		w.opts.more = &r->more;
	w.opts.max_wait_ms = 0;
	acquire_keys(&w);
	if (w.result == -EAGAIN && r->nested && is_waiting_for_itself(r, &w)) {
		*status = r->busy_code;
		return false;
	}
	if (w.result == -EAGAIN && r->wait_ms > 0) {
		w.opts.max_wait_ms = r->wait_ms;
		w.opts.cancel = &w.cancel;
		*status = wait_in_queue(r, &w, sigfd);
		if (*status != 0)
			return false;
	}
	if (w.result != 0) {
		*status = report_refusal(r, &w);
		return false;
	}
	if (r->verbose)
		report_grant(r, lh_clock_ns(r->lh) - began);
	report_inconsistent(r);
	return true;
}
