/* SPDX-License-Identifier: MIT */
/* A gRPC channel to one endpoint: calls over one HTTP/2 connection.  See
 * channel.c. */
#ifndef SHIM_CHANNEL_H
#define SHIM_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <event2/dns.h>
#include <event2/event.h>
#include "engine.h"

/* gRPC status codes that matter here; 0 .. 16 come from servers. */
enum {
	GRPC_OK = 0,
	GRPC_CANCELLED = 1,
	GRPC_UNKNOWN = 2,
	GRPC_INVALID = 3,
	GRPC_DEADLINE = 4,
	GRPC_NOT_FOUND = 5,
	GRPC_DENIED = 7,
	GRPC_EXHAUSTED = 8,
	GRPC_PRECONDITION = 9,
	GRPC_OUT_OF_RANGE = 11,
	GRPC_UNIMPLEMENTED = 12,
	GRPC_INTERNAL = 13,
	GRPC_UNAVAILABLE = 14,
	GRPC_UNAUTHENTICATED = 16,
	GRPC_NONE = -1		/* no status came: see the message */
};

struct answer {
	enum fate fate;
	int status;		/* GRPC_... */
	const char *message;	/* for people; never NULL */
	const uint8_t *body;	/* the message, of a unary call that is done */
	size_t len;
};

struct channel;
struct call;

enum channel_state {
	CHANNEL_CONNECTING,
	CHANNEL_UP,
	CHANNEL_DOWN		/* told once, with the reason: then only
				 * channel_free() is of use */
};

/* Told of a change of state; it may free the channel. */
typedef void channel_fn(struct channel *ch, enum channel_state state,
    const char *why, void *arg);

/* Told once how a call ended.  It may make others, and cancel others. */
typedef void answer_fn(const struct answer *a, void *arg);

/* Told of each message of a stream; not after the stream was cancelled. */
typedef void message_fn(const uint8_t *body, size_t len, void *arg);

struct channel_opts {
	struct event_base *base;
	struct evdns_base *dns;	/* NULL: the loop waits for names */
	const char *host;	/* a name or an address; copied */
	uint16_t port;
	struct ssl_ctx_st *tls;	/* OpenSSL's; or NULL: in the clear */
	int connect_ms;		/* give up connecting after that */
	int ping_ms;		/* is it there still?  asked so often; 0: never.
				 * etcd wants 5 s at least */
	channel_fn *state;
	void *arg;
};

/* Begin to connect.  NULL: out of memory.  (The process ignores SIGPIPE.) */
struct channel *channel_open(const struct channel_opts *o);

/* Forgets every call, untold, and ends the connection; no state is told. */
void channel_free(struct channel *ch);

enum channel_state channel_state(const struct channel *ch);
const char *channel_name(const struct channel *ch);	/* host:port */

struct call_opts {
	const char *path;	/* "/etcdserverpb.KV/Txn" */
	const char *token;	/* of who we are; or NULL */
	int timeout_ms;		/* of a unary call; a stream has none */
	const uint8_t *body;	/* the (first) message; copied */
	size_t len;
	message_fn *message;	/* a stream: so its messages come; else NULL */
	answer_fn *answer;
	void *arg;
};

/*
 * Call.  The answer is never told before this returns.  NULL: the channel is
 * not up, or there is no memory: nothing has been, nor will be, sent.
 */
struct call *channel_call(struct channel *ch, const struct call_opts *o);

/* Forget it: no answer will be told.  What it asked for may happen.  Not from
 * within its own answer: it is over then. */
void call_cancel(struct call *c);

#endif
