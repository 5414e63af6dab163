/* SPDX-License-Identifier: MIT */
/*
 * Random bytes from the kernel.  libbsd's arc4random() is not used: fork does
 * not release its mutex, so a child of a multi-threaded process could wait for
 * ever.
 */
#ifndef LHI_RANDOM_H
#define LHI_RANDOM_H

#include <stddef.h>

/* Fills `to` with random bytes.  Returns 0, or -EIO if the kernel gives none.
 * errno is unchanged. */
int lhi_random_fill(void *to, size_t len);

#endif
