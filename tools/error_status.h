/* SPDX-License-Identifier: MIT */
/* The exit status for an error of the library.  See error_status.c. */
#ifndef TOOLS_ERROR_STATUS_H
#define TOOLS_ERROR_STATUS_H

/* Returns the exit status for an error code of the library. */
int error_status(int error);

#endif
