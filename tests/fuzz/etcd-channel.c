/* SPDX-License-Identifier: MIT */
/*
 * A server that sends any frames: each call ends once, and DONE only when its
 * stream had status 0.
 *
 * Four calls are made (streams 1 and 3 unary, 5 and 7 streams), then operations
 * follow, one byte and
 *	0	HEADERS, status 200: stream (1 byte)
 *	1	HEADERS that end the stream, with grpc-status: stream, length,
 *		its text
 *	2	DATA: stream, length, bytes
 *	3	the same, ending the stream
 *	4	RST_STREAM: stream, code
 *	5	GOAWAY: last stream
 *	6	SETTINGS: number, value
 *	7	WINDOW_UPDATE: stream, value
 *	8	any bytes: length, bytes
 *	9	a call is cancelled: which
 *	10	a call is made: unary (0) or a stream
 *	11	the loop runs
 *	12	a message that makes sense: stream, length, bytes
 *	13	in the next callback the channel is freed
 *	14	in the next callback a call is cancelled: which
 * After the last the server closes the connection.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "fuzz/etcd-channel.h"
#include "shim/store/channel.h"

#define CALLS 8
#define OPS_MAX 100
#define TURNS 400		/* of the loop, for all calls to end */
#define LATE_TURNS 5000		/* of a ms at least: the kernel may be late */

static struct event_base *base;
static struct channel *ch;
static int listener = -1, peer = -1;
static uint16_t port;
static bool is_up, is_down, free_next;
static int cancel_next = -1;
static volatile unsigned seen;	/* or reading is left out */

static struct fuzz_call {
	struct call *c;
	bool streaming;
	unsigned told;
	bool gone;		/* cancelled, or its channel freed */
} calls[CALLS];
static unsigned n_calls;

/* HTTP/2 frames, as a server makes them. */

