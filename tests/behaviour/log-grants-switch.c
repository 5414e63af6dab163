/* SPDX-License-Identifier: MIT */
/*
 * lh_log_grants(): while it is on, every lease is recorded, also those of
 * threads on the fast path; when it is off again, none is, and these threads
 * are back on the fast path.
 *
 * Otherwise the record would have gaps, or the fast path would stay slow for
 * ever.
 */
#include <errno.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

#define ROUNDS 30

static struct lh *lh;

struct seen {
	int granted, released, shared;
	uint64_t token;
};

static int
count(const struct lh_log_entry *e, void *arg)
{
	struct seen *s = arg;

	if (e->kind == LH_LOG_GRANTED) {
		s->granted++;
		s->shared += e->mode == LH_SHARED;
		s->token = e->token;
	}
	if (e->kind == LH_LOG_RELEASED) {
		s->released++;
		if (e->token != s->token)
			fail("token %llu released, not %llu",
			    (unsigned long long)e->token,
			    (unsigned long long)s->token);
	}
	return 0;
}

static struct seen
seen_of(const char *key)
{
	struct lh_log_opts o = LH_LOG_OPTS_INIT;
	struct seen s = { 0, 0, 0, 0 };

	o.key = key;
	is(lh_log(lh_table_name(lh), &o, count, &s), 0, "the log");
	return s;
}

static void
pairs(struct lh_key *k, int n, uint32_t mode)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	struct lh_lease l;

	o.mode = mode;
	for (int i = 0; i < n; i++) {
		if (lh_key_acquire(k, mode == LH_SHARED ? &o : NULL, &l) != 0 ||
		    lh_release(lh, &l) != 0)
			bail_out("no pair: %s", lh_error_detail());
	}
}

static int
switch_on(struct t_actor *a, void *arg)
{
	return lh_log_grants(a->lh, arg != NULL);
}

/* Leases of the way that was fast until then go on, whichever way they end. */
static void
held_over_the_switch(struct t_actor *other)
{
	struct lh_lease x = t_hold(lh, "over x"), s;
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;

	o.mode = LH_SHARED;
	is(lh_acquire(lh, "over s", &o, &s), 0, "a reader");
	is(t_do(other, switch_on, other), 0, "switched on");
	t_sleep_ms(20);
	is(lh_extend(lh, &x, 60000), 0, "extended");
	is(lh_verify(lh, &x), 0, "held");
	is(lh_convert(lh, &x, LH_SHARED), 0, "converted");
	is(lh_convert(lh, &x, LH_EXCLUSIVE), 0, "and back");
	is(lh_release(lh, &x), 0, "released");
	is(lh_release(lh, &x), 0, "again, harmlessly");
	is(lh_release(lh, &s), 0, "the reader's, too");
	is(t_do(other, switch_on, NULL), 1, "switched off");
}

int
main(void)
{
	const char *table = t_table();
	struct t_actor *other = t_actor(table);
	struct lh_stats st = { .size = sizeof(st) };
	struct lh_key *k;
	struct seen s;

	lh = t_open(table);
	is(lh_log_grants(NULL, 1), -EINVAL, "no table");
	is(lh_key_open(lh, "k", 0, &k), 0, "a key");
	pairs(k, 1000, LH_EXCLUSIVE);
	pairs(k, 1000, LH_SHARED);
	s = seen_of("k");
	is(s.granted + s.released, 0, "off: nothing of the fast path");
	held_over_the_switch(other);
	is(t_do(other, switch_on, other), 0, "another process switches on");
	is(lh_stats(lh, &st), 0, "statistics");
	is(st.log_grants, 1, "tell it");
	is(t_do(other, switch_on, other), 1, "it is on already");
	t_sleep_ms(20);		/* another tick */
	pairs(k, ROUNDS / 2, LH_EXCLUSIVE);
	pairs(k, ROUNDS / 2, LH_SHARED);
	s = seen_of("k");
	is(s.granted, ROUNDS, "on: every grant");
	is(s.released, ROUNDS, "and release");
	is(s.shared, ROUNDS / 2, "in either mode");
	is(t_do(other, switch_on, NULL), 1, "switched off");
	t_sleep_ms(20);
	pairs(k, 1000, LH_EXCLUSIVE);
	s = seen_of("k");
	cmp(s.granted, <=, ROUNDS + 1, "off: no more of them");
	is(lh_key_close(k), 0, "closed");
	t_actor_end(other);
	t_close(lh);
	return done();
}
