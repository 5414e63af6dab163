/* SPDX-License-Identifier: MIT */
/* Looks for second signs of life whose file is gone: see sign_holder.c. */
#ifndef LHI_SIGN_HOLDER_H
#define LHI_SIGN_HOLDER_H

#include <sys/types.h>
#include "offline/sign_lists.h"

enum lhi_sign_found {
	SIGN_NOT_HELD,
	SIGN_HELD,
	SIGN_DOUBTFUL,		/* it stands in a list that can be forged */
	SIGN_UNSEEN,		/* something could not be examined */
};

/* Looks at every list of sockets and every process, once, for the second signs
 * of a table, for limit_ms at most.  Returns what was found, which the caller
 * frees; NULL: no memory. */
struct lhi_sign_holders *lhi_sign_holders_scan(const struct lhi_view *v,
    int limit_ms);

/* Returns what is known of the second sign of record idx.  If it is held, *pid
 * is a process that has it open, or stays as it is if none is seen. */
enum lhi_sign_found lhi_sign_holders_find(const struct lhi_sign_holders *h,
    uint32_t idx, pid_t *pid);

#endif
