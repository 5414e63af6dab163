/* SPDX-License-Identifier: MIT */
/* The file of a table whose locks are its signs of life: see live_file.c,
 * and live_probe.c from lhi_live_probe_know() on. */
#ifndef LHI_LIVE_FILE_H
#define LHI_LIVE_FILE_H

#include "shm/table_dir.h"
#include "shm/view.h"

/* The name of the live file of the table whose id begins with uuid. */
void lhi_live_file_leaf(char leaf[TABLE_LEAF_MAX], const char *path,
    uint64_t uuid);

/*
 * Makes a live file, which has no name yet.  The descriptor says that the maker
 * is at work: it is closed once the table has its name.  A descriptor; -errno.
 */
int lhi_live_file_make(int dir, const char *path);

/* Gives it the name that belongs to the table that is being made as `object`,
 * whose header and mode are final.  Returns 0; -errno. */
int lhi_live_file_name(int dir, const char *path, int object, int live);

/* Removes the live file of the table that `object` is, which has got no name or
 * has lost it; and its signs, and files that others have left. */
void lhi_live_file_drop(int dir, const char *path, int object);
void lhi_live_file_retire(int dir, const char *path, int object);

/* True if no process of its owner or of root has opened the live file since it
 * was made; false in doubt. */
bool lhi_live_file_is_new(const char *path, int object);

/* Removes the live files that neither the table of that name, nor a maker at
 * work, nor a user of an older table of that name uses. */
void lhi_live_file_sweep(int dir, const char *path);

/*
 * Opens the live file of the table that is open as `object`, whose id begins
 * with uuid and which was made with that file.  Returns a descriptor, of a
 * description of its own; -ESTALE: the table was removed just now; -EUCLEAN:
 * the file is gone, or was replaced; -EXDEV: that is not known; -errno.
 */
int lhi_live_file_open(const char *path, int object, uint64_t uuid,
    const struct lhi_place *place);

/*
 * Looks whether that live file is there, without using it: no permission is
 * needed, and nothing is noted.  Returns 0: it is, or that is not known;
 * -EUCLEAN, as above.
 */
int lhi_live_file_look(const char *path, int object, uint64_t uuid,
    const struct lhi_place *place);

/* fd is the live file of v's table, which is opened again to ask through it. */
void lhi_live_probe_know(struct lhi_view *v, int fd);

/* From now on fd, opened for this, is what v asks through.  0; -EOPNOTSUPP: its
 * file system cannot do that, and fd is closed. */
int lhi_live_probe_attach(struct lhi_view *v, int fd);

/* Tries with fd, the live file of a new table at path, what a probe needs.  A
 * byte of the file is locked through it.  0; -EOPNOTSUPP; -errno. */
int lhi_live_probe_try(const char *path, int fd);

/* Asks for that byte, which this process has locked through a description that
 * it has mapped, and whose descriptor it has closed.  0: it is seen locked;
 * -EOPNOTSUPP; -errno. */
int lhi_live_probe_keeps(struct lhi_view *v, off_t byte);

/* True if that descriptor is the live file of v's table. */
bool lhi_live_file_is(const struct lhi_view *v, int fd);

/* True if it also is the description that v asks through, and no other. */
bool lhi_live_probe_is(const struct lhi_view *v, int fd);

/*
 * Returns the descriptor that v asks through, which holds no session's byte.
 * If it was lost, opens another.  -1: there is none, errno says why.
 */
int lhi_live_probe_fd(struct lhi_view *v);

/* Opens one more description of the live file, which the caller closes.  -1:
 * not possible, errno says why. */
int lhi_live_file_reopen(struct lhi_view *v);

#endif
