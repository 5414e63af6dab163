/* SPDX-License-Identifier: MIT */
/*
 * Channels: gRPC over HTTP/2 (nghttp2) over a socket, with TLS or without
 * (libevent's bufferevents, OpenSSL).  One connection carries all calls.
 *
 * What becomes of a call is told with care (enum fate).  It is NOT_APPLIED only
 * when the server cannot have acted on it: its header never was handed to the
 * connection, the server refused the stream (REFUSED_STREAM, or a GOAWAY that
 * names an earlier last stream), or it answered with a status that says so.
 * Everything else that is no answer is UNKNOWN: a timeout, a lost connection, a
 * status that etcd also gives when it does not know itself.
 *
 *	NOT_APPLIED	3 invalid, 5 not found, 7 denied, 8 exhausted, 9
 *			precondition, 11 out of range, 12 unimplemented, 16
 *			unauthenticated; 14 "no leader"
 *	UNKNOWN		all others, above all 14 "request timed out" and 2
 *			"context deadline exceeded"
 *
 * Bodies.  A message is a byte 0, its length in four bytes, and itself.  What a
 * server may send of one is bounded (BODY_MAX): it is answered with an end of
 * the stream, not with memory.
 *
 * How callbacks are called: call.c.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <bsd/string.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <openssl/err.h>
#include "call.h"

#define WINDOW (1 << 20)

static void
restart_timer(struct channel *ch, int ms)
{
	struct timeval tv = { ms / 1000, ms % 1000 * 1000 };

	(void)event_del(ch->timer);
	if (ms > 0)
		(void)event_add(ch->timer, &tv);
}

static void
change(struct channel *ch, enum channel_state state, const char *why)
{
	if (ch->state == state || ch->state == CHANNEL_DOWN)
		return;
	ch->state = state;
	ch->untold = true;
	(void)strlcpy(ch->why, why, sizeof(ch->why));
	call_tell_later(ch);
}

/* Nothing will come any more. */
static void
go_down(struct channel *ch, const char *why)
{
	struct call *c;

	change(ch, CHANNEL_DOWN, why);
	(void)event_del(ch->timer);
	if (ch->bev != NULL)
		(void)bufferevent_disable(ch->bev, EV_READ | EV_WRITE);
	while ((c = TAILQ_FIRST(&ch->calls)) != NULL)
		call_end(c, GRPC_NONE, why);
}

void
channel_push(struct channel *ch)
{
	int error = ch->h2 == NULL ? 0 : nghttp2_session_send(ch->h2);

	if (error != 0)
		go_down(ch, nghttp2_strerror(error));
}

/* nghttp2's side. */

static ssize_t
on_send(nghttp2_session *h2, const uint8_t *data, size_t len, int flags,
    void *arg)
{
	struct channel *ch = arg;

	(void)h2;
	(void)flags;
	return bufferevent_write(ch->bev, data, len) == 0 ? (ssize_t)len :
	    NGHTTP2_ERR_CALLBACK_FAILURE;
}

static struct call *
call_of(nghttp2_session *h2, int32_t id)
{
	return nghttp2_session_get_stream_user_data(h2, id);
}

static bool
is_name(const uint8_t *name, size_t len, const char *want)
{
	return len == strlen(want) && memcmp(name, want, len) == 0;
}

static int
hex(uint8_t c)
{
	return c >= '0' && c <= '9' ? c - '0' :
	    c >= 'A' && c <= 'F' ? c - 'A' + 10 :
	    c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* grpc-message is percent-encoded; what could move a cursor is left out. */
static void
set_message(struct call *c, const uint8_t *v, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len && n + 1 < sizeof(c->message); i++) {
		uint8_t b = v[i];

		if (b == '%' && i + 2 < len && hex(v[i + 1]) >= 0 &&
		    hex(v[i + 2]) >= 0) {
			b = (uint8_t)(hex(v[i + 1]) << 4 | hex(v[i + 2]));
			i += 2;
		}
		c->message[n++] = b >= ' ' && b < 0x7f ? (char)b : ' ';
	}
	c->message[n] = '\0';
}

static int
on_header(nghttp2_session *h2, const nghttp2_frame *frame, const uint8_t *name,
    size_t name_len, const uint8_t *value, size_t len, uint8_t flags,
    void *arg)
{
	struct call *c = call_of(h2, frame->hd.stream_id);
	char text[16];

	(void)flags;
	(void)arg;
	if (c == NULL || c->ended || len >= INT32_MAX)
		return 0;
	if (is_name(name, name_len, "grpc-message")) {
		set_message(c, value, len);
	} else if (is_name(name, name_len, "grpc-status")) {
		(void)snprintf(text, sizeof(text), "%.*s", (int)len, value);
		c->status = atoi(text);
	} else if (is_name(name, name_len, ":status") &&
	    !is_name(value, len, "200")) {
		(void)snprintf(c->message, sizeof(c->message), "the server "
		    "answered with HTTP status %.*s: is it etcd?",
		    len < 8 ? (int)len : 8, value);
	}
	return 0;
}

