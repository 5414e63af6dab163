/* SPDX-License-Identifier: MIT */
/*
 * Handles the HTTP/2 frames of a channel. channel.c starts the session.
 *
 * nghttp2 calls these functions from nghttp2_session_mem_recv() and
 * nghttp2_session_send().  So they deliver nothing and send nothing: they store
 * what arrived in the call, and submit what is to be sent.  The channel sends
 * it afterwards.
 */
#include <stdio.h>
#include <string.h>
#include <bsd/string.h>
#include <event2/bufferevent.h>
#include "call.h"

#define WINDOW (1 << 20)

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

/* Detaches the call from its stream. */
static void
detach_call(struct call *c)
{
	(void)nghttp2_session_set_stream_user_data(c->ch->h2, c->id, NULL);
	c->id = -1;
}

static bool
is_text(const uint8_t *name, size_t len, const char *want)
{
	return len == strlen(want) && memcmp(name, want, len) == 0;
}

static int
hex_digit(uint8_t c)
{
	return c >= '0' && c <= '9' ? c - '0' :
	    c >= 'A' && c <= 'F' ? c - 'A' + 10 :
	    c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Stores the percent-decoded grpc-message.  Control characters become spaces,
 * so that a log cannot be garbled. */
static void
set_message(struct call *c, const uint8_t *v, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len && n + 1 < sizeof(c->message); i++) {
		uint8_t b = v[i];

		if (b == '%' && i + 2 < len && hex_digit(v[i + 1]) >= 0 &&
		    hex_digit(v[i + 2]) >= 0) {
			b = (uint8_t)(hex_digit(v[i + 1]) << 4 |
				      hex_digit(v[i + 2]));
			i += 2;
		}
		c->message[n++] = b >= ' ' && b < 0x7f ? (char)b : ' ';
	}
	c->message[n] = '\0';
}

/* Returns the status, which has one or two digits; else GRPC_NONE. */
static int
status_of(const uint8_t *v, size_t len)
{
	int n = 0;

	for (size_t i = 0; i < len; i++)
		if (v[i] < '0' || v[i] > '9' || i == 2)
			return GRPC_NONE;
		else
			n = n * 10 + (v[i] - '0');
	return len == 0 ? GRPC_NONE : n;
}

static int
on_header(nghttp2_session *h2, const nghttp2_frame *frame, const uint8_t *name,
    size_t name_len, const uint8_t *value, size_t len, uint8_t flags,
    void *arg)
{
	struct call *c = call_of(h2, frame->hd.stream_id);

	(void)flags;
	(void)arg;
	if (c == NULL || c->ended)
		return 0;
	if (is_text(name, name_len, "grpc-message")) {
		set_message(c, value, len);
	} else if (is_text(name, name_len, "grpc-status")) {
		c->status = status_of(value, len);
	} else if (is_text(name, name_len, ":status") &&
	    !is_text(value, len, "200")) {
		(void)snprintf(c->message, sizeof(c->message), "the server "
		    "answered with HTTP status %.*s; check that it is etcd",
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
		detach_call(c);
		call_end(c, GRPC_NONE, "the answer is too large");
	} else if (c->streaming) {
		call_deliver_later(c->ch);
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
	detach_call(c);
	if (code == NGHTTP2_REFUSED_STREAM)
		c->refused = true;
	if (c->status == GRPC_NONE && c->message[0] == '\0')
		(void)snprintf(c->message, sizeof(c->message), "the stream "
		    "ended without an answer (%s)",
		    nghttp2_http2_strerror(code));
	call_end(c, 0, NULL);
	return 0;
}

static int
on_frame(nghttp2_session *h2, const nghttp2_frame *frame, void *arg)
{
	bool ack = (frame->hd.flags & NGHTTP2_FLAG_ACK) != 0;
	struct channel *ch = arg;
	struct call *c;

	if (frame->hd.type == NGHTTP2_SETTINGS && !ack)
		channel_up(ch);
	else if (frame->hd.type == NGHTTP2_PING && ack)
		ch->pinged = false;
	else if (frame->hd.type == NGHTTP2_GOAWAY)
		ch->leaving = true;	/* nghttp2 now closes the refused
					 * streams */
	if ((frame->hd.type != NGHTTP2_HEADERS && frame->hd.type !=
	    NGHTTP2_DATA) || !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
		return 0;
	/* the server has ended a stream that we have not ended */
	c = call_of(h2, frame->hd.stream_id);
	if (c != NULL && c->streaming) {
		(void)nghttp2_submit_rst_stream(h2, NGHTTP2_FLAG_NONE, c->id,
		    NGHTTP2_NO_ERROR);
		on_close(h2, c->id, NGHTTP2_NO_ERROR, ch);
	}
	return 0;
}

static int
on_sent(nghttp2_session *h2, const nghttp2_frame *frame, void *arg)
{
	struct call *c = frame->hd.type != NGHTTP2_HEADERS ? NULL :
	    call_of(h2, frame->hd.stream_id);

	(void)arg;
	if (c != NULL)
		c->sent = true;
	return 0;
}

int
h2_begin(struct channel *ch)
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
	nghttp2_session_callbacks_set_on_frame_send_callback(cb, on_sent);
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
