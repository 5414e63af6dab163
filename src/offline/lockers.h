/* SPDX-License-Identifier: MIT */
/* Names the lockers of a live file: see lockers.c. */
#ifndef LHI_LOCKERS_H
#define LHI_LOCKERS_H

#include <stddef.h>

/* Names the processes that have fd's file open and have locked bytes of it:
 * "python3 (pid 4711)", or "a process that you may not see". */
void lhi_lockers_name(char *to, size_t len, int fd);

/* The same, by a look in a child: for a repair (look_child.c). */
void lhi_lockers_name_apart(char *to, size_t len, int fd);

/* The same, of a look that was made. */
struct lhi_live_users;
void lhi_lockers_describe(char *to, size_t len,
    const struct lhi_live_users *users);

#endif
