/* SPDX-License-Identifier: MIT */
/* The token ceiling: see fence.h. */
#include <errno.h>
#include "base/error.h"
#include "op/fence.h"

int
lhi_fence_admit(struct lhi_view *v, uint64_t token)
{
	uint64_t ceiling;

	while (token >= (ceiling = sh64_load(&v->hdr->ceiling))) {
		/* in this order: shm/retire.c, I1 */
		if (lhi_view_retired(v))
			return lhi_fail(-ESTALE, "the table %s was removed: "
			    "close this attachment and open it again",
			    v->path);
		if (token >= (uint64_t)TOKEN_MAX - TOKEN_STEP)
			return lhi_fail(-ENOSPC, "the table's tokens are used "
			    "up: retire it and make a new one");
		/* from the token, not from the old ceiling: a key whose tokens
		 * have run ahead needs one step, not many */
		(void)sh64_cas(&v->hdr->ceiling, ceiling,
		    (token | (TOKEN_STEP - 1)) + 1);
	}
	return 0;
}
