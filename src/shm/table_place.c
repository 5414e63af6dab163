/* SPDX-License-Identifier: MIT */
/*
 * The place of a table: whether this is the very file in which the table was
 * made, and its live file (live_file.c) the one with which it was made.
 *
 * A copy may be older than later grants, so it would grant the same tokens
 * again (G2). So a table is used only in the file in which it was made.  The
 * header identifies that file by properties that a copy does not have:
 *
 *	device, inode	a copy next to the original has another inode; one that
 *			is put into a fresh tmpfs may get the same two
 *	born		its birth time (statx), in ns, which cannot be set
 *	handle		its file handle; on tmpfs that has a random number which
 *			the kernel gives each inode (name_to_handle_at)
 *	boot		the machine's boot id
 *
 * 0 is "not known", here and in the header, and equals nothing.  Device and
 * inode alone prove nothing, so birth time or handle must be known on both
 * sides, and the same.  On a kernel that has neither (before Linux 5.19 without
 * CONFIG_FHANDLE; a seccomp filter) no tables are made, and a process that may
 * ask for neither opens none.
 *
 * Its live file is identified by the same facts.  Both are stored before the
 * table has a name.
 *
 * Not detected: bytes that are written into the file itself, and a machine that
 * is set back as a whole (a snapshot of its memory).
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
#include "shm/table_words.h"

/* Returns the boot id as one number; 0: it cannot be read. */
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

/* Returns the file's birth time in ns; 0: not known. */
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

/* Returns the file's handle as one number; 0: not known. */
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
lhi_place_of(int fd, struct lhi_place *p)
{
	int saved = errno;
	struct stat st;

	memset(p, 0, sizeof(*p));
	if (fstat(fd, &st) != 0)
		return -errno;
	p->device = st.st_dev;
	p->inode = st.st_ino;
	p->born = read_birth(fd);
	p->handle = read_handle(fd);
	errno = saved;
	return 0;
}

enum lhi_place_answer
lhi_place_compare(const struct lhi_place *then, const struct lhi_place *now)
{
	if (then->device != now->device || then->inode != now->inode ||
	    differs(then->born, now->born) ||
	    differs(then->handle, now->handle))
		return LHI_PLACE_OTHER;
	return agrees(then->born, now->born) ||
	    agrees(then->handle, now->handle) ? LHI_PLACE_SAME :
	    LHI_PLACE_UNTOLD;
}

/* Returns 0 if a copy of that file would have other facts. */
static int
check_told(const struct lhi_place *p)
{
	return p->born != 0 || p->handle != 0 ? 0 : lhi_fail(-EOPNOTSUPP,
	    "no table can be made here: the kernel tells neither the birth "
	    "time nor the handle of a file in /dev/shm (statx, "
	    "name_to_handle_at), so a copy of the table would be taken for it; "
	    "allow one of these system calls");
}

int
lhi_place_set(struct shm_header *h, int fd)
{
	struct lhi_place p;
	int error = lhi_place_of(fd, &p);

	if (error != 0)
		return lhi_fail(error, "cannot look at the new table: %s",
		    strerror(-error));
	sh64_store_rlx(&h->device, p.device);
	sh64_store_rlx(&h->inode, p.inode);
	sh64_store_rlx(&h->born, p.born);
	sh64_store_rlx(&h->handle, p.handle);
	sh64_store_rlx(&h->boot, read_boot());
	return check_told(&p);
}

int
lhi_place_set_live(struct shm_header *h, int fd)
{
	struct lhi_place p;
	int error = lhi_place_of(fd, &p);

	if (error != 0)
		return lhi_fail(error, "cannot look at the new table's live "
		    "file: %s", strerror(-error));
	sh64_store_rlx(&h->live_device, p.device);
	sh64_store_rlx(&h->live_inode, p.inode);
	sh64_store_rlx(&h->live_born, p.born);
	sh64_store_rlx(&h->live_handle, p.handle);
	return check_told(&p);
}

struct lhi_place
lhi_place_live(const struct shm_header *h)
{
	return (struct lhi_place){
		.device = sh64_load(&h->live_device),
		.inode = sh64_load(&h->live_inode),
		.born = sh64_load(&h->live_born),
		.handle = sh64_load(&h->live_handle),
	};
}

bool
lhi_place_is_of_this_boot(const struct shm_header *h)
{
	int saved = errno;
	uint64_t boot = read_boot();

	errno = saved;
	return boot != 0 && sh64_load(&h->boot) == boot;
}

int
lhi_place_check(const struct shm_header *h, int fd, const char *path)
{
	struct lhi_place then = {
		.device = sh64_load(&h->device),
		.inode = sh64_load(&h->inode),
		.born = sh64_load(&h->born),
		.handle = sh64_load(&h->handle),
	}, now;
	int saved = errno, error = lhi_place_of(fd, &now);
	uint64_t boot = read_boot();

	if (error != 0)
		return lhi_fail(error, "cannot look at %s: %s", path,
		    strerror(-error));
	errno = saved;
	if (differs(sh64_load(&h->boot), boot))
		return lhi_fail(-EUCLEAN, "%s was made before this machine was "
		    "started: it was restored, and its tokens may repeat; "
		    "remove it (leasehold rm --force%s)", path,
		    TABLE_WORDS(path));
	switch (lhi_place_compare(&then, &now)) {
	case LHI_PLACE_SAME:
		return 0;
	case LHI_PLACE_OTHER:
		return lhi_fail(-EUCLEAN, "%s is a copy of a table: it was "
		    "restored or moved here, and its tokens may be older than "
		    "what was granted since; stop its users and remove it "
		    "(leasehold rm --force%s), then tokens go on above "
		    "them", path, TABLE_WORDS(path));
	default:
		return lhi_fail(-EXDEV, "cannot tell whether %s is a copy of a "
		    "table: this process can read neither its birth time nor "
		    "its file handle; allow the system calls statx and "
		    "name_to_handle_at", path);
	}
}