static void
put(const void *p, size_t len)
{
	if (peer >= 0 && send(peer, p, len, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		(void)shutdown(peer, SHUT_WR);
}

static void
frame(uint8_t type, uint8_t flags, uint32_t stream, const void *p, size_t len)
{
	uint8_t h[9 + 512] = { (uint8_t)(len >> 16), (uint8_t)(len >> 8),
	    (uint8_t)len, type, flags, (uint8_t)(stream >> 24),
	    (uint8_t)(stream >> 16), (uint8_t)(stream >> 8),
	    (uint8_t)stream };

	if (len > 0)
		memcpy(h + 9, p, len);
	put(h, 9 + len);
}

/* A literal header without index. */
static size_t
literal(uint8_t *to, const char *name, const char *value, size_t len)
{
	size_t n = strlen(name);

	to[0] = 0;
	to[1] = (uint8_t)n;
	memcpy(to + 2, name, n);
	to[2 + n] = (uint8_t)len;
	memcpy(to + 3 + n, value, len);
	return 3 + n + len;
}

static uint32_t
take_stream(struct fuzz_input *in)
{
	return 1 + 2 * (uint32_t)(fuzz_take(in, 1) % CALLS);
}

static size_t
take_bytes(struct fuzz_input *in, uint8_t *to, size_t most)
{
	size_t len = fuzz_take(in, 1) % (most + 1);

	for (size_t i = 0; i < len; i++)
		to[i] = (uint8_t)fuzz_take(in, 1);
	return len;
}

/* The callbacks of the calls. */

static void
cancel(unsigned i)
{
	if (i >= n_calls || calls[i].told > 0 || calls[i].gone)
		return;
	calls[i].gone = true;
	call_cancel(calls[i].c);
}

static void
inside(void)
{
	if (cancel_next >= 0)
		cancel((unsigned)cancel_next);
	cancel_next = -1;
	if (!free_next || ch == NULL)
		return;
	for (unsigned i = 0; i < n_calls; i++)
		calls[i].gone = true;
	channel_free(ch);
	ch = NULL;
}

static void
on_answer(const struct answer *a, void *arg)
{
	struct fuzz_call *c = arg;

	if (c->gone)
		fuzz_finding("told after it was cancelled");
	if (++c->told > 1)
		fuzz_finding("told twice");
	if (a->fate == FATE_DONE && a->status != GRPC_OK)
		fuzz_finding("done, with status %d", a->status);
	if (a->fate == FATE_DONE && !c->streaming && a->body == NULL)
		fuzz_finding("done, without a message");
	if (a->message == NULL || strlen(a->message) > 300)
		fuzz_finding("what message is that?");
	inside();
}

static void
on_message(const uint8_t *body, size_t len, void *arg)
{
	struct fuzz_call *c = arg;

	for (size_t i = 0; i < len; i++)
		seen += body[i];
	if (c->gone || c->told > 0)
		fuzz_finding("a message after the end");
	inside();
}

static void
on_state(struct channel *channel, enum channel_state state, const char *why,
    void *arg)
{
	(void)channel;
	(void)why;
	(void)arg;
	if (is_down)
		fuzz_finding("a state after the last");
	is_up |= state == CHANNEL_UP;
	is_down |= state == CHANNEL_DOWN;
	inside();
}

static void
call(bool streaming)
{
	struct fuzz_call *c = &calls[n_calls];
	struct call_opts o = { .path = "/p", .timeout_ms = streaming ? 0 :
	    5000, .body = (const uint8_t *)"b", .len = 1, .message =
	    streaming ? on_message : NULL, .answer = on_answer, .arg = c };

	if (n_calls == CALLS || ch == NULL)
		return;
	memset(c, 0, sizeof(*c));
	c->streaming = streaming;
	c->c = channel_call(ch, &o);
	n_calls += c->c != NULL;
}

static void
run(int turns)
{
	while (turns-- > 0)
		(void)event_base_loop(base, EVLOOP_NONBLOCK);
}

/* Turns of the loop until it is so. */
static bool
run_until(bool (*so)(void))
{
	for (int i = 0; i < TURNS + LATE_TURNS; i++) {
		run(1);
		if (so())
			return true;
		if (i >= TURNS)
			(void)poll(NULL, 0, 1);
	}
	return false;
}

static bool
is_accepted(void)
{
	peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	return peer >= 0;
}

static bool
came_up(void)
{
	return is_up;
}

static bool
went_down(void)
{
	return ch == NULL || is_down;
}

static void
operate(struct fuzz_input *in)
{
	unsigned op = (unsigned)fuzz_take(in, 1) % 15;
	uint8_t b[512] = { 0 };
	uint32_t stream;
	size_t n;

	switch (op) {
	case 0:
		n = literal(b, ":status", "200", 3);
		frame(1, 4, take_stream(in), b, n);
		break;
	case 1:
		stream = take_stream(in);
		n = take_bytes(in, b + 256, 8);
		n = literal(b, "grpc-status", (char *)b + 256, n);
		frame(1, 5, stream, b, n);
		break;
	case 2:
	case 3:
		stream = take_stream(in);
		n = take_bytes(in, b, 250);
		frame(0, op == 3, stream, b, n);
		break;
	case 4:
		stream = take_stream(in);
		b[3] = (uint8_t)fuzz_take(in, 1);
		frame(3, 0, stream, b, 4);
		break;
	case 5:
		b[3] = (uint8_t)fuzz_take(in, 1);
		frame(7, 0, 0, b, 8);
		break;
	case 6:
		b[1] = (uint8_t)(fuzz_take(in, 1) % 8);
		b[5] = (uint8_t)fuzz_take(in, 1);
		frame(4, 0, 0, b, 6);
		break;
	case 7:
		stream = take_stream(in);
		b[3] = (uint8_t)fuzz_take(in, 1);
		frame(8, 0, stream, b, 4);
		break;
	case 8:
		n = take_bytes(in, b, 250);
		put(b, n);
		break;
	case 9:
		cancel((unsigned)fuzz_take(in, 1) % CALLS);
		break;
	case 10:
		call(fuzz_take(in, 1) % 2 != 0);
		break;
	case 12:
		stream = take_stream(in);
		n = take_bytes(in, b + 5, 200);
		b[4] = (uint8_t)n;
		frame(0, 0, stream, b, 5 + n);
		break;
	case 13:
		free_next = true;
		break;
	case 14:
		cancel_next = (int)(fuzz_take(in, 1) % CALLS);
		break;
	default:
		run(3);
		break;
	}
}

static void
begin(void)
{
	struct channel_opts o = { .base = base, .host = "127.0.0.1",
	    .port = port, .state = on_state };

	is_up = is_down = free_next = false;
	cancel_next = -1;
	n_calls = 0;
	ch = channel_open(&o);
	peer = -1;
	(void)run_until(is_accepted);
	frame(4, 0, 0, NULL, 0);
	if (!run_until(came_up))
		fuzz_finding("the channel does not come up");
	call(false);
	call(false);
	call(true);
	call(true);
}

void
fuzz_channel(struct fuzz_input *in)
{
	begin();
	for (int i = 0; i < OPS_MAX && in->left > 0; i++)
		operate(in);
	run(3);
	(void)close(peer);
	(void)run_until(went_down);
	run(3);
	if (ch != NULL && !is_down)
		fuzz_finding("no callback at the end of the connection");
	for (unsigned i = 0; i < n_calls; i++)
		if (!calls[i].gone && calls[i].told != 1)
			fuzz_finding("a call does not end once");
	if (ch != NULL)
		channel_free(ch);
	ch = NULL;
	run(2);
}

void
fuzz_channel_begin(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);

	base = event_base_new();
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
	    0);
	if (base == NULL || bind(listener, (struct sockaddr *)&a, len) != 0 ||
	    listen(listener, 8) != 0 || getsockname(listener,
	    (struct sockaddr *)&a, &len) != 0)
		fuzz_finding("no port");
	port = ntohs(a.sin_port);
}
