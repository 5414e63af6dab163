/* SPDX-License-Identifier: MIT */
/* Places of a daemon's own files: see paths.c. */
#ifndef DAEMON_PATHS_H
#define DAEMON_PATHS_H

#include <stdbool.h>
#include <sys/stat.h>

#define PATHS_ERROR_MAX 512
#define SOCKET_PATH_MAX 108	/* of struct sockaddr_un */

/* Makes the directory of `path` if it is missing, and checks that it belongs to
 * root or to this user.  Returns 0; or -1 with a sentence in `why`. */
int paths_make_directory(const char *path, char why[PATHS_ERROR_MAX]);

/* Removes a socket on which nobody listens, as a killed daemon leaves it.
 * Returns 0 or -errno. */
int paths_take_socket(const char *path, int type);

/* Returns the number in the name of the directory of this user's tables. */
unsigned paths_own_number(void);

/* True if the owner of fd, whose fstat() is st, is the user of that number, and
 * not any user without a number in this user namespace. */
bool paths_is_owner_sure(int fd, const struct stat *st);

/* True if a user has that number in this user namespace, or that cannot be
 * read. */
bool paths_has_user(uid_t uid);

/* Returns the options with which a command reaches that table, each after a
 * blank, or "" for the table that it reaches without any. */
#define PATHS_TABLE_WORDS_MAX 128
const char *paths_table_words(char buf[PATHS_TABLE_WORDS_MAX], const char *name,
    bool system_wide);

#endif
