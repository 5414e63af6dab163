/* SPDX-License-Identifier: MIT */
/* lh_liveness_fd(): see table.h. shm/session_sign.c makes the descriptor. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <leasehold.h>
#include "api/liveness_api.h"
#include "base/error.h"
#include "prim/descriptor.h"

bool
lhi_liveness_is_own(const struct lh *lh)
{
	struct stat st;

	return lh->live_fd >= 0 && fstat(lh->live_fd, &st) == 0 &&
	    S_ISSOCK(st.st_mode) && st.st_ino == lh->live_ino;
}

int
lh_liveness_fd(struct lh *lh)
{
	int error = lhi_own(lh), saved = errno, fd;

	if (error != 0)
		return error;
	if (lh->live_fd == LIVE_FD_LOST ||
	    (lh->live_fd >= 0 && !lhi_liveness_is_own(lh)))
		return lhi_fail(-EBADF, "the liveness descriptor was closed");
	if (lh->live_fd < 0)
		return lhi_fail(-EOPNOTSUPP, "open the table with "
		    "LH_LIVENESS_FD to pass its liveness on");
	fd = lhi_fd_copy(lh->live_fd);
	if (fd < 0)
		fd = lhi_fail(-errno, "cannot copy the liveness descriptor: "
		    "%s", strerror(errno));
	errno = saved;
	return fd;
}
