/* SPDX-License-Identifier: MIT */
/* This process's connections to the shim: see shim_client.c. */
#ifndef LHI_SHIM_CLIENT_H
#define LHI_SHIM_CLIENT_H

#include "base/frame.h"
#include "proc/attachment.h"

struct lhi_shim_client {
	struct lhi_shim_client *next;	/* of the unused connections */
	int fd;			/* non-blocking */
	uint32_t id;		/* of the latest frame that gets an answer */
	bool known;		/* WELCOME was received */
	unsigned char buf[FRAME_LEN_MAX];	/* the frame that was read
						 * last */
};

/* Takes a connection for the caller alone. *made: it is new (a kept one may
 * have ended meanwhile).  Returns 0; -EHOSTUNREACH with a sentence if there is
 * no shim or none that can be trusted; -ENOMEM; -EMFILE. */
int lhi_shim_client_take(struct lh *lh, struct lhi_shim_client **out, bool
    *made);

/* Gives a connection back: to be used again, or to be closed. */
void lhi_shim_client_keep(struct lh *lh, struct lhi_shim_client *c);
void lhi_shim_client_drop(struct lhi_shim_client *c);

/* Sends a frame with a new id; a DROP has the id of the dropped request.
 * Returns 0; -EPIPE if the connection has ended or is full; -EINVAL if the
 * frame is invalid. */
int lhi_shim_client_send(struct lhi_shim_client *c, struct lhi_frame *f);

/* Receives the answer to the latest frame, valid until the next call.  Returns
 * 0; -EAGAIN (not yet); -EPIPE (the connection has ended); -EPROTO (invalid
 * answer). */
int lhi_shim_client_answer(struct lh *lh, struct lhi_shim_client *c, struct
    lhi_frame *f);

/* Closes all connections, when the attachment is closed. */
void lhi_shim_client_end(struct lh *lh);

#endif
