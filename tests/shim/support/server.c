/* SPDX-License-Identifier: MIT */
/* A scripted gRPC server: see server.h. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>
#include <bsd/string.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/listener.h>
#include <nghttp2/nghttp2.h>
#include <openssl/ssl.h>
#include "shim/support/server.h"
#include "tap.h"

#define CONNS 64
#define STREAMS 4096
#define HALF 7

struct stream {
	struct conn *conn;
	int32_t id;
	char path[128];
	struct evbuffer *in, *out;
	unsigned told, tell;
	int status;		/* -1: "0x" */
};

struct conn {
	struct server *s;
	struct bufferevent *bev;
	nghttp2_session *h2;
	bool broken;
};

struct server {
	struct event_base *base;
	struct ssl_ctx_st *tls;
	struct evconnlistener *listener;
	struct conn conns[CONNS];
	struct stream *streams[STREAMS];
	unsigned n_conns, n_streams, calls;
	uint32_t most;
	bool mute;
	uint16_t port;
	char header[1024];
};

static void
add_message(struct evbuffer *to, const void *p, size_t len, uint8_t flag)
{
	const uint8_t prefix[5] = { flag, (uint8_t)(len >> 24),
	    (uint8_t)(len >> 16), (uint8_t)(len >> 8), (uint8_t)len };

	(void)evbuffer_add(to, prefix, sizeof(prefix));
	(void)evbuffer_add(to, p, len);
}

static nghttp2_nv
header(const char *name, const char *value)
{
	return (nghttp2_nv){ (uint8_t *)(uintptr_t)name,
	    (uint8_t *)(uintptr_t)value, strlen(name), strlen(value),
	    NGHTTP2_NV_FLAG_NONE };
}

static void
more_of_stream(struct stream *st)
{
	static char chunk[16384];
	char text[16];
	int n;

	if (strcmp(st->path, "/flood") == 0 &&
	    evbuffer_get_length(st->out) == 0) {
		add_message(st->out, chunk, sizeof(chunk), 0);
	} else if (st->told < st->tell) {
		n = snprintf(text, sizeof(text), "%u", st->told++);
		add_message(st->out, text, (size_t)n, 0);
	}
}

static ssize_t
on_body(nghttp2_session *h2, int32_t id, uint8_t *buf, size_t room,
    uint32_t *flags, nghttp2_data_source *source, void *arg)
{
	struct stream *st = source->ptr;
	char text[8];
	nghttp2_nv trailer;
	int n;

	(void)arg;
	more_of_stream(st);
	n = evbuffer_remove(st->out, buf, room);
	if (evbuffer_get_length(st->out) > 0 || st->told < st->tell)
		return n;
	if (strcmp(st->path, "/flood") == 0)
		return n;
	*flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
	(void)snprintf(text, sizeof(text), st->status < 0 ? "0x" : "%d",
	    st->status);
	trailer = header("grpc-status", text);
	(void)nghttp2_submit_trailer(h2, id, &trailer, 1);
	return n;
}

static void
respond(struct stream *st)
{
	nghttp2_data_provider body = { .source.ptr = st,
	    .read_callback = on_body };
	nghttp2_nv h[2] = { header(":status", "200"),
	    header("content-type", "application/grpc") };

	(void)nghttp2_submit_response(st->conn->h2, st->id, h, 2, &body);
}

static void
respond_status(struct stream *st, const char *text, bool alone)
{
	char number[8] = "", message[100] = "";
	nghttp2_nv h[4] = { header(":status", "200"),
	    header("content-type", "application/grpc") };
	nghttp2_session *h2 = st->conn->h2;

	(void)sscanf(text, "%7[^/]/%99[^\n]", number, message);
	for (char *p = message; (p = strchr(p, '_')) != NULL;)
		*p = ' ';
	h[2] = header("grpc-status", number);
	h[3] = header("grpc-message", message);
	if (alone) {
		(void)nghttp2_submit_response(h2, st->id, h, 4, NULL);
		return;
	}
	(void)nghttp2_submit_headers(h2, 0, st->id, NULL, h, 2, NULL);
	(void)nghttp2_submit_headers(h2, NGHTTP2_FLAG_END_STREAM, st->id, NULL,
	    h + 2, 2, NULL);
}

static void
respond_http(struct stream *st, const char *code)
{
	nghttp2_nv h = header(":status", code);

	(void)nghttp2_submit_response(st->conn->h2, st->id, &h, 1, NULL);
}

static void
half(struct stream *st)
{
	add_message(st->out, "half of it", 10, 0);
	/* a prefix that promises ten bytes, and two of them */
	struct evbuffer *part = evbuffer_new();

	(void)evbuffer_remove_buffer(st->out, part, HALF);
	evbuffer_free(st->out);
	st->out = part;
}

