/* SPDX-License-Identifier: MIT */
/* Looks for second signs of life whose file is gone: see sign_holder.c. */
#ifndef LHI_SIGN_HOLDER_H
#define LHI_SIGN_HOLDER_H

#include <sys/types.h>
#include "offline/inode_set.h"
#include "shm/view.h"

#define SIGN_SOCKETS_MAX 4096	/* noted; more: nothing is known */

struct lhi_sign_socket {
	unsigned long ino;
	uint32_t idx;		/* the record whose sign it is */
	pid_t holder;		/* has it open; 0: none is seen */
	bool doubt;		/* a stranger may have made that line */
};

enum lhi_sign_found {
	SIGN_NOT_HELD,
	SIGN_HELD,
	SIGN_DOUBTFUL,		/* it stands in a list that can be forged */
	SIGN_UNSEEN,		/* something could not be examined */
};

/* The second signs of a table that the kernel shows at one moment. */
struct lhi_sign_holders {
	const struct lhi_view *v;
	unsigned n;
	size_t n_listed, room;
	bool unseen;		/* there may be more */
	struct lhi_sign_socket socket[SIGN_SOCKETS_MAX];
	struct lhi_inode_set nets;	/* network namespaces looked at */
	unsigned long *listed;	/* the inodes of all sockets that lists have */
};

/* Looks at every list of sockets and every process, once, for the second signs
 * of a table.  Returns what was found, which the caller frees; NULL: no
 * memory. */
struct lhi_sign_holders *lhi_sign_holders_scan(const struct lhi_view *v);

/* Returns what is known of the second sign of record idx.  If it is held, *pid
 * is a process that has it open, or stays as it is if none is seen. */
enum lhi_sign_found lhi_sign_holders_find(const struct lhi_sign_holders *h,
    uint32_t idx, pid_t *pid);

#endif
