/* SPDX-License-Identifier: MIT */
/*
 * Declares what the files of a gRPC channel share: the calls on one connection
 * and the state of that connection.  Users include channel.h only.
 *
 * A file calls only files above it in this list:
 *
 *	call_list.c	lists of calls: in progress, and ended
 *	channel_state.c	changes between connecting, up and down
 *	call.c		starts calls and delivers their outcome
 *	h2.c		handles HTTP/2 frames
 *	channel.c	connects, and handles the socket
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
	TAILQ_ENTRY(call) of;	/* in ch->calls or ch->ended */
	struct channel *ch;
	int32_t id;
	bool streaming;
	bool sent;		/* its header was given to the connection */
	bool refused;		/* the server refused the stream unread */
	bool ended;
	int status;
	char message[CALL_TEXT_MAX];
	struct evbuffer *out;	/* bytes not sent yet */
	struct evbuffer *in;	/* bytes received and not delivered yet */
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
	struct event *timer;	/* connect timeout; later, pings */
	struct event *soon;	/* runs call_deliver() */
	bool pinged;		/* a ping has no answer yet */
	bool leaving;		/* the server sent GOAWAY */
	bool untold;		/* a change of state is to be reported */
	bool *freed;		/* set to true when the channel is freed */
	struct calls calls;	/* in progress; streams come first */
	struct calls ended;	/* ended, outcome not delivered yet */
};

/* Ends a call, unless it has ended already, and schedules its delivery.  If
 * `message` is NULL, the call's status and message are set already. */
void call_end(struct call *c, int status, const char *message);

/* Schedules call_deliver() in the loop. */
void call_deliver_later(struct channel *ch);
/* Delivers stream messages, outcomes of ended calls, and the channel's state.
 * Runs in the event loop. */
void call_deliver(evutil_socket_t fd, short what, void *channel);

/* Frees a call that is in no list. */
void call_free(struct call *c);

/* Inserts a call into a list, streams first.  So a search for stream messages
 * can stop at the first unary call. */
void call_insert(struct calls *list, struct call *c);

/* channel_state.c: gives pending HTTP/2 frames to the connection. */
void channel_push(struct channel *ch);

/* Marks the channel as usable. */
void channel_up(struct channel *ch);
/* Marks the channel as unusable for good and ends all its calls. */
void channel_down(struct channel *ch, const char *why);

/* Restarts the channel's timer to fire in `ms`, or stops it if `ms` is 0. */
void channel_restart_timer(struct channel *ch, int ms);

/* h2.c: starts the HTTP/2 session.  Returns 0 or an nghttp2 error. */
int h2_begin(struct channel *ch);

#endif
