/* SPDX-License-Identifier: MIT */
/* Threads that their control group has frozen: see freezer.c. */
#ifndef LHI_FREEZER_H
#define LHI_FREEZER_H

#include <sys/types.h>

enum lhi_frozen {
	FROZEN_NO,
	FROZEN_YES,		/* or as soon as it leaves the kernel */
	FROZEN_UNKNOWN
};

/* Is thread tid of process pid frozen, state being that of its /proc/.../stat?
 * errno is left alone. */
enum lhi_frozen lhi_freezer_ask(pid_t pid, pid_t tid, char state);

#endif