static void
large(struct stream *st)
{
	void *p = calloc(1, SERVER_LARGE);

	add_message(st->out, p, SERVER_LARGE, 0);
	free(p);
}

static bool
path_is(const struct stream *st, const char *path)
{
	return strcmp(st->path, path) == 0;
}

static const char *
after(const struct stream *st, const char *path)
{
	size_t n = strlen(path);

	return strncmp(st->path, path, n) == 0 ? st->path + n : NULL;
}

/* Ends or refuses the stream.  False: it is to be answered. */
static bool
misbehave(struct stream *st)
{
	nghttp2_session *h2 = st->conn->h2;

	if (path_is(st, "/silent")) {
	} else if (path_is(st, "/drop")) {
		st->conn->broken = true;
	} else if (path_is(st, "/refuse")) {
		(void)nghttp2_submit_rst_stream(h2, 0, st->id,
		    NGHTTP2_REFUSED_STREAM);
	} else if (path_is(st, "/leave")) {
		(void)nghttp2_submit_goaway(h2, 0, st->id - 2,
		    NGHTTP2_NO_ERROR, NULL, 0);
	} else if (path_is(st, "/leave-late")) {
		(void)nghttp2_submit_goaway(h2, 0, st->id,
		    NGHTTP2_NO_ERROR, NULL, 0);
	} else {
		return false;
	}
	return true;
}

static void
answer(struct stream *st)
{
	const char *text;

	st->conn->s->calls++;
	if (misbehave(st))
		return;
	if ((text = after(st, "/status/")) != NULL)
		respond_status(st, text, true);
	else if ((text = after(st, "/header/")) != NULL)
		respond_status(st, text, false);
	else if ((text = after(st, "/http/")) != NULL)
		respond_http(st, text);
	else {
		if (path_is(st, "/echo"))
			(void)evbuffer_add_buffer(st->out, st->in);
		else if (path_is(st, "/cut") || path_is(st, "/reset"))
			half(st);
		else if (path_is(st, "/large"))
			large(st);
		else if (path_is(st, "/compressed"))
			add_message(st->out, "x", 1, 1);
		else if (path_is(st, "/odd"))
			st->status = -1;
		else if ((text = after(st, "/stream/")) != NULL)
			st->tell = (unsigned)atoi(text);
		respond(st);
	}
	if (path_is(st, "/reset"))
		(void)nghttp2_submit_rst_stream(st->conn->h2, 0, st->id,
		    NGHTTP2_INTERNAL_ERROR);
}

static int
on_begin(nghttp2_session *h2, const nghttp2_frame *frame, void *arg)
{
	struct conn *c = arg;
	struct stream *st = calloc(1, sizeof(*st));

	if (st == NULL || c->s->n_streams == STREAMS)
		bail_out("the scripted server has too many calls");
	c->s->streams[c->s->n_streams++] = st;
	st->conn = c;
	st->id = frame->hd.stream_id;
	st->in = evbuffer_new();
	st->out = evbuffer_new();
	c->s->header[0] = '\0';
	return nghttp2_session_set_stream_user_data(h2, st->id, st);
}

static int
on_header(nghttp2_session *h2, const nghttp2_frame *frame, const uint8_t *name,
    size_t name_len, const uint8_t *value, size_t len, uint8_t flags,
    void *arg)
{
	struct stream *st = nghttp2_session_get_stream_user_data(h2,
	    frame->hd.stream_id);
	struct conn *c = arg;
	size_t n = strlen(c->s->header);

	(void)flags;
	if (name_len == 5 && memcmp(name, ":path", 5) == 0)
		(void)snprintf(st->path, sizeof(st->path), "%.*s", (int)len,
		    value);
	else if (name[0] != ':')
		(void)snprintf(c->s->header + n, sizeof(c->s->header) - n,
		    "%.*s: %.*s\n", (int)name_len, name, (int)len, value);
	return 0;
}

static int
on_data(nghttp2_session *h2, uint8_t flags, int32_t id, const uint8_t *data,
    size_t len, void *arg)
{
	struct stream *st = nghttp2_session_get_stream_user_data(h2, id);

	(void)flags;
	(void)arg;
	(void)evbuffer_add(st->in, data, len);
	if (after(st, "/stream/") == NULL && !path_is(st, "/flood"))
		return 0;
	if (evbuffer_get_length(st->in) == len)	/* a stream's first message */
		answer(st);
	return 0;
}

static int
on_frame(nghttp2_session *h2, const nghttp2_frame *frame, void *arg)
{
	struct stream *st = nghttp2_session_get_stream_user_data(h2,
	    frame->hd.stream_id);

	(void)arg;
	if (st != NULL && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) &&
	    frame->hd.type != NGHTTP2_RST_STREAM)
		answer(st);
	return 0;
}

