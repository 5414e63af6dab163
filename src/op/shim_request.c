/* SPDX-License-Identifier: MIT */
/*
 * Sends a question to the shim and waits for its answer.  cluster_acquire.c and
 * src/live call it.
 *
 * Question and answer are frames (base/frame.h).  Meanwhile this thread alone
 * uses the connection (proc/shim_client.c).  If the connection ends before
 * there is an answer, the question is sent once more on a new one, because the
 * shim may have been restarted.  Any other failure means that the shim cannot
 * be reached (-EHOSTUNREACH), which is never taken for a "no".
 *
 * Silence.  A stopped shim's socket accepts questions like that of a running
 * one.  But a stopped shim does not move D (shm/cluster_right.c).  So if there
 * was no answer for a second and D has passed, there will be none.  While D is
 * in the future, the shim runs and has a reason to wait.
 *
 * A crash or stop of the asking process: the shim sees the connection end, or
 * its answer is not read.  Nothing in the table is half-done.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/error.h"
#include "op/shim_request.h"
#include "prim/descriptor.h"
#include "shm/cluster_right.h"

#define SILENCE_NS NS_PER_SEC
#define LOOK_NS (100 * NS_PER_MS)	/* at least so often: silence, table */

static int64_t
mono_ns(void)
{
	return lhi_clock_ns(CLOCK_MONOTONIC);
}

static int
fail_connection_ended(void)
{
	return lhi_fail(-EHOSTUNREACH, "the shim ended the connection: it went "
	    "away, is of another version, or does not want to be asked by this "
	    "process; see leasehold-shimd --version");
}

/* Sends it on a connection that is just made, or on a kept one. */
static int
send_question(struct lhi_shim_request *p)
{
	bool made = false;
	int error;

	/* ends: with a connection that is just made */
	do {
		error = lhi_shim_client_take(p->lh, &p->c, &made);
		if (error != 0) {
			p->c = NULL;
			return error;
		}
		error = lhi_shim_client_send(p->c, &p->question);
		if (error == 0) {
			p->sent_ns = mono_ns();
			return 0;
		}
		lhi_shim_client_drop(p->c);
		p->c = NULL;
	} while (error == -EPIPE && !made);
	return error != -EPIPE ? error : fail_connection_ended();
}

int
lhi_shim_request_begin(struct lhi_shim_request *p)
{
	p->c = NULL;
	p->again = p->answered = false;
	return send_question(p);
}

/* It has ended, or sends an invalid frame: once more, on a new one. */
static int
send_again(struct lhi_shim_request *p, int why)
{
	int error;

	lhi_shim_client_drop(p->c);
	p->c = NULL;
	if (p->again || why == -EPROTO)
		return why != -EPROTO ? fail_connection_ended() :
		    lhi_fail(-EHOSTUNREACH, "the shim answers what is no "
		    "answer: is it of another version?");
	p->again = true;
	error = send_question(p);
	return error != 0 ? error : SHIM_REQUEST_OPEN;
}

static bool
is_silent(const struct lhi_shim_request *p)
{
	uint64_t until = lhi_cluster_until(&p->lh->v);

	return mono_ns() - p->sent_ns >= SILENCE_NS &&
	    (uint64_t)lhi_clock_ns(CLOCK_BOOTTIME) >= until;
}

int
lhi_shim_request_look(struct lhi_shim_request *p)
{
	int error;

	if (p->answered)
		return 0;
	error = lhi_shim_client_answer(p->lh, p->c, &p->answer);
	if (error == 0) {
		p->answered = true;
		return 0;
	}
	if (error != -EAGAIN)
		return send_again(p, error);
	return !is_silent(p) ? SHIM_REQUEST_OPEN
			     : lhi_fail(-EHOSTUNREACH,
				   "the shim "
				   "says nothing, and has not renewed this "
				   "host's session with the "
				   "cluster: is leasehold-shimd stopped?");
}

/* Does other things that are due; returns how long to sleep. */
static int
check_limits(struct lhi_shim_request *p, const struct lhi_shim_request_wait *w,
    int64_t *ns)
{
	int64_t now = lhi_now_ns(&p->lh->v);

	*ns = LOOK_NS;
	if (lhi_cancel_is_set(w->cancel))
		return lhi_fail(-ECANCELED, "the wait was cancelled while the "
		    "shim was asked");
	if (now >= w->until_ns)
		return lhi_fail(-ETIMEDOUT, "the shim had no answer in time");
	if (w->until_ns - now < *ns)
		*ns = w->until_ns - now;
	if (lhi_view_retired(&p->lh->v))
		return lhi_view_fresh(&p->lh->v);
	if (w->callback == NULL)
		return 0;
	if (w->callback->at_ns - now < *ns)
		*ns = w->callback->at_ns - now;
	if (*ns > 0)
		return 0;
	*ns = 0;
	return w->callback->run(w->callback);
}

static int
await_answer(struct lhi_shim_request *p, const struct lhi_shim_request_wait *w,
    int stop)
{
	struct pollfd on[2] = { { .events = POLLIN }, { .events = POLLIN } };
	struct timespec ts;
	int64_t ns;
	int error;

	/* ends: at the caller's deadline or cancel, check_limits() */
	while ((error = lhi_shim_request_look(p)) == SHIM_REQUEST_OPEN) {
		error = check_limits(p, w, &ns);
		if (error != 0)
			return error;
		on[0].fd = p->c->fd;
		on[1].fd = stop;	/* (one below 0 is passed over) */
		ts.tv_sec = 0;
		ts.tv_nsec = (long)ns;
		(void)ppoll(on, 2, &ts, NULL);
	}
	return error;
}

int
lhi_shim_request_await(struct lhi_shim_request *p, const struct
    lhi_shim_request_wait *w)
{
	struct lhi_canceller me;
	int saved = errno, stop = -1, cancel, error;

	if (w->cancel != NULL) {
		stop = lhi_fd_event();
		if (stop < 0) {
			error = lhi_fail(-errno, "cannot create a "
			    "cancellation eventfd: too many open files");
			errno = saved;
			return error;
		}
	}
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	atomic_fetch_add(&p->lh->waiting, 1);
	lhi_cancel_join_fd(w->cancel, &me, stop);
	error = await_answer(p, w, stop);
	lhi_cancel_leave(w->cancel, &me);
	atomic_fetch_sub(&p->lh->waiting, 1);
	(void)pthread_setcancelstate(cancel, NULL);
	if (stop >= 0)
		(void)close(stop);
	errno = saved;
	return error;
}

void
lhi_shim_request_end(struct lhi_shim_request *p)
{
	struct lhi_frame drop = { .type = FRAME_DROP };

	if (p->c == NULL)
		return;
	if (p->question.type == FRAME_WANT &&
	    lhi_shim_client_send(p->c, &drop) != 0)
		lhi_shim_client_drop(p->c);
	else
		lhi_shim_client_keep(p->lh, p->c);
	p->c = NULL;
}
