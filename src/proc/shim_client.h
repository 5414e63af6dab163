/* SPDX-License-Identifier: MIT */
/* This process's connections to the shim.  See shim_client.c. */
#ifndef LHI_SHIM_CLIENT_H
#define LHI_SHIM_CLIENT_H

#include "base/frame.h"
#include "proc/attachment.h"

struct lhi_shim_client {
	struct lhi_shim_client *next;	/* of those that nobody uses */
	int fd;			/* never blocks */
	uint32_t id;		/* of the latest frame with an answer */
	bool known;		/* WELCOME has come */
	unsigned char buf[FRAME_LEN_MAX];	/* what was read last */
};

/*
 * One for the caller alone, made if need be: *made says so (else what was kept
 * may have ended meanwhile).  0; -EHOSTUNREACH with a sentence: there is no
 * shim, or none that may be believed; -ENOMEM, -EMFILE.
 */
int lhi_shim_client_take(struct lh *lh, struct lhi_shim_client **out, bool
    *made);

/* Back: to be used again, or to be closed. */
void lhi_shim_client_keep(struct lh *lh, struct lhi_shim_client *c);
void lhi_shim_client_drop(struct lhi_shim_client *c);

/* Send it, with a new id (but DROP, which has that of what is dropped).  0;
 * -EPIPE: the connection has ended, or does not take it; -EINVAL: there is no
 * such frame. */
int lhi_shim_client_send(struct lhi_shim_client *c, struct lhi_frame *f);

/*
 * The answer to the latest one; what it points to is valid until the next call.
 * 0; -EAGAIN: not yet; -EPIPE: the connection has ended; -EPROTO: what came is
 * no answer.
 */
int lhi_shim_client_answer(struct lh *lh, struct lhi_shim_client *c, struct
    lhi_frame *f);

/* The attachment goes. */
void lhi_shim_client_end(struct lh *lh);

#endif
