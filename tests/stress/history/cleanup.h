/* SPDX-License-Identifier: MIT */
/*
 * Removes what a run leaves in the file system, however the run ends: a child
 * that waits for the end of its parent, be it by exit, SIGKILL or a sanitizer.
 */
#ifndef CLEANUP_H
#define CLEANUP_H

#include <sys/types.h>

#define CLEANUP_PATHS 8

struct cleanup {
	pid_t pid;
	int fd;			/* its end is the end of the run */
	unsigned n;
	char paths[CLEANUP_PATHS][128];	/* files, then directories */
};

/* Note a path, before hiring. */
void cleanup_add(struct cleanup *j, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* 0 or -errno.  Before any other fork or thread. */
int cleanup_start(struct cleanup *j);

/* Have it clean up now, and wait until it has. */
void cleanup_stop(struct cleanup *j);

#endif
