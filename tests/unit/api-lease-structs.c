/* SPDX-License-Identifier: MIT */
/*
 * G11, G12: the lease struct is the caller's memory and may hold anything.
 * Release, extend and verify are given zeroes, ones, noise, every field of a
 * good one altered in turn in several ways, and NULL: refused with a reason,
 * nothing changed, and the good one is as good as before.
 *
 * expires_ns, mode and notes do not identify a lease; altering them may be
 * refused or be of no consequence, but must not reach another lease.
 */
#include <errno.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

static struct lh *lh;
static struct lh_lease good, neighbour;

static bool
refusal(int r)
{
	return r == -EINVAL || r == -EPERM || r == -ESTALE;
}

/* Present l to each call; how many did not refuse it, or not properly. */
static int
present(const struct lh_lease *l)
{
	struct lh_lease copy = *l;
	int wrong = 0, r;

	r = lh_verify(lh, &copy);
	if (!refusal(r) || !t_has_detail()) {
		diag("verify: %d", r);
		wrong++;
	}
	copy = *l;
	r = lh_extend(lh, &copy, 5000);
	if (!refusal(r) || !t_has_detail() ||
	    memcmp(&copy, l, sizeof(copy)) != 0) {
		diag("extend: %d", r);
		wrong++;
	}
	copy = *l;
	r = lh_release(lh, &copy);
	if (!refusal(r) || !t_has_detail() ||
	    memcmp(&copy, l, sizeof(copy)) != 0) {
		diag("release: %d", r);
		wrong++;
	}
	if (lh_verify(lh, &good) != 0 || lh_verify(lh, &neighbour) != 0) {
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
altered(size_t off, size_t len, const char *name)
{
	int wrong = 0, n = 0;
	struct lh_lease l;

	for (size_t bit = 0; bit < len * 8; bit++) {
		l = good;
		((unsigned char *)&l)[off + bit / 8] ^=
		    (unsigned char)(1u << bit % 8);
		wrong += present(&l);
		n++;
	}
	for (int fill = 0; fill < 256; fill += 51) {
		l = good;
		memset((char *)&l + off, fill, len);
		if (memcmp(&l, &good, sizeof(l)) == 0)
			continue;
		wrong += present(&l);
		n++;
	}
	/* the neighbour's, which is a real value */
	l = good;
	memcpy((char *)&l + off, (char *)&neighbour + off, len);
	if (memcmp(&l, &good, sizeof(l)) != 0) {
		wrong += present(&l);
		n++;
	}
	is(wrong, 0, "%s altered in %d ways: refused", name, n);
}

static void
identity(void)
{
#define FIELD(f) altered(offsetof(struct lh_lease, f), sizeof(good.f), #f)
	FIELD(id[0]);
	FIELD(id[1]);
	FIELD(token);
	FIELD(key);
	FIELD(opaque);
}

#define TOLD(f) told(offsetof(struct lh_lease, f), sizeof(good.f), #f)

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
		r = lh_extend(lh, &l, 3600000);
		other += r != 0 && !refusal(r);
		other += lh_verify(lh, &neighbour) != 0;
		other += lh_verify_token(lh, "k", good.token) != 0;
	}
	is(other, 0, "%s altered: of no consequence, or refused", name);
}

static void
null_and_times(void)
{
	struct lh_lease l = good;
	static const int64_t ttls[] = { 0, -1, INT64_MIN, INT64_MAX,
		LH_TTL_MAX_MS + 1, (int64_t)31 * 24 * 3600 * 1000 };

	is(lh_release(lh, NULL), -EINVAL, "release of nothing");
	ok(t_has_detail(), "with a reason");
	is(lh_extend(lh, NULL, 1000), -EINVAL, "extend of nothing");
	ok(t_has_detail(), "with a reason");
	is(lh_verify(lh, NULL), -EINVAL, "verify of nothing");
	ok(t_has_detail(), "with a reason");
	is(lh_release(NULL, &l), -EINVAL, "release without a table");
	is(lh_extend(NULL, &l, 1000), -EINVAL, "extend without a table");
	is(lh_verify(NULL, &l), -EINVAL, "verify without a table");
	is(lh_verify_token(NULL, "k", 1), -EINVAL, "a token without a table");
	ok(t_has_detail(), "with a reason");
	for (size_t i = 0; i < sizeof(ttls) / sizeof(ttls[0]); i++) {
		is(lh_extend(lh, &l, ttls[i]), -EINVAL, "extend by %lld",
		    (long long)ttls[i]);
		ok(t_has_detail(), "with a reason");
		ok(memcmp(&l, &good, sizeof(l)) == 0, "nothing changed");
	}
	is(lh_verify(lh, &good), 0, "the lease is held");
	is(lh_verify_token(lh, "k", good.token), 0, "by its token, too");
}

int
main(void)
{
	unsigned seed = 12345;
	int wrong = 0;

	lh = t_open(t_table());
	good = t_hold(lh, "k");
	neighbour = t_hold(lh, "l");
	filled(0, "zeroes");
	filled(0xff, "ones");
	filled(0x5a, "a pattern");
	for (int i = 0; i < 500; i++) {
		struct lh_lease l;

		for (size_t j = 0; j < sizeof(l); j++)
			((unsigned char *)&l)[j] =
			    (unsigned char)(rand_r(&seed) >> 7);
		/* half of them claim to be of this session */
		if (i & 1)
			l.id[0] = good.id[0];
		wrong += present(&l);
	}
	is(wrong, 0, "noise: refused");
	identity();
	TOLD(expires_ns);
	TOLD(mode);
	TOLD(notes);
	null_and_times();
	is(lh_release(lh, &good), 0, "the good one is released");
	is(lh_release(lh, &neighbour), 0, "and its neighbour");
	t_close(lh);
	return done();
}
