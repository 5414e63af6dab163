/* SPDX-License-Identifier: MIT */
/* A bad network: see proxy.h. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <bsd/sys/queue.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/listener.h>
#include "shim/support/proxy.h"
#include "tap.h"

struct pair {
	TAILQ_ENTRY(pair) all;
	struct proxy *p;
	struct bufferevent *client, *server;
};

struct proxy {
	struct event_base *base;
	struct evconnlistener *listener;
	uint16_t port, to;
	unsigned conns;
	int left_up, left_down;
	bool hold;
	TAILQ_HEAD(, pair) pairs;
};

static void
end_pair(struct pair *x)
{
	TAILQ_REMOVE(&x->p->pairs, x, all);
	bufferevent_free(x->client);
	bufferevent_free(x->server);
	free(x);
}

void
proxy_hang_up(struct proxy *p)
{
	while (!TAILQ_EMPTY(&p->pairs))
		end_pair(TAILQ_FIRST(&p->pairs));
}

static void
on_read(struct bufferevent *from, void *arg)
{
	struct pair *x = arg;
	struct proxy *p = x->p;
	bool up = from == x->client;
	struct bufferevent *to = up ? x->server : x->client;
	struct evbuffer *in = bufferevent_get_input(from);
	int *left = up ? &p->left_up : &p->left_down;
	int n = (int)evbuffer_get_length(in);

	if (p->hold)
		return;
	if (*left >= 0) {
		if (n > *left)
			n = *left;
		*left -= n;
	}
	(void)evbuffer_remove_buffer(in, bufferevent_get_output(to),
	    (size_t)n);
	if (*left != 0)
		return;
	/* what was let through arrives */
	(void)evbuffer_write(bufferevent_get_output(to),
	    bufferevent_getfd(to));
	proxy_hang_up(p);
}

static void
on_event(struct bufferevent *bev, short what, void *arg)
{
	(void)bev;
	if (!(what & BEV_EVENT_CONNECTED))
		end_pair(arg);
}

static void
on_conn(struct evconnlistener *l, evutil_socket_t fd, struct sockaddr *sa,
    int len, void *arg)
{
	struct proxy *p = arg;
	struct sockaddr_in a = { .sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	    .sin_port = htons(p->to) };
	struct pair *x = calloc(1, sizeof(*x));

	(void)l;
	(void)sa;
	(void)len;
	if (x == NULL)
		bail_out("no memory");
	x->p = p;
	p->conns++;
	x->client = bufferevent_socket_new(p->base, fd,
	    BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS);
	x->server = bufferevent_socket_new(p->base, -1,
	    BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS);
	TAILQ_INSERT_TAIL(&p->pairs, x, all);
	bufferevent_setcb(x->client, on_read, NULL, on_event, x);
	bufferevent_setcb(x->server, on_read, NULL, on_event, x);
	(void)bufferevent_enable(x->client, EV_READ | EV_WRITE);
	(void)bufferevent_enable(x->server, EV_READ | EV_WRITE);
	(void)bufferevent_socket_connect(x->server, (struct sockaddr *)&a,
	    sizeof(a));
}

struct proxy *
proxy_start(struct event_base *base, uint16_t to)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct proxy *p = calloc(1, sizeof(*p));
	socklen_t len = sizeof(a);

	if (p == NULL)
		bail_out("no memory");
	TAILQ_INIT(&p->pairs);
	p->base = base;
	p->to = to;
	p->left_up = p->left_down = -1;
	p->listener = evconnlistener_new_bind(base, on_conn, p,
	    LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 16,
	    (struct sockaddr *)&a, sizeof(a));
	if (p->listener == NULL || getsockname(evconnlistener_get_fd(
	    p->listener), (struct sockaddr *)&a, &len) != 0)
		bail_out("no port for the proxy");
	p->port = ntohs(a.sin_port);
	return p;
}

void
proxy_stop(struct proxy *p)
{
	proxy_hang_up(p);
	evconnlistener_free(p->listener);
	free(p);
}

uint16_t
proxy_port(const struct proxy *p)
{
	return p->port;
}

unsigned
proxy_conns(const struct proxy *p)
{
	return p->conns;
}

void
proxy_cut_after(struct proxy *p, int up, int down)
{
	p->left_up = up;
	p->left_down = down;
	if (up == 0 || down == 0)
		proxy_hang_up(p);
}

void
proxy_hold(struct proxy *p, bool hold)
{
	struct pair *x;

	p->hold = hold;
	if (hold)
		return;
	TAILQ_FOREACH(x, &p->pairs, all) {	/* what came meanwhile */
		bufferevent_trigger(x->client, EV_READ,
		    BEV_OPT_DEFER_CALLBACKS);
		bufferevent_trigger(x->server, EV_READ,
		    BEV_OPT_DEFER_CALLBACKS);
	}
}
