/* SPDX-License-Identifier: MIT */
/* User ids as they are outside of a user namespace: see outer_uid.c. */
#ifndef LHI_OUTER_UID_H
#define LHI_OUTER_UID_H

#include <sys/types.h>

/* Returns the number that a user has outside of this process's user namespace.
 * Where that cannot be read, returns `inside`. */
uid_t lhi_outer_uid(uid_t inside);

#endif
