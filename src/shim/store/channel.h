/* SPDX-License-Identifier: MIT */
/*
 * A gRPC channel to one endpoint: calls over one HTTP/2 connection. etcd_link.c
 * opens it; channel.c says what each outcome of a call means.
 */
#ifndef SHIM_CHANNEL_H
#define SHIM_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <event2/dns.h>
#include <event2/event.h>
#include "engine.h"

/* gRPC status codes that this file's users handle.  Servers send 0 to 16. */
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
	GRPC_NONE = -1		/* no status was received; see the message */
};

struct answer {
	enum fate fate;
	int status;		/* GRPC_... */
	const char *message;	/* text for people; never NULL */
	const uint8_t *body;	/* the answer, if a unary call is DONE */
	size_t len;
};

struct channel;
struct call;

enum channel_state {
	CHANNEL_CONNECTING,
	CHANNEL_UP,
	CHANNEL_DOWN		/* final; only channel_free() may be called */
};

/* Reports a change of state.  It may free the channel. */
typedef void channel_fn(struct channel *ch, enum channel_state state,
    const char *why, void *arg);

/* Reports the outcome of a call, once.  It may start and cancel other calls. */
typedef void answer_fn(const struct answer *a, void *arg);

/* Reports a message of a stream; never after the stream was cancelled. */
typedef void message_fn(const uint8_t *body, size_t len, void *arg);

struct channel_opts {
	struct event_base *base;
	struct evdns_base *dns;	/* NULL: name lookups block the loop */
	const char *host;	/* name or address; copied */
	uint16_t port;
	struct ssl_ctx_st *tls;	/* OpenSSL context; NULL: no encryption */
	int connect_ms;		/* connect timeout */
	int ping_ms;		/* interval of pings; 0: none. etcd accepts 5 s
				 * and more. */
	channel_fn *state;
	void *arg;
};

/* Starts to connect and returns the channel, or NULL without memory.  The
 * process must ignore SIGPIPE. */
struct channel *channel_open(const struct channel_opts *o);

/* Closes the connection and drops all calls.  No callback is called. */
void channel_free(struct channel *ch);

enum channel_state channel_state(const struct channel *ch);
const char *channel_name(const struct channel *ch);	/* host:port */

struct call_opts {
	const char *path;	/* "/etcdserverpb.KV/Txn" */
	const char *token;	/* etcd's token for our user, or NULL */
	int timeout_ms;		/* unary call only */
	const uint8_t *body;	/* the request; copied */
	size_t len;
	message_fn *message;	/* for a stream; NULL: unary call */
	answer_fn *answer;
	void *arg;
};

/* Starts a call.  The outcome is never reported before this function returns.
 * Returns NULL if the channel is not up or there is no memory; then nothing is
 * sent. */
struct call *channel_call(struct channel *ch, const struct call_opts *o);

/* Cancels a call without reporting an outcome.  The server may still act on
 * it.  Must not be called from the call's own answer_fn. */
void call_cancel(struct call *c);

#endif
