/* SPDX-License-Identifier: MIT */
/*
 * lh_value_set() and lh_value_get(): a key's value is set under a lease, with
 * an acquire, or with a release, and read by anybody, with the token under
 * which it was set.  It stays when the lease ends, and is deleted by
 * lh_destroy().
 *
 * Otherwise a program could not leave a note for the next holder.
 */
#include <errno.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

static unsigned char buf[LH_VALUE_MAX];
static size_t len;
static uint64_t token;

static bool
reads(struct lh *lh, const char *key, const void *value, size_t n, uint64_t t)
{
	memset(buf, 0xee, sizeof(buf));
	len = 99;
	return lh_value_get(lh, key, buf, &len, &token) == 0 && len == n &&
	    token == t && (n == 0 || memcmp(buf, value, n) == 0);
}

static int
told_len(const struct lh_key_info *info, void *arg)
{
	(void)arg;
	return (int)info->value_len + 1;
}

static void
under_a_lease(struct lh *lh)
{
	unsigned char all[LH_VALUE_MAX], more[LH_VALUE_MAX + 1] = { 0 };
	struct lh_lease l = t_hold(lh, "k");
	uint64_t first = l.token;

	for (int i = 0; i < LH_VALUE_MAX; i++)
		all[i] = (unsigned char)i;
	ok(reads(lh, "k", NULL, 0, 0), "a new key has no value");
	is(lh_value_set(lh, &l, "one", 3), 0, "set one");
	ok(reads(lh, "k", "one", 3, l.token), "it is read, with its token");
	is(lh_value_set(lh, &l, all, sizeof(all)), 0, "256 bytes of any kind");
	ok(reads(lh, "k", all, sizeof(all), l.token), "are read");
	is(lh_status(lh, "k", NULL, told_len, NULL), 257, "status tells so");
	is(lh_value_set(lh, &l, more, sizeof(more)), -EINVAL, "257: refused");
	ok(t_has_detail(), "with a reason");
	ok(reads(lh, "k", all, sizeof(all), l.token), "the value is as it was");
	is(lh_value_set(lh, &l, "x", 1), 0, "one byte");
	ok(reads(lh, "k", "x", 1, l.token), "is read");
	is(lh_release(lh, &l), 0, "released");
	ok(reads(lh, "k", "x", 1, first), "it stays");
	is(lh_value_set(lh, &l, "y", 1), -ESTALE, "who has released: refused");
	l = t_hold(lh, "k");
	ok(reads(lh, "k", "x", 1, first), "the next holder finds it");
	is(lh_value_set(lh, &l, "z", 1), 0, "and sets another");
	ok(reads(lh, "k", "z", 1, l.token), "with its own token");
	is(lh_value_set(lh, &l, NULL, 0), 0, "0 bytes: cleared");
	ok(reads(lh, "k", NULL, 0, 0), "there is none");
	is(lh_value_set(lh, &l, NULL, 0), 0, "and again");
	is(lh_value_set(lh, &l, NULL, 4), -EINVAL, "4 bytes of nothing");
	is(lh_convert(lh, &l, LH_SHARED), 0, "a reader");
	is(lh_value_set(lh, &l, "r", 1), -EINVAL, "sets none");
	is(lh_release(lh, &l), 0, "released");
	is(lh_value_get(lh, "no-such-key", buf, &len, NULL), -ENOENT,
	    "no such key");
	is(lh_value_get(lh, "k", NULL, &len, NULL), -EINVAL, "nowhere to go");
	is(lh_value_get(lh, "k", buf, &len, NULL), 0, "without the token");
}

static void
with_calls(struct lh *lh)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts o = t_opts(60000, 0);
	struct lh_lease l;
	uint64_t t;

	o.more = &more;
	more.value = "with it";
	more.value_len = 7;
	is(lh_acquire(lh, "a", &o, &l), 0, "acquired with a value");
	t = l.token;
	ok(reads(lh, "a", "with it", 7, t), "it is there when that returns");
	is(lh_release_value(lh, &l, "bye", 3), 0, "released with another");
	ok(reads(lh, "a", "bye", 3, t), "that is there");
	is(t_holders(lh, "a"), 0, "and nobody holds it");
	is(lh_release_value(lh, &l, "no", 2), -ESTALE, "not twice");
	more.value = NULL;
	is(lh_acquire(lh, "a", &o, &l), 0, "acquired without a value");
	ok(reads(lh, "a", "bye", 3, t), "the old one stays");
	is(lh_release(lh, &l), 0, "released");
	more.value = "";
	more.value_len = 0;
	is(lh_acquire(lh, "a", &o, &l), 0, "acquired with an empty one");
	ok(reads(lh, "a", NULL, 0, 0), "cleared");
	is(lh_release(lh, &l), 0, "released");
	more.value_len = 257;
	is(lh_acquire(lh, "a", &o, &l), -EINVAL, "too long: refused");
	is(t_holders(lh, "a"), 0, "nothing was acquired");
	more.value_len = 3;
	more.value = "abc";
	o.mode = LH_SHARED;
	is(lh_acquire(lh, "a", &o, &l), -EINVAL, "not in shared mode");
}

