/* SPDX-License-Identifier: MIT */
/*
 * Keys (leasehold/key.h): 1 to 255 bytes, any but NUL, case-sensitive, never
 * normalised.  Of a hundred thousand keys (fewer on slow runs) each is found,
 * none is taken for another, and a listing shows each once.  Hard cases: keys
 * that differ in the last of 255 bytes, or beyond the first 40; prefixes of
 * each other; upper and lower case; each byte alone.  Similar keys are held at
 * once: if two were the same key, the second would be busy.
 *
 * Otherwise two programs with different keys would exclude each other, or one
 * key would be two.
 */
#include <errno.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define MANY 100000

static struct lh *lh;

static void
name_of(char *buf, int i)
{
	/* one in five too long to be kept beside the key's word */
	if (i % 5 == 0)
		snprintf(buf, 256, "%d/%0*d", i, 60 + i % 180, i);
	else
		snprintf(buf, 256, "%d", i);
}

struct seen {
	uint8_t *times;
	int n, strangers;
};

static int
see(const struct lh_key_info *info, void *arg)
{
	struct seen *s = arg;
	char name[256];
	int i = atoi(info->key);

	name_of(name, i);
	if (i < 0 || i >= s->n || strcmp(name, info->key) != 0)
		s->strangers++;
	else
		s->times[i]++;
	return 0;
}

static void
many(void)
{
	int n = t_count(MANY, 2000), made = 0, found = 0, absent = 0, once = 0;
	struct lh_acquire_opts o = t_opts(60000, 0);
	struct lh_stats st = { .size = sizeof(st) };
	struct seen seen = { .n = n };
	struct lh_lease l;
	char name[256];
	int64_t ns;

	for (int i = 0; i < n; i++) {
		name_of(name, i);
		made += lh_key_create(lh, name) == 0;
	}
	is(made, n, "%d keys are made", n);
	o.flags = LH_NO_CREATE;
	ns = t_now_ns();
	for (int i = 0; i < n; i++) {
		/* not in the order they were made */
		name_of(name, (int)((int64_t)i * 7919 % n));
		found += lh_acquire(lh, name, &o, &l) == 0 &&
		    lh_release(lh, &l) == 0;
	}
	ns = t_now_ns() - ns;
	diag("%lld ns for each lookup, acquire and release",
	    (long long)(ns / n));
	is(found, n, "and found by name");
	for (int i = n; i < n + 1000; i++) {
		name_of(name, i);
		absent += lh_acquire(lh, name, &o, &l) == -ENOENT;
	}
	is(absent, 1000, "others are not");
	is(lh_stats(lh, &st), 0, "statistics");
	is(st.keys, n, "count them");
	seen.times = calloc((size_t)n, 1);
	is(lh_list(lh, NULL, see, &seen), 0, "listing");
	for (int i = 0; i < n; i++)
		once += seen.times[i] == 1;
	is(once, n, "tells each once");
	is(seen.strangers, 0, "and nothing else");
	free(seen.times);
}

/* Hold all of them at once, and find each under its own name again. */
static void
distinct(char (*names)[256], int n, const char *what)
{
	struct lh_lease *leases = calloc((size_t)n, sizeof(*leases));
	int taken = 0, own = 0, released = 0, other;

	for (int i = 0; i < n; i++) {
		int r = t_acquire(lh, names[i], 3600000, 0, &leases[i]);

		if (r != 0)
			diag("%s %d: %s", what, i, lh_error_detail());
		taken += r == 0;
	}
	is(taken, n, "%s: all can be held at once", what);
	for (int i = 0; i < n; i++) {
		other = (i + 1) % n;
		own += lh_verify_token(lh, names[i], leases[i].token) == 0 &&
		    (leases[i].token == leases[other].token ||
		    lh_verify_token(lh, names[i], leases[other].token) ==
		    -ESTALE);
		released += lh_release(lh, &leases[i]) == 0;
	}
	is(own, n, "%s: each has its own token", what);
	is(released, n, "%s: and is released", what);
	free(leases);
}

static int
same(const struct lh_key_info *info, void *arg)
{
	return strcmp(info->key, arg) == 0 ? 1 : 2;
}

static void
hard(void)
{
	static char names[255][256];
	int right = 0;

	for (int c = 1; c < 256; c++) {
		memset(names[c - 1], 0, 256);
		names[c - 1][0] = (char)c;
	}
	distinct(names, 255, "every byte alone");
	for (int c = 1; c < 256; c++)
		right += lh_status(lh, names[c - 1], NULL, same,
		    names[c - 1]) == 1;
	is(right, 255, "each is reported as it was given");
	for (int c = 1; c < 256; c++) {
		memset(names[c - 1], 'x', 255);
		names[c - 1][254] = (char)c;
		names[c - 1][255] = '\0';
	}
	distinct(names, 255, "the last of 255 bytes");
	for (int i = 0; i < 255; i++) {
		memset(names[i], 0, 256);
		memset(names[i], 'p', (size_t)i + 1);
	}
	distinct(names, 255, "each the beginning of the next");
	right = 0;
	for (int i = 0; i < 255; i++)
		right += lh_status(lh, names[i], NULL, same, names[i]) == 1;
	is(right, 255, "of any length each is reported as it was given");
	for (int i = 0; i < 255; i++) {
		/* the place of the difference runs over all lengths */
		memset(names[i], 'q', 255);
		names[i][255] = '\0';
		names[i][i] = 'Q';
	}
	distinct(names, 255, "upper and lower case");
}

int
main(void)
{
	struct lh_open_opts o = t_open_opts();

	o.max_keys = 131072;
	is(lh_open(&lh, t_table(), &o), 0, "a large table");
	many();
	hard();
	t_close(lh);
	return done();
}
