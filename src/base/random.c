/* SPDX-License-Identifier: MIT */
/* Random bytes: see random.h. */
#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/types.h>
#include "base/error.h"
#include "base/random.h"

int
lhi_random_fill(void *to, size_t len)
{
	int saved = errno;
	char *p = to;

	while (len > 0) {
		ssize_t n = getrandom(p, len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			(void)lhi_fail(-EIO, "the kernel returned no random "
			    "bytes (getrandom: %s)", strerror(errno));
			errno = saved;
			return -EIO;
		}
		p += n;
		len -= (size_t)n;
	}
	errno = saved;
	return 0;
}
