/* SPDX-License-Identifier: MIT */
/* Where the daemon's own files go: see paths.c. */
#ifndef DAEMON_PATHS_H
#define DAEMON_PATHS_H

#define PATHS_ERROR_MAX 512
#define SOCKET_PATH_MAX 108	/* of struct sockaddr_un */

/*
 * Makes the directory of `path` if there is none, and checks that it belongs to
 * root or to us.  Returns 0; or -1, and `why` is a sentence.
 */
int paths_make_directory(const char *path, char why[PATHS_ERROR_MAX]);

/* Removes a socket at which nobody answers, as a killed daemon leaves it.
 * Returns 0 or -errno. */
int paths_take_socket(const char *path, int type);

#endif
