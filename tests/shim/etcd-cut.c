/* SPDX-License-Identifier: MIT */
/*
 * The connection is cut after each byte of what is asked, and of what is
 * answered: what is told to be done is done, what is told not to be applied is
 * not there, and never will be; only the rest is unknown.
 */
#include <arpa/inet.h>
#include <sys/socket.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/listener.h>
#include "shim/support/etcd.h"
#include "shim/support/kv.h"
#include "shim/support/loop.h"
#include "support/support.h"
#include "tap.h"

static struct event_base *base;
static struct cluster *c;

/* A proxy of one connection at a time. */
static struct {
	struct evconnlistener *listener;
	uint16_t port;
	struct bufferevent *client, *server;
	bool armed;
	int left_up, left_down;	/* bytes until it is cut; -1: no end */
} proxy;

static void
hang_up(void)
{
	if (proxy.client == NULL)
		return;
	bufferevent_free(proxy.client);
	bufferevent_free(proxy.server);
	proxy.client = proxy.server = NULL;
}

static void
on_read(struct bufferevent *from, void *arg)
{
	bool up = from == proxy.client;
	struct bufferevent *to = up ? proxy.server : proxy.client;
	struct evbuffer *in = bufferevent_get_input(from);
	int *left = up ? &proxy.left_up : &proxy.left_down;
	int n = (int)evbuffer_get_length(in);

	(void)arg;
	if (proxy.armed && *left >= 0) {
		if (n > *left)
			n = *left;
		*left -= n;
	}
	(void)evbuffer_remove_buffer(in, bufferevent_get_output(to),
	    (size_t)n);
	if (!proxy.armed || *left != 0)
		return;
	/* what was let through arrives: nothing is lost that was sent */
	(void)bufferevent_flush(to, EV_WRITE, BEV_FLUSH);
	(void)evbuffer_write(bufferevent_get_output(to),
	    bufferevent_getfd(to));
	hang_up();
}

static void
on_event(struct bufferevent *bev, short what, void *arg)
{
	(void)bev;
	(void)arg;
	if (!(what & BEV_EVENT_CONNECTED))
		hang_up();
}

static void
on_conn(struct evconnlistener *l, evutil_socket_t fd, struct sockaddr *sa,
    int len, void *arg)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	    .sin_port = htons(cluster_port(c, 0)) };

	(void)l;
	(void)sa;
	(void)len;
	(void)arg;
	hang_up();
	proxy.client = bufferevent_socket_new(base, fd,
	    BEV_OPT_CLOSE_ON_FREE);
	proxy.server = bufferevent_socket_new(base, -1,
	    BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(proxy.client, on_read, NULL, on_event, NULL);
	bufferevent_setcb(proxy.server, on_read, NULL, on_event, NULL);
	(void)bufferevent_socket_connect(proxy.server, (struct sockaddr *)&a,
	    sizeof(a));
	(void)bufferevent_enable(proxy.client, EV_READ | EV_WRITE);
	(void)bufferevent_enable(proxy.server, EV_READ | EV_WRITE);
}

static void
start_proxy(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);

	proxy.listener = evconnlistener_new_bind(base, on_conn, NULL,
	    LEV_OPT_CLOSE_ON_FREE, 16, (struct sockaddr *)&a, sizeof(a));
	if (proxy.listener == NULL || getsockname(evconnlistener_get_fd(
	    proxy.listener), (struct sockaddr *)&a, &len) != 0)
		bail_out("no port for the proxy");
	proxy.port = ntohs(a.sin_port);
}

static int n_done, n_not, n_unknown, n_wrong;

static bool
is_there(struct kv_noted *direct, const char *key)
{
	struct kv_said s;

	if (!kv_get(direct, key, &s) || s.fate != FATE_DONE)
		bail_out("etcd does not answer");
	return s.n_pairs == 1;
}

/* Told in time, that is, not by the timeout. */
static bool
cut_at(struct kv_noted *direct, bool up, int at)
{
	char endpoint[64], key[32];
	struct etcd_opts o = { .connect_ms = 5000 };
	struct kv_noted n;
	struct kv_said s;
	bool there;

	(void)snprintf(endpoint, sizeof(endpoint), "127.0.0.1:%u",
	    proxy.port);
	(void)snprintf(key, sizeof(key), "t/%s/%d", up ? "up" : "down", at);
	proxy.armed = false;
	kv_open(&n, base, endpoint, &o, NULL);
	if (!kv_here(&n, 5000))
		bail_out("not here: %s", n.why);
	loop_rest(base, 1);	/* window updates and the like are through */
	proxy.left_up = up ? at : -1;
	proxy.left_down = up ? -1 : at;
	proxy.armed = true;
	if (up && at == 0)
		hang_up();
	if (!kv_put(&n, key, "x", &s))
		bail_out("not asked");
	proxy.armed = false;
	kv_close(&n);
	if (s.fate != FATE_DONE)
		loop_rest(base, 2);	/* what is on its way arrives */
	there = is_there(direct, key);
	n_done += s.fate == FATE_DONE;
	n_not += s.fate == FATE_NOT_APPLIED;
	n_unknown += s.fate == FATE_UNKNOWN;
	if ((s.fate == FATE_DONE && !there) ||
	    (s.fate == FATE_NOT_APPLIED && there)) {
		n_wrong++;
		diag("%s after %d bytes: told %d, there %d: %s", up ?
		    "asking, cut" : "answering, cut", at, s.fate, there,
		    s.why);
	}
	return s.fate == FATE_DONE;
}

int
main(void)
{
	struct kv_noted direct;
	int last = 0;

	base = event_base_new();
	c = cluster_start(1, NULL);
	start_proxy();
	kv_open(&direct, base, cluster_endpoints(c), NULL, NULL);
	ok(kv_here(&direct, 5000), "etcd");
	for (int at = 0; at < 1000 && last < 5; at++)
		last = cut_at(&direct, true, at) ? last + 1 : 0;
	is(last, 5, "cut after each byte of what is asked, to the end");
	diag("%d done, %d not applied, %d unknown", n_done, n_not, n_unknown);
	cmp(n_unknown, >, 20, "most of which are unknown");
	last = n_done = n_not = n_unknown = 0;
	for (int at = 1; at < 1000 && last < 5; at++)
		last = cut_at(&direct, false, at) ? last + 1 : 0;
	is(last, 5, "cut after each byte of the answer, to the end");
	diag("%d done, %d not applied, %d unknown", n_done, n_not, n_unknown);
	is(n_wrong, 0, "nothing is told that is not so");
	kv_close(&direct);
	hang_up();
	evconnlistener_free(proxy.listener);
	cluster_end(c);
	event_base_free(base);
	return done();
}
