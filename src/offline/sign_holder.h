/* SPDX-License-Identifier: MIT */
/* Looks for a second sign of life whose file is gone: see sign_holder.c. */
#ifndef LHI_SIGN_HOLDER_H
#define LHI_SIGN_HOLDER_H

#include <sys/types.h>

/*
 * Looks for a socket that was bound to a name which ends with `leaf`.  Returns
 * 1: there is one, and *pid is a process that has it open, or 0 if none is
 * seen; 0: there is none; -1: not known, because some processes may not be
 * examined.
 */
int lhi_sign_holder_find(const char *leaf, pid_t *pid);

#endif
