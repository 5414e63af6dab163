/* SPDX-License-Identifier: MIT */
/*
 * Reaper option of idle keys (leasehold-reaperd(8)): on request, the reaper
 * evicts keys that nobody uses while the table is as full as the option says.
 * Not keys that are held, waited for, kept, used now and then, or whose next
 * holder must get a note.  Their tokens go on.  Without the option it evicts
 * none.
 *
 * Otherwise a table would fill with old keys, or keys in use would disappear.
 */
#include <errno.h>
#include "support/part.h"
#include "behaviour/reaping.h"
#include "tap.h"

#define KEYS 200u
#define IDLE_MS t_long(200)

static uint32_t
keys(struct lh *lh)
{
	struct lh_stats s = { .size = sizeof(s) };

	return lh_stats(lh, &s) == 0 ? s.keys : UINT32_MAX;
}

/* Leases that ran out, seen by this reaper or by one that other tests run for
 * all tables of this user. */
static uint64_t
expired(struct lh *lh)
{
	struct lh_stats s = { .size = sizeof(s) };

	return lh_stats(lh, &s) == 0 ? s.counters.expired_others : UINT64_MAX;
}

static void
use(struct lh *lh, const char *key, struct lh_lease *l)
{
	if (t_acquire(lh, key, 3600000, 0, l) != 0 || lh_release(lh, l) != 0)
		bail_out("cannot use %s: %s", key, lh_error_detail());
}

static void
play(void)
{
	const struct lhi_reap_opts wanted = { .evict_idle_ms = IDLE_MS };
	const struct lhi_reap_opts unless_full = { .evict_idle_ms = IDLE_MS,
	    .evict_above = 90 };
	const char *table = t_table();
	struct lh *lh = t_open(table);
	struct lhi_reaper *r = t_reaper(table);
	struct lh_lease held, lapsed, l;
	uint64_t first = 0;
	char key[16];

	for (unsigned i = 0; i < KEYS; i++) {
		snprintf(key, sizeof(key), "i%u", i);
		use(lh, key, &l);
		first = i == 0 ? l.token : first;
	}
	held = t_hold(lh, "held");
	is(lh_key_create(lh, "kept"), 0, "a key that is to stay");
	is(t_acquire(lh, "lapsed", t_long(50), 0, &lapsed), 0, "one runs out");
	t_reap_for(r, 3 * IDLE_MS);
	is(keys(lh), KEYS + 3, "not asked: all are there");
	is(expired(lh), 1, "but one lease ran out");

	lhi_reap_set(r, &unless_full);
	t_reap_for(r, 3 * IDLE_MS);
	is(keys(lh), KEYS + 3, "there is room: all are there");

	lhi_reap_set(r, &wanted);
	for (int i = 0; i < 200 && keys(lh) > 4; i++) {
		use(lh, "busy", &l);
		t_reap_for(r, t_long(20));
	}
	is(keys(lh), 4, "asked: only those are left that were to be");
	is(lhi_reap_count(r)->evicted, KEYS, "it has counted the others");
	is(lh_verify(lh, &held), 0, "the held one is held");
	use(lh, "i0", &l);
	cmp(l.token, >, first, "one comes back, with a larger token");
	for (unsigned i = 0; i < KEYS; i++) {
		snprintf(key, sizeof(key), "i%u", i);
		use(lh, key, &l);
	}
	use(lh, "lapsed", &l);
	is(l.notes, LH_NOTE_PREVIOUS_EXPIRED, "the next holder has the note");
	is(lh_release(lh, &held), 0, "released");
	lhi_reap_close(r);
	t_close(lh);
}

int
main(void)
{
	t_part(play, 180, "reaper forgets idle keys");
	return done();
}