static int
on_data(nghttp2_session *h2, uint8_t flags, int32_t id, const uint8_t *data,
    size_t len, void *arg)
{
	struct call *c = call_of(h2, id);

	(void)flags;
	(void)arg;
	if (c == NULL || c->ended)
		return 0;
	if (evbuffer_get_length(c->in) + len > CALL_BODY_MAX ||
	    evbuffer_add(c->in, data, len) != 0) {
		(void)nghttp2_submit_rst_stream(h2, NGHTTP2_FLAG_NONE, id,
		    NGHTTP2_CANCEL);
		call_end(c, GRPC_NONE, "the answer is too large");
	} else if (c->streaming) {
		call_tell_later(c->ch);
	}
	return 0;
}

static int
on_close(nghttp2_session *h2, int32_t id, uint32_t code, void *arg)
{
	struct call *c = call_of(h2, id);

	(void)arg;
	if (c == NULL)
		return 0;
	(void)nghttp2_session_set_stream_user_data(h2, id, NULL);
	c->id = -1;
	if (code == NGHTTP2_REFUSED_STREAM)
		c->refused = true;
	if (c->status == GRPC_NONE && c->message[0] == '\0')
		(void)snprintf(c->message, sizeof(c->message), "the stream "
		    "ended without an answer (%s)",
		    nghttp2_http2_strerror(code));
	call_end(c, 0, NULL);
	return 0;
}

static void
up(struct channel *ch)
{
	if (ch->state != CHANNEL_CONNECTING)
		return;
	change(ch, CHANNEL_UP, "connected");
	restart_timer(ch, ch->o.ping_ms);
}

static int
on_frame(nghttp2_session *h2, const nghttp2_frame *frame, void *arg)
{
	struct channel *ch = arg;

	(void)h2;
	if (frame->hd.type == NGHTTP2_SETTINGS &&
	    !(frame->hd.flags & NGHTTP2_FLAG_ACK))
		up(ch);
	else if (frame->hd.type == NGHTTP2_PING &&
	    (frame->hd.flags & NGHTTP2_FLAG_ACK))
		ch->pinged = false;
	return 0;
}

static int
begin_h2(struct channel *ch)
{
	const nghttp2_settings_entry set[] = {
		{ NGHTTP2_SETTINGS_ENABLE_PUSH, 0 },
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW },
	};
	nghttp2_session_callbacks *cb;
	int error = nghttp2_session_callbacks_new(&cb);

	if (error != 0)
		return error;
	nghttp2_session_callbacks_set_send_callback(cb, on_send);
	nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_close);
	nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame);
	error = nghttp2_session_client_new(&ch->h2, cb, ch);
	nghttp2_session_callbacks_del(cb);
	if (error == 0)
		error = nghttp2_submit_settings(ch->h2, NGHTTP2_FLAG_NONE, set,
		    sizeof(set) / sizeof(set[0]));
	if (error == 0)
		error = nghttp2_session_set_local_window_size(ch->h2,
		    NGHTTP2_FLAG_NONE, 0, WINDOW);
	return error;
}

/* libevent's side. */

static void
on_read(struct bufferevent *bev, void *arg)
{
	struct evbuffer *in = bufferevent_get_input(bev);
	size_t len = evbuffer_get_length(in);
	struct channel *ch = arg;
	ssize_t n;

	if (ch->h2 == NULL || ch->state == CHANNEL_DOWN)
		return;
	n = nghttp2_session_mem_recv(ch->h2, evbuffer_pullup(in, -1), len);
	if (n < 0) {
		go_down(ch, nghttp2_strerror((int)n));
		return;
	}
	(void)evbuffer_drain(in, (size_t)n);
	channel_push(ch);
	if (ch->state != CHANNEL_DOWN && !nghttp2_session_want_read(ch->h2) &&
	    !nghttp2_session_want_write(ch->h2))
		go_down(ch, "the server ended the connection");
}

static void
say_tls(struct channel *ch, char *text, size_t room)
{
	unsigned long e = bufferevent_get_openssl_error(ch->bev);
	SSL *ssl = bufferevent_openssl_get_ssl(ch->bev);
	long verdict = ssl == NULL ? X509_V_OK : SSL_get_verify_result(ssl);

	if (verdict != X509_V_OK)
		(void)snprintf(text, room, "its certificate is refused: %s",
		    X509_verify_cert_error_string(verdict));
	else if (e != 0)
		(void)snprintf(text, room, "TLS: %s",
		    ERR_reason_error_string(e));
}

