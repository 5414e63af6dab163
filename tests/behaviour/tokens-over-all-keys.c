/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G2, LH_TOKENS_GLOBAL: a grant that begins after another has
 * returned has a larger token, of whatever key, mode and process; no two have
 * the same.  Eight processes acquire four keys, exclusively and shared, by try
 * and by waiting, by name and by opened key, and convert and hand over now and
 * then.  Before each acquire they read the largest token that was given, and
 * publish theirs after it.  A second table has a fence file.  Each token is
 * marked in a shared map, in which no place may be taken twice.
 *
 * Otherwise a token would not say which of two grants came later.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "fence.h"
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define PROCESSES 8
#define KEYS 4
#define MAP (1u << 22)

struct common {
	_Atomic uint64_t told;	/* the largest token that a call has returned */
	uint64_t base;
	_Atomic uint32_t grants, shared, converted, handed;
	_Atomic uint8_t had[MAP];
};

static struct common *common;
static const char *table;
static bool durable;
static uint32_t seed;

static uint32_t
chance(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

/* Checks a token of a call that began when `told` was the largest. */
static bool
told(uint64_t token, uint64_t before)
{
	uint64_t now = atomic_load(&common->told), at = token - common->base;

	if (token <= before) {
		diag("token %llu after %llu", (unsigned long long)token,
		    (unsigned long long)before);
		return false;
	}
	if (at < MAP && atomic_fetch_add(&common->had[at], 1) != 0) {
		diag("token %llu twice", (unsigned long long)token);
		return false;
	}
	while (now < token &&
	    !atomic_compare_exchange_weak(&common->told, &now, token))
		;
	return true;
}

/* The lease changes its mode, or its owner's session. */
static bool
change(struct lh *lh, struct lh_lease *l)
{
	uint64_t before = atomic_load(&common->told);
	int error;

	if (chance(2) == 0) {
		error = lh_convert(lh, l, l->mode == LH_SHARED ?
		    LH_EXCLUSIVE : LH_SHARED);
		if (error == 0)
			atomic_fetch_add(&common->converted, 1);
	} else {
		error = lh_handoff(lh, l, NULL);
		if (error == 0)
			atomic_fetch_add(&common->handed, 1);
	}
	if (error == -EAGAIN)
		return true;		/* others read */
	return error == 0 && told(l->token, before);
}

static bool
round_trip(struct lh *lh, struct lh_key **keys)
{
	struct lh_acquire_opts o = t_opts(t_ms(30000),
	    chance(2) == 0 ? 0 : t_ms(30000));
	uint32_t k = chance(KEYS);
	const char name[3] = { 'k', (char)('0' + k), '\0' };
	uint64_t before;
	struct lh_lease l;
	int error;

	o.mode = chance(2) == 0 ? LH_SHARED : LH_EXCLUSIVE;
	if (durable && chance(2) == 0)
		o.scope = LH_LOCAL;
	before = atomic_load(&common->told);
	error = chance(2) == 0 ? lh_acquire(lh, name, &o, &l) :
	    lh_key_acquire(keys[k], &o, &l);
	if (error == -EAGAIN)
		return true;
	if (error != 0) {
		diag("acquire: %s", lh_error_detail());
		return false;
	}
	atomic_fetch_add(&common->grants, 1);
	atomic_fetch_add(&common->shared, o.mode == LH_SHARED);
	return told(l.token, before) && (chance(8) != 0 || change(lh, &l)) &&
	    lh_verify(lh, &l) == 0 && lh_release(lh, &l) == 0;
}

/* Where everything is slow, it goes on until there is something to judge. */
static bool
too_few(void)
{
	return atomic_load(&common->grants) <= 100 ||
	    atomic_load(&common->shared) <= 30 ||
	    atomic_load(&common->converted) == 0 ||
	    atomic_load(&common->handed) == 0;
}

static int
work(void *arg)
{
	struct lh *lh = t_open(table);
	struct lh_key *keys[KEYS];
	int64_t end = t_now_ns() + 700 * T_NS_PER_MS;
	int64_t last = t_now_ns() + T_HANG_MS / 2 * T_NS_PER_MS;
	bool sound = true;

	seed = (uint32_t)(uintptr_t)arg * 7919u;
	for (uint32_t k = 0; k < KEYS; k++) {
		const char name[3] = { 'k', (char)('0' + k), '\0' };

		if (lh_key_open(lh, name, 0, &keys[k]) != 0)
			return 1;
	}
	while (sound && (t_now_ns() < end || (too_few() && t_now_ns() < last)))
		sound = round_trip(lh, keys);
	for (uint32_t k = 0; k < KEYS; k++)
		lh_key_close(keys[k]);
	t_close(lh);
	return !sound;
}

static void
several(bool with_file)
{
	struct lh_open_opts o = with_file ? fence_opts() : t_open_opts();
	struct lh_stats st = { .size = sizeof(st) };
	const char *what = with_file ? "with a fence file" : "in memory";
	pid_t pid[PROCESSES];
	struct lh *lh;

	table = t_table();
	durable = with_file;
	memset(common, 0, sizeof(*common));
	o.flags |= LH_TOKENS_GLOBAL;
	is(lh_open(&lh, table, &o), 0, "%s: a table", what);
	lh_stats(lh, &st);
	is_u64(st.tokens_global, 1, "%s: it says so", what);
	common->base = st.token_base;
	for (uintptr_t i = 0; i < PROCESSES; i++)
		pid[i] = t_fork(work, (void *)(i + 1));
	for (int i = 0; i < PROCESSES; i++)
		is(t_reap(pid[i], T_HANG_MS), 0, "%s: in order for process %d",
		    what, i);
	cmp(common->grants, >, 100, "%s: %u grants", what, common->grants);
	cmp(common->shared, >, 30, "%s: %u of readers", what, common->shared);
	cmp(common->converted, >, 0, "%s: %u conversions", what,
	    common->converted);
	cmp(common->handed, >, 0, "%s: %u handed over", what, common->handed);
	is(lh_check(lh, NULL, NULL), 0, "%s: nothing is wrong with it", what);
	t_close(lh);
}

/* Without the option the first tokens of two keys are the same. */
static void
not_asked_for(void)
{
	struct lh *lh = t_open(t_table());
	struct lh_stats st = { .size = sizeof(st) };
	struct lh_lease a = t_hold(lh, "a"), b = t_hold(lh, "b");

	lh_stats(lh, &st);
	is_u64(st.tokens_global, 0, "not asked for: it says so");
	is_u64(a.token, b.token, "not asked for: each key counts for itself");
	t_close(lh);
}

int
main(void)
{
	common = t_shared(sizeof(*common));
	several(false);
	several(true);
	not_asked_for();
	return done();
}
