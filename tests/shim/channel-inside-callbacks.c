/* SPDX-License-Identifier: MIT */
/*
 * src/shim/store, callbacks: a callback may do anything: cancel calls that are
 * under way, or ended and not yet reported, make new calls, and free the
 * channel.
 *
 * Otherwise the shim would use freed memory when a connection is lost.
 */
#include "shim/support/loop.h"
#include "shim/support/server.h"
#include "tap.h"

static struct event_base *base;
static struct server *s;
static struct noted_channel n;
static struct call *others[20];
static int told, others_told, messages;

static struct call *
begin(const char *path, message_fn *message, answer_fn *answer)
{
	struct call_opts o = { .path = path, .timeout_ms = message == NULL ?
	    10000 : 0, .body = (const uint8_t *)"x", .len = 1,
	    .message = message, .answer = answer };

	return channel_call(n.ch, &o);
}

static void
connect_again(void)
{
	(void)loop_connect(base, server_port(s), NULL, "127.0.0.1", &n);
	if (!loop_up(base, &n))
		bail_out("not connected: %s", n.why);
	told = others_told = messages = 0;
}

static void
on_other(const struct answer *a, void *arg)
{
	(void)a;
	(void)arg;
	others_told++;
}

static void
cancel_others(const struct answer *a, void *arg)
{
	(void)a;
	(void)arg;
	told++;
	for (int i = 0; i < 20; i++)
		call_cancel(others[i]);
}

static void
cancelling(void)
{
	connect_again();
	if (begin("/echo", NULL, cancel_others) == NULL)
		bail_out("no call");
	for (int i = 0; i < 20; i++)
		others[i] = begin(i % 2 ? "/echo" : "/silent", NULL, on_other);
	ok(loop_until(base, &told, 1, 3000), "an answer cancels others");
	loop_rest(base, 50);
	is(others_told, 0, "some of which were answered: none is reported");
	ok(begin("/echo", NULL, on_other) != NULL &&
	    loop_until(base, &others_told, 1, 3000), "the channel goes on");
	channel_free(n.ch);
}

static void
free_it(const struct answer *a, void *arg)
{
	(void)a;
	(void)arg;
	told++;
	channel_free(n.ch);
}

static void
freeing(void)
{
	connect_again();
	if (begin("/echo", NULL, free_it) == NULL)
		bail_out("no call");
	for (int i = 0; i < 20; i++)
		others[i] = begin(i % 2 ? "/echo" : "/silent", NULL, on_other);
	ok(loop_until(base, &told, 1, 3000), "an answer frees the channel");
	loop_rest(base, 50);
	is(others_told, 0, "no other is reported");
}

static void
free_on_message(const uint8_t *body, size_t len, void *arg)
{
	(void)body;
	(void)len;
	(void)arg;
	if (++messages == 3)
		channel_free(n.ch);
}

static struct call *stream;

static void
cancel_on_message(const uint8_t *body, size_t len, void *arg)
{
	(void)body;
	(void)len;
	(void)arg;
	if (++messages == 3)
		call_cancel(stream);
}

static void
in_messages(void)
{
	connect_again();
	stream = begin("/stream/10", cancel_on_message, on_other);
	ok(loop_until(base, &messages, 3, 3000), "messages");
	loop_rest(base, 50);
	ok(messages == 3 && others_told == 0,
	    "a stream cancelled in its third has no fourth, nor an end");
	channel_free(n.ch);
	connect_again();
	stream = begin("/stream/10", free_on_message, on_other);
	ok(loop_until(base, &messages, 3, 3000), "messages");
	loop_rest(base, 50);
	ok(messages == 3 && others_told == 0,
	    "nor has one whose channel is freed");
}

static void
on_down(struct channel *ch, enum channel_state state, const char *why,
    void *arg)
{
	(void)why;
	(void)arg;
	if (state != CHANNEL_DOWN)
		return;
	told++;
	channel_free(ch);
}

static void
in_states(void)
{
	struct channel_opts o = { .base = base, .host = "127.0.0.1",
	    .port = server_port(s), .connect_ms = 3000, .state = on_down };

	told = others_told = 0;
	n.ch = channel_open(&o);
	for (int i = 0; i < 100 && channel_state(n.ch) != CHANNEL_UP; i++)
		loop_rest(base, 10);
	ok(begin("/drop", NULL, on_other) != NULL, "a connection is lost");
	ok(loop_until(base, &told, 1, 3000) && others_told == 1,
	    "the call is reported, then the channel, which is freed in it");
}

static struct noted again;

static void
call_again(const struct answer *a, void *arg)
{
	(void)a;
	(void)arg;
	told = loop_call(n.ch, "/echo", 4000, "again", &again) ? 1 : 2;
}

static void
calling(void)
{
	connect_again();
	(void)begin("/echo", NULL, call_again);
	ok(loop_until(base, &told, 1, 3000) && told == 1, "an answer calls");
	ok(loop_until(base, &again.ended, 1, 3000) &&
	    again.fate == FATE_DONE, "and is answered");
	told = 0;
	(void)begin("/drop", NULL, call_again);
	ok(loop_until(base, &told, 1, 3000) && told == 2,
	    "not when the connection is gone");
	channel_free(n.ch);
}

int
main(void)
{
	base = event_base_new();
	s = server_start(base, NULL);
	cancelling();
	freeing();
	in_messages();
	in_states();
	calling();
	server_stop(s);
	event_base_free(base);
	return done();
}