static void
on_event(struct bufferevent *bev, short what, void *arg)
{
	char why[CALL_TEXT_MAX] = "the connection was closed";
	struct channel *ch = arg;
	int error;

	(void)bev;
	if (what & BEV_EVENT_CONNECTED) {
		error = begin_h2(ch);
		if (error != 0)
			go_down(ch, nghttp2_strerror(error));
		restart_timer(ch, ch->o.connect_ms);
		channel_push(ch);
		return;
	}
	if (what & BEV_EVENT_ERROR) {
		error = EVUTIL_SOCKET_ERROR();
		if (bufferevent_socket_get_dns_error(ch->bev) != 0)
			(void)snprintf(why, sizeof(why), "no such host");
		else
			(void)snprintf(why, sizeof(why), "%s", error == 0 ?
			    "the connection failed" : strerror(error));
		if (ch->o.tls != NULL)
			say_tls(ch, why, sizeof(why));
	}
	go_down(ch, why);
}

/* Too long connecting, or silent; else another ping. */
static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct channel *ch = arg;

	(void)fd;
	(void)what;
	if (ch->state == CHANNEL_CONNECTING) {
		go_down(ch, "no connection in time");
		return;
	}
	if (ch->pinged) {
		go_down(ch, "no answer to a ping");
		return;
	}
	ch->pinged = true;
	(void)nghttp2_submit_ping(ch->h2, NGHTTP2_FLAG_NONE, NULL);
	restart_timer(ch, ch->o.ping_ms);
	channel_push(ch);
}

static struct bufferevent *
new_bev(struct channel *ch)
{
	struct bufferevent *bev;
	SSL *ssl;

	if (ch->o.tls == NULL)
		return bufferevent_socket_new(ch->o.base, -1,
		    BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS);
	ssl = SSL_new(ch->o.tls);
	if (ssl == NULL)
		return NULL;
	(void)SSL_set_tlsext_host_name(ssl, ch->o.host);
	if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl),
	    ch->o.host) != 1)
		(void)SSL_set1_host(ssl, ch->o.host);
	bev = bufferevent_openssl_socket_new(ch->o.base, -1, ssl,
	    BUFFEREVENT_SSL_CONNECTING,
	    BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS);
	if (bev == NULL)
		SSL_free(ssl);
	return bev;
}

struct channel *
channel_open(const struct channel_opts *o)
{
	struct channel *ch = calloc(1, sizeof(*ch));

	if (ch == NULL)
		return NULL;
	ch->o = *o;
	TAILQ_INIT(&ch->calls);
	TAILQ_INIT(&ch->ended);
	(void)snprintf(ch->name, sizeof(ch->name), "%s:%u", o->host, o->port);
	ch->timer = event_new(o->base, -1, 0, on_timer, ch);
	ch->soon = event_new(o->base, -1, 0, call_tell, ch);
	ch->bev = ch->timer == NULL || ch->soon == NULL ? NULL : new_bev(ch);
	if (ch->bev == NULL) {
		channel_free(ch);
		return NULL;
	}
	bufferevent_setcb(ch->bev, on_read, NULL, on_event, ch);
	(void)bufferevent_enable(ch->bev, EV_READ | EV_WRITE);
	restart_timer(ch, o->connect_ms);
	if (bufferevent_socket_connect_hostname(ch->bev, NULL, AF_UNSPEC,
	    o->host, o->port) != 0)
		go_down(ch, "cannot connect");
	return ch;
}

void
channel_free(struct channel *ch)
{
	struct call *c;

	if (ch->freed != NULL)
		*ch->freed = true;
	ch->state = CHANNEL_DOWN;
	while ((c = TAILQ_FIRST(&ch->calls)) != NULL) {
		TAILQ_REMOVE(&ch->calls, c, of);
		call_free(c);
	}
	while ((c = TAILQ_FIRST(&ch->ended)) != NULL) {
		TAILQ_REMOVE(&ch->ended, c, of);
		call_free(c);
	}
	if (ch->h2 != NULL)
		nghttp2_session_del(ch->h2);
	if (ch->bev != NULL)
		bufferevent_free(ch->bev);
	if (ch->timer != NULL)
		event_free(ch->timer);
	if (ch->soon != NULL)
		event_free(ch->soon);
	free(ch);
}

enum channel_state
channel_state(const struct channel *ch)
{
	return ch->state;
}

const char *
channel_name(const struct channel *ch)
{
	return ch->name;
}
