/* SPDX-License-Identifier: MIT */
/* Checks the keys of a set, before any of them is made or acquired.  See
 * acquire_many.c. */
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
