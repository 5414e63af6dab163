/* SPDX-License-Identifier: MIT */
/*
 * A channel: gRPC over HTTP/2 (nghttp2) over one socket, with or without TLS
 * (libevent's bufferevents and OpenSSL).  One connection carries all calls.
 * etcd_link.c opens and frees channels.
 *
 * Each call gets an outcome (enum fate).  It is NOT_APPLIED only if the server
 * cannot have acted on the call:
 *
 * - the call's header was never given to the connection;
 * - the server refused the stream (REFUSED_STREAM, or a GOAWAY that names an
 *   earlier last stream); or
 * - the server answered with a status that says so.
 *
 * Every other call without an answer is UNKNOWN: after a timeout, a lost
 * connection, or a status that etcd also returns when it does not know the
 * outcome itself.
 *
 *	NOT_APPLIED	3 invalid, 5 not found, 7 denied, 8 exhausted (except
 *			for space), 9 precondition, 11 out of range, 12
 *			unimplemented, 16 unauthenticated; 14 "no leader"
 *	UNKNOWN		all others, above all 14 "request timed out" and 2
 *			"context deadline exceeded"
 *
 * When a server sends GOAWAY, the channel goes down at once.  The calls that
 * the server did not refuse are UNKNOWN, and the engine asks another endpoint.
 *
 * A gRPC message is a byte 0, a length of four bytes, and the content.  A
 * message longer than CALL_BODY_MAX ends its stream without using memory.
 *
 * With TLS, three conditions hold whatever the context allows.  The server's
 * certificate is for the requested name or address.  A trusted authority signed
 * it.  The server agreed to HTTP/2 (ALPN).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <bsd/string.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include "call.h"

static void
on_read(struct bufferevent *bev, void *arg)
{
	struct evbuffer *in = bufferevent_get_input(bev);
	size_t len = evbuffer_get_length(in);
	uint8_t *p = evbuffer_pullup(in, -1);
	struct channel *ch = arg;
	ssize_t n;

	if (ch->h2 == NULL || ch->state == CHANNEL_DOWN)
		return;
	n = p == NULL ? NGHTTP2_ERR_NOMEM :
	    nghttp2_session_mem_recv(ch->h2, p, len);
	if (n < 0) {
		channel_down(ch, nghttp2_strerror((int)n));
		return;
	}
	(void)evbuffer_drain(in, (size_t)n);
	channel_push(ch);
	if (ch->leaving)
		channel_down(ch, "the server is leaving");
	else if (!nghttp2_session_want_read(ch->h2) &&
	    !nghttp2_session_want_write(ch->h2))
		channel_down(ch, "the server ended the connection");
}

/* True if the server may have refused our certificate.  With TLS 1.3 the server
 * checks it after our handshake is complete.  If the server then closes at
 * once, its alert can be lost. */
static bool
is_maybe_refused(const struct channel *ch, SSL *ssl)
{
	return ch->state == CHANNEL_CONNECTING && ssl != NULL &&
	    SSL_is_init_finished(ssl) && SSL_get_certificate(ssl) != NULL;
}

/* Replaces `text` by the reason why TLS failed, if OpenSSL knows it. */
static void
explain_tls(struct channel *ch, char *text, size_t room)
{
	unsigned long e = bufferevent_get_openssl_error(ch->bev);
	SSL *ssl = bufferevent_openssl_get_ssl(ch->bev);
	long verdict = ssl == NULL ? X509_V_OK : SSL_get_verify_result(ssl);

	if (verdict != X509_V_OK)
		(void)snprintf(text, room, "its certificate is refused: %s",
		    X509_verify_cert_error_string(verdict));
	else if (ERR_reason_error_string(e) != NULL)
		(void)snprintf(text, room, "TLS: %s",
		    ERR_reason_error_string(e));
	else if (is_maybe_refused(ch, ssl))
		(void)strlcat(text, ", without a TLS alert; perhaps the server "
		    "refuses our certificate", room);
}

/* True if the server agreed to HTTP/2. */
static bool
has_chosen_h2(struct bufferevent *bev)
{
	const unsigned char *p = NULL;
	unsigned int len = 0;

	SSL_get0_alpn_selected(bufferevent_openssl_get_ssl(bev), &p, &len);
	return len == 2 && memcmp(p, "h2", 2) == 0;
}

