/* SPDX-License-Identifier: MIT */
/*
 * Describes a call that locks a file: whose lock it is, of what range, and the
 * name of its key.
 *
 *	file:DEV:INO		flock(2): the key of `leasehold flock` as well
 *	file:DEV:INO:FIRST-LAST	a range, of fcntl(2) or lockf(3); LAST is EOF
 *				if the range has no end
 *
 * The keys of flock(2) and of whole ranges differ, because the kernel keeps
 * these locks apart: a program may have both of one file.
 *
 * A call that locks nothing, or is wrong, has no key: the kernel answers.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>
#include "preload.h"

#define PATH_SIZE 4096
#define TABLES "/dev/shm/leasehold."	/* locks of the library's own */

/* Writes what people read.  Of a long path the end says more. */
static bool
set_info(struct lock_request *r)
{
	const char *how = r->kind == LOCK_FLOCK ? "flock" : "fcntl";
	char link[40], path[PATH_SIZE];
	const char *from = path;
	int head, room;
	ssize_t len;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", r->fd);
	len = readlink(link, path, sizeof(path) - 1);
	path[len > 0 ? len : 0] = '\0';
	if (strncmp(path, TABLES, strlen(TABLES)) == 0)
		return false;
	head = snprintf(r->info, sizeof(r->info), "%s%s%s", KERNEL_LOCK_INFO,
	    how, len > 0 ? " " : "");
	room = LH_INFO_MAX - head;
	if (len > room) {
		from += len - room;
		memset(path + (len - room), '.', 3);
	}
	(void)snprintf(r->info + head, sizeof(r->info) - (size_t)head, "%.*s",
	    room, from);
	return true;
}

static bool
set_key(struct lock_request *r)
{
	char last[24] = "EOF";

	if (r->end != 0)
		(void)snprintf(last, sizeof(last), "%jd",
		    (intmax_t)r->end - 1);
	if (r->kind == LOCK_FLOCK)
		(void)snprintf(r->key, sizeof(r->key), "file:%ju:%ju",
		    (uintmax_t)r->dev, (uintmax_t)r->ino);
	else
		(void)snprintf(r->key, sizeof(r->key), "file:%ju:%ju:%jd-%s",
		    (uintmax_t)r->dev, (uintmax_t)r->ino, (intmax_t)r->start,
		    last);
	return r->unlock || set_info(r);
}

static bool
set_file(struct lock_request *r, struct stat *st)
{
	if (fstat(r->fd, st) != 0)
		return false;
	r->dev = st->st_dev;
	r->ino = st->st_ino;
	return true;
}

bool
lock_request_of_flock(struct lock_request *r, int fd, int operation)
{
	struct stat st;

	r->kind = LOCK_FLOCK;
	r->fd = fd;
	r->operation = operation & ~LOCK_NB;
	r->wait = (operation & LOCK_NB) == 0;
	r->unlock = r->operation == LOCK_UN;
	r->shared = r->operation == LOCK_SH;
	r->range = NULL;
	r->start = r->end = 0;
	return (r->unlock || r->shared || r->operation == LOCK_EX) &&
	    set_file(r, &st) && set_key(r);
}

/* Finds the range in the file, as the kernel does. */
static bool
set_range(struct lock_request *r, const struct stat *st)
{
	off_t from = 0;

	if (r->range->l_whence == SEEK_CUR)
		from = lseek(r->fd, 0, SEEK_CUR);
	else if (r->range->l_whence == SEEK_END)
		from = st->st_size;
	else if (r->range->l_whence != SEEK_SET)
		return false;
	if (from < 0 ||
	    __builtin_add_overflow(from, r->range->l_start, &r->start) ||
	    __builtin_add_overflow(r->start, r->range->l_len, &r->end))
		return false;
	if (r->range->l_len < 0) {
		from = r->start;
		r->start = r->end;
		r->end = from;
	}
	if (r->range->l_len == 0)
		r->end = 0;
	return r->start >= 0 && r->end >= 0;
}

bool
lock_request_of_fcntl(struct lock_request *r, int fd, int cmd,
    const struct flock *range)
{
	int saved = errno;
	struct stat st;
	bool is;

	r->kind = cmd == F_SETLK || cmd == F_SETLKW ? LOCK_POSIX : LOCK_OFD;
	r->fd = fd;
	r->operation = 0;
	r->wait = cmd == F_SETLKW || cmd == F_OFD_SETLKW;
	r->range = range;
	if (range == NULL || (range->l_type != F_RDLCK &&
	    range->l_type != F_WRLCK && range->l_type != F_UNLCK))
		return false;
	r->unlock = range->l_type == F_UNLCK;
	r->shared = range->l_type == F_RDLCK;
	is = set_file(r, &st) && set_range(r, &st) && set_key(r);
	errno = saved;
	return is;
}

int
lock_request_kernel(const struct lock_request *r, bool wait)
{
	int cmd;

	if (r->kind == LOCK_FLOCK)
		return real()->flock(r->fd, r->operation |
		    (wait ? 0 : LOCK_NB));
	if (r->kind == LOCK_POSIX)
		cmd = wait ? F_SETLKW : F_SETLK;
	else
		cmd = wait ? F_OFD_SETLKW : F_OFD_SETLK;
	return real()->fcntl(r->fd, cmd, r->range);
}

bool
lock_request_is_refused(const struct lock_request *r)
{
	int flags = real()->fcntl(r->fd, F_GETFL);

	if (flags < 0 || (flags & O_PATH))
		return true;
	return r->kind != LOCK_FLOCK && (flags & O_ACCMODE) != O_RDWR &&
	    (flags & O_ACCMODE) != (r->shared ? O_RDONLY : O_WRONLY);
}
