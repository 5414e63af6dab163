/* SPDX-License-Identifier: MIT */
/* Byte locks: see bytelock.h. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "prim/bytelock.h"

#define PIN_LEN 4096

static struct flock
write_lock_of(off_t first, off_t n)
{
	struct flock fl;

	memset(&fl, 0, sizeof(fl));	/* l_pid must be 0 */
	fl.l_type = F_WRLCK;
	fl.l_whence = SEEK_SET;
	fl.l_start = first;
	fl.l_len = n;
	return fl;
}

int
lhi_byte_lock(int fd, off_t byte)
{
	return lhi_bytes_lock(fd, byte, 1);
}

int
lhi_bytes_lock(int fd, off_t first, off_t n)
{
	struct flock fl = write_lock_of(first, n);

	if (fcntl(fd, F_OFD_SETLK, &fl) == 0)
		return 0;
	return errno == EACCES ? -EAGAIN : -errno;
}

int
lhi_byte_share(int fd, off_t byte)
{
	struct flock fl = write_lock_of(byte, 1);

	fl.l_type = F_RDLCK;
	if (fcntl(fd, F_OFD_SETLK, &fl) == 0)
		return 0;
	return errno == EACCES ? -EAGAIN : -errno;
}

int
lhi_bytes_unlock(int fd)
{
	struct flock fl = write_lock_of(0, 0);	/* length 0: all bytes */

	fl.l_type = F_UNLCK;
	return fcntl(fd, F_OFD_SETLK, &fl) == 0 ? 0 : -errno;
}

int
lhi_byte_held(int fd, off_t byte)
{
	return lhi_bytes_held(fd, byte, 1);
}

int
lhi_bytes_held(int fd, off_t first, off_t n)
{
	struct flock fl = write_lock_of(first, n);

	if (fcntl(fd, F_OFD_GETLK, &fl) != 0)
		return -errno;
	return fl.l_type != F_UNLCK;
}

void *
lhi_byte_pin(int fd)
{
	void *pin = mmap(NULL, PIN_LEN, PROT_READ, MAP_SHARED, fd, 0);

	if (pin == MAP_FAILED)
		return NULL;
	if (madvise(pin, PIN_LEN, MADV_DONTFORK) != 0) {
		(void)munmap(pin, PIN_LEN);
		return NULL;
	}
	return pin;
}

void
lhi_byte_unpin(void *pin)
{
	(void)munmap(pin, PIN_LEN);
}

void
lhi_byte_unlock(int fd, off_t byte)
{
	struct flock fl = { .l_type = F_UNLCK, .l_whence = SEEK_SET,
	    .l_start = byte, .l_len = 1 };

	(void)fcntl(fd, F_OFD_SETLK, &fl);
}
