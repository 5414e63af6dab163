/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G2: on each path to a grant, the token is larger than that of every
 * earlier grant of the key: a try, a wait, an opened key, another process.
 * After a release, a close, an expiry, a death, a cancelled or timed-out wait,
 * and an acquire whose outcome nobody learned.  Tokens are between the table's
 * base and ceiling, below 2^63, and never 0.
 *
 * Otherwise a server that checks tokens would accept an older holder.
 */
#include <errno.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

static const char *table;
static struct lh *lh;
static uint64_t last;
static int grants;

static void
larger(const struct lh_lease *l, const char *how)
{
	struct lh_stats st = { .size = sizeof(st) };

	cmp(l->token, >, last, "%s: a larger token", how);
	last = l->token;
	grants++;
	lh_stats(lh, &st);
	if (l->token <= st.token_base || l->token >= st.token_ceiling ||
	    l->token >> 63 != 0)
		fail("%s: outside of the table's range", how);
}

static void
take(const char *how, int64_t wait_ms)
{
	struct lh_lease l;

	is(t_acquire(lh, "k", 3600000, wait_ms, &l), 0, "%s: granted", how);
	larger(&l, how);
	is(lh_release(lh, &l), 0, "%s: released", how);
}

int
main(void)
{
	struct lh_acquire_opts o = t_opts(3600000, 0);
	struct t_actor *a, *b;
	struct lh_cancel cancel = LH_CANCEL_INIT;
	struct lh_lease l, l2;
	struct lh_key *k;
	struct lh *twin;

	table = t_table();
	a = t_actor(table);
	b = t_actor(table);
	lh = t_open(table);
	for (int i = 0; i < 20; i++)
		take("one after another", 0);
	take("with leave to wait", 1000);
	is(lh_key_open(lh, "k", 0, &k), 0, "opened");
	is(lh_key_acquire(k, &o, &l), 0, "by key");
	larger(&l, "by key");
	is(lh_extend(lh, &l, 1000), 0, "extended");
	is_u64(l.token, last, "an extend changes no token");
	is(lh_release(lh, &l), 0, "released");
	twin = t_open(table);
	is(t_acquire(twin, "k", 3600000, 0, &l), 0, "another attachment");
	larger(&l, "another attachment");
	is(lh_close(twin), 0, "closes, holding");
	take("after a close", 0);

	is(t_acquire(lh, "k", t_ms(10), 0, &l), 0, "a short one");
	larger(&l, "a short one");
	take("after its expiry", T_HANG_MS);
	is(t_acquire(lh, "k", t_ms(10), 0, &l), 0, "another");
	larger(&l, "another");
	t_sleep_until(l.expires_ns + T_NS_PER_MS);
	is(lh_release(lh, &l), 0, "released after its expiry");
	take("after that", 0);

	is(t_do_acquire(a, "k", 3600000, 0), 0, "another process");
	larger(&a->lease, "another process");
	is(t_acquire(lh, "k", 1000, 0, &l), -EAGAIN, "a refused try");
	is(t_acquire(lh, "k", 1000, t_ms(20), &l), -ETIMEDOUT, "a timeout");
	o.cancel = &cancel;
	o.max_wait_ms = 1000;
	is(lh_cancel(&cancel), 0, "cancelled");
	is(lh_acquire(lh, "k", &o, &l), -ECANCELED, "a cancelled wait");
	t_begin_acquire(b, "k", 3600000, 3600000);
	ok(t_await_waiters(lh, "k", 1), "somebody waits");
	t_actor_kill(a);
	is(t_result(b), 0, "and gets it after a death");
	larger(&b->lease, "after a death");
	is(t_do_release(b), 0, "released");
	take("after all of these", 0);

	/* the outcome of this one is learnt by nobody */
	t_begin_acquire(b, "k", 3600000, 0);
	t_actor_kill(b);
	take("after an unknown outcome", T_HANG_MS);

	l = t_hold(lh, "other");
	l2 = t_hold(lh, "yet another");
	ok(l.token != 0 && l2.token != 0, "other keys have tokens, too");
	is(lh_verify_token(lh, "k", last), -ESTALE,
	    "the last holder's is over");
	cmp(grants, >=, 30, "%d grants in all", grants);
	is(lh_key_close(k), 0, "closed");
	t_actor_free(a);
	t_actor_free(b);
	t_close(lh);
	return done();
}
