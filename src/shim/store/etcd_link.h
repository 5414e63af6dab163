/* SPDX-License-Identifier: MIT */
/*
 * What the files of the engine over etcd share.  A file calls only those above
 * it in this list:
 *
 *	etcd_request.c	requests that end without an answer
 *	etcd_link.c	the way to an endpoint that can be used
 *	etcd_watch.c	the one standing watch
 *	etcd.c		what is asked, and what is told
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

/* Something asked for. */
struct etcd_request {
	TAILQ_ENTRY(etcd_request) of;	/* waiting, sent or ended */
	struct etcd *e;
	const char *path;
	struct wire_out body;
	wire_fn *decode;
	struct wire_shape shape;
	bool linear;		/* its revision cannot be below the mark */
	bool again;		/* it was refused for our token once */
	int64_t deadline_ms, sent_ms;
	int64_t mark;		/* revision, when it was sent */
	struct call *call;	/* of one that is sent */
	kv_answer_fn *fn;
	void *arg;
	enum fate fate;		/* of one that ended without an answer */
	const char *why;
};

TAILQ_HEAD(etcd_requests, etcd_request);

enum etcd_step {
	STEP_APART,		/* nothing, until the timer says so */
	STEP_CONNECT,
	STEP_LOGIN,
	STEP_STATUS,		/* which cluster, which version */
	STEP_CHECK,		/* may we, and is it not behind the mark */
	STEP_READY
};

struct etcd {
	struct engine engine;	/* first */
	struct etcd_opts o;	/* its texts are ours */
	struct kv_hooks hooks;
	struct kv_mark mark;
	struct ssl_ctx_st *tls;
	struct evdns_base *dns;
	struct endpoints ends;
	unsigned at;		/* the endpoint that is used, or is next */
	unsigned tried;		/* in vain since one was good: a bit each */
	int64_t silent_ms[ENDPOINTS_MAX];	/* when it last was; 0: never */
	int64_t step_ms;	/* when this step began */
	unsigned rounds;	/* of them all, in vain */
	unsigned troubles;	/* in a row, with this endpoint */
	enum etcd_step step;
	struct channel *ch;
	struct call *watch;
	bool watch_denied;	/* once, with this token */
	int64_t watch_ms;	/* when it began */
	int64_t watch_told;	/* the revision of the latest change told */
	int64_t watch_floor;	/* what it was when the watch began */
	int64_t heard_ms;	/* when something last came of the endpoint */
	int64_t step_mark;	/* revision, when the check was sent */
	char *token;
	bool token_is_new;
	char version[32];	/* that was spoken of */
	uint8_t *prefix;	/* watched; NULL: nothing is */
	size_t prefix_len;
	struct event *again;	/* STEP_APART ends */
	struct event *tick;	/* some that wait may be late */
	struct event *soon;	/* there is something to tell */
	enum kv_state state;
	char why[ETCD_TEXT_MAX];
	bool untold;		/* the state has changed */
	bool look_again;	/* the watch has missed something */
	struct etcd_requests waiting, sent, ended;
	bool *freed;
	void (*on_ready)(struct etcd *e); /* STEP_READY is reached: etcd.c */
};

/* etcd_request.c */
void etcd_request_free(struct etcd_request *r);
/* Takes it out of that list, to be told so. */
void etcd_request_end(struct etcd_request *r, struct etcd_requests *from,
    enum fate fate, const char *why);
/* Ends all that were sent; if `why` is not NULL, those that wait, too. */
void etcd_end_all(struct etcd *e, const char *why);

/* etcd_link.c */
int64_t etcd_now_ms(void);
void etcd_advise(struct etcd *e, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Begin; give this endpoint up, for the next; take no part until
 * somebody acts; get another token. */
void etcd_connect(struct etcd *e);
void etcd_on_retry(evutil_socket_t fd, short what, void *etcd);
void etcd_leave_endpoint(struct etcd *e, const char *why);
void etcd_refuse_store(struct etcd *e, const char *why);
void etcd_login(struct etcd *e);
bool etcd_is_token_trouble(const struct etcd *e, const struct answer *a);

/* Whether it is from our cluster and not behind `mark`; if not it is refused.
 * What is new is remembered. */
bool etcd_check_mark(struct etcd *e, const struct wire_in *in, int64_t mark);

/* etcd_watch.c: a watch on this channel. */
void etcd_watch(struct etcd *e);
bool etcd_deliver_gap(struct etcd *e);

#endif
