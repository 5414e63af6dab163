/* SPDX-License-Identifier: MIT */
/*
 * Rights of cluster keys, as the shim writes them and others read them, and
 * their tokens: above a base, in a space of their own (G2), and never in the
 * way of other keys' tokens, whoever had the slot before.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include "shm/session_bytes.h"
#include "op/lease_check.h"
#include "proc/attachment.h"
#include "shm/cluster_right.h"
#include "support/object.h"
#include "support/support.h"
#include "tap.h"

#define NAME "cluster:k"

static const char *table;
static struct lh *lh;
static struct lhi_view *v;

static void
begin(const struct lh_open_opts *o)
{
	if (lh_open(&lh, table, o) != 0)
		bail_out("lh_open: %s", lh_error_detail());
	v = &lh->v;
	lh->serves = true;	/* no cluster is asked */
}

static struct lhi_ref
ref_of(const struct lh_lease *l)
{
	return lhi_lease_ref(v, l);
}

static uint64_t
touch(const char *key)
{
	struct lh_lease l = t_hold(lh, key);

	if (lh_release(lh, &l) != 0)
		fail("%s: %s", key, lh_error_detail());
	return l.token;
}

/* The next tokens of NAME are above that revision's base, and near it. */
static void
raise_to(uint64_t revision, const char *what)
{
	struct lh_lease l = t_hold(lh, NAME), r;
	struct lhi_ref ref = ref_of(&l);
	struct lh_acquire_opts o = t_opts(3600000, 0);
	uint64_t base = cluster_base(revision), last = base;

	is(lhi_right_raise(v, &ref, base), 0, "%s: raised", what);
	is_u64(lhi_right_base(v, ref.slot), base, "%s: it is the base", what);
	is(lh_release(lh, &l), 0, "%s: released", what);
	for (int i = 0; i < 10; i++) {
		l = t_hold(lh, NAME);
		cmp(l.token, >, last, "%s: a larger token", what);
		last = l.token;
		is(lh_verify_token(lh, NAME, l.token), 0, "%s: which is known",
		    what);
		is(lh_release(lh, &l), 0, "%s: released", what);
	}
	cmp(last, <=, base + CLUSTER_SPARE + 10, "%s: near the base", what);
	is_u64(cluster_revision(last), revision, "%s: of that revision", what);
	o.mode = LH_SHARED;
	is(lh_acquire(lh, NAME, &o, &l), 0, "%s: a reader", what);
	is(lh_acquire(lh, NAME, &o, &r), 0, "%s: and another", what);
	cmp(r.token, >, last, "%s: with larger tokens", what);
	last = r.token;
	is(lh_release(lh, &r), 0, "%s: the second goes", what);
	is(lh_acquire(lh, NAME, &o, &r), 0, "%s: and comes back", what);
	cmp(r.token, >, last, "%s: with a token of its own", what);
	is(lh_release(lh, &r) | lh_release(lh, &l), 0, "%s: both go", what);
}

static void
bases(void)
{
	struct lh_lease l = t_hold(lh, NAME), other = t_hold(lh, "clusterk");
	struct lhi_ref ref = ref_of(&l), plain = ref_of(&other);

	ok(lhi_right_has(ref.slot), "by its name it is a cluster key");
	ok(!lhi_right_has(plain.slot), "and another is not");
	cmp(l.token, >, CLUSTER_FIRST, "its token is above 2^62");
	cmp(other.token, <, CLUSTER_FIRST, "the other's is not");
	is_u64(lhi_right_base(v, ref.slot), 0, "it has no base yet");
	is(lhi_right_raise(v, &plain, cluster_base(1)), -EINVAL,
	    "another key gets none");
	is(lhi_right_set(v, &plain, RIGHT_SHARED, 1), -EINVAL, "nor a right");
	is(lhi_right_raise(v, &ref, 1), -EINVAL, "no base at all");
	is(lhi_right_raise(v, &ref, UINT64_MAX), -EINVAL, "nor this");
	is(lhi_right_set(v, &ref, 3, 1), -EINVAL, "no such right");
	ref.slot_ref += UINT64_C(1) << 32;
	is(lhi_right_set(v, &ref, RIGHT_SHARED, 1), -ESTALE,
	    "nor of another life");
	is(lh_release(lh, &l) | lh_release(lh, &other), 0, "released");
	raise_to(1, "revision 1");
	raise_to(2, "the next one");
	raise_to(1000000, "a far one");
	raise_to(UINT64_C(1) << 32, "a very far one");
	raise_to(CLUSTER_REVISION_MAX, "the last one");
}

