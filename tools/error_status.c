/* SPDX-License-Identifier: MIT */
/* The exit status that an error code of the library means. */
#include <errno.h>
#include <stdlib.h>
#include "daemon/exit_status.h"
#include "error_status.h"

int
error_status(int error)
{
	switch (abs(error)) {
	case 0:
		return EX_YES;
	case EAGAIN:
	case EBUSY:
	case ETIMEDOUT:
	case EDEADLK:
		return EX_BUSY;
	case EINVAL:		/* the table's name: keys and times we check */
	case ENAMETOOLONG:
	case EOPNOTSUPP:	/* a scope that this table cannot give */
		return EX_BAD_USAGE;
	case EPROTO:
	case EUCLEAN:
	case EXDEV:
		return EX_DAMAGED;
	case EHOSTUNREACH:
	case EOVERFLOW:		/* the table is to be made anew */
	case ESTALE:		/* the table was removed under us */
		return EX_AWAY;
	case ENOENT:		/* asked to create it, it could not */
	case EEXIST:
	case ENOSPC:
	case EROFS:
		return EX_CANNOT_CREATE;
	case EACCES:
	case EPERM:
		return EX_DENIED;
	default:
		return EX_SYSTEM;
	}
}
