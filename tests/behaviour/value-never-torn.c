/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G4: values that are set all the time, by processes that are killed
 * now and then, are read whole.  Every byte of one is of the same call, and the
 * token is that of the lease under which it was set.  For one reader tokens do
 * not go back.
 *
 * Otherwise a reader would see half of one value and half of another.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define WRITERS 2
#define READERS 4
#define KEYS 2

struct board {
	const char *table;
	_Atomic int over;
	_Atomic uint64_t sets, reads;
};

static const char *const keys[KEYS] = { "a", "b" };

/* Eight bytes of the token, then one that follows from the length, again and
 * again. */
static void
fill(unsigned char *buf, size_t len, uint64_t token)
{
	memset(buf, (int)(len * 7 + token) & 0xff, len);
	memcpy(buf, &token, sizeof(token));
}

static bool
is_whole(const unsigned char *buf, size_t len, uint64_t token)
{
	unsigned char want[LH_VALUE_MAX];

	if (len < 8 || len > LH_VALUE_MAX)
		return false;
	fill(want, len, token);
	return memcmp(want, buf, len) == 0;
}

static int
writer(void *arg)
{
	struct board *b = arg;
	struct lh *lh = t_open(b->table);
	unsigned char buf[LH_VALUE_MAX];
	struct lh_lease l;
	unsigned n = (unsigned)getpid();
	size_t len;

	while (!b->over) {
		n = n * 1103515245 + 12345;
		len = 8 + (n >> 16) % (LH_VALUE_MAX - 7);
		if (t_acquire(lh, keys[n >> 8 & 1], 1000, 1000, &l) != 0)
			continue;
		fill(buf, len, l.token);
		if (lh_value_set(lh, &l, buf, len) == 0)
			b->sets++;
		fill(buf, 8 + len / 2, l.token);
		if (n & 0x40)
			(void)lh_release_value(lh, &l, buf, 8 + len / 2 <=
			    LH_VALUE_MAX ? 8 + len / 2 : 8);
		else
			(void)lh_release(lh, &l);
	}
	return 1;			/* it was to be killed */
}

static int
reader(void *arg)
{
	struct board *b = arg;
	struct lh *lh = t_open(b->table);
	unsigned char buf[LH_VALUE_MAX];
	uint64_t token, last[KEYS] = { 0 };
	uint64_t n = 0, torn = 0, back = 0, failed = 0;
	size_t len;

	while (!b->over) {
		int k = (int)(n++ & 1), e;

		e = lh_value_get(lh, keys[k], buf, &len, &token);
		if (e != 0) {
			failed += e != -ENOENT;
			continue;
		}
		if (len == 0)
			continue;
		torn += !is_whole(buf, len, token);
		back += token < last[k];
		last[k] = token;
		b->reads++;
	}
	is(torn, 0, "torn values");
	is(back, 0, "tokens that went back");
	is(failed, 0, "failures");
	(void)lh_close(lh);
	return tap_child_status();
}

int
main(void)
{
	struct board *b = t_shared(sizeof(*b));
	struct lh *lh;
	pid_t w[WRITERS], r[READERS];
	int64_t until;
	int kills = 0;

	b->table = t_table();
	lh = t_open(b->table);
	for (int i = 0; i < READERS; i++)
		r[i] = t_fork(reader, b);
	for (int i = 0; i < WRITERS; i++)
		w[i] = t_fork(writer, b);
	until = t_now_ns() + t_count(4000, 1500) * T_NS_PER_MS;
	for (unsigned n = 1; t_now_ns() < until; n++) {
		t_sleep_ms(t_ms(10 + (int64_t)(n * 7919 % 17)));
		t_kill(w[n % WRITERS]);
		w[n % WRITERS] = t_fork(writer, b);
		kills++;
	}
	/* a slow machine: no less than what is asked for below */
	(void)t_until(T_HANG_MS, b->reads > 1000 && b->sets > 100);
	for (int i = 0; i < WRITERS; i++)
		t_kill(w[i]);
	b->over = 1;
	for (int i = 0; i < READERS; i++)
		is(t_reap(r[i], T_HANG_MS), 0, "reader %d read only what was "
		    "set", i);
	diag("%llu values set, %llu read, %d writers killed",
	    (unsigned long long)b->sets, (unsigned long long)b->reads, kills);
	cmp(b->reads, >, 1000, "many were read");
	cmp(b->sets, >, 100, "many were set");
	t_close(lh);
	return done();
}
