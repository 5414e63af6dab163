/* SPDX-License-Identifier: MIT */
/* Opens standard input, output and error if the caller has closed them. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include "standard_files.h"

int
standard_files_open(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd < 0)
		return -errno;
	(void)close(fd);
	return 0;
}
