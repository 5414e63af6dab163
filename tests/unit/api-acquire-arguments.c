/* SPDX-License-Identifier: MIT */
/*
 * Acquiring, by name and by opened key: every argument at both sides of its
 * limits.  A refused call writes no lease, changes nothing in the table, makes
 * no key, and says why.
 */
#include <errno.h>
#include <limits.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define KNOWN (LH_NO_CREATE | LH_SHAREABLE | LH_NO_DEADLOCK | LH_EXPLAIN | \
	       LH_ROBUST)

static struct lh *lh;
static struct lh_key *key;

static uint32_t
n_keys(void)
{
	struct lh_stats st = { .size = sizeof(st) };

	if (lh_stats(lh, &st) != 0)
		bail_out("%s", lh_error_detail());
	return st.keys;
}

static void
refused_key(const char *name, int want, const char *what)
{
	struct lh_acquire_opts o = t_opts(1000, 0);
	struct lh_lease l, blank;
	struct lh_key *k = NULL;
	uint32_t before = n_keys();

	memset(&l, 0x5a, sizeof(l));
	blank = l;
	is(lh_acquire(lh, name, &o, &l), want, "%s: acquire", what);
	ok(t_has_detail(), "%s: with a reason", what);
	ok(memcmp(&l, &blank, sizeof(l)) == 0, "%s: no lease", what);
	is(lh_key_open(lh, name, 0, &k), want, "%s: open", what);
	ok(k == NULL, "%s: no key", what);
	is(lh_key_create(lh, name), want, "%s: create", what);
	is(lh_verify_token(lh, name, 1), want, "%s: verify", what);
	is(n_keys(), before, "%s: nothing was made", what);
}

/* By name for a new key, by name for the free key, and by opened key. */
static void
refused(const struct lh_acquire_opts *o, int want, const char *what)
{
	struct lh_lease l, blank;
	uint32_t before = n_keys();

	memset(&l, 0x5a, sizeof(l));
	blank = l;
	is(lh_acquire(lh, "never made", o, &l), want, "%s: a new key", what);
	ok(t_has_detail(), "%s: with a reason", what);
	is(n_keys(), before, "%s: which is not made", what);
	is(lh_acquire(lh, "k", o, &l), want, "%s: by name", what);
	is(lh_key_acquire(key, o, &l), want, "%s: by key", what);
	ok(t_has_detail(), "%s: with a reason", what);
	ok(memcmp(&l, &blank, sizeof(l)) == 0, "%s: no lease", what);
	is(t_holders(lh, "k"), 0, "%s: it is free", what);
}

static void
accepted(const struct lh_acquire_opts *o, const char *what)
{
	struct lh_lease l;
	int r;

	if (is(lh_acquire(lh, "k", o, &l), 0, "%s: by name", what))
		is(lh_release(lh, &l), 0, "%s: released", what);
	r = lh_key_acquire(key, o, &l);
	if (is(r, 0, "%s: by key", what))
		is(lh_release(lh, &l), 0, "%s: released", what);
}

static void
keys(void)
{
	char name[300];

	refused_key("", -EINVAL, "an empty key");
	refused_key(NULL, -EINVAL, "no key");
	memset(name, 'x', sizeof(name));
	name[256] = '\0';
	refused_key(name, -ENAMETOOLONG, "a key of 256 bytes");
	name[256] = 'x';
	name[299] = '\0';
	refused_key(name, -ENAMETOOLONG, "a key of 299 bytes");
	name[255] = '\0';
	is(lh_key_create(lh, name), 0, "a key of 255 bytes");
	name[1] = '\0';
	is(lh_key_create(lh, name), 0, "a key of one");
}

