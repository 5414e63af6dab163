/* SPDX-License-Identifier: MIT */
/* Where the daemon's own files go: see place.c. */
#ifndef DAEMON_PLACE_H
#define DAEMON_PLACE_H

#define PLACE_ERROR_MAX 512

/*
 * See to it that the directory of `path` is there, and nobody's but root's and
 * ours.  0; or -1, and `why` is a sentence.
 */
int place_make(const char *path, char why[PLACE_ERROR_MAX]);

#endif
