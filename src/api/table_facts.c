/* SPDX-License-Identifier: MIT */
/* Simple properties of an attachment. See table.h. */
#include <errno.h>
#include <time.h>
#include "base/clock.h"
#include "base/error.h"
#include "proc/attachment.h"

/* In a forked child, too. */
static int
check_open(const struct lh *lh)
{
	return lh != NULL && lh->tag != 0 ? 0 : lhi_fail(-EINVAL, lh == NULL ?
	    "no table was given (NULL)" : "this table was closed");
}

int64_t
lh_clock_ns(const struct lh *lh)
{
	int error = check_open(lh);

	return error != 0 ? error : lhi_now_ns(&lh->v);
}

int64_t
lh_epoch_ms(const struct lh *lh, int64_t clock_ns)
{
	struct timespec wall;
	int error = check_open(lh);

	if (error != 0)
		return error;
	if (clock_ns == INT64_MAX)
		return clock_ns;	/* never */
	(void)clock_gettime(CLOCK_REALTIME, &wall);
	return (lhi_timespec_ns(&wall) + (clock_ns - lh_clock_ns(lh))) /
	    NS_PER_MS;
}

const char *
lh_table_name(const struct lh *lh)
{
	return check_open(lh) != 0 ? NULL : lh->name;
}

uint64_t
lh_session_id(const struct lh *lh)
{
	return check_open(lh) != 0 || lh->v.me == NULL ? 0 :
	    lhi_view_session_id(&lh->v, lh->sid);
}
