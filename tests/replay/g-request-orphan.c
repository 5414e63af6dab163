/* SPDX-License-Identifier: MIT */
/*
 * Lock-delay: a lease of a named session is being downgraded, and its request
 * repeated, when the session ends, and then the lease's deadline passes.  Who
 * repeats the request does not make it run out: the key is kept back.
 */
#include <errno.h>
#include "replay.h"
#include "support/object.h"

#define DELAY_MS 60000

struct with {
	struct lh *lh;
	struct lh_session *s;
	struct lh_lease lease;
};

static int
downgrade(void *arg)
{
	struct with *w = arg;

	return lh_convert(w->lh, &w->lease, LH_SHARED);
}

static int
ask(void *arg)
{
	struct with *w = arg;
	struct lh_acquire_opts o = t_opts(t_ms(500), 0);
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;

	more.session = w->s;
	more.request[0] = 7;
	o.more = &more;
	return lh_acquire(w->lh, "k", &o, &w->lease);
}

int
main(void)
{
	struct lh *lh = replay_open(replay_begin(), 0);
	struct with a = { .lh = replay_open(lh_table_name(lh), 0) };
	struct with b = { .lh = replay_open(lh_table_name(lh), 0) };
	struct lh_lease l;

	a.s = replay_session(a.lh, "s", t_ms(400), DELAY_MS);
	b.s = replay_session(b.lh, "s", t_ms(400), DELAY_MS);
	is(ask(&a), 0, "a lease in a session");
	replay_stop("converter", "convert.announced", downgrade, &a);
	replay_stop("repeater", "request.judging", ask, &b);
	t_sleep_ms(t_ms(600));		/* its end, then the deadline */
	is(replay_finish("repeater"), -ESTALE, "it is lost");
	is(replay_try(lh, "k", &l), -EAGAIN, "its key is kept back");
	is(replay_finish("converter"), -ESTALE, "for all");
	lh_session_close(a.s);
	lh_session_close(b.s);
	t_close(a.lh);
	t_close(b.lh);
	t_close(lh);
	return done();
}
