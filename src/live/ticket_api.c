/* SPDX-License-Identifier: MIT */
/* The calls of an application on a ticket: each is a check, or a change, under
 * lhi_live_lock(). Nothing here waits. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <bsd/string.h>
#include "base/error.h"
#include "live/ticket.h"
#include "op/cluster_acquire.h"
#include "op/acquire_target.h"

static int
check_opts(struct lh *lh, const struct lh_acquire_opts *opts,
    struct lhi_acquire_request *ask, bool *keep)
{
	static const struct lh_acquire_opts usual = LH_ACQUIRE_OPTS_INIT;
	struct lh_acquire_opts o = usual;
	int error;

	if (opts != NULL && opts->size == sizeof(o))
		o = *opts;
	else if (opts != NULL)
		return lhi_acquire_request_set(&lh->v, ask, opts); /* says why
		    not */
	*keep = o.flags & LH_KEEP;
	o.flags &= ~LH_KEEP;
	if (o.cancel != NULL)
		return lhi_fail(-EINVAL, "a ticket takes no switch: it is "
		    "given up by lh_ticket_cancel()");
	error = lhi_acquire_request_set(&lh->v, ask, &o);
	if (error == 0 && ask->try_only)
		error = lhi_fail(-EINVAL, "a ticket that does not wait: use "
		    "lh_acquire(), or a max_wait_ms above 0");
	return error;
}

static struct lh_ticket *
make_ticket(struct lh *lh, const char *key,
    const struct lhi_acquire_request *ask)
{
	size_t len = strlen(key) + 1;
	struct lh_ticket *t = calloc(1, sizeof(*t) + len +
	    lhi_ticket_options_size(ask->more));

	if (t == NULL)
		return NULL;
	memcpy(t->key, key, len);
	t->lh = lh;
	t->epoch = lhi_forks();
	t->ask = *ask;
	lhi_ticket_options_copy(t, ask->more);
	t->fd.fd = -1;
	return t;
}

/* One that waits, or whose lease is kept, needs the live thread. */
static int
start_thread_for(struct lh_ticket *t)
{
	char detail[sizeof(t->detail)];
	int error = t->timed ? lhi_live_thread() : 0;

	if (error == 0)
		return 0;
	(void)strlcpy(detail, lh_error_detail(), sizeof(detail));
	lhi_ticket_end(t);
	return lhi_fail_again(error, detail);
}

/* Starts the ticket; all arguments have been checked. */
static int
start_ticket(struct lh *lh, struct lh_ticket *t, struct lh_ticket **out)
{
	int error = lhi_key_name_resolve(lh, &t->name,
	    t->ask.no_create ? LH_NO_CREATE : 0, &t->ref);

	if (error == 0 && (t->more.request[0] | t->more.request[1]) != 0)
		lhi_request_pass_tick(&lh->v);
	if (error != 0) {
		free(t);
		return error;
	}
	lhi_live_lock();
	lhi_ticket_add(t);
	lhi_ticket_advance(t);
	error = t->state == T_FAILED ? t->error : start_thread_for(t);
	if (error != 0)
		lhi_ticket_discard(t);
	lhi_live_unlock();
	if (error == 0)
		*out = t;
	return error;
}

int
lhi_ticket_start(struct lh *lh, const char *key,
    const struct lhi_acquire_request *ask, bool keep, shm_u32 *park,
    struct lh_ticket **out)
{
	struct lh_ticket *t = make_ticket(lh, key, ask);
	int error;

	if (t == NULL)
		return lhi_fail(-ENOMEM, "out of memory");
	t->keep = keep;
	t->park = park;
	t->bare = park != NULL;
	error = lhi_key_name_check(lh, t->key, 0, &t->name);
	if (error == 0)
		error = lhi_cluster_acquire_check_opts(lh, ask, &t->name);
	if (error == 0)
		return start_ticket(lh, t, out);
	free(t);
	return error;
}

int
lh_acquire_start(struct lh *lh, const char *key,
    const struct lh_acquire_opts *opts, struct lh_ticket **out)
{
	struct lhi_acquire_request ask;
	struct lhi_key_name n;
	bool keep = false;
	int error;

	if (out == NULL)
		return lhi_fail(-EINVAL, "nowhere to put the ticket (NULL)");
	error = lhi_key_name_check(lh, key, 0, &n);
	if (error == 0)
		error = check_opts(lh, opts, &ask, &keep);
	return error != 0 ? error :
	    lhi_ticket_start(lh, key, &ask, keep, NULL, out);
}

static int
check_ticket(const struct lh_ticket *t)
{
	if (t != NULL && t->epoch == LIVE_CLOSED)
		return lhi_fail(-EINVAL, "this ticket was finished or "
		    "cancelled");
	return t == NULL ? lhi_fail(-EINVAL, "no ticket was given (NULL)") :
	    t->epoch == lhi_forks() ? 0 :
	    lhi_fail(-EPERM, "this ticket belongs to the parent process: "
	    "after fork, open the table again");
}

int
lh_ticket_fd(struct lh_ticket *t)
{
	int error = check_ticket(t);

	if (error != 0)
		return error;
	lhi_live_lock();
	if (t->fd.fd < 0) {
		error = lhi_readable_open(&t->fd, "a ticket");
		if (error == 0 && t->state != T_WAITS)
			lhi_readable_raise(&t->fd);
	}
	lhi_live_unlock();
	return error != 0 ? error : t->fd.fd;
}

bool
lhi_ticket_is_settled(struct lh_ticket *t)
{
	bool settled;

	lhi_live_lock();
	if (lhi_live_by_hand && t->state == T_WAITS)
		lhi_ticket_advance(t);
	settled = t->state != T_WAITS;
	lhi_live_unlock();
	return settled;
}

int
lh_ticket_rank(struct lh_ticket *t)
{
	struct lhi_queue_place place = { 0 };
	int error = check_ticket(t), rank = 0;

	if (error != 0)
		return error;
	lhi_live_lock();
	if (t->state == T_WAITS && t->phase == T_QUEUES)
		lhi_admission_read_place(&t->a.t, &place);
	if (t->state == T_WAITS)
		rank = (int)place.ahead + 1;
	lhi_live_unlock();
	return rank;
}

/* Returns the result of a ticket; -EAGAIN: none yet. */
static int
take_outcome(struct lh_ticket *t, struct lh_lease *lease)
{
	int error;

	if (t->state == T_WAITS)
		lhi_ticket_advance(t);
	if (t->state == T_WAITS)
		return lhi_fail(-EAGAIN, "the ticket for '%.64s' is not "
		    "granted yet", t->key);
	if (t->state == T_FAILED)
		return lhi_fail_again(t->error, t->detail);
	error = lh_verify(t->lh, &t->lease);
	if (error == 0)
		*lease = t->lease;
	return error;
}

int
lh_ticket_finish(struct lh_ticket *t, struct lh_lease *lease)
{
	int error = check_ticket(t);

	if (error == 0 && lease == NULL)
		error = lhi_fail(-EINVAL, "no lease was given to fill (NULL)");
	if (error != 0)
		return error;
	lhi_live_lock();
	error = take_outcome(t, lease);
	if (error != -EAGAIN) {
		lhi_ticket_discard(t);
	}
	lhi_live_unlock();
	return error;
}

int
lh_ticket_cancel(struct lh_ticket *t)
{
	int error = check_ticket(t);

	if (error != 0)
		return error;
	lhi_live_lock();
	if (t->lh != NULL)
		lhi_ticket_end(t);
	lhi_ticket_discard(t);
	lhi_live_unlock();
	return 0;
}