static ssize_t
on_send(nghttp2_session *h2, const uint8_t *data, size_t len, int flags,
    void *arg)
{
	struct conn *c = arg;

	(void)h2;
	(void)flags;
	if (evbuffer_get_length(bufferevent_get_output(c->bev)) > 1 << 20)
		return NGHTTP2_ERR_WOULDBLOCK;
	(void)bufferevent_write(c->bev, data, len);
	return (ssize_t)len;
}

static void
push(struct conn *c)
{
	(void)nghttp2_session_send(c->h2);
	if (c->broken) {
		bufferevent_free(c->bev);
		c->bev = NULL;
	}
}

static void
on_read(struct bufferevent *bev, void *arg)
{
	struct evbuffer *in = bufferevent_get_input(bev);
	struct conn *c = arg;
	ssize_t n;

	if (c->s->mute)
		return;
	n = nghttp2_session_mem_recv(c->h2, evbuffer_pullup(in, -1),
	    evbuffer_get_length(in));
	if (n < 0)
		bail_out("the client: %s", nghttp2_strerror((int)n));
	(void)evbuffer_drain(in, (size_t)n);
	push(c);
}

static void
on_written(struct bufferevent *bev, void *arg)
{
	struct conn *c = arg;

	(void)bev;
	if (!c->s->mute)
		push(c);
}

static void
on_event(struct bufferevent *bev, short what, void *arg)
{
	struct conn *c = arg;

	if (what & BEV_EVENT_CONNECTED)
		return;
	bufferevent_free(bev);
	c->bev = NULL;
}

static void
on_conn(struct evconnlistener *l, evutil_socket_t fd, struct sockaddr *sa,
    int len, void *arg)
{
	struct server *s = arg;
	struct conn *c = &s->conns[s->n_conns++];
	nghttp2_settings_entry set = { NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS,
	    s->most };
	nghttp2_session_callbacks *cb;

	(void)l;
	(void)sa;
	(void)len;
	if (s->n_conns > CONNS)
		bail_out("the scripted server has too many connections");
	c->s = s;
	c->bev = s->tls == NULL ? bufferevent_socket_new(s->base, fd,
	    BEV_OPT_CLOSE_ON_FREE) : bufferevent_openssl_socket_new(s->base,
	    fd, SSL_new(s->tls), BUFFEREVENT_SSL_ACCEPTING,
	    BEV_OPT_CLOSE_ON_FREE);
	(void)nghttp2_session_callbacks_new(&cb);
	nghttp2_session_callbacks_set_send_callback(cb, on_send);
	nghttp2_session_callbacks_set_on_begin_headers_callback(cb, on_begin);
	nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame);
	(void)nghttp2_session_server_new(&c->h2, cb, c);
	nghttp2_session_callbacks_del(cb);
	bufferevent_setcb(c->bev, on_read, on_written, on_event, c);
	(void)bufferevent_enable(c->bev, EV_READ | EV_WRITE);
	(void)nghttp2_submit_settings(c->h2, 0, &set, s->most == 0 ? 0 : 1);
	if (!s->mute)
		push(c);
}

struct server *
server_start(struct event_base *base, struct ssl_ctx_st *tls)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	struct server *s = calloc(1, sizeof(*s));

	if (s == NULL)
		bail_out("no memory");
	s->base = base;
	s->tls = tls;
	s->listener = evconnlistener_new_bind(base, on_conn, s,
	    LEV_OPT_CLOSE_ON_FREE | LEV_OPT_REUSEABLE, 16,
	    (struct sockaddr *)&a, sizeof(a));
	if (s->listener == NULL || getsockname(evconnlistener_get_fd(
	    s->listener), (struct sockaddr *)&a, &len) != 0)
		bail_out("no port for the scripted server");
	s->port = ntohs(a.sin_port);
	return s;
}

void
server_stop(struct server *s)
{
	if (s == NULL)
		return;
	evconnlistener_free(s->listener);
	for (unsigned i = 0; i < s->n_conns; i++) {
		nghttp2_session_del(s->conns[i].h2);
		if (s->conns[i].bev != NULL)
			bufferevent_free(s->conns[i].bev);
	}
	for (unsigned i = 0; i < s->n_streams; i++) {
		evbuffer_free(s->streams[i]->in);
		evbuffer_free(s->streams[i]->out);
		free(s->streams[i]);
	}
	free(s);
}

uint16_t
server_port(const struct server *s)
{
	return s->port;
}

void
server_mute(struct server *s)
{
	s->mute = true;
}

void
server_streams(struct server *s, uint32_t n)
{
	s->most = n;
}

unsigned
server_calls(const struct server *s)
{
	return s->calls;
}

const char *
server_header(const struct server *s)
{
	return s->header;
}
