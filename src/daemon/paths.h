/* SPDX-License-Identifier: MIT */
/* Where the daemon's own files go: see paths.c. */
#ifndef DAEMON_PATHS_H
#define DAEMON_PATHS_H

#define PLACE_ERROR_MAX 512
#define SOCKET_PATH_MAX 108	/* of struct sockaddr_un */

/*
 * See to it that the directory of `path` is there, and nobody's but root's and
 * ours.  0; or -1, and `why` is a sentence.
 */
int place_make(const char *path, char why[PLACE_ERROR_MAX]);

/* Take over the path of a socket at which nobody answers, as a killed daemon
 * leaves it; 0, or -errno. */
int place_take_socket(const char *path, int type);

#endif
