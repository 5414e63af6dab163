/* SPDX-License-Identifier: MIT */
/* lh_explain(), and the report that an acquire with LH_EXPLAIN has kept: see
 * inspect.h and inspect/explain.c. */
#include <errno.h>
#include <stdlib.h>
#include <leasehold.h>
#include "base/error.h"
#include "inspect/explain.h"
#include "op/cluster_holders.h"
#include "shm/damaged.h"

const struct lh_key_info *
lh_explain_last(void)
{
	struct lhi_explanation *x = lhi_explain_last();

	return x == NULL ? NULL : &x->sn.info;
}

int
lh_explain(struct lh *lh, const char *key, lh_key_fn fn, void *arg)
{
	struct lhi_explanation *x;
	int error = lhi_own_to_look(lh);

	if (error == 0 && fn == NULL)
		error = lhi_fail(-EINVAL, "no function to call (NULL)");
	if (error != 0)
		return error;
	x = calloc(1, sizeof(*x));
	if (x == NULL)
		return lhi_fail(-ENOMEM, "out of memory");
	x->sn.lh = lh;
	error = lhi_snapshot_of(&x->sn, key);
	if (error == 0)
		lhi_cluster_holders_report(&x->sn, false);
	else
		error = lhi_cluster_holders_of_unknown(&x->sn, key, error);
	if (error == 0) {
		lhi_explain_add_details(x);
		error = lhi_damaged_or(&lh->v, 0);
	}
	if (error == 0)
		error = fn(&x->sn.info, arg);
	lhi_explain_drop(x);
	return error;
}
