/* SPDX-License-Identifier: MIT */
/*
 * What the files of a channel share.  A file calls only those above it in this
 * list:
 *
 *	call_list.c	calls under way, and ended
 *	channel_state.c	the channel is up, or down
 *	call.c		how calls begin, and are told what came of them
 *	h2.c		what HTTP/2 frames do
 *	channel.c	connections
 */
#ifndef SHIM_CALL_H
#define SHIM_CALL_H

#include <bsd/sys/queue.h>
#include <event2/buffer.h>
#include <nghttp2/nghttp2.h>
#include "channel.h"

#define CALL_BODY_MAX (8u << 20)
#define CALL_TEXT_MAX 200

struct call {
	TAILQ_ENTRY(call) of;	/* ch->calls, or ch->ended */
	struct channel *ch;
	int32_t id;
	bool streaming;
	bool sent;		/* its header was handed to the connection */
	bool refused;		/* the server did not look at it */
	bool ended;
	int status;
	char message[CALL_TEXT_MAX];
	struct evbuffer *out;	/* not yet sent */
	struct evbuffer *in;	/* not yet told */
	struct event *timer;
	message_fn *on_message;
	answer_fn *on_answer;
	void *arg;
};

TAILQ_HEAD(calls, call);

struct channel {
	struct channel_opts o;
	char host[256];
	char name[280];
	char why[CALL_TEXT_MAX];
	enum channel_state state;
	struct bufferevent *bev;
	nghttp2_session *h2;
	struct event *timer;	/* of connecting, then of pings */
	struct event *soon;	/* call_deliver() */
	bool pinged;		/* and not yet answered */
	bool leaving;		/* the server said so */
	bool untold;		/* the state has changed */
	bool *freed;		/* call_deliver() wants to know */
	struct calls calls;	/* streams before all others */
	struct calls ended;	/* to be told */
};

/* It is over, if it was not before, and will be told; message NULL: status and
 * message are there already. */
void call_end(struct call *c, int status, const char *message);

/* Tell what has come, soon and from the loop; now, if this is the loop. */
void call_deliver_later(struct channel *ch);
void call_deliver(evutil_socket_t fd, short what, void *channel);

void call_free(struct call *c);

/* Streams come first: the list that is searched for messages stays short. */
void call_insert(struct calls *list, struct call *c);

/* channel_state.c: hands over to the connection what is to be sent. */
void channel_push(struct channel *ch);

/* The channel can be used; nothing will come any more. */
void channel_up(struct channel *ch);
void channel_down(struct channel *ch, const char *why);

/* Sets the timer to `ms` from now; 0: stops it. */
void channel_restart_timer(struct channel *ch, int ms);

/* h2.c: 0, or an error of nghttp2. */
int h2_begin(struct channel *ch);

#endif
