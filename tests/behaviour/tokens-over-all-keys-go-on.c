/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G2, LH_TOKENS_GLOBAL: one grant after another, each on an unusual
 * path: every token is larger than all before.  Eviction, expiry, operators,
 * readers that come back beside others, conversion and hand-off.  Long ways,
 * because much else was granted meanwhile, under readers as far as they can go;
 * another range on disk; removal.  Repair of a table that has lost its last
 * token, or has one that is none.
 *
 * Otherwise a token would not say which of two grants came later.
 */
#include "fence.h"
#include "support/object.h"

static const char *table;
static struct lh *lh;
static uint64_t last;

static void
larger(uint64_t token, const char *how)
{
	cmp(token, >, last, "%s: a larger token", how);
	last = token;
}

static struct lh_lease
take(const char *key, uint32_t mode, const char *how)
{
	struct lh_acquire_opts o = t_opts(3600000, 0);
	struct lh_lease l;

	o.mode = mode;
	is(lh_acquire(lh, key, &o, &l), 0, "%s: granted", how);
	larger(l.token, how);
	return l;
}

static void
let_go(struct lh_lease *l, const char *how)
{
	is(lh_verify(lh, l), 0, "%s: held", how);
	is(lh_release(lh, l), 0, "%s: released", how);
}

static void
touch(const char *key, const char *how)
{
	struct lh_lease l = take(key, LH_EXCLUSIVE, how);

	let_go(&l, how);
}

static void
begin(const struct lh_open_opts *usual)
{
	struct lh_open_opts o = *usual;

	o.flags |= LH_TOKENS_GLOBAL;
	if (lh_open(&lh, table, &o) != 0)
		bail_out("lh_open: %s", lh_error_detail());
}

static void
ends(void)
{
	struct lh_lease l, short_;

	touch("a", "the first");
	touch("b", "another key");
	touch("a", "the first key again");
	is(lh_evict(lh, NULL, 0), 2, "both are forgotten");
	touch("c", "after that");
	touch("a", "one that comes back");
	is(t_acquire(lh, "a", t_ms(10), 0, &short_), 0, "a short one");
	larger(short_.token, "a short one");
	t_sleep_until(short_.expires_ns + T_NS_PER_MS);
	touch("a", "after its expiry");
	l = take("b", LH_EXCLUSIVE, "to be broken");
	cmp(lh_break(lh, "b", NULL, 0), >=, 0, "an operator ends it");
	touch("b", "after that");
	is(lh_verify(lh, &l), -ESTALE, "it is over");
}

static void
readers(void)
{
	struct lh_lease one = take("r", LH_SHARED, "a reader"), two, three;

	for (int i = 0; i < 10; i++) {
		two = take("r", LH_SHARED, "one more");
		let_go(&two, "one more");
		touch("a", "meanwhile");
	}
	is(lh_verify(lh, &one), 0, "the first one holds it still");
	is(lh_handoff(lh, &one, NULL), 0, "a reader hands over");
	larger(one.token, "a reader hands over");
	let_go(&one, "it");
	one = take("r", LH_EXCLUSIVE, "a writer");
	is(lh_convert(lh, &one, LH_SHARED), 0, "becomes a reader");
	larger(one.token, "becomes a reader");
	three = take("r", LH_SHARED, "one beside it");
	let_go(&one, "the first");
	one = take("r", LH_SHARED, "the first again");
	let_go(&three, "the other one");
	is(lh_convert(lh, &one, LH_EXCLUSIVE), 0, "becomes a writer");
	larger(one.token, "becomes a writer");
	is(lh_handoff(lh, &one, NULL), 0, "hands over");
	larger(one.token, "hands over");
	let_go(&one, "it");
}

/* So much else was granted. */
static void
meanwhile(uint64_t tokens)
{
	struct t_object o = t_map_object(table);

	last = sh64_load(&o.h->last_token) + tokens;
	sh64_store(&o.h->ceiling, last + (UINT64_C(1) << 32));
	sh64_store(&o.h->last_token, last);
	t_unmap_object(&o);
}

static void
far(void)
{
	struct lh_acquire_opts o = t_opts(3600000, 0);
	struct lh_lease one, two, three;

	o.mode = LH_SHARED;
	for (unsigned bits = 20; bits < 56; bits += 5) {
		meanwhile(UINT64_C(1) << bits);
		touch("a", "after many");
		touch("f", "a key that was not there");
		is(lh_evict(lh, NULL, 0) > 0, true, "all are forgotten");
	}
	one = take("r", LH_SHARED, "a reader");
	meanwhile(UINT64_C(1) << 35);
	two = take("r", LH_SHARED, "joined by a late one");
	is(lh_verify(lh, &one), 0, "which the first one outlasts");
	meanwhile(UINT64_C(1) << 35);
	is(lh_acquire(lh, "r", &o, &three), -EAGAIN,
	    "one who is too late has to wait");
	is(lh_verify(lh, &one), 0, "the first holds it");
	is(lh_verify_token(lh, "r", two.token), 0, "the second, too");
	let_go(&one, "the first");
	is(lh_acquire(lh, "r", &o, &three), -EAGAIN, "as long as they read");
	let_go(&two, "the second");
	three = take("r", LH_SHARED, "then it comes");
	meanwhile(UINT64_C(1) << 37);
	is(lh_convert(lh, &three, LH_EXCLUSIVE), -EAGAIN,
	    "too far for a conversion");
	ok(t_has_detail(), "says why");
	let_go(&three, "it stays as it was");
	touch("r", "at last");
}

/* Others claim the ranges that follow, again and again. */
static void
durable(void)
{
	struct lh_open_opts o = fence_opts();
	struct lh_acquire_opts local = t_opts(3600000, 0);
	struct lh_lease l;

	table = t_table();
	last = 0;
	begin(&o);
	touch("a", "with a fence file");
	for (int i = 0; i < 3; i++) {
		touch("b", "in the range");
		t_close(lh);
		(void)fence_gap(table, i == 1 ? 90 : 5);
		begin(&o);
		touch("c", "in another range");
		touch("a", "which goes for all");
		local.scope = LH_LOCAL;
		is(lh_acquire(lh, "b", &local, &l), 0, "in scope local");
		larger(l.token, "in scope local");
		let_go(&l, "in scope local");
	}
	t_close(lh);
	is(lh_table_remove(table, 0), 0, "removed");
	begin(&o);
	touch("new", "after its removal");
	t_close(lh);
}

static void
mended(const struct lh_open_opts *usual, uint64_t token, const char *what)
{
	struct t_object o;

	t_close(lh);
	o = t_map_object(table);
	sh64_store(&o.h->last_token, token);
	cmp(lh_table_repair(table, 0, NULL, NULL), >, 0, "%s: repaired", what);
	is(lh_table_repair(table, 0, NULL, NULL), 0, "%s: sound", what);
	t_unmap_object(&o);
	begin(usual);
	touch("a", what);
	touch("new", what);
}

int
main(void)
{
	struct lh_open_opts o = t_open_opts();

	table = t_table();
	begin(&o);
	ends();
	readers();
	mended(&o, 0, "no last token");
	mended(&o, UINT64_MAX, "a last one that is none");
	mended(&o, UINT64_C(1) << 61, "one above the ceiling");
	far();
	t_close(lh);
	is(lh_table_remove(table, 0), 0, "removed");
	begin(&o);
	touch("new", "after its removal");
	t_close(lh);
	durable();
	return done();
}