static void
in_a_session(struct lh *lh)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts o = t_opts(60000, 0);
	struct lh_session *s;
	struct lh_lease l;

	is(lh_session_open(lh, NULL, NULL, &s), 0, "a session");
	o.more = &more;
	more.session = s;
	more.value = "its value";
	more.value_len = 9;
	is(lh_acquire(lh, "s", &o, &l), 0, "holds a key with a value");
	ok(reads(lh, "s", "its value", 9, l.token), "with its own token");
	is(lh_value_set(lh, &l, "other", 5), 0, "it can set another");
	is(lh_session_destroy(s), 0, "ended");
	lh_session_close(s);
	ok(reads(lh, "s", "other", 5, l.token), "the value stays");
}

/* As if the first caller had been killed before it set the value. */
static void
by_request(struct lh *lh)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts o = t_opts(60000, 0);
	struct lh_lease l, again;

	o.more = &more;
	more.request[0] = 47;
	more.request[1] = 11;
	is(lh_acquire(lh, "r", &o, &l), 0, "acquired by request");
	more.value = "late";
	more.value_len = 4;
	is(lh_acquire(lh, "r", &o, &again), 0, "repeated, with a value");
	is_u64(again.token, l.token, "the same lease");
	ok(reads(lh, "r", "late", 4, l.token), "which has it now");
	is(lh_value_set(lh, &l, "newer", 5), 0, "a newer one");
	is(lh_acquire(lh, "r", &o, &again), 0, "repeated once more");
	ok(reads(lh, "r", "newer", 5, l.token), "the newer one stays");
	is(lh_release(lh, &l), 0, "released");
}

/* Keys come and go, and values with them. */
static void
with_keys(struct lh *lh)
{
	struct lh_lease l = t_hold(lh, "gone");

	is(lh_value_set(lh, &l, "here", 4), 0, "a key with a value");
	is(lh_release(lh, &l), 0, "released");
	is(lh_evict(lh, "gone", 0), 0, "is not forgotten");
	ok(reads(lh, "gone", "here", 4, l.token), "its value is there");
	is(lh_destroy(lh, "gone"), 0, "but removed when asked for");
	is(lh_value_get(lh, "gone", buf, &len, NULL), -ENOENT, "it is gone");
	l = t_hold(lh, "gone");
	ok(reads(lh, "gone", NULL, 0, 0), "made again, it has none");
	is(lh_value_set(lh, &l, "2", 1), 0, "set");
	is(lh_value_set(lh, &l, NULL, 0), 0, "and cleared");
	is(lh_release(lh, &l), 0, "released");
	is(lh_evict(lh, "gone", 0), 1, "then it may be forgotten");
}

static void
of_the_lost(const char *table, struct lh *lh)
{
	struct t_actor *a = t_actor(table);
	struct lh_lease l, mine;

	l = t_hold(lh, "lost");
	is(lh_value_set(lh, &l, "in time", 7), 0, "set in time");
	is(lh_extend(lh, &l, t_ms(200)), 0, "a deadline near");
	t_sleep_until(l.expires_ns + T_NS_PER_MS);
	is(lh_value_set(lh, &l, "late", 4), -ESTALE, "past its deadline: no");
	is(lh_release_value(lh, &l, "late", 4), -ESTALE, "nor with release");
	ok(reads(lh, "lost", "in time", 7, l.token), "it is as it was");
	is(t_acquire(lh, "lost", 60000, 0, &mine), 0, "another holds it");
	is(lh_value_set(lh, &mine, "mine", 4), 0, "and sets its own");
	is(lh_value_set(lh, &l, "late", 4), -ESTALE, "the old one still not");
	ok(reads(lh, "lost", "mine", 4, mine.token), "the new one stays");
	is(lh_break(lh, "lost", NULL, 0), 1, "broken");
	is(lh_value_set(lh, &mine, "late", 4), -ESTALE, "refused, too");
	is(t_do_acquire(a, "dead", 60000, 0), 0, "another process");
	t_actor_kill(a);
	ok(t_until(T2_MS, t_acquire(lh, "dead", 1000, 0, &l) == 0), "died");
	ok(reads(lh, "dead", NULL, 0, 0), "it left no value");
	t_actor_free(a);
}

int
main(void)
{
	const char *table = t_table();
	struct lh *lh = t_open(table);

	under_a_lease(lh);
	with_calls(lh);
	with_keys(lh);
	in_a_session(lh);
	by_request(lh);
	of_the_lost(table, lh);
	t_close(lh);
	return done();
}
