/* SPDX-License-Identifier: MIT */
/* test: slow 6 */
/*
 * lh_session_keep(): a thread renews the session over many ttls.  It stops when
 * the handle is closed, on request, and when the process dies.
 *
 * Otherwise a session would end under a running program, or outlive a dead one.
 */
#include <errno.h>
#include "session.h"
#include "support/actor.h"
#include "support/part.h"

static struct lh *lh;

static int
keep_there(struct t_actor *a, void *arg)
{
	struct lh_session *s = open_session(a->lh, "theirs", t_long(300), 0, 0);
	int error = acquire_into(a->lh, s, "b", LH_EXCLUSIVE, &a->lease);

	return error != 0 ? error : lh_session_keep(s, 1);
}

static void
play(void)
{
	struct lh_session *s, *t;
	struct t_actor *a;
	struct lh_lease l, n;

	lh = t_open(t_table());
	a = t_actor(lh_table_name(lh));
	s = open_session(lh, "kept", t_long(300), 0, 0);
	t = open_session(lh, "other", t_long(300), 0, 0);
	is(acquire_into(lh, s, "a", LH_EXCLUSIVE, &l), 0, "a lease in it");
	is(lh_session_keep(s, 1), 0, "it is to be kept");
	is(lh_session_keep(s, 1), 0, "told twice");
	is(lh_session_keep(t, 1), 0, "another, too");
	is(t_do(a, keep_there, NULL), 0, "and one by another process");
	t_sleep_ms(t_long(1500));
	is(lh_verify(lh, &l), 0, "five ttls later it is held");
	is(t_acquire(lh, "b", 1000, 0, &n), -EAGAIN, "theirs, too");
	t_actor_kill(a);
	t_actor_free(a);
	is(t_acquire(lh, "b", 1000, t_long(5000), &n), 0, "until they die");
	is(lh_release(lh, &n), 0, "release");
	is(lh_session_keep(s, 0), 0, "not to be kept any more");
	lh_session_close(t);
	is(t_acquire(lh, "a", 1000, t_long(5000), &n), 0, "then it ends");
	is(lh_session_keep(s, 1), -ESTALE, "and is not to be kept");
	ok(lh_session_open(lh, "other", &(struct lh_session_opts){
	    .size = sizeof(struct lh_session_opts), .flags = LH_NO_CREATE,
	    .ttl_ms = 1000 }, &t) == -ENOENT, "nor does a closed handle's");
	is(lh_release(lh, &n), 0, "release");
	t = open_session(lh, "last", t_long(300), 0, 0);
	is(lh_session_keep(t, 1), 0, "one that is kept while it closes");
	t_close(lh);
	lh_session_close(t);
	lh_session_close(s);
}

int
main(void)
{
	t_part(play, 150, "session kept by thread");
	return done();
}
