/* SPDX-License-Identifier: MIT */
/*
 * Random bytes, from the kernel.  Not libbsd's arc4random(): its mutex is not
 * held over fork, so that a child of a thread's neighbour may wait for ever.
 */
#ifndef LHI_RANDOM_H
#define LHI_RANDOM_H

#include <stddef.h>

/* 0, or -EIO: the kernel gives none.  errno is left alone. */
int lhi_random_fill(void *to, size_t len);

#endif
