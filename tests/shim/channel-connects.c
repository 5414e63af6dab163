/* SPDX-License-Identifier: MIT */
/* test: slow 5 */
/*
 * src/shim/store, connections: a channel reports its state: up when the server
 * speaks HTTP/2, and down once and with a reason when nobody listens, nobody
 * speaks, or nobody answers a ping.  A call that was never handed to the
 * connection is reported as surely not applied.
 *
 * Otherwise a shim would take a dead endpoint for a live one, or an unsent call
 * for one that may be applied.
 */
#include <arpa/inet.h>
#include <event2/dns.h>
#include <nghttp2/nghttp2.h>
#include <sys/socket.h>
#include "shim/store/call.h"
#include "shim/support/loop.h"
#include "shim/support/server.h"
#include "tap.h"

static struct event_base *base;
static struct server *s;

static void
nobody_there(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof(a);
	struct noted_channel n;
	struct noted c;

	/* bound and not listening: nobody else can have the port meanwhile */
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) != 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &len) != 0)
		bail_out("no port");
	(void)loop_connect(base, ntohs(a.sin_port), NULL, "127.0.0.1", &n);
	ok(!loop_call(n.ch, "/echo", 300, "x", &c),
	    "no call before it is up");
	ok(!loop_up(base, &n) && n.state == CHANNEL_DOWN, "nobody is there");
	ok(strstr(n.why, "refused") != NULL, "why: %s", n.why);
	ok(!loop_call(n.ch, "/echo", 300, "x", &c), "no call then");
	channel_free(n.ch);
	(void)close(fd);
}

static void
no_such_name(void)
{
	struct noted_channel n;

	(void)loop_connect(base, 1, NULL, "no..such..name", &n);
	ok(!loop_up(base, &n), "a name that is none");
	ok(n.why[0] != '\0', "why: %s", n.why);
	channel_free(n.ch);
}

static void
nobody_speaks(void)
{
	struct server *mute = server_start(base, NULL);
	struct channel_opts o;
	struct noted_channel n;

	server_mute(mute);
	(void)loop_connect(base, server_port(mute), NULL, "127.0.0.1", &n);
	o = n.ch->o;
	channel_free(n.ch);
	o.host = "127.0.0.1";
	o.connect_ms = 100;
	n.ch = channel_open(&o);
	ok(!loop_up(base, &n), "nobody speaks");
	is_str(n.why, "no connection in time", "why");
	channel_free(n.ch);
	server_stop(mute);
}

static void
silence(void)
{
	struct server *mute = server_start(base, NULL);
	struct channel_opts o;
	struct noted_channel n;
	struct noted c;

	(void)loop_connect(base, server_port(mute), NULL, "127.0.0.1", &n);
	o = n.ch->o;
	channel_free(n.ch);
	o.host = "127.0.0.1";
	o.ping_ms = 400;
	memset(&n, 0, sizeof(n));
	n.ch = channel_open(&o);
	ok(loop_up(base, &n), "up");
	loop_rest(base, 1400);
	is(n.told, 1, "pings are answered: it stays up");
	server_mute(mute);
	ok(loop_call(n.ch, "/echo", 0, "x", &c), "a call");
	ok(loop_until(base, &n.told, 2, 3000), "a silent server is left");
	is_str(n.why, "no answer to a ping", "why");
	ok(c.ended == 1 && c.fate == FATE_UNKNOWN,
	    "the call was reported before: unknown");
	channel_free(n.ch);
	server_stop(mute);
}

static void
waits_its_turn(void)
{
	struct server *narrow = server_start(base, NULL);
	struct noted_channel n;
	struct noted first, second, third, late;

	server_streams(narrow, 1);
	(void)loop_connect(base, server_port(narrow), NULL, "127.0.0.1", &n);
	ok(loop_up(base, &n), "a server that takes one call at a time");
	ok(loop_call(n.ch, "/silent", 400, "x", &first) &&
	    loop_call(n.ch, "/echo", 5000, "x", &second) &&
	    loop_call(n.ch, "/echo", 100, "x", &third), "three calls");
	ok(loop_until(base, &third.ended, 1, 3000) &&
	    third.fate == FATE_NOT_APPLIED,
	    "one whose time is up before it was sent is not applied");
	ok(loop_until(base, &first.ended, 1, 3000) &&
	    first.fate == FATE_UNKNOWN, "the one that was sent is unknown");
	ok(loop_until(base, &second.ended, 1, 5000) &&
	    second.fate == FATE_DONE, "then the next is sent, and done");
	ok(loop_call(n.ch, "/drop", 5000, "x", &first) &&
	    loop_call(n.ch, "/echo", 5000, "x", &late),
	    "a call that ends the connection, and one behind it");
	ok(loop_until(base, &n.told, 2, 3000), "it is down");
	is(first.fate, FATE_UNKNOWN, "the call that was sent is unknown");
	is(late.fate, FATE_NOT_APPLIED, "the one that was not, not applied");
	channel_free(n.ch);
	server_stop(narrow);
}

static void
used_up(void)
{
	struct noted_channel n;
	struct noted c;

	(void)loop_connect(base, server_port(s), NULL, "127.0.0.1", &n);
	ok(loop_up(base, &n), "up");
	(void)nghttp2_session_set_next_stream_id(n.ch->h2, INT32_MAX);
	ok(loop_call(n.ch, "/echo", 4000, "x", &c), "its last number");
	ok(loop_until(base, &c.ended, 1, 5000) && c.fate == FATE_DONE,
	    "is a good one");
	ok(!loop_call(n.ch, "/echo", 300, "x", &c), "there is none after it");
	ok(loop_until(base, &n.told, 2, 2000) && n.state == CHANNEL_DOWN,
	    "so it is down, and another can be opened");
	channel_free(n.ch);
}

int
main(void)
{
	base = event_base_new();
	s = server_start(base, NULL);
	nobody_there();
	no_such_name();
	nobody_speaks();
	silence();
	waits_its_turn();
	used_up();
	server_stop(s);
	event_base_free(base);
	return done();
}
