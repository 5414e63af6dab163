/* SPDX-License-Identifier: MIT */
/* A question to the shim, and its answer: see shim_request.c. */
#ifndef LHI_SHIM_REQUEST_H
#define LHI_SHIM_REQUEST_H

#include "op/acquire.h"
#include "proc/shim_client.h"

#define SHIM_REQUEST_OPEN 1		/* besides 0 and -errno: no answer
					 * yet */

struct lhi_shim_request {
	struct lh *lh;
	struct lhi_shim_client *c;	/* NULL: the request has ended */
	int64_t sent_ns;	/* CLOCK_MONOTONIC */
	bool again;		/* the question was sent a second time */
	bool answered;
	struct lhi_frame question;
	struct lhi_frame answer;
};

/* How long to wait for an answer. */
struct lhi_shim_request_wait {
	int64_t until_ns;	/* the table's clock */
	struct lh_cancel *cancel;	/* or NULL */
	struct lhi_wait_callback *callback;	/* or NULL */
};

/* Sends p->question to the shim of p->lh.  Returns 0; or -EHOSTUNREACH,
 * -ENOMEM, -EMFILE or -ENFILE, and then the request need not be ended. */
int lhi_shim_request_begin(struct lhi_shim_request *p);

/* Looks for the answer.  Returns 0, and p->answer is valid until the request is
 * ended; SHIM_REQUEST_OPEN if there is none yet; -EHOSTUNREACH if there will be
 * none. */
int lhi_shim_request_look(struct lhi_shim_request *p);

/* Waits for the answer.  May also return -ETIMEDOUT, -ECANCELED, -ESTALE (the
 * table), and the callback's result. */
int lhi_shim_request_await(struct lhi_shim_request *p, const struct
    lhi_shim_request_wait *w);

/* Ends the request, whatever its state. */
void lhi_shim_request_end(struct lhi_shim_request *p);

#endif
