/* SPDX-License-Identifier: MIT */
/* Whether the owner that stat(2) shows is that user: see file_owner.c. */
#ifndef LHI_FILE_OWNER_H
#define LHI_FILE_OWNER_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

/* True if the kernel shows that number for one user (group) alone.  False: it
 * may stand for any user without a number in this user namespace. */
bool lhi_uid_is_sure(uid_t shown);
bool lhi_gid_is_sure(gid_t shown);

/* True if each user has a number in this process's user namespace, as outside
 * of all of them. */
bool lhi_has_all_users(void);

/* True if the owner of fd, whose fstat() is st, is the user of that number.
 * fd must not be an O_PATH descriptor. */
bool lhi_owner_is_sure(int fd, const struct stat *st);

/* As lhi_owner_is_sure(), of a directory by its name, which is opened for
 * reading if that is needed. */
bool lhi_owner_is_sure_at(const char *dir, const struct stat *st);

/* True if this process's effective user owns fd, whose fstat() is st. */
bool lhi_owner_is_self(int fd, const struct stat *st);

#endif