static void
times(void)
{
	struct lh_acquire_opts o = t_opts(0, 0);

	refused(&o, -EINVAL, "ttl 0");
	o.ttl_ms = -1;
	refused(&o, -EINVAL, "ttl -1");
	o.ttl_ms = INT64_MIN;
	refused(&o, -EINVAL, "the least ttl");
	o.ttl_ms = LH_TTL_MAX_MS + 1;
	refused(&o, -EINVAL, "a ttl above 30 days");
	o.ttl_ms = (int64_t)31 * 24 * 3600 * 1000;
	refused(&o, -EINVAL, "31 days");
	o.ttl_ms = INT64_MAX;
	refused(&o, -EINVAL, "the largest ttl");
	o.ttl_ms = LH_TTL_MAX_MS;
	accepted(&o, "30 days");
	o.ttl_ms = 60000;
	o.max_wait_ms = -1;
	refused(&o, -EINVAL, "a wait of -1");
	o.max_wait_ms = INT64_MIN;
	refused(&o, -EINVAL, "the least wait");
	o.max_wait_ms = LH_WAIT_FOREVER;
	accepted(&o, "a wait for ever");
	o.max_wait_ms = LH_WAIT_FOREVER - 1;
	accepted(&o, "a wait for almost ever");
	o.max_wait_ms = 0;
	o.deadline_ns = INT64_MAX;
	accepted(&o, "the last deadline");
	o.deadline_ns = -1;
	refused(&o, -EINVAL, "a negative deadline");
}

static void
choices(void)
{
	struct lh_acquire_opts o = t_opts(1000, 0);

	o.mode = 2;
	refused(&o, -EINVAL, "an unknown mode");
	o.mode = UINT32_MAX;
	refused(&o, -EINVAL, "an absurd mode");
	o.mode = LH_EXCLUSIVE;
	o.scope = LH_LOCAL;
	refused(&o, -EOPNOTSUPP, "scope local without a fence file");
	o.scope = LH_QUORUM;
	refused(&o, -EOPNOTSUPP, "scope quorum");
	o.scope = 3;
	refused(&o, -EINVAL, "an unknown scope");
	o.scope = UINT32_MAX;
	refused(&o, -EINVAL, "an absurd scope");
	o.scope = LH_EPHEMERAL;
	o.flags = LH_NO_CREATE;
	accepted(&o, "LH_NO_CREATE for a key that exists");
	for (int bit = 0; bit < 32; bit++) {
		struct lh_lease l;

		o.flags = 1u << bit;
		if (o.flags & KNOWN)
			continue;
		if (lh_acquire(lh, "k", &o, &l) != -EINVAL ||
		    lh_key_acquire(key, &o, &l) != -EINVAL || !t_has_detail())
			fail("flag %#x is unknown", o.flags);
	}
	o.flags = KNOWN;
	accepted(&o, "all that are known");
	o.flags = LH_NO_CREATE | 1u << 30;
	refused(&o, -EINVAL, "an unknown flag beside a known one");
	o.flags = LH_NO_CREATE;
	{
		struct lh_lease l;
		uint32_t before = n_keys();

		is(lh_acquire(lh, "not there", &o, &l), -ENOENT,
		    "LH_NO_CREATE for a new key");
		ok(t_has_detail(), "with a reason");
		is(n_keys(), before, "which is not made");
	}
	o.flags = 0;
	o.priority = UINT32_MAX;
	accepted(&o, "the highest priority");
}

static void
structs(void)
{
	struct lh_acquire_opts o = t_opts(1000, 0);
	struct lh_lease l;
	int64_t ttl_ns;

	o.size = 0;
	refused(&o, -EINVAL, "size 0");
	o.size = sizeof(o) - 1;
	refused(&o, -EINVAL, "a size too small");
	o.size = sizeof(o) + 8;
	refused(&o, -EINVAL, "a size too large");
	o.size = SIZE_MAX;
	refused(&o, -EINVAL, "a size that is none");
	o = t_opts(1000, 0);
	is(lh_acquire(lh, "k", &o, NULL), -EINVAL, "nowhere for the lease");
	ok(t_has_detail(), "with a reason");
	is(lh_key_acquire(key, &o, NULL), -EINVAL, "by key neither");
	ok(t_has_detail(), "with a reason");
	is(lh_acquire(NULL, "k", &o, &l), -EINVAL, "no table");
	ok(t_has_detail(), "with a reason");
	is(lh_key_acquire(NULL, &o, &l), -EINVAL, "no opened key");
	ok(t_has_detail(), "with a reason");
	is(t_holders(lh, "k"), 0, "it is free after all of it");
	/* the defaults: half a minute, exclusive */
	is(lh_acquire(lh, "k", NULL, &l), 0, "no options: the defaults");
	ttl_ns = l.expires_ns - t_acquired_ns(lh, &l);
	cmp(ttl_ns, >=, 29990 * T_NS_PER_MS, "ttl 30 s");
	cmp(ttl_ns, <=, 30010 * T_NS_PER_MS, "ttl 30 s");
	is(l.mode, LH_EXCLUSIVE, "exclusive");
	is_u64(l.id[0], lh_session_id(lh), "of this session");
	is(lh_release(lh, &l), 0, "released");
}

