/* SPDX-License-Identifier: MIT */
#ifndef DAEMON_STANDARD_FILES_H
#define DAEMON_STANDARD_FILES_H

/*
 * Opens /dev/null for each of the descriptors 0, 1 and 2 that is closed.
 * Otherwise the next opened file would get its number, and a message would be
 * written into a table or a socket.  A program calls this first.  Returns 0 or
 * -errno.
 */
int standard_files_open(void);

#endif
