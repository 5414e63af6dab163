/* SPDX-License-Identifier: MIT */
/* Sessions that live as long as a process does: see session_bound.c. */
#ifndef LHI_SESSION_BOUND_H
#define LHI_SESSION_BOUND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "shm/view.h"

/* The process that a session is bound to; all 0: to none. */
struct lhi_bound {
	pid_t pid;
	uint64_t pidns_ino;	/* whose number that is */
	uint64_t start_ticks;	/* as in /proc/PID/stat */
};

/* Finds out which process has that number now.  0; -EINVAL: it is none;
 * -ESRCH: it has ended, or there is none; -EOPNOTSUPP: the kernel has no
 * pidfd; -EXDEV: /proc does not show it; -EMFILE, -ENFILE, -ENOMEM. */
int lhi_bound_identify(const struct lhi_view *v, pid_t pid,
    struct lhi_bound *b);

/* True if the session of that record is bound to that process. */
bool lhi_bound_is_to(const struct shm_session *se, const struct lhi_bound *b);

/* True if the session of that record is bound to a process, and that process
 * has surely ended. */
bool lhi_bound_process_gone(const struct lhi_view *v,
    const struct shm_session *se);

#endif
