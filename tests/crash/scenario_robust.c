/* SPDX-License-Identifier: MIT */
/*
 * The scenario of robust keys: see scenario.h.
 *
 * The subject acquires a key of its own with LH_ROBUST, extends the lease, and
 * releases it.  Killed while it holds the key, it leaves the note: whoever
 * acquires the key finds it, and it is gone once that one has declared the
 * resource consistent.  Killed before or after, it may leave one or not.
 */
#include <errno.h>
#include "crash/subject.h"

#define ROBUST_KEY "robust"

static void
prep_robust(struct trial *p)
{
	prep_warm(p);
	sub.opts.flags |= LH_ROBUST;
}

static void
act_robust(struct trial *p)
{
	p->result = lh_acquire(sub.lh, ROBUST_KEY, &sub.opts, &p->lease);
	if (p->result != 0)
		return;
	p->has_lease = true;
	/* something changes, so that it is killed in here */
	(void)lh_extend(sub.lh, &p->lease, p->ttl_ms + 10);
	p->has_lease = false;
	p->result = lh_release(sub.lh, &p->lease);
}

static void
check_robust(struct trial *p)
{
	struct lh_acquire_opts o = participant_opts(30000, 100);
	bool held = p->has_lease;
	struct lh_lease l;
	struct lh *lh;

	if (lh_open(&lh, p->table, &p->opts) != 0) {
		blame(p, "lh_open(): %s", lh_error_detail());
		return;
	}
	for (int i = 0; i < 2; i++) {
		int error = lh_acquire(lh, ROBUST_KEY, &o, &l);
		bool noted;

		if (error != 0) {
			blame(p, "robust: %s", lh_error_detail());
			break;
		}
		noted = l.notes & LH_NOTE_INCONSISTENT;
		if (i == 0 && held && !noted)
			blame(p, "a robust holder died, and left no note");
		if (i == 1 && noted)
			blame(p, "a note stands that was marked consistent");
		if (noted && lh_mark_consistent(lh, &l) != 0)
			blame(p, "not marked: %s", lh_error_detail());
		if (lh_release(lh, &l) != 0)
			blame(p, "not released: %s", lh_error_detail());
	}
	(void)lh_close(lh);
}

static const struct scenario scenarios_robust[] = {
	{ .name = "robust", .what = "a robust key: acquire, release",
	  .prepare = prep_robust, .act = act_robust, .finish = finish_plain,
	  .check = check_robust, .allowed = says_stale },
};

SCENARIOS(scenarios_robust)
