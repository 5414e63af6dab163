/* SPDX-License-Identifier: MIT */
/*
 * G11, G12: shared mode and what callers may get wrong.  There are unknown
 * modes, and shared leases that are zeroes, ones, noise, or a good one with
 * each bit of each field altered in turn, the mode among them.  They are
 * presented to release, extend, verify and convert.  Each gets a documented
 * error with a reason; nothing changes, and the good ones are as good as
 * before.
 *
 * The good one is once the only reader, once among several, since the lock
 * word then names another.  expires_ns and notes do not identify
 * a lease; altering them must not reach another lease.
 */
#include <errno.h>
#include "behaviour/readers.h"

static struct lh *lh;
static struct lh_lease good, neighbour, writer;
static int holders;

static bool
refusal(int r)
{
	return r == -EINVAL || r == -EPERM || r == -ESTALE;
}

/* Whether the good ones are. */
static bool
as_before(void)
{
	return lh_verify(lh, &good) == 0 && lh_verify(lh, &neighbour) == 0 &&
	    lh_verify(lh, &writer) == 0;
}

enum call { VERIFY, EXTEND, UP, DOWN, RELEASE, CALLS };

static int
call(enum call what, struct lh_lease *l)
{
	switch (what) {
	case VERIFY:
		return lh_verify(lh, l);
	case EXTEND:
		return lh_extend(lh, l, 5000);
	case UP:
		return lh_convert(lh, l, LH_EXCLUSIVE);
	case DOWN:
		return lh_convert(lh, l, LH_SHARED);
	default:
		return lh_release(lh, l);
	}
}

/* Present l to each call; how many did not refuse it, or not properly. */
static int
present(const struct lh_lease *l)
{
	struct lh_lease copy;
	int wrong = 0;

	for (int what = 0; what < CALLS; what++) {
		int r;

		copy = *l;
		r = call(what, &copy);
		if (!refusal(r) || !t_has_detail() ||
		    memcmp(&copy, l, sizeof(copy)) != 0) {
			diag("call %d: %d", what, r);
			wrong++;
		}
	}
	if (!as_before()) {
		diag("a good lease is gone");
		wrong++;
	}
	return wrong;
}

static void
filled(int byte, const char *what)
{
	struct lh_lease l;

	memset(&l, byte, sizeof(l));
	is(present(&l), 0, "%s: refused by each call", what);
}

static void
altered(const struct lh_lease *from, size_t off, size_t len, const char *name)
{
	const struct lh_lease *others[] = { &good, &neighbour, &writer };
	int wrong = 0, n = 0;
	struct lh_lease l;

	for (size_t bit = 0; bit < len * 8; bit++, n++) {
		l = *from;
		((unsigned char *)&l)[off + bit / 8] ^=
		    (unsigned char)(1u << bit % 8);
		wrong += present(&l);
	}
	for (int fill = 0; fill < 256; fill += 51) {
		l = *from;
		memset((char *)&l + off, fill, len);
		if (memcmp(&l, from, sizeof(l)) == 0)
			continue;
		wrong += present(&l);
		n++;
	}
	/* the others', which are real values */
	for (int i = 0; i < 3; i++) {
		l = *from;
		memcpy((char *)&l + off, (const char *)others[i] + off, len);
		if (memcmp(&l, from, sizeof(l)) == 0)
			continue;
		wrong += present(&l);
		n++;
	}
	is(wrong, 0, "%s altered in %d ways: refused", name, n);
	is(t_holders(lh, "k"), holders, "as many read as before");
}

static void
identity(const struct lh_lease *from)
{
#define FIELD(f) altered(from, offsetof(struct lh_lease, f), \
	sizeof(from->f), #f)
	FIELD(id[0]);
	FIELD(id[1]);
	FIELD(token);
	FIELD(key);
	FIELD(opaque);
	FIELD(mode);
}

/* Fields that only inform: whatever they say, no other lease is touched. */
static void
told(size_t off, size_t len, const char *name)
{
	struct lh_lease l;
	int other = 0, r;

	for (size_t bit = 0; bit < len * 8; bit++) {
		l = good;
		((unsigned char *)&l)[off + bit / 8] ^=
		    (unsigned char)(1u << bit % 8);
		r = lh_verify(lh, &l);
		other += r != 0 && !refusal(r);
		r = lh_extend(lh, &l, HOUR_MS);
		other += r != 0 && !refusal(r);
		r = lh_convert(lh, &l, LH_SHARED);
		other += r != 0 && !refusal(r);
		other += !as_before();
	}
	is(other, 0, "%s altered: of no consequence, or refused", name);
}
#define TOLD(f) told(offsetof(struct lh_lease, f), sizeof(good.f), #f)

