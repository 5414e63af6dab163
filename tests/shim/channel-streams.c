/* SPDX-License-Identifier: MIT */
/*
 * src/shim/store, streams: messages arrive whole and in order, all of them
 * before the end.  A server that sends nonsense, or too much, is disconnected.
 *
 * Otherwise a watch would miss a change, or a broken server would use up the
 * shim's memory.
 */
#include "shim/support/loop.h"
#include "shim/support/server.h"
#include "tap.h"

static struct event_base *base;
static struct server *s;
static struct noted_channel n;

static void
ordinary(void)
{
	struct noted c, none;

	ok(loop_stream(n.ch, "/stream/3", &c), "a stream");
	ok(loop_until(base, &c.ended, 1, 3000), "it ends");
	is(c.messages, 3, "its messages came before that");
	is_str(c.body, "2", "in order");
	is(c.fate, FATE_DONE, "it is done");
	ok(loop_stream(n.ch, "/stream/0", &none) &&
	    loop_until(base, &none.ended, 1, 3000) && none.messages == 0 &&
	    none.fate == FATE_DONE, "one without a message");
	ok(loop_stream(n.ch, "/stream/5000", &c) &&
	    loop_until(base, &c.ended, 1, 10000), "a long one");
	is(c.messages, 5000, "all of it");
}

static void
nonsense(void)
{
	struct noted c;

	ok(loop_stream(n.ch, "/flood", &c), "a flood");
	ok(loop_until(base, &c.messages, 1000, 10000), "is read on");
	call_cancel(c.c);
	loop_rest(base, 50);
	c.messages = 0;
	loop_rest(base, 50);
	ok(c.messages == 0 && c.ended == 0, "until it is cancelled");
}

static void
with_others(void)
{
	struct noted stream, c[1000];
	int all = 0;

	ok(loop_stream(n.ch, "/flood", &stream), "a flood");
	for (int i = 0; i < 1000; i++)
		if (!loop_call(n.ch, "/echo", 20000, "x", &c[i]))
			bail_out("no call");
	for (int i = 0; i < 1000; i++)
		all += loop_until(base, &c[i].ended, 1, 20000) &&
		    c[i].fate == FATE_DONE;
	is(all, 1000, "calls beside it are answered");
	call_cancel(stream.c);
	loop_rest(base, 10);
}

int
main(void)
{
	base = event_base_new();
	s = server_start(base, NULL);
	(void)loop_connect(base, server_port(s), NULL, "127.0.0.1", &n);
	if (!loop_up(base, &n))
		bail_out("not connected: %s", n.why);
	ordinary();
	nonsense();
	with_others();
	channel_free(n.ch);
	server_stop(s);
	event_base_free(base);
	return done();
}
