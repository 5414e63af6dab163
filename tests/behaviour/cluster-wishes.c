/* SPDX-License-Identifier: MIT */
/* test: slow 5 */
/* test: release: a million calls: three times as long under ASan */
/*
 * The rarer options of an acquire work for cluster keys as well: request ids,
 * holder ids, policies, named sessions and hand-over; tokens when those of a
 * revision are used up; and the errors and status of such a key.  Values are
 * refused: they would be those of one host.
 *
 * Otherwise an option that works for a local key would be ignored, or would
 * give a wrong answer, for a cluster key.
 */
#include <errno.h>
#include <leasehold/session.h>
#include <leasehold/value.h>
#include "op/cluster_check.h"
#include "support/part.h"
#include "support/shim.h"
#include "support/support.h"
#include "tap.h"

static struct lh *lh;
static struct t_shim *s;
static struct lh_acquire_more more;

static int
acquire(const char *key, struct lh_lease *l)
{
	struct lh_acquire_opts o = t_opts(t_long(20000), t_long(4000));

	o.more = &more;
	return lh_acquire(lh, key, &o, l);
}

/* A lease says no more than the session with the cluster does. */
static void
ends_with_it(const struct lh_lease *l, const char *what)
{
	int64_t left = l->expires_ns - lh_clock_ns(lh);

	ok(left <= s->ttl_ms * T_NS_PER_MS, "%s: until D at the most (%lld "
	    "ms)", what, (long long)(left / T_NS_PER_MS));
}

static void
plain(void)
{
	static const struct lh_acquire_more none = LH_ACQUIRE_MORE_INIT;

	more = none;
}

static void
requests(void)
{
	struct lh_lease l, m;

	plain();
	more.request[0] = 77;
	is(acquire("cluster:r", &l), 0, "by a request id: %s",
	    lh_error_detail());
	ends_with_it(&l, "granted");
	is(acquire("cluster:r", &m), 0, "repeated");
	ends_with_it(&m, "the answer");
	ok(l.token == m.token && l.id[1] == m.id[1], "the same lease");
	is(lh_release_request(lh, NULL, more.request), 0, "released by it");
	is(lh_verify(lh, &l), -ESTALE, "and so it is");
	t_shim_recall(s);
	s->says = SHIM_AWAY;
	more.request[0] = 78;
	is(acquire("cluster:r", &l), -EHOSTUNREACH, "no cluster");
	s->says = SHIM_GRANTS;
	is(acquire("cluster:r", &l), 0, "that was no answer for good: %s",
	    lh_error_detail());
	t_shim_lose(s);
	is(acquire("cluster:r", &m), -ESTALE, "repeated when it is lost: %s",
	    lh_error_detail());
	t_shim_kill(s);
	s->beats = 1;
	t_shim_start(s);
}

static void
holders(void)
{
	struct lh_lease l, m;

	plain();
	more.holder = "somebody";
	is(acquire("cluster:h", &l), 0, "by a holder id: %s",
	    lh_error_detail());
	is(acquire("cluster:h", &m), 0, "and again");
	ends_with_it(&m, "a holder's");
	is(m.token, l.token, "it is one lease");
	is(lh_release(lh, &m), 0, "released once");
	is(lh_verify(lh, &l), 0, "held");
	t_shim_lose(s);
	t_shim_kill(s);
	s->beats = 1;
	t_shim_start(s);
	is(acquire("cluster:h", &m), 0, "after a loss it is another one: %s",
	    lh_error_detail());
	ok(m.token > l.token, "with a larger token");
	is(lh_release(lh, &m), 0, "released");
}

static void
values(void)
{
	char buf[LH_VALUE_MAX];
	struct lh_lease l;
	uint64_t token;
	size_t len = 0;

	plain();
	more.value = "worth";
	more.value_len = 5;
	is(acquire("cluster:v", &l), -EOPNOTSUPP, "no value with an acquire: "
	    "%s", lh_error_detail());
	more.value = NULL;
	more.value_len = 0;
	is(acquire("cluster:v", &l), 0, "held");
	is(lh_value_set(lh, &l, "worth", 5), -EOPNOTSUPP, "nor under a lease: "
	    "%s", lh_error_detail());
	ok(strstr(lh_error_detail(), "'cluster:v'") != NULL, "names the key");
	is(lh_release_value(lh, &l, "worth", 5), -EOPNOTSUPP, "nor with a "
	    "release");
	is(lh_value_get(lh, "cluster:v", buf, &len, &token), -EOPNOTSUPP,
	    "none is read");
	is(lh_verify(lh, &l), 0, "held still");
	is(lh_release(lh, &l), 0, "released");
}

static void
policies(void)
{
	struct lh_lease l;

	plain();
	more.policy = LH_POLICY_STRICT;
	is(acquire("cluster:p", &l), 0, "strict: %s", lh_error_detail());
	ok(l.expires_ns < lh_clock_ns(lh) + s->ttl_ms * T_NS_PER_MS,
	    "ends with the session all the same");
	is(lh_extend(lh, &l, t_long(1000)), 0, "extended");
	is(lh_verify(lh, &l), 0, "held");
	t_shim_lose(s);
	is(lh_verify(lh, &l), -ESTALE, "lost with it");
	t_shim_kill(s);
	s->beats = 1;
	t_shim_start(s);
	more.policy = LH_POLICY_LIVE;
	is(acquire("cluster:p", &l), 0, "live: %s", lh_error_detail());
	is(lh_release(lh, &l), 0, "released");
}

