/* SPDX-License-Identifier: MIT */
/* A question to the shim, and its answer.  See shim_request.c. */
#ifndef LHI_SHIM_REQUEST_H
#define LHI_SHIM_REQUEST_H

#include "op/acquire.h"
#include "proc/shim_client.h"

#define SHIM_REQUEST_OPEN 1		/* beside 0 and -errno: no answer yet */

struct lhi_shim_request {
	struct lh *lh;
	struct lhi_shim_client *c;	/* NULL: it is over */
	int64_t sent_ns;	/* CLOCK_MONOTONIC */
	bool again;		/* the connection has ended once */
	bool answered;
	struct lhi_frame question;
	struct lhi_frame answer;
};

/* A wait for an answer, besides the answer itself. */
struct lhi_shim_request_wait {
	int64_t until_ns;	/* the table's clock */
	struct lh_cancel *cancel;	/* or NULL */
	struct lhi_wait_callback *callback;	/* or NULL */
};

/* Ask p->question, of p->lh.  0; -EHOSTUNREACH, -ENOMEM, -EMFILE, -ENFILE;
 * then there is nothing to be ended. */
int lhi_shim_request_begin(struct lhi_shim_request *p);

/* Looks for the answer.  0: p->answer is it, until the request is ended;
 * SHIM_REQUEST_OPEN: there is none yet; -EHOSTUNREACH: there will be none. */
int lhi_shim_request_look(struct lhi_shim_request *p);

/* Until it has.  Also -ETIMEDOUT, -ECANCELED, -ESTALE (the table), and what the
 * callback says. */
int lhi_shim_request_await(struct lhi_shim_request *p, const struct
    lhi_shim_request_wait *w);

/* Whatever it was, it is not wanted any more. */
void lhi_shim_request_end(struct lhi_shim_request *p);

#endif
