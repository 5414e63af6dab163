/* SPDX-License-Identifier: MIT */
/* Maps an error code of the library to an exit status. */
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
	case ENOTRECOVERABLE:	/* readers, until it is marked consistent */
		return EX_BUSY;
	case EINVAL:		/* a bad table name; keys and times are
				 * checked before */
	case ENAMETOOLONG:
	case EOPNOTSUPP:	/* the table cannot give this scope */
		return EX_BAD_USAGE;
	case EPROTO:
	case EUCLEAN:
	case EXDEV:
		return EX_DAMAGED;
	case ESRCH:		/* the process that it was to be bound to */
		return EX_LOST;
	case EHOSTUNREACH:
	case EOVERFLOW:		/* the table must be made anew */
	case ESTALE:		/* the table was removed while we used it */
		return EX_AWAY;
	case ENOENT:		/* it could not be created */
	case EDQUOT:
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
