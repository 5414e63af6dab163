/* SPDX-License-Identifier: MIT */
/* The sessions that hold the keys of `leasehold flock`.  See
 * flock_session.c. */
#ifndef TOOLS_FLOCK_SESSION_H
#define TOOLS_FLOCK_SESSION_H

#include <stdint.h>
#include <leasehold.h>

#define FILE_KEY_MAX 64

/* A descriptor that a process locks. */
struct flock_target {
	struct lh *lh;
	int32_t pid;			/* of the process */
	int fd;
	char key[FILE_KEY_MAX];		/* file:DEV:INO */
	char session[LH_SESSION_NAME_MAX + 1];
};

/* Sets the key of the descriptor's file.  Returns 0 or -errno. */
int flock_session_key(int fd, char key[FILE_KEY_MAX]);

/* Sets key and session, from fd and pid.  Returns 0 or -errno. */
int flock_session_name(struct flock_target *t);

/* Opens the session that holds for this process and descriptor, or makes it.
 * Returns as lh_session_open(). */
int flock_session_open(struct flock_target *t, struct lh_session **s);

/*
 * Finds the session that holds for this process and this descriptor, or for a
 * duplicate of it.  Returns 0, with *s NULL if there is none; -errno.
 */
int flock_session_find(struct flock_target *t, struct lh_session **s);

/* Returns the mode in which that session holds the key, or -1: it does not. */
int flock_session_mode(struct flock_target *t, struct lh_session *s);

/* Ends the sessions that this process has left behind: those of descriptors by
 * which it has not locked the file any more. */
void flock_session_end_given_up(struct flock_target *t);

/* Returns another descriptor for which this process holds the same key, with
 * the name of its session; or -1. */
int flock_session_other(struct flock_target *t,
    char name[LH_SESSION_NAME_MAX + 1]);

#endif