static void
rights(void)
{
	const uint64_t name[2] = { 1, 2 };
	struct lh_lease l = t_hold(lh, NAME);
	struct lhi_ref ref = ref_of(&l);
	uint64_t epoch = lhi_cluster_begin(v, name, 3, 4), last = l.token;
	struct lhi_cluster c;

	lhi_cluster_read(v, &c);
	ok(c.epoch == epoch && c.session[0] == 1 && c.session[1] == 2 &&
	    c.created == 3 && c.id == 4 && c.until_ns == 0, "a session");
	lhi_cluster_go_on(v, 5);
	is_u64(lhi_cluster_until(v), 5, "which goes on until then");
	is_u64(lhi_right_load(v, ref.slot), RIGHT_NONE, "there is no right");
	is(lhi_right_set(v, &ref, RIGHT_SHARED, epoch), 0, "one is set");
	is_u64(lhi_right_load(v, ref.slot), right_make(RIGHT_SHARED,
	    (uint32_t)(ref.slot_ref >> 32), epoch), "and seen");
	ok(lhi_right_now(v, ref.slot), "it is of this epoch");
	is(lh_release(lh, &l), 0, "released");
	is(lh_evict(lh, NAME, 0), 0, "a key with a right is not evicted");
	is_u64(lhi_cluster_end(v), epoch + 1, "the session ends");
	lhi_cluster_read(v, &c);
	ok(c.until_ns == 0 && c.session[0] == 0 && c.session[1] == 0,
	    "nothing is left of it");
	ok(!lhi_right_now(v, ref.slot), "the right is void");
	is(lh_evict(lh, NAME, 0), 1, "and the key can be evicted");
	l = t_hold(lh, NAME);
	cmp(l.token, >, last, "it comes back with a larger token");
	ref = ref_of(&l);
	is_u64(lhi_right_load(v, ref.slot), RIGHT_NONE, "and without a right");
	is(lh_release(lh, &l), 0, "released");
}

/* Few slots, and names of both kinds: each slot is of both in turn. */
static void
take_turns(const char *what)
{
	uint64_t last = 0, cluster = 0, t;
	struct lh_stats st = { .size = sizeof(st) };
	char name[32];

	for (int i = 0; i < 400; i++) {
		snprintf(name, sizeof(name), "%s%d", i % 3 == 0 ? "cluster:" :
		    "plain-", i % 40);
		t = touch(name);
		if (token_cluster(t) != (i % 3 == 0))
			fail("%s: '%s' has token %llu", what, name,
			    (unsigned long long)t);
		if (token_cluster(t))
			cluster = t > cluster ? t : cluster;
		else
			last = t > last ? t : last;
	}
	lh_stats(lh, &st);
	cmp(last, <, st.token_ceiling, "%s: below the ceiling", what);
	cmp(st.token_ceiling, <=, st.token_base + 40 * lhi_range_width(),
	    "%s: which has not gone far", what);
	cmp(st.token_latest, <, CLUSTER_FIRST, "%s: nor has the latest", what);
	cmp(cluster, <, CLUSTER_FIRST + (1 << 24), "%s: nor cluster keys",
	    what);
	is(t_findings(lh), 0, "%s: the table is sound", what);
}

static void
shim(void)
{
	int one = open(t_object(table), O_RDWR), two = open(t_object(table),
	    O_RDWR);
	char path[SHM_SOCKET], longest[SHM_SOCKET + 1];

	is(lhi_session_lock_shim(one), 0, "one takes the shim's byte");
	is(lhi_session_lock_shim(two), -EAGAIN, "it is taken for all");
	close(one);
	is(lhi_session_lock_shim(two), 0, "until it is gone");
	close(two);
	is(lhi_cluster_socket(v, path), false, "it listens nowhere");
	lhi_cluster_listen(v, 1, "/run/x");
	ok(lhi_cluster_socket(v, path) && strcmp(path, "/run/x") == 0,
	    "it listens there");
	memset(longest, 'x', sizeof(longest));
	longest[SHM_SOCKET] = '\0';
	lhi_cluster_listen(v, 1, longest);
	ok(lhi_cluster_socket(v, path) && strlen(path) == SHM_SOCKET - 1,
	    "a long path is cut");
	sh32_store(&v->hdr->shim_seq, 7);
	is(lhi_cluster_socket(v, path), false, "half a path is none");
}

static void
mended(const struct lh_open_opts *o)
{
	struct t_object obj;
	struct lhi_cluster c;
	struct lh_lease l;

	t_close(lh);
	obj = t_map_object(table);
	sh64_store(&obj.h->cluster_floor, 7);
	sh64_store(&obj.h->cluster_session[0], 7);
	sh64_store(&obj.h->cluster_until, INT64_MAX);
	sh64_store(&obj.rights[t_slot_of(&obj, NAME)].base, 9);
	cmp(lh_table_repair(table, 0, NULL, NULL), >, 0, "repaired");
	is(lh_table_repair(table, 0, NULL, NULL), 0, "sound");
	t_unmap_object(&obj);
	begin(o);
	lhi_cluster_read(v, &c);
	ok(c.session[0] == 0 && c.until_ns == 0, "no session is left");
	l = t_hold(lh, NAME);
	cmp(l.token, >, CLUSTER_FIRST, "the key is a cluster key still");
	is_u64(lhi_right_base(v, ref_of(&l).slot), 0, "without a base");
	is(lh_release(lh, &l), 0, "released");
	raise_to(5, "after the repair");
}

int
main(void)
{
	struct lh_open_opts o = t_open_opts();

	table = t_table();
	begin(&o);
	bases();
	is(lh_check(lh, NULL, NULL), 0, "nothing is wrong");
	t_close(lh);

	table = t_table();
	begin(&o);
	raise_to(77, "a table");
	rights();
	shim();
	mended(&o);
	t_close(lh);

	table = t_table();
	o.max_keys = 8;
	begin(&o);
	take_turns("few slots");
	t_close(lh);
	is(lh_table_remove(table, 0), 0, "removed");
	begin(&o);
	cmp(touch("plain"), <, CLUSTER_FIRST, "the next one begins low");
	t_close(lh);

	table = t_table();
	o.cluster_prefix = "";
	begin(&o);
	cmp(touch(NAME), <, CLUSTER_FIRST, "no prefix, no cluster keys");
	t_close(lh);
	return done();
}
