/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1, G2 and G9, lh_handoff(): the receiver has a new id and a
 * larger token, the old struct is stale, and no waiter or newcomer acquires the
 * key meanwhile.  Also for a reader among others, between processes, and into
 * and out of a session.
 *
 * Otherwise the key would be free for a moment, and the work that is handed
 * over would be interrupted.
 */
#include <errno.h>
#include "session.h"
#include "support/actor.h"

#define ROUNDS 2000

struct shared {
	struct lh_lease lease;
	_Atomic int stop;
	_Atomic int got;
};

static struct lh *lh;

static int
pull(struct t_actor *a, void *arg)
{
	struct shared *sh = arg;
	int error = lh_handoff(a->lh, &sh->lease, NULL);

	a->lease = sh->lease;
	return error;
}

static int
grab(struct t_actor *a, void *arg)
{
	struct shared *sh = arg;
	struct lh_lease l;

	while (!sh->stop) {
		if (t_acquire(a->lh, "k", 10000, 0, &l) == 0) {
			sh->got++;
			(void)lh_release(a->lh, &l);
		}
	}
	return 0;
}

static void
between_processes(struct shared *sh)
{
	struct t_actor *a = t_actor(lh_table_name(lh));
	struct lh_lease old;

	sh->lease = old = t_hold(lh, "k");
	is(t_do(a, pull, sh), 0, "another process takes it over");
	cmp(sh->lease.token, >, old.token, "with a larger token");
	ok(sh->lease.expires_ns == old.expires_ns, "until the same deadline");
	is(lh_verify(lh, &old), -ESTALE, "the old struct is stale");
	is(lh_release(lh, &old), -ESTALE, "and releases nothing");
	is(lh_verify_token(lh, "k", sh->lease.token), 0, "the new one holds");
	is(lh_release(lh, &sh->lease), -EPERM, "and is not ours to present");
	is(t_do_release(a), 0, "but theirs");
	sh->lease = t_hold(lh, "k");
	is(t_do(a, pull, sh), 0, "again");
	t_actor_kill(a);
	t_actor_free(a);
	is(t_acquire(lh, "k", 1000, t_ms(2000), &old), 0, "who has it, dies");
	is(old.notes, LH_NOTE_PREVIOUS_DIED, "as a holder");
	is(lh_release(lh, &old), 0, "release");
}

static void
to_and_fro(struct shared *sh)
{
	struct t_actor *a = t_actor(lh_table_name(lh));
	struct lh_session *s = open_session(lh, "s", t_ms(60000), 0, 0);
	struct lh_lease l = t_hold(lh, "k");
	uint64_t token = l.token;
	bool rises = true;
	int error = 0, rounds = t_count(ROUNDS, 50);

	t_begin(a, grab, sh);
	for (int i = 0; i < rounds && error == 0; i++) {
		error = lh_handoff(lh, &l, i % 2 == 0 ? s : NULL);
		rises = rises && l.token > token;
		token = l.token;
	}
	is(error, 0, "to a session and back, %d times", rounds);
	ok(rises, "the token rises each time");
	is(sh->got, 0, "nobody gets it in between");
	is(lh_release(lh, &l), 0, "released");
	ok(t_until(t_ms(2000), sh->got > 0), "then somebody does");
	sh->stop = 1;
	is(t_result(a), 0, "end");
	t_actor_end(a);
	is(lh_session_destroy(s), 0, "destroy");
	lh_session_close(s);
}

static void
readers(void)
{
	struct lh_session *s = open_session(lh, "r", t_ms(60000), 0, 0);
	struct lh_acquire_opts o = t_opts(3600000, 0);
	struct lh_lease a, b, c, old;

	o.mode = LH_SHARED;
	is(lh_acquire(lh, "k", &o, &a), 0, "a reader");
	is(lh_acquire(lh, "k", &o, &b), 0, "another");
	old = a;
	is(lh_handoff(lh, &a, s), 0, "one is handed over");
	is(t_holders(lh, "k"), 2, "there are two");
	is(lh_verify(lh, &old), -ESTALE, "the old one is stale");
	is(lh_release(lh, &old), -ESTALE, "also for release");
	is(lh_verify(lh, &a), 0, "the new one is not");
	is(lh_release(lh, &b), 0, "the other leaves");
	is(t_acquire(lh, "k", 1000, 0, &c), -EAGAIN, "it is held still");
	is(lh_handoff(lh, &a, NULL), 0, "back, the only one");
	is(t_holders(lh, "k"), 1, "one");
	is(lh_session_destroy(s), 0, "the session goes");
	is(lh_verify(lh, &a), 0, "what it has handed on stays");
	is(lh_release(lh, &a), 0, "released");
	is(t_acquire(lh, "k", 1000, 0, &c), 0, "free");
	is(lh_release(lh, &c), 0, "release");
	lh_session_close(s);
}

static int
see_policy(const struct lh_key_info *info, void *arg)
{
	*(uint32_t *)arg = info->n_holders > 0 ? info->holders[0].policy : 99;
	return 0;
}

static void
policies(void)
{
	static const uint32_t before[] = { LH_POLICY_STRICT, LH_POLICY_LIVE };
	/* in a named session nobody could be seen to run */
	static const int handed[] = { 0, -EINVAL };
	struct lh_session *s = open_session(lh, "p", t_ms(60000), 0, 0);
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts o = t_opts(t_ms(5000), 0);
	struct lh_lease l;
	uint32_t p;

	for (int i = 0; i < 2; i++) {
		more.policy = before[i];
		o.more = &more;
		is(lh_acquire(lh, "k", &o, &l), 0, "policy %u", before[i]);
		is(lh_handoff(lh, &l, NULL), 0, "within the attachment");
		is(lh_status(lh, "k", NULL, see_policy, &p), 0, "status");
		is(p, before[i], "it is the same");
		is(lh_handoff(lh, &l, s), handed[i], "to a session");
		is(lh_status(lh, "k", NULL, see_policy, &p), 0, "status");
		is(p, before[i], "it is the same still");
		is(lh_verify(lh, &l), 0, "held");
		is(lh_release(lh, &l), 0, "released");
	}
	more.session = s;
	is(lh_acquire(lh, "k", &o, &l), -EINVAL, "live, into a session: no");
	is(lh_session_destroy(s), 0, "destroy");
	lh_session_close(s);
}

static void
lost(void)
{
	struct lh_lease l, copy;

	is(t_acquire(lh, "k", t_ms(50), 0, &l), 0, "a short one");
	copy = l;
	t_sleep_ms(t_ms(80));
	is(lh_handoff(lh, &l, NULL), -ESTALE, "past its deadline: lost");
	l = t_hold(lh, "k");
	copy = l;
	is(lh_release(lh, &l), 0, "released");
	is(lh_handoff(lh, &l, NULL), -ESTALE, "released: stale");
	is(lh_handoff(lh, &copy, NULL), -ESTALE, "a copy of it, too");
	is(t_holders(lh, "k"), 0, "nobody holds it");
}

int
main(void)
{
	struct shared *sh = t_shared(sizeof(*sh));

	lh = t_open(t_table());
	between_processes(sh);
	to_and_fro(sh);
	readers();
	policies();
	lost();
	t_close(lh);
	return done();
}
