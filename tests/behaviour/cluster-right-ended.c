/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G3: a lease of a cluster key ends with this host's right, also if
 * nobody has looked at it since, under each policy, and in a named session.
 * Then lh_status(), lh_list() and lh_explain() say of it that it has ended, and
 * when, and that is always the same moment.  lh_dump() says the same.  A busy
 * key's sentence tells the end with the right, and later that it has ended.
 *
 * Otherwise an operator would see a key as held here for hours while another
 * host has it, because the shim of this one has died.
 */
#include <errno.h>
#include <string.h>
#include "support/shim.h"
#include "support/support.h"
#include "tap.h"

static const char *table;

static bool
says(const char *words)
{
	return strstr(lh_error_detail(), words) != NULL;
}

struct seen {
	uint32_t flags;
	int64_t expires_ns;
	uint32_t others, n;
};

static int
see(const struct lh_key_info *info, void *arg)
{
	struct seen *s = arg;

	*s = (struct seen){ .others = info->others, .n = info->n_holders };
	if (info->n_holders > 0) {
		s->flags = info->holders[0].flags;
		s->expires_ns = info->holders[0].expires_ns;
	}
	return 0;
}

static int
see_in_dump(const struct lh_dump_key *k, void *arg)
{
	return strcmp(k->info->key, "cluster:k0") == 0 ? see(k->info, arg) : 0;
}

static bool
has_ended(struct lh *lh, const char *key)
{
	struct seen s;

	return lh_status(lh, key, NULL, see, &s) == 0 &&
	    (s.flags & LH_PARTY_RIGHT_ENDED) != 0;
}

/* Each way to look at the key says the same. */
static void
all_say(struct lh *lh, const char *key, int64_t granted_ns)
{
	const struct lh_dump_to to = { sizeof(to), NULL, NULL, see_in_dump,
	    NULL };
	struct seen s, again;

	is(lh_status(lh, key, NULL, see, &s), 0, "%s: status", key);
	ok(s.flags & LH_PARTY_RIGHT_ENDED, "it has ended");
	is(s.flags & LH_PARTY_ENDS_WITH_RIGHT, 0, "and does not end again");
	is(s.others, LH_OTHERS_UNKNOWN, "not known who has it");
	cmp(s.expires_ns, >, granted_ns, "after it was granted");
	cmp(s.expires_ns, <=, lh_clock_ns(lh), "it ended before now");
	t_sleep_ms(30);
	is(lh_explain(lh, key, see, &again), 0, "explain");
	ok(again.flags & LH_PARTY_RIGHT_ENDED, "the same");
	cmp(again.expires_ns - s.expires_ns, <, T_NS_PER_MS, "at the same "
	    "moment");
	cmp(s.expires_ns - again.expires_ns, <, T_NS_PER_MS, "and not before");
	is(lh_list(lh, key, see, &again), 0, "list");
	ok(again.flags & LH_PARTY_RIGHT_ENDED, "the same");
	if (strcmp(key, "cluster:k0") != 0)
		return;
	is(lh_dump(table, NULL, 0, &to, &again), 0, "dump");
	ok(again.flags & LH_PARTY_RIGHT_ENDED, "the same");
}

/* A named session lives on, and says that its lease is lost. */
static void
session_says(struct lh *lh, struct lh_session *s, const struct lh_lease *l)
{
	struct lh_session_info info = { .size = sizeof(info) };
	struct lh_lease back;

	cmp(lh_session_renew(s), >, 0, "the session lives");
	is(lh_session_info(s, &info), 0, "its info");
	is(info.lost, 1, "a lease in it is lost");
	is(info.leases, 1, "the other one is not");
	is(lh_verify_token(lh, "cluster:n", l->token), -ESTALE, "no such "
	    "token now");
	ok(says("another host may have it"), "and why: %s", lh_error_detail());
	is(lh_lease_recall(lh, "cluster:n", l->id, l->token, &back), -ESTALE,
	    "the lease cannot be recalled");
	ok(says("right to it in the cluster has ended"), "and why: %s",
	    lh_error_detail());
	is(lh_session_info(s, &info), 0, "its info");
	is(info.lost, 0, "it has left the table");
	is(lh_session_destroy(s), 0, "destroyed");
	lh_session_close(s);
}

/* A lease in the session on that key. */
static void
hold_in(struct lh *lh, struct lh_session *s, const char *key,
    struct lh_lease *l)
{
	struct lh_acquire_opts o = t_opts(t_long(600000), t_long(5000));

	is(lh_acquire(lh, key, &o, l), 0, "%s: held", key);
	is(lh_handoff(lh, l, s), 0, "in a named session");
}

int
main(void)
{
	static const uint32_t policies[] = { LH_POLICY_LEASE, LH_POLICY_STRICT,
	    LH_POLICY_LIVE };
	struct lh_acquire_opts o = t_opts(t_long(600000), t_long(5000));
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_lease l[3], shared, named, local;
	struct lh_session_opts so = LH_SESSION_OPTS_INIT;
	struct lh_session *session;
	struct lh *lh, *other;
	char key[] = "cluster:k0";
	struct t_shim *s;
	int64_t granted_ns;

	table = t_table();
	lh = t_open(table);
	other = t_open(table);
	s = t_shim(table);
	s->ttl_ms = t_long(1500);
	t_sleep_ms(50);
	granted_ns = lh_clock_ns(lh);
	for (int i = 0; i < 3; i++) {
		key[sizeof(key) - 2] = (char)('0' + i);
		more.policy = policies[i];
		o.more = &more;
		is(lh_acquire(lh, key, &o, &l[i]), 0, "policy %u: held",
		    policies[i]);
	}
	o = t_opts(t_long(600000), t_long(5000));
	o.mode = LH_SHARED;
	is(lh_acquire(lh, "cluster:s", &o, &shared), 0, "and shared");

	so.ttl_ms = t_long(600000);
	is(lh_session_open(lh, "job", &so, &session), 0, "a named session");
	hold_in(lh, session, "cluster:n", &named);
	hold_in(lh, session, "local", &local);
	is(lh_destroy(other, "cluster:k0"), -EBUSY, "in use");
	ok(says("with this host's right to the key, unless the cluster "
	    "confirms that"), "until when: %s", lh_error_detail());

	t_shim_kill(s);
	for (int i = 0; i < 200 && !has_ended(lh, "cluster:k0"); i++)
		t_sleep_ms(50);
	for (int i = 0; i < 3; i++) {
		key[sizeof(key) - 2] = (char)('0' + i);
		all_say(lh, key, granted_ns);
	}
	all_say(lh, "cluster:s", granted_ns);
	is(lh_destroy(other, "cluster:k1"), -EBUSY, "in use in the table");
	ok(says("is not held here any more"), "it says so: %s",
	    lh_error_detail());
	ok(says("another host may have it"), "and who may");
	session_says(lh, session, &named);
	is(lh_verify(lh, &l[0]), -ESTALE, "the lease is lost");
	t_close(other);
	t_close(lh);
	return done();
}
