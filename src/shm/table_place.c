/* SPDX-License-Identifier: MIT */
/*
 * The place of a table: answers "is this the very file that the table was made
 * in?".
 *
 * A copy may be older than what was granted since, so it would grant the same
 * tokens again (G2).  So a table is used only in the file that it was made in.
 * The header knows that file by what a copy does not take along:
 *
 *	device, inode	a copy beside the original has another inode; one that
 *			is put into a fresh tmpfs may get the same two
 *	born		its birth time (statx), in ns; nobody can set it
 *	handle		its file handle; on tmpfs that has a random number which
 *			the kernel gives each inode (name_to_handle_at)
 *	boot		the machine's boot id
 *
 * 0 is "not known", here and in the header, and equals nothing.  Device and
 * inode alone prove nothing, so that birth time or handle must be known on both
 * sides, and the same.  A kernel that says neither (before Linux 5.19 without
 * CONFIG_FHANDLE; a seccomp filter) makes no tables, and a process that may ask
 * for neither opens none.
 *
 * Not to be told: bytes that are written into the file itself, and a machine
 * that is set back as a whole (a snapshot of its memory).
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "prim/descriptor.h"
#include "shm/table_place.h"

/* The boot id in one number; 0: it cannot be read. */
static uint64_t
read_boot(void)
{
	int fd = lhi_fd_open("/proc/sys/kernel/random/boot_id", O_RDONLY |
	    O_CLOEXEC);
	char id[64];
	ssize_t n = fd < 0 ? -1 : read(fd, id, sizeof(id));

	if (fd >= 0)
		(void)close(fd);
	return n <= 0 ? 0 : lhi_hash(id, (size_t)n);
}

/* The file's birth time in ns; 0: it cannot be told. */
static uint64_t
read_birth(int fd)
{
	struct statx sx;

	memset(&sx, 0, sizeof(sx));
	if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &sx) != 0 ||
	    !(sx.stx_mask & STATX_BTIME))
		return 0;
	return (uint64_t)sx.stx_btime.tv_sec * NS_PER_SEC +
	    sx.stx_btime.tv_nsec;
}

/* The file's handle in one number; 0: it cannot be told. */
static uint64_t
read_handle(int fd)
{
	union {
		struct file_handle h;
		unsigned char bytes[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} u;
	int mount;

	memset(&u, 0, sizeof(u));
	u.h.handle_bytes = MAX_HANDLE_SZ;
	if (name_to_handle_at(fd, "", &u.h, &mount, AT_EMPTY_PATH) != 0 ||
	    u.h.handle_bytes == 0 || u.h.handle_bytes > MAX_HANDLE_SZ)
		return 0;
	return lhi_hash(u.bytes, sizeof(u.h) + u.h.handle_bytes);
}

/* True if both are known and differ. */
static bool
differs(uint64_t theirs, uint64_t ours)
{
	return theirs != 0 && ours != 0 && theirs != ours;
}

/* True if both are known and the same. */
static bool
agrees(uint64_t theirs, uint64_t ours)
{
	return theirs != 0 && theirs == ours;
}

int
lhi_place_set(struct shm_header *h, int fd)
{
	int saved = errno;
	uint64_t born = read_birth(fd), handle = read_handle(fd);
	struct stat st;

	if (fstat(fd, &st) != 0)
		return lhi_fail(-errno, "cannot look at the new table: %s",
		    strerror(errno));
	sh64_store_rlx(&h->device, st.st_dev);
	sh64_store_rlx(&h->inode, st.st_ino);
	sh64_store_rlx(&h->born, born);
	sh64_store_rlx(&h->handle, handle);
	sh64_store_rlx(&h->boot, read_boot());
	errno = saved;
	if (born == 0 && handle == 0)
		return lhi_fail(-EOPNOTSUPP, "no table can be made here: the "
		    "kernel tells neither the birth time nor the handle of a "
		    "file in /dev/shm (statx, name_to_handle_at), so a copy of "
		    "the table would be taken for it; allow one of these "
		    "system calls");
	return 0;
}

int
lhi_place_check(const struct shm_header *h, int fd, const char *path)
{
	int saved = errno;
	uint64_t was_born = sh64_load(&h->born), born = read_birth(fd);
	uint64_t was_handle = sh64_load(&h->handle), handle = read_handle(fd);
	uint64_t boot = read_boot();
	struct stat st;

	if (fstat(fd, &st) != 0)
		return lhi_fail(-errno, "cannot look at %s: %s", path,
		    strerror(errno));
	errno = saved;
	if (differs(sh64_load(&h->boot), boot))
		return lhi_fail(-EUCLEAN, "%s was made before this machine was "
		    "started: it was restored, and its tokens may repeat; "
		    "remove it (leasehold rm --force)", path);
	if (sh64_load(&h->device) != st.st_dev ||
	    sh64_load(&h->inode) != st.st_ino || differs(was_born, born) ||
	    differs(was_handle, handle))
		return lhi_fail(-EUCLEAN, "%s is a copy of a table: it was "
		    "restored or moved here, and its tokens may be older than "
		    "what was granted since; stop its users and remove it "
		    "(leasehold rm --force), then tokens go on above them",
		    path);
	if (!agrees(was_born, born) && !agrees(was_handle, handle))
		return lhi_fail(-EXDEV, "cannot tell whether %s is a copy of a "
		    "table: this process can read neither its birth time nor "
		    "its file handle; allow the system calls statx and "
		    "name_to_handle_at", path);
	return 0;
}
