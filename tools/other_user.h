/* SPDX-License-Identifier: MIT */
/* Becomes another user, for --uid.  See other_user.c. */
#ifndef TOOLS_OTHER_USER_H
#define TOOLS_OTHER_USER_H

#include <sys/types.h>

/*
 * Makes this process one of that user, for good.  Does nothing if it is one.
 * Returns 0, or the exit status after a message.
 */
int other_user_become(uid_t uid);

/* The same without the message.  Returns 0 or -errno. */
int other_user_switch(uid_t uid);

/* Copies the user's name, or "" if /etc/passwd has none. */
#define USER_NAME_MAX 64
const char *other_user_name(char buf[USER_NAME_MAX], uid_t uid);

#endif
