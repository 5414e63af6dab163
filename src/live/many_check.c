/* SPDX-License-Identifier: MIT */
/* Sets of keys: the check before any of them is made or acquired
 * (acquire_many.c), and lh_release_many(). */
#include <errno.h>
#include <string.h>
#include "base/error.h"
#include "live/acquire_many.h"
#include "op/acquire_target.h"

int
lhi_many_check(struct lh *lh, const struct lh_item *items, size_t n)
{
	struct lhi_key_name name;
	int error;

	if (items == NULL || n == 0 || n > LH_MANY_MAX)
		return lhi_fail(-EINVAL, "%zu keys at once: 1 to %d can be "
		    "acquired together", items == NULL ? (size_t)0 : n,
		    LH_MANY_MAX);
	for (size_t i = 0; i < n; i++) {
		error = lhi_key_name_check(lh, items[i].key, 0, &name);
		if (error != 0)
			return error;
		if (items[i].mode > LH_SHARED)
			return lhi_fail(-EINVAL, "unknown mode %u for '%.64s'",
			    items[i].mode, items[i].key);
		for (size_t j = 0; j < i; j++)
			if (strcmp(items[i].key, items[j].key) == 0)
				return lhi_fail(-EINVAL, "'%.64s' is asked "
				    "for twice: it would wait for itself",
				    items[i].key);
	}
	return 0;
}

int
lh_release_many(struct lh *lh, struct lh_lease *leases, size_t n)
{
	int first = 0, error;

	if (leases == NULL || n == 0)
		return lhi_fail(-EINVAL, "no leases were given");
	for (size_t i = 0; i < n; i++) {
		error = lh_release(lh, &leases[i]);
		if (error != 0 && first == 0) {
			first = error;
			lhi_fail_mute(1);
		}
	}
	lhi_fail_mute(0);
	return first;
}
