/* SPDX-License-Identifier: MIT */
/*
 * leasehold-preload.so: a program that locks files holds keys as well, so that
 * `leasehold list`, `explain` and `log` show them.
 *
 *	LD_PRELOAD=leasehold-preload.so PROGRAM
 *
 * These are the functions that the program calls in place of the C library's.
 * Those that lock a file do it with its key (locking.c); those that close a
 * descriptor release the keys of locks that end with it.
 *
 * No program may fail, hang or lose its lock because of the keys.  The lock is
 * always the kernel's, and so is every answer.
 */
#include <errno.h>
#include <stdarg.h>
#include <sys/file.h>
#include <unistd.h>
#include "preload.h"

#define EXPORT __attribute__((visibility("default")))

/* True if libleasehold.so has called: it locks and closes files of its own,
 * also for a program that uses it, and may be in the midst of something. */
#define IS_OWN() key_table_is_library(__builtin_return_address(0))

EXPORT int
flock(int fd, int operation)
{
	struct lh *lh = IS_OWN() ? NULL : key_table();
	struct lock_request r;
	int saved = errno;
	bool is = lh != NULL && lock_request_of_flock(&r, fd, operation);

	errno = saved;
	return is ? locking_do(&r, lh) : real()->flock(fd, operation);
}

static int
lock_range(int fd, int cmd, const struct flock *range)
{
	struct lh *lh = key_table();
	struct lock_request r;

	return lh != NULL && lock_request_of_fcntl(&r, fd, cmd, range) ?
	    locking_do(&r, lh) : real()->fcntl(fd, cmd, range);
}

/* The argument is passed on as it is, whatever its type. */
static int
control_file(int fd, int cmd, void *arg)
{
	switch (cmd) {
	case F_SETLK:
	case F_SETLKW:
	case F_OFD_SETLK:
	case F_OFD_SETLKW:
		return lock_range(fd, cmd, arg);
	default:
		return real()->fcntl(fd, cmd, arg);
	}
}

EXPORT int
fcntl(int fd, int cmd, ...)
{
	va_list list;
	void *arg;

	va_start(list, cmd);
	arg = va_arg(list, void *);
	va_end(list);
	return IS_OWN() ? real()->fcntl(fd, cmd, arg) :
	    control_file(fd, cmd, arg);
}

EXPORT int fcntl64(int fd, int cmd, ...) __attribute__((alias("fcntl")));

EXPORT int
lockf(int fd, int cmd, off_t len)
{
	struct flock range = { .l_type = F_WRLCK, .l_whence = SEEK_CUR,
	    .l_len = len };

	switch (cmd) {
	case F_LOCK:
		return lock_range(fd, F_SETLKW, &range);
	case F_TLOCK:
		return lock_range(fd, F_SETLK, &range);
	case F_ULOCK:
		range.l_type = F_UNLCK;
		return lock_range(fd, F_SETLK, &range);
	default:
		return real()->lockf(fd, cmd, len);
	}
}

EXPORT int
lockf64(int fd, int cmd, off64_t len)
{
	return lockf(fd, cmd, len);
}

/* Removes the records of locks that end with these descriptors.  (A child that
 * shares its parent's memory until it starts a program closes no lock.) */
static struct held_lock *
take_closed(int first, int last)
{
	struct held_lock *list;
	int saved = errno;
	struct stat st;
	bool one;

	if (!held_locks_any() || key_table_is_inside() || !key_table_is_ours())
		return NULL;
	one = first == last && fstat(first, &st) == 0;
	list = first == last && !one ? NULL :
	    held_locks_take_closed(first, last, one ? &st : NULL);
	errno = saved;
	return list;
}

EXPORT int
close(int fd)
{
	struct held_lock *list = IS_OWN() ? NULL : take_closed(fd, fd);
	int result = real()->close(fd);

	held_locks_release(list);
	return result;
}

EXPORT int
fclose(FILE *f)
{
	struct held_lock *list = NULL;
	int fd, result, saved = errno;

	if (!IS_OWN() && held_locks_any() && (fd = fileno(f)) >= 0)
		list = take_closed(fd, fd);
	errno = saved;
	result = real()->fclose(f);
	held_locks_release(list);
	return result;
}

EXPORT int
dup2(int from, int to)
{
	struct held_lock *list = NULL;
	int result;

	if (from != to && !IS_OWN() && held_locks_any() &&
	    real()->fcntl(from, F_GETFD) >= 0)
		list = take_closed(to, to);
	result = real()->dup2(from, to);
	held_locks_release(list);
	return result;
}

EXPORT int
dup3(int from, int to, int flags)
{
	struct held_lock *list = NULL;
	int result;

	if (from != to && !IS_OWN() && held_locks_any() &&
	    real()->fcntl(from, F_GETFD) >= 0)
		list = take_closed(to, to);
	result = real()->dup3(from, to, flags);
	held_locks_release(list);
	return result;
}

EXPORT int
close_range(unsigned int first, unsigned int last, int flags)
{
	int result = real()->close_range(first, last, flags);
	int top = last > INT32_MAX ? INT32_MAX : (int)last;

	/* (no flag, or the one that gives the process descriptors of its own,
	 * but not the one that only marks them) */
	if (result == 0 && !IS_OWN() && first <= INT32_MAX && !(flags & ~2))
		held_locks_release(take_closed((int)first, top));
	return result;
}

EXPORT void
closefrom(int first)
{
	real()->closefrom(first);
	held_locks_release(take_closed(first, INT32_MAX));
}