static void
noise(void)
{
	unsigned seed = 54321;
	int wrong = 0;

	filled(0, "zeroes");
	filled(0xff, "ones");
	filled(0x5a, "a pattern");
	for (int i = 0; i < 300; i++) {
		struct lh_lease l;

		for (size_t j = 0; j < sizeof(l); j++)
			((unsigned char *)&l)[j] =
			    (unsigned char)(rand_r(&seed) >> 7);
		/* some claim to be of this session, shared, and whole */
		if (i & 1)
			l.id[0] = good.id[0];
		if (i & 2)
			l.mode = LH_SHARED;
		if (i & 4)
			l.opaque = good.opaque;
		if (i & 8)
			l.key = good.key;
		wrong += present(&l);
	}
	is(wrong, 0, "noise: refused");
}

static void
modes(void)
{
	static const uint32_t none[] = { 2, 3, 0x100, 0x10001, 0x80000000u,
		UINT32_MAX };
	struct lh_acquire_opts o = t_opts(1000, 0);
	struct lh_lease l, blank, copy = good;

	memset(&l, 0x5a, sizeof(l));
	blank = l;
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		o.mode = none[i];
		is(lh_acquire(lh, "new", &o, &l), -EINVAL, "mode %#x",
		    none[i]);
		ok(t_has_detail(), "with a reason");
		is(lh_acquire(lh, "k", &o, &l), -EINVAL, "of a held key");
		ok(memcmp(&l, &blank, sizeof(l)) == 0, "no lease");
		is(lh_convert(lh, &copy, none[i]), -EINVAL, "convert to it");
		ok(t_has_detail(), "with a reason");
		ok(memcmp(&copy, &good, sizeof(copy)) == 0, "nothing changed");
	}
	o.mode = LH_SHARED;
	o.flags = LH_NO_CREATE;
	is(lh_acquire(lh, "new", &o, &l), -ENOENT, "none of it made a key");
	o.flags = 0;
	o.ttl_ms = 0;
	is(lh_acquire(lh, "k", &o, &l), -EINVAL, "shared, with ttl 0");
	o.ttl_ms = LH_TTL_MAX_MS + 1;
	is(lh_acquire(lh, "k", &o, &l), -EINVAL, "with too long a ttl");
	o.ttl_ms = 1000;
	o.max_wait_ms = -1;
	is(lh_acquire(lh, "k", &o, &l), -EINVAL, "with a wait of -1");
	o.max_wait_ms = 0;
	is(lh_acquire(lh, "", &o, &l), -EINVAL, "of an empty key");
	is(lh_acquire(lh, "k", &o, NULL), -EINVAL, "without a lease");
	ok(memcmp(&l, &blank, sizeof(l)) == 0, "no lease in all that");
	is(t_holders(lh, "k"), holders, "as many read as before");
}

static void
null_and_times(void)
{
	static const int64_t ttls[] = { 0, -1, INT64_MIN, INT64_MAX,
		LH_TTL_MAX_MS + 1 };
	struct lh_lease l = good;

	is(lh_convert(lh, NULL, LH_SHARED), -EINVAL, "convert of nothing");
	ok(t_has_detail(), "with a reason");
	is(lh_convert(NULL, &l, LH_SHARED), -EINVAL, "without a table");
	for (size_t i = 0; i < sizeof(ttls) / sizeof(ttls[0]); i++) {
		is(lh_extend(lh, &l, ttls[i]), -EINVAL, "extend by %lld",
		    (long long)ttls[i]);
		ok(memcmp(&l, &good, sizeof(l)) == 0, "nothing changed");
	}
	ok(as_before(), "the leases are held");
}

static void
all_of_it(int n, const char *what)
{
	holders = n;
	diag("%s", what);
	noise();
	identity(&good);
	TOLD(expires_ns);
	TOLD(notes);
	modes();
	null_and_times();
	is(t_holders(lh, "k"), n, "%s: %d read", what, n);
}

int
main(void)
{
	const char *table = t_table();
	struct lh *other = t_open(table);
	struct lh_lease elder, younger;

	lh = t_open(table);
	neighbour = t_read_hold(lh, "l");
	writer = t_hold(lh, "m");
	good = t_read_hold(lh, "k");
	all_of_it(1, "the only reader");
	is(lh_release(lh, &good), 0, "released");

	elder = t_read_hold(other, "k");
	good = t_read_hold(lh, "k");
	younger = t_read_hold(other, "k");
	all_of_it(3, "among others");
	is(lh_verify(other, &elder), 0, "the elder is as good as before");
	is(lh_verify(other, &younger), 0, "the younger, too");
	/* a writer's lease that claims to be a reader's */
	identity(&writer);
	is(lh_release(lh, &good), 0, "the good one is released");
	is(lh_release(lh, &neighbour), 0, "its neighbour");
	is(lh_release(lh, &writer), 0, "and the writer");
	is(lh_release(other, &elder), 0, "and the elder");
	is(lh_release(other, &younger), 0, "and the younger");
	is(lh_close(other), 0, "closed");
	t_close(lh);
	return done();
}
