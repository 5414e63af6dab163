/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G3 and G11: lh_verify_token() answers a caller that has only a key
 * and a token: yes while that very lease holds the key, no for all others:
 * before, after, of another key, never given.  Refuses what cannot be a token.
 *
 * Otherwise a server would accept a request of a lost lease.
 */
#include <errno.h>
#include <string.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

static void
says(const char *words)
{
	ok(strstr(lh_error_detail(), words) != NULL, "and why: %s",
	    lh_error_detail());
}

int
main(void)
{
	const char *table = t_table();
	struct t_actor *a = t_actor(table);
	struct lh *lh = t_open(table);
	struct lh_key *key;
	struct lh_lease l;
	uint64_t token;

	is(lh_verify_token(lh, "k", 1), -ESTALE, "an unknown key");
	says("there is no key 'k'");
	ok(t_has_detail(), "with a reason");
	is(lh_key_open(lh, "k", LH_NO_CREATE, &key), -ENOENT,
	    "asking does not make it");
	is(t_do_acquire(a, "k", 3600000, 0), 0, "another process holds it");
	token = a->lease.token;
	is(lh_verify_token(lh, "k", token), 0, "its token");
	is(lh_verify_token(lh, "k", token + 1), -ESTALE, "the next");
	says("'k' is held with token");
	is(lh_verify_token(lh, "k", token - 1), -ESTALE, "the one before");
	is(lh_verify_token(lh, "k", token ^ UINT64_C(1) << 40), -ESTALE,
	    "one that differs far up");
	is(lh_verify_token(lh, "k", token ^ UINT64_C(1) << 62), -ESTALE,
	    "and farther");
	is(lh_verify_token(lh, "l", token), -ESTALE, "for another key");
	is(lh_verify_token(lh, "k", 0), -EINVAL, "0");
	ok(t_has_detail(), "with a reason");
	is(lh_verify_token(lh, "k", UINT64_C(1) << 63), -EINVAL, "2^63");
	is(lh_verify_token(lh, "k", token | UINT64_C(1) << 63), -EINVAL,
	    "the token and 2^63");
	is(lh_verify_token(lh, "k", UINT64_MAX), -EINVAL, "2^64 - 1");
	is(lh_verify_token(lh, "k", (UINT64_C(1) << 63) - 1), -ESTALE,
	    "2^63 - 1 can be one");
	is(t_do_extend(a, 1800000), 0, "extended");
	is(lh_verify_token(lh, "k", token), 0, "the token is the same");
	is(t_do_release(a), 0, "released");
	is(lh_verify_token(lh, "k", token), -ESTALE, "over");
	says("with that token was released, and nobody holds the key");
	l = t_hold(lh, "k");
	is(lh_verify_token(lh, "k", token), -ESTALE, "with a successor, too");
	is(lh_verify_token(lh, "k", l.token), 0, "whose is good");
	is(lh_extend(lh, &l, t_ms(20)), 0, "a deadline near");
	t_sleep_until(l.expires_ns + T_NS_PER_MS);
	is(lh_verify_token(lh, "k", l.token), -ESTALE, "past it: no");
	says("with that token expired, and nobody holds the key");
	is(lh_verify(lh, &l), -ESTALE, "and that is final");

	is(t_do_acquire(a, "k", 3600000, T_HANG_MS), 0, "held again");
	token = a->lease.token;
	t_actor_kill(a);
	/* it is for the questioner to find out, or for the next */
	is(t_acquire(lh, "k", 3600000, T_HANG_MS, &l), 0, "killed: taken");
	is(lh_verify_token(lh, "k", token), -ESTALE, "the dead one's is over");
	is(lh_verify_token(lh, "k", l.token), 0, "the successor's good");
	is(lh_release(lh, &l), 0, "released");
	t_actor_free(a);
	t_close(lh);
	return done();
}
