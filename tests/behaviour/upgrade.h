/* SPDX-License-Identifier: MIT */
/* Short forms for tests of waiting upgrades and of deadlocks. */
#ifndef TESTS_BEHAVIOUR_UPGRADE_H
#define TESTS_BEHAVIOUR_UPGRADE_H

#include "readers.h"

#define UPGRADE_FN	__attribute__((unused)) static

/* Convert a->lease up, waiting arg ms. */
UPGRADE_FN int
t_upgrade_it(struct t_actor *a, void *arg)
{
	struct lh_acquire_opts o = t_opts(HOUR_MS, (int64_t)(uintptr_t)arg);

	return lh_convert_wait(a->lh, &a->lease, LH_EXCLUSIVE, &o);
}

UPGRADE_FN void
t_begin_upgrade(struct t_actor *a, int64_t wait_ms)
{
	t_begin(a, t_upgrade_it, (void *)(uintptr_t)wait_ms);
}

UPGRADE_FN int
t_upgrade(struct lh *lh, struct lh_lease *l, int64_t wait_ms)
{
	struct lh_acquire_opts o = t_opts(HOUR_MS, wait_ms);

	return lh_convert_wait(lh, l, LH_EXCLUSIVE, &o);
}

#endif
