/* SPDX-License-Identifier: MIT */
/* Maps an error code of the library to an exit status. See error_status.c. */
#ifndef TOOLS_ERROR_STATUS_H
#define TOOLS_ERROR_STATUS_H

/* Returns the exit status for an error code of the library. */
int error_status(int error);

#endif