static void
sessions(void)
{
	struct lh_session_opts o = LH_SESSION_OPTS_INIT;
	struct lh *other = t_open(s->table);
	struct lh_session *se;
	struct lh_lease l, m;
	uint64_t token;

	plain();
	is(lh_session_open(lh, "s", &o, &se), 0, "a session");
	more.session = se;
	is(acquire("cluster:s", &l), 0, "acquired into it: %s",
	    lh_error_detail());
	ends_with_it(&l, "in a session");
	is(lh_verify(other, &l), 0, "anybody may present it");
	is(lh_lease_recall(other, "cluster:s", l.id, l.token, &m), 0,
	    "and recall it");
	ends_with_it(&m, "recalled");
	token = l.token;
	is(lh_handoff(lh, &l, NULL), 0, "handed over: %s", lh_error_detail());
	ends_with_it(&l, "handed over");
	ok(l.token > token && lh_verify(lh, &l) == 0, "held, larger token");
	t_shim_lose(s);
	is(lh_handoff(lh, &l, se), -ESTALE, "not when it is lost: %s",
	    lh_error_detail());
	is(lh_session_destroy(se), 0, "the session ends");
	lh_session_close(se);
	lh_close(other);
	t_shim_kill(s);
	s->beats = 1;
	t_shim_start(s);
}

/* A revision has 2^20 tokens, of which each start uses up to 2^12. */
static void
anchors(void)
{
	struct lh_key *k;
	struct lh_lease l = { 0 };
	uint64_t last = 0;
	int i;

	is(lh_key_open(lh, "cluster:a", 0, &k), 0, "opened");
	for (i = 0; i < 1100000; i++) {
		if (lh_key_acquire(k, NULL, &l) != 0 || l.token <= last)
			break;
		last = l.token;
		if (lh_release(lh, &l) != 0)
			break;
	}
	is(i, 1100000, "more grants than a revision has tokens: %s",
	    i < 1100000 ? lh_error_detail() : "");
	cmp(s->anchors.count, >, 0, "the shim learned of it in time");
	cmp(s->reanchors.count, >, 0, "and asked, as it did nothing");
	is(lh_key_close(k), 0, "closed");
}

static int
see(const struct lh_key_info *info, void *arg)
{
	*(struct lh_key_info *)arg = *info;
	return info->elsewhere != NULL && strstr(info->elsewhere, "host b") !=
	    NULL ? 7 : 0;
}

static void
told(void)
{
	struct lh_stats before = { .size = sizeof(before) }, after = before;
	struct lh_key_info info;
	struct lh_lease l;

	plain();
	is(acquire("cluster:t", &l), 0, "acquired");
	is(lh_status(lh, "cluster:t", l.id, see, &info), 7,
	    "status: the shim's words are there");
	is(info.cluster, LH_CLUSTER_EXCLUSIVE, "and this host's right");
	is(info.scope, LH_QUORUM, "its scope");
	ok(info.cluster_left_ns > 0, "for how long");
	is(lh_explain(lh, "cluster:t", see, &info), 7, "explain, too");
	is(lh_list(lh, "cluster:t", see, &info), 0, "a list asks nobody");
	is(info.cluster, LH_CLUSTER_EXCLUSIVE, "but shows the right");
	t_shim_lose(s);
	is(lh_status(lh, "cluster:t", l.id, see, &info), -ESTALE,
	    "it does not hold it any more");
	t_shim_kill(s);
	is(lh_stats(lh, &before), 0, "counters");
	is(acquire("cluster:t", &l), -EHOSTUNREACH, "no cluster");
	is(lh_stats(lh, &after), 0, "counters");
	is(after.counters.away - before.counters.away, 1, "that is counted");
	is(after.counters.busy - before.counters.busy, 0, "and not as busy");
	is(lh_status(lh, "cluster:t", NULL, see, &info), 0,
	    "status without a shim says what is known here");
	is(info.cluster, LH_CLUSTER_NONE, "no right");
	is(lh_status(lh, "plain", NULL, see, &info), -ENOENT, "a local key");
	is(lh_acquire(lh, "plain", NULL, &l), 0, "held");
	is(lh_status(lh, "plain", NULL, see, &info), 0, "needs no right");
	is(info.cluster, LH_CLUSTER_LOCAL, "and has none");
	is(lh_release(lh, &l), 0, "released");
}

static void
play(void)
{
	const char *table = t_table();

	lh = t_open(table);
	s = t_shim(table);
	s->ttl_ms = t_long(3000);
	t_sleep_ms(50);
	requests();
	holders();
	values();
	policies();
	sessions();
	anchors();
	told();
	t_close(lh);
}

int
main(void)
{
	t_part(play, 2000, "cluster wishes");
	return done();
}
