/* SPDX-License-Identifier: MIT */
/*
 * The rarer options of a ticket (struct lh_acquire_more): the steps before it
 * queues, and after it is granted the key.
 *
 * It is what op/acquire_options.c does around an acquire, in the same order,
 * but nothing here waits: a sleep there is a moment here at which the ticket is
 * checked again.
 *
 *	T_ASKS	its holder id, or its request id: another call may be waiting
 *		for the very same; its result is checked every 5 ms.  If the
 *		lease exists already, it is the ticket's, too
 *	T_QUEUES  the key: ticket.c
 *	T_HAS	the lease is handed over to a named session: again every ms,
 *		as long as there is time, while readers come and go too fast;
 *		then the value is set
 *
 * A ticket that has announced that it works at a request, or acquires for a
 * holder, reports the result (lhi_ticket_options_finish()): when it ends, is
 * cancelled, or its table is closed.  If its process is killed, the request is
 * found to be an orphan (shm/request_record.c), and holder ids are gone with
 * it.
 *
 * The ticket has a handle of its own to the named session, whose user may close
 * its handle meanwhile; and its own copies of all strings.
 *
 * A crash or stop between the steps: as between those of an acquire
 *	(op/handoff.c, shm/value_record.c, shm/request_record.c).
 */
#include <errno.h>
#include <string.h>
#include <bsd/string.h>
#include "base/error.h"
#include "live/ticket.h"
#include "op/reentry.h"
#include "op/lease_value.h"
#include "shm/counters.h"

size_t
lhi_ticket_options_size(const struct lh_acquire_more *m)
{
	return (m->holder == NULL ? 0 : strlen(m->holder) + 1) +
	    (m->value == NULL ? 0 : m->value_len);
}

void
lhi_ticket_options_copy(struct lh_ticket *t, const struct lh_acquire_more *m)
{
	char *room = t->key + strlen(t->key) + 1;

	t->more = *m;
	t->ask.more = &t->more;
	if (m->info != NULL)
		t->more.info = strcpy(t->info, m->info);
	if (m->holder != NULL) {
		t->more.holder = strcpy(room, m->holder);
		room += strlen(room) + 1;
	}
	if (m->value != NULL)
		t->more.value = memcpy(room, m->value, m->value_len);
	if (m->session != NULL) {
		t->session.lh = t->lh;
		t->session.sid = m->session->sid;
		t->more.session = &t->session;
	}
}

static bool
has_request(const struct lh_ticket *t)
{
	return (t->more.request[0] | t->more.request[1]) != 0;
}

static int
fail_or_wait(const struct lh_ticket *t)
{
	return lhi_now_ns(&t->lh->v) < t->ask.until_ns ? WAITING :
	    lhi_fail(-ETIMEDOUT, "this very %s for '%.64s' is being waited for "
	    "by another call, and has got no answer in time",
	    has_request(t) ? "request" : "holder", t->key);
}

static int
ask_request(struct lh_ticket *t)
{
	int found = lhi_idempotency_try(t->lh, &t->name, &t->ask, &t->request,
	    &t->lease);

	if (found == REQUEST_BUSY)
		return fail_or_wait(t);
	if (found == REQUEST_OURS) {
		t->answers = true;
		t->ask.request = &t->request;
		return TICKET_QUEUE;
	}
	t->repeats = found == 0;
	return found != 0 ? found :
	    lhi_idempotency_set_value(t->lh, &t->ask, &t->request, &t->lease);
}

int
lhi_ticket_options_ask(struct lh_ticket *t)
{
	int found;

	if (t->bare || (t->more.holder == NULL && !has_request(t)))
		return TICKET_QUEUE;
	if (has_request(t))
		return ask_request(t);
	found = lhi_reentry_enter(t->lh, &t->name, &t->ask, &t->lease);
	if (found == HOLDER_WAITS)
		return fail_or_wait(t);
	t->answers = found == HOLDER_NEW;
	return found == HOLDER_NEW ? TICKET_QUEUE : found;
}

static int
hand_over(struct lh_ticket *t)
{
	char detail[sizeof(t->detail)];
	int error = lhi_handoff_try(t->lh, &t->ask, &t->lease);

	if (error == 0 || (error == -EAGAIN &&
	    lhi_now_ns(&t->lh->v) < t->ask.until_ns))
		return error == 0 ? 0 : WAITING;
	(void)strlcpy(detail, lh_error_detail(), sizeof(detail));
	if (lh_release(t->lh, &t->lease) == 0)
		lhi_counters_spent(&t->lh->v);		/* G8: not acquired */
	return lhi_fail_again(error, detail);
}

int
lhi_ticket_options_grant(struct lh_ticket *t)
{
	int error = t->bare || t->more.session == NULL ? 0 : hand_over(t);

	return error != 0 || t->bare ? error :
	    lhi_acquire_set_value(t->lh, &t->ask, &t->lease);
}

void
lhi_ticket_options_finish(struct lh_ticket *t, int error)
{
	if (!t->answers)
		return;
	t->answers = false;
	if (has_request(t))
		lhi_idempotency_finish(t->lh, &t->ask, &t->request, error);
	else
		lhi_reentry_finish(t->lh, &t->name, t->more.holder,
		    error == 0 ? &t->lease : NULL);
}
