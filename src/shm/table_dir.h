/* SPDX-License-Identifier: MIT */
/* The directory of a table's files: see table_dir.c. */
#ifndef LHI_TABLE_DIR_H
#define LHI_TABLE_DIR_H

#include <stdbool.h>
#include <sys/types.h>

#define TABLE_LEAF_MAX 96	/* NAME.table, NAME.floor~ and the like */

/*
 * Opens and checks the directory of the table whose object is at `path`
 * (lhi_object_path()). With `make`, makes it if it is missing.  Returns a
 * descriptor; -ENOENT; -EACCES: another user may write there, or made it first;
 * -errno.
 */
int lhi_table_dir_open(const char *path, bool make);

/* Admits to the directory the users that a table of that mode and group admits.
 * Returns 0; -errno. */
int lhi_table_dir_admit(const char *path, int dir, mode_t mode, gid_t group);

/* Fails with -EROFS and a sentence, because `path` is on a file system that is
 * mounted read-only. */
int lhi_table_dir_fail_read_only(const char *path);

/* Returns the end of a sentence about that errno of a file that was to be made:
 * what to do, if there is no room for it in /dev/shm; else "". */
const char *lhi_table_dir_room(int error);

/* True if the table at `path` is the machine's. */
bool lhi_table_dir_is_system(const char *path);

/* The name of the object in its directory: NAME.table. */
const char *lhi_table_dir_leaf(const char *path);

/* The name of another file of the table: NAME and that suffix. */
void lhi_table_dir_beside(char to[TABLE_LEAF_MAX], const char *path,
    const char *suffix);

/* Copies the path of that directory. */
void lhi_table_dir_path(char *to, size_t len, const char *path);

#endif