static void
opened_keys(void)
{
	struct lh_key *k = NULL;

	is(lh_key_open(lh, "k", 1, &k), -EINVAL, "an unknown flag at opening");
	ok(t_has_detail(), "with a reason");
	is(lh_key_open(lh, "k", 4, &k), -EINVAL, "another");
	is(lh_key_open(lh, "k", LH_NO_CREATE | 1u << 31, &k), -EINVAL,
	    "and beside a known one");
	ok(k == NULL, "no key is written");
	is(lh_key_open(lh, "k", 0, NULL), -EINVAL, "nowhere for the key");
	is(lh_key_open(NULL, "k", 0, &k), -EINVAL, "no table");
	is(lh_key_create(NULL, "k"), -EINVAL, "no table to make it in");
	is(lh_key_close(NULL), -EINVAL, "nothing to close");
	ok(t_has_detail(), "with a reason");
}

/* As it was granted at once a moment ago, but for one thing. */
static void
refused_at_once(struct lh_key *k, struct lh_acquire_opts o, int want,
    const char *what)
{
	struct lh_acquire_opts good = t_opts(30000, 0);
	struct lh_lease l;

	for (int i = 0; i < 3; i++)
		if (lh_key_acquire(k, &good, &l) != 0 ||
		    lh_release(lh, &l) != 0)
			fail("%s: %s", what, lh_error_detail());
	is(lh_key_acquire(k, &o, &l), want, "%s, after good ones", what);
}

/* A thread whose ttls were too short for the fast path: it has seen none. */
static void *
fresh(void *arg)
{
	struct lh_acquire_opts o = t_opts(50, 0);
	struct lh_lease l;

	is(lh_key_acquire(arg, &o, &l), 0, "acquired");
	is(lh_release(lh, &l), 0, "released");
	o.ttl_ms = -1;
	is(lh_key_acquire(arg, &o, &l), -EINVAL, "a ttl of -1 ms");
	return NULL;
}

static void
after_good_ones(void)
{
	struct lh_acquire_opts o = t_opts(-1, 0);
	struct lh_cancel cancel = LH_CANCEL_INIT;
	struct lh_key *k;

	is(lh_key_open(lh, "again", 0, &k), 0, "a key");
	t_join(t_thread(fresh, k));
	refused_at_once(k, o, -EINVAL, "a ttl of -1 ms");
#define WITH(field, value, want) \
	o = t_opts(30000, 0); o.field = value; \
	refused_at_once(k, o, want, #field " = " #value)
	WITH(size, 0, -EINVAL);
	WITH(size, sizeof(o) - 8, -EINVAL);
	WITH(mode, 2, -EINVAL);
	WITH(scope, LH_LOCAL, -EOPNOTSUPP);
	WITH(scope, LH_QUORUM, -EOPNOTSUPP);
	WITH(scope, 3, -EINVAL);
	WITH(flags, 0x80, -EINVAL);
	WITH(flags, LH_NO_CREATE | 0x80000000u, -EINVAL);
	WITH(ttl_ms, 0, -EINVAL);
	WITH(ttl_ms, LH_TTL_MAX_MS + 1, -EINVAL);
	WITH(max_wait_ms, -1, -EINVAL);
	WITH(deadline_ns, -1, -EINVAL);
	is(lh_cancel(&cancel), 0, "a switch is thrown");
	WITH(cancel, &cancel, -ECANCELED);
	is(lh_key_close(k), 0, "closed");
}

int
main(void)
{
	lh = t_open(t_table());
	is(lh_key_open(lh, "k", 0, &key), 0, "opened");
	keys();
	times();
	choices();
	structs();
	opened_keys();
	is(lh_key_close(key), 0, "closed");
	after_good_ones();
	t_close(lh);
	return done();
}
