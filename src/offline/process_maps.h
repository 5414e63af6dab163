/* SPDX-License-Identifier: MIT */
/* Asks which processes have a file mapped: see process_maps.c. */
#ifndef LHI_PROCESS_MAPS_H
#define LHI_PROCESS_MAPS_H

#include <stdbool.h>
#include <sys/types.h>
#include "base/procstatus.h"

/* How /proc/PID/maps names a file. */
struct lhi_maps_name {
	dev_t dev;
	unsigned long long ino;
};

/* Finds out how fd's file is named, by a mapping of our own. */
bool lhi_process_maps_learn(struct lhi_maps_name *name, int fd);

/* Returns 1 if that process maps the file, 0 if not; -EAGAIN: its threads ended
 * at every look; -errno: it cannot be seen. */
int lhi_process_maps(pid_t pid, const struct lhi_maps_name *name);

/* True if the thread of that directory in /proc has memory: so it has not
 * ended, nor given up its descriptors.  False in doubt. */
bool lhi_process_thread_has_memory(const char *task);

/* How a process may be looked at. */
enum lhi_process_way {
	PROCESS_FREELY,
	PROCESS_IN_EXEC,	/* see process_maps.c */
	PROCESS_NOT_AT_ALL,	/* it has kept an earlier look from ending */
};
enum lhi_process_way lhi_process_way(pid_t pid, struct lhi_procstatus *s);

/* True if that process has ended, or is the kernel's.  False in doubt. */
bool lhi_process_has_no_memory(pid_t pid);

#endif
