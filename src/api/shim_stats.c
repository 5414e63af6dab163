/* SPDX-License-Identifier: MIT */
/* lh_shim_stats(): asks the table's shim for its counters. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <leasehold.h>
#include "base/error.h"
#include "op/shim_request.h"

#define WAIT_NS NS_PER_SEC

int
lh_shim_stats(struct lh *lh, void (*fn)(const char *text, void *arg), void *arg)
{
	struct lhi_shim_request p = {
	    .lh = lh, .question = {.type = FRAME_STATS}};
	struct lhi_shim_request_wait wait = { .until_ns = 0 };
	char *text = NULL;
	int error = lhi_own_to_look(lh);

	if (error == 0 && fn == NULL)
		error = lhi_fail(-EINVAL, "nobody to tell it to (NULL)");
	if (error != 0)
		return error;
	wait.until_ns = lhi_now_ns(&lh->v) + WAIT_NS;
	error = lhi_shim_request_begin(&p);
	if (error != 0)
		return error;
	error = lhi_shim_request_await(&p, &wait);
	if (error == -ETIMEDOUT)
		error = lhi_fail(-EHOSTUNREACH, "the shim does not answer");
	else if (error == 0 && p.answer.type != FRAME_TEXT)
		error = lhi_fail(-EPROTO, "the shim answers something else");
	else if (error == 0 && (text = strndup(p.answer.text,
	    p.answer.text_len)) == NULL)
		error = lhi_fail(-ENOMEM, "out of memory");
	lhi_shim_request_end(&p);
	if (error == 0)
		fn(text, arg);
	free(text);
	return error;
}
