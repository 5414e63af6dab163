/* SPDX-License-Identifier: MIT */
/* Opens standard input, output and error if the caller has closed them: what
 * each program of leasehold does first. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>
#include "standard_files.h"

/* leasehold-preload leaves a program alone that has this. */
extern const char leasehold_holds_its_own_keys[];
__attribute__((visibility("default")))
const char leasehold_holds_its_own_keys[] = "1";

static bool
are_open(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			return false;
	return true;
}

int
standard_files_open(void)
{
	int fd;

	if (are_open())
		return 0;	/* whether or not we may open /dev/null */
	do {
		fd = open("/dev/null", O_RDWR);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd < 0)
		return -errno;
	(void)close(fd);
	return 0;
}
