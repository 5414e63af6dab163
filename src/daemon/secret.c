/* SPDX-License-Identifier: MIT */
/*
 * Secrets: passwords and private keys, and the configuration file that names
 * them.  settings.c, shim_conf.c and src/shim/store use it.
 *
 * A file with a secret must belong to root or to the daemon's user, and nobody
 * else may read it.  A file of root may be readable by the daemon's own group
 * (root:leasehold 640).  All checks use the open descriptor.  The directory
 * must be one in which nobody else can replace the file: it belongs to root or
 * to the daemon's user, and others may not write to it unless it is sticky.
 *
 * In memory, a secret has pages of its own, which are excluded from core dumps
 * and wiped before they are freed.  Copies in the buffers of OpenSSL, nghttp2
 * and libevent cannot be reached.  Therefore the process as a whole is not
 * dumpable: it leaves no core file, and no other process of the same user may
 * read its memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <bsd/string.h>
#include "prim/file_owner.h"
#include "secret.h"

/* Precedes the text, in the same pages. */
struct head {
	size_t len;
};

void
secret_guard_process(void)
{
	static const struct rlimit none = { 0, 0 };

	(void)setrlimit(RLIMIT_CORE, &none);
	(void)prctl(PR_SET_DUMPABLE, 0);
}

static bool
is_trusted(uid_t uid)
{
	return uid == 0 || uid == geteuid();
}

static bool
is_own_group(gid_t group)
{
	return group == getegid() && lhi_gid_is_sure(group);
}

/* Returns the permission bits of others.  The daemon's own group does not count
 * as others if root owns the file. */
static mode_t
bits_of_others(const struct stat *st)
{
	return st->st_uid == 0 && is_own_group(st->st_gid) ? 07 : 077;
}

bool
secret_is_own_file(int fd, const char *path, char *error, size_t room)
{
	struct stat st;

	if (fstat(fd, &st) != 0) {
		(void)snprintf(error, room, "cannot check the owner of %s: %s",
		    path,
		    strerror(errno));
		return false;
	}
	if (!S_ISREG(st.st_mode))
		return true;	/* a pipe, or /dev/null */
	if (!lhi_owner_is_sure(fd, &st)) {
		(void)snprintf(error, room, "%s belongs to user %u, which in "
		    "this user namespace is each user without a number here; "
		    "chown it to root or to this user", path,
		    (unsigned)st.st_uid);
		return false;
	}
	if (!is_trusted(st.st_uid)) {
		(void)snprintf(error, room, "%s belongs to user %u; chown it "
		    "to root or to this user", path, (unsigned)st.st_uid);
		return false;
	}
	if ((st.st_mode & 02) != 0 || ((st.st_mode & 020) != 0 &&
	    !is_own_group(st.st_gid))) {
		(void)snprintf(error, room, "other users can write to %s; "
		    "chmod go-w it", path);
		return false;
	}
	return true;
}

static bool
is_safe_directory(const char *path, char *error, size_t room)
{
	char copy[PATH_MAX];
	const char *dir;
	struct stat st;

	(void)strlcpy(copy, path, sizeof(copy));
	dir = dirname(copy);
	if (stat(dir, &st) == 0 && is_trusted(st.st_uid) &&
	    lhi_owner_is_sure_at(dir, &st) &&
	    ((st.st_mode & S_ISVTX) != 0 || (st.st_mode & 02) == 0))
		return true;
	(void)snprintf(error, room, "other users can replace %s; its directory "
	    "must belong to root or to this user, and must not be writable by "
	    "others", path);
	return false;
}

static bool
is_readable_by_us_alone(int fd, const char *path, char *error, size_t room)
{
	struct stat st;

	if (!secret_is_own_file(fd, path, error, room))
		return false;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    (st.st_mode & bits_of_others(&st)) == 0)
		return true;
	(void)snprintf(error, room, "other users can read %s; chmod 600 it",
	    path);
	return false;
}

int
secret_open(const char *path, const char *what, char *error, size_t room)
{
	char why[PATH_MAX + 128];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd < 0)
		(void)snprintf(why, sizeof(why), "cannot read %s: %s", path,
		    strerror(errno));
	else if (is_readable_by_us_alone(fd, path, why, sizeof(why)) &&
	    is_safe_directory(path, why, sizeof(why)))
		return fd;
	if (fd >= 0)
		(void)close(fd);
	(void)snprintf(error, room, "%s: %s", what, why);
	return -1;
}

char *
secret_copy(const char *text)
{
	size_t len = sizeof(struct head) + strlen(text) + 1;
	struct head *h = mmap(NULL, len, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (h == MAP_FAILED)
		return NULL;
	(void)madvise(h, len, MADV_DONTDUMP);
	(void)mlock(h, len);	/* keeps it out of swap, if permitted */
	h->len = len;
	memcpy(h + 1, text, strlen(text) + 1);
	return (char *)(h + 1);
}

void
secret_free(char *text)
{
	struct head *h;
	size_t len;

	if (text == NULL)
		return;
	h = (struct head *)(void *)text - 1;
	len = h->len;
	explicit_bzero(h, len);
	(void)munmap(h, len);
}
