/* SPDX-License-Identifier: MIT */
/*
 * A disk that loses its power, at any moment and in every way.
 *
 * While recording, the system calls of src/fence/range.c go through here: each
 * is carried out, on files below a directory that is best on a tmpfs, and
 * written down.  Afterwards, for any number of calls from the beginning, all
 * the images can be made that a power loss after just these could leave:
 *
 *	files		written sectors (512 bytes) that were not synced: in any
 *			subset, and the file's length with zeros in them or not
 *	directories	entries that were made or taken away and not synced:
 *			the first so many (DISK_PREFIX), or, which is harsher
 *			than any file system, any subset (DISK_SUBSET)
 *
 * each file and each directory on its own.  The parts that a failed sync left
 * are there or not, whatever is synced later.  Each image is made on disk, the
 * caller looks at it, or goes on from it.
 *
 * One recording at a time; threads may be in it by turns, not at once.
 */
#ifndef TESTS_FENCE_DISK_H
#define TESTS_FENCE_DISK_H

#include <stdbool.h>
#include <stdint.h>

/* Use the library's calls from here on; before each, turn() if not NULL. */
void disk_install(void (*turn)(void));

/* A new recording, of what is done below root, which is made empty. */
void disk_begin(const char *root);

/* The same, beginning with the image that is in *from, all of it synced. */
struct disk_image;
void disk_begin_from(const char *root, const struct disk_image *from);

/* From here on, ranges as far as n may have been used. */
void disk_mark(uint64_t n);

/* Let a sync fail: the nth from here on, of files or of directories; 0: none.
 * The next sync of that file or directory succeeds, whatever was lost. */
void disk_fail_sync(int nth);

/* For wrong formats: rename, recorded. */
int disk_rename(int dir, const char *from, const char *to);

/* How many calls were recorded, and those not to be looked at again. */
unsigned disk_calls(void);

enum disk_how { DISK_PREFIX, DISK_SUBSET };

/*
 * For each different image that may be left by a power loss after n calls, n
 * from `first` to all of them: make it at `root`, and call fn with how far
 * ranges may have been used by then.  Images of which fn has said that they are
 * well are not made again, in this recording.  How many were made; *bad counts
 * those of which fn said false.
 */
typedef bool disk_fn(const char *root, uint64_t used,
    const struct disk_image *image, void *arg);
unsigned disk_images(enum disk_how how, unsigned first, const char *root,
    disk_fn *fn, void *arg, unsigned *bad);

/* Returns a line that describes the image (static). */
const char *disk_tell(const struct disk_image *image);

/* A copy to begin from; free() it. */
struct disk_image *disk_keep(const struct disk_image *image);

#endif
