/* SPDX-License-Identifier: MIT */
/*
 * Declares what the files of the engine over etcd share.  A file calls only
 * files above it in this list:
 *
 *	etcd_request.c	ends requests that get no answer
 *	etcd_link.c	connects to an endpoint that can be used
 *	etcd_watch.c	the engine's only watch
 *	etcd.c		sends requests, delivers answers
 */
#ifndef SHIM_ETCD_LINK_H
#define SHIM_ETCD_LINK_H

#include <bsd/sys/queue.h>
#include <event2/dns.h>
#include "channel.h"
#include "endpoint.h"
#include "etcd.h"
#include "wire.h"

#define ETCD_TEXT_MAX 400

/* One call to the store. */
struct etcd_request {
	TAILQ_ENTRY(etcd_request) of;	/* in e->waiting, e->sent or e->ended */
	struct etcd *e;
	const char *path;
	struct wire_out body;
	wire_fn *decode;
	struct wire_shape shape;
	bool linear;		/* the answer's revision must not be below
				 * r->mark */
	bool again;		/* it was repeated with a new token already */
	int64_t deadline_ms, sent_ms;
	int64_t mark;		/* the highest revision known when it was
				 * sent */
	struct call *call;	/* set while it is in e->sent */
	kv_answer_fn *fn;
	void *arg;
	enum fate fate;		/* the outcome, if it ended without an answer */
	const char *why;
};

TAILQ_HEAD(etcd_requests, etcd_request);

enum etcd_step {
	STEP_APART,		/* waits for the timer */
	STEP_CONNECT,
	STEP_LOGIN,
	STEP_STATUS,		/* asks for the cluster's id and etcd's
				 * version */
	STEP_CHECK,		/* reads the root key: permission, and a
				 * revision not below the mark */
	STEP_READY
};

struct etcd {
	struct engine engine;	/* must be the first member */
	struct etcd_opts o;	/* its texts are our copies */
	struct kv_hooks hooks;
	struct kv_mark mark;
	struct ssl_ctx_st *tls;
	struct evdns_base *dns;
	struct endpoints ends;
	unsigned at;		/* index of the endpoint in use, or next */
	unsigned tried;		/* bit i: endpoint i failed since the last
				 * READY */
	int64_t silent_ms[ENDPOINTS_MAX];	/* when the endpoint last did
						 * not answer; 0: never */
	int64_t step_ms;	/* when this step began */
	int64_t older_ms;	/* when mark.wait_ms begins: the store was last
				 * seen to be older, or the engine opened */
	bool wait_told;		/* the operator knows of this wait */
	unsigned rounds;	/* rounds in which all endpoints failed */
	unsigned troubles;	/* failed requests in a row at this endpoint */
	enum etcd_step step;
	struct channel *ch;
	struct call *watch;
	bool watch_denied;	/* the watch was denied once with this token */
	int64_t watch_ms;	/* when the watch began */
	int64_t watch_told;	/* revision of the latest change reported */
	int64_t watch_floor;	/* value of watch_told when the watch began */
	int64_t heard_ms;	/* when the endpoint last answered anything */
	int64_t step_mark;	/* the mark's revision when CHECK was sent */
	char *token;
	bool token_is_new;
	char version[32];	/* the version that advice was given about */
	uint8_t *prefix;	/* the watched prefix; NULL: no watch */
	size_t prefix_len;
	struct event *again;	/* ends STEP_APART */
	struct event *tick;	/* ends waiting requests whose time is over */
	struct event *soon;	/* delivers what is pending */
	enum kv_state state;
	char why[ETCD_TEXT_MAX];
	bool untold;		/* a change of state is to be reported */
	bool look_again;	/* a gap of the watch is to be reported */
	struct etcd_requests waiting, sent, ended;
	bool *freed;
	void (*on_ready)(struct etcd *e); /* etcd.c: called at STEP_READY */
};

/* etcd_request.c */
void etcd_request_free(struct etcd_request *r);
/* Moves a request from list `from` to e->ended with this outcome. */
void etcd_request_end(struct etcd_request *r, struct etcd_requests *from,
    enum fate fate, const char *why);
/* Ends all sent requests as UNKNOWN.  If `why` is not NULL, also ends all
 * waiting requests as NOT_APPLIED. */
void etcd_end_all(struct etcd *e, const char *why);

/* etcd_link.c */
int64_t etcd_now_ms(void);
/* Reports advice for the operator. */
void etcd_advise(struct etcd *e, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Connects to endpoint e->at. */
void etcd_connect(struct etcd *e);
void etcd_on_retry(evutil_socket_t fd, short what, void *etcd);
/* Gives up the current endpoint and goes on to the next one. */
void etcd_leave_endpoint(struct etcd *e, const char *why);
/* Reports KV_REFUSED and waits refused_ms before the next attempt. */
void etcd_refuse_store(struct etcd *e, const char *why);
/* Gets a new token for the user. */
void etcd_login(struct etcd *e);
/* True if a request was refused because of our token. */
bool etcd_is_token_trouble(const struct etcd *e, const struct answer *a);

/* True if the answer is from our cluster and its revision is not below `mark`;
 * also raises e->mark.  Otherwise the store is refused. */
bool etcd_check_mark(struct etcd *e, const struct wire_in *in, int64_t mark);
/* Returns how long the store is still refused because it was older. */
unsigned etcd_wait_left_ms(const struct etcd *e);

/* etcd_watch.c: starts the watch on the current channel. */
void etcd_watch(struct etcd *e);
/* Reports a gap of the watch, if one is pending.  Returns false if the engine
 * was closed by that. */
bool etcd_deliver_gap(struct etcd *e);

#endif
