/* SPDX-License-Identifier: MIT */
/* Opens descriptors that are never 0, 1 or 2: see descriptor.c. */
#ifndef LHI_DESCRIPTOR_H
#define LHI_DESCRIPTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Work as openat(2), open(2), eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) and
 * socket(AF_UNIX) of that type.  Each returns a descriptor >= 3, or -1 with
 * errno. */
int lhi_fd_openat(int dir, const char *path, int flags, mode_t mode);
int lhi_fd_open(const char *path, int flags);
int lhi_fd_event(void);
int lhi_fd_socket(int type);

/* True if this process may write files of that length (ulimit -f).  A longer
 * write would raise SIGXFSZ, so callers check first.  If false, errno is
 * EFBIG. */
bool lhi_fd_may_write(uint64_t len);

/* As dup(2): the copy is inherited over exec. */
int lhi_fd_copy(int fd);

#endif
