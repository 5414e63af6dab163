/* SPDX-License-Identifier: MIT */
/*
 * The scenarios of tickets: see scenario.h.
 *
 * The subject has no live thread (lhi_live_by_hand): what that would do, a
 * finish does as well, and here there is nothing to run beside the steps.  A
 * part that waits by a ticket has one.
 */
#include <errno.h>
#include "crash/subject.h"
#include "live/live_set.h"

static struct lh_ticket *ticket;
static struct lh_acquire_more wishes = LH_ACQUIRE_MORE_INIT;

static void
prep_by_hand(struct trial *p)
{
	lhi_live_by_hand = true;
	prep_warm_long(p);
}

static void
start(struct trial *p)
{
	p->result = lh_acquire_start(sub.lh, KEY, &sub.opts, &ticket);
}

static void
prep_waiting(struct trial *p)
{
	prep_by_hand(p);
	start(p);
	sub_must(p, p->result, "start");
}

static void
prep_granted_followed(struct trial *p)
{
	sub.opts.ttl_ms = SUB_LONG_MS;
	prep_by_hand(p);
	start(p);
	sub_must(p, p->result, "start");
	flag_set(&p->cue, 1);
	sub_await_waiters(p, 1);
}

/* Into a session that ends with its maker, so that nothing is left of it. */
static void
prep_session(struct trial *p)
{
	struct lh_session_opts o = LH_SESSION_OPTS_INIT;

	prep_by_hand(p);
	o.ttl_ms = SUB_LONG_MS;
	o.flags = LH_SESSION_WITH_MAKER;
	sub_must(p, lh_session_open(sub.lh, "s", &o, &wishes.session),
	    "a session");
	sub.opts.more = &wishes;
}

/* By a request id, and with a value. */
static void
prep_request(struct trial *p)
{
	prep_by_hand(p);
	wishes.request[0] = 1;
	wishes.value = "what it is worth";
	wishes.value_len = 16;
	sub.opts.more = &wishes;
}

static void
prep_request_waiting(struct trial *p)
{
	prep_request(p);
	start(p);
	sub_must(p, p->result, "start");
}

static void
prep_out_of_claims(struct trial *p)
{
	static struct lh_ticket *more[8];

	prep_by_hand(p);
	for (int i = 0; i < 8; i++)
		sub_must(p, lh_acquire_start(sub.lh, THIRD, &sub.opts,
		    &more[i]), "start one more");
}

/* At once, or when the subject was seen asleep. */
static void
act_start_finish(struct trial *p)
{
	start(p);
	if (p->result != 0)
		return;
	while ((p->result = lh_ticket_finish(ticket, &p->lease)) == -EAGAIN)
		trial_nap_us(1000);
	ticket = NULL;
	sub_granted(p);
}

static void
act_cancel(struct trial *p)
{
	p->result = lh_ticket_cancel(ticket);
	ticket = NULL;
}

static void
act_ask(struct trial *p)
{
	int n = lh_ask_release(sub.lh, KEY, NULL, 0);

	p->result = n < 0 ? n : 0;
}

static void
finish_given_up(struct trial *p)
{
	if (sub_plausible(p) && ticket != NULL &&
	    lh_ticket_cancel(ticket) != 0)
		blame(p, "cancel after a stop: %s", lh_error_detail());
	sub_let_go(p);
}

static const struct scenario scenarios_tickets[] = {
	{ .name = "ticket-free", .what = "a ticket for a free key, finished",
	  .stop_ttl_ms = 120, .prepare = prep_by_hand,
	  .act = act_start_finish, .finish = finish_acquire,
	  .allowed = says_stale },
	{ .name = "ticket-turn", .what = "... for one that is released",
	  .roles = { YIELDER }, .flags = SC_FIFO, .prepare = prep_by_hand,
	  .min_states = QUEUED_STATES, .act = act_start_finish,
	  .finish = finish_acquire, .allowed = says_stale },
	{ .name = "ticket-start", .what = "for a key that is held",
	  .roles = { HOLDER, WAITER }, .flags = SC_FIFO,
	  .prepare = prep_by_hand, .act = start, .finish = finish_given_up },
	{ .name = "ticket-start-more", .what = "... and out of claims",
	  .roles = { HOLDER }, .flags = SC_FIFO,
	  .prepare = prep_out_of_claims, .act = start,
	  .finish = finish_given_up },
	{ .name = "ticket-cancel", .what = "one that waits, given up",
	  .roles = { HOLDER, FOLLOWER }, .flags = SC_FIFO,
	  .prepare = prep_waiting, .act = act_cancel,
	  .finish = finish_plain },
	{ .name = "ticket-cancel-granted", .what = "one that was granted",
	  .roles = { FOLLOWER }, .prepare = prep_granted_followed,
	  .act = act_cancel, .finish = finish_plain },
	{ .flags = SC_NAMED, .name = "ticket-session",
	  .what = "one into a named session", .stop_ttl_ms = 120,
	  .prepare = prep_session, .act = act_start_finish,
	  .finish = finish_acquire, .allowed = says_stale },
	{ .name = "ticket-request", .what = "by a request id, with a value",
	  .stop_ttl_ms = 120, .prepare = prep_request,
	  .act = act_start_finish, .finish = finish_acquire,
	  .allowed = says_stale },
	{ .name = "ticket-request-cancel", .what = "... that waits, given up",
	  .roles = { HOLDER, FOLLOWER }, .flags = SC_FIFO,
	  .prepare = prep_request_waiting, .act = act_cancel,
	  .finish = finish_plain },
	{ .name = "ticket-close", .what = "close, while one waits",
	  .roles = { HOLDER, FOLLOWER }, .flags = SC_FIFO,
	  .prepare = prep_waiting, .act = act_close, .finish = finish_plain },
	{ .name = "release-to-ticket", .what = "somebody waits by a ticket",
	  .roles = { TICKET }, .prepare = prep_holding_followed,
	  .act = act_release, .finish = finish_plain, .allowed = says_stale },
	{ .name = "behind-dead-ticket", .what = "wait behind a killed one",
	  .roles = { YIELDER, DEAD_TICKET }, .flags = SC_FIFO,
	  .prepare = prep_warm_long, .act = act_acquire,
	  .finish = finish_acquire },
	{ .name = "ask", .what = "ask for a key that is held",
	  .roles = { HOLDER }, .prepare = prep_warm, .act = act_ask,
	  .finish = finish_plain },
	{ .name = "ask-readers", .what = "... by readers",
	  .roles = { READER, READER }, .prepare = prep_warm, .act = act_ask,
	  .finish = finish_plain },
};

SCENARIOS(scenarios_tickets)