static void
on_connected(struct channel *ch)
{
	int error, one = 1;

	if (ch->o.tls != NULL && !has_chosen_h2(ch->bev)) {
		channel_down(ch, "the server does not speak HTTP/2; check that "
		    "it is etcd");
		return;
	}
	(void)setsockopt(bufferevent_getfd(ch->bev), IPPROTO_TCP, TCP_NODELAY,
	    &one, sizeof(one));
	error = h2_begin(ch);
	if (error != 0)
		channel_down(ch, nghttp2_strerror(error));
	channel_push(ch);
}

static void
on_event(struct bufferevent *bev, short what, void *arg)
{
	char why[CALL_TEXT_MAX] = "the connection was closed";
	struct channel *ch = arg;
	int error;

	(void)bev;
	if (what & BEV_EVENT_CONNECTED) {
		on_connected(ch);
		return;
	}
	if (what & BEV_EVENT_ERROR) {
		error = EVUTIL_SOCKET_ERROR();
		if (bufferevent_socket_get_dns_error(ch->bev) != 0)
			(void)snprintf(why, sizeof(why), "no such host");
		else
			(void)snprintf(why, sizeof(why), "%s", error == 0 ?
			    "the connection failed" : strerror(error));
	}
	if (ch->o.tls != NULL)
		explain_tls(ch, why, sizeof(why));
	channel_down(ch, why);
}

/* Takes the channel down if it could not connect in time or a ping got no
 * answer; else sends the next ping. */
static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct channel *ch = arg;

	(void)fd;
	(void)what;
	if (ch->state == CHANNEL_CONNECTING) {
		channel_down(ch, "no connection in time");
		return;
	}
	if (ch->pinged) {
		channel_down(ch, "no answer to a ping");
		return;
	}
	ch->pinged = true;
	(void)nghttp2_submit_ping(ch->h2, NGHTTP2_FLAG_NONE, NULL);
	channel_restart_timer(ch, ch->o.ping_ms);
	channel_push(ch);
}

/* Returns a new connection for the channel, with TLS if it is configured. */
static struct bufferevent *
new_bev(struct channel *ch)
{
	const char *host = ch->o.host;
	SSL *ssl;

	if (ch->o.tls == NULL)
		return bufferevent_socket_new(ch->o.base, -1,
		    BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS);
	ssl = SSL_new(ch->o.tls);
	if (ssl == NULL)
		return NULL;
	if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) != 1 &&
	    (SSL_set1_host(ssl, host) != 1 ||
	    SSL_set_tlsext_host_name(ssl, host) != 1)) {
		SSL_free(ssl);
		return NULL;
	}
	SSL_set_verify(ssl, SSL_VERIFY_PEER, NULL);
	(void)SSL_set_alpn_protos(ssl, (const unsigned char *)"\2h2", 3);
	/* this call takes ownership of ssl, even if it fails */
	return bufferevent_openssl_socket_new(ch->o.base, -1, ssl,
	    BUFFEREVENT_SSL_CONNECTING,
	    BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS);
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
	(void)snprintf(ch->name, sizeof(ch->name), strchr(o->host, ':') == NULL
	    ? "%s:%u" : "[%s]:%u", o->host, o->port);
	(void)strlcpy(ch->host, o->host, sizeof(ch->host));
	ch->o.host = ch->host;
	ch->timer = event_new(o->base, -1, 0, on_timer, ch);
	ch->soon = event_new(o->base, -1, 0, call_deliver, ch);
	ch->bev = ch->timer == NULL || ch->soon == NULL ? NULL : new_bev(ch);
	if (ch->bev == NULL) {
		channel_free(ch);
		return NULL;
	}
	bufferevent_setcb(ch->bev, on_read, NULL, on_event, ch);
	(void)bufferevent_enable(ch->bev, EV_READ | EV_WRITE);
	channel_restart_timer(ch, o->connect_ms);
	if (bufferevent_socket_connect_hostname(ch->bev, o->dns,
	    AF_UNSPEC, ch->host, o->port) != 0)
		channel_down(ch, "cannot connect");
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
