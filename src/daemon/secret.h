/* SPDX-License-Identifier: MIT */
/* Secrets of a daemon: files, memory and the process: see secret.c. */
#ifndef DAEMON_SECRET_H
#define DAEMON_SECRET_H

#include <stddef.h>
#include <stdbool.h>

/* Keeps the process from being dumped or read by others of its user. */
void secret_guard_process(void);

/* Opens a file that holds a secret.  Returns a descriptor; or -1 with a
 * sentence that begins with `what`, if it cannot be read or others could read
 * it. */
int secret_open(const char *path, const char *what, char *error, size_t room);

/* True if only root and this user may change the open file; otherwise `error`
 * says who else may. */
bool secret_is_own_file(int fd, const char *path, char *error, size_t room);

/* Copies a text to memory that is in no core dump.  Returns NULL without
 * memory. */
char *secret_copy(const char *text);
/* Wipes and frees such a copy.  Accepts NULL. */
void secret_free(char *text);

#endif
