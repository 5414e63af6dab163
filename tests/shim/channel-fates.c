/* SPDX-License-Identifier: MIT */
/*
 * src/shim/store, calls: each call is reported as done, surely not applied, or
 * unknown, for each way in which a server can answer or not.
 *
 * Otherwise a shim would repeat a call that was applied, or give up one that
 * was not.
 */
#include "shim/support/loop.h"
#include "shim/support/server.h"
#include "tap.h"

static struct event_base *base;
static struct server *s;
static struct noted_channel n;

/* The channel of another connection, if the one before is down. */
static void
be_up(void)
{
	if (n.ch != NULL && channel_state(n.ch) == CHANNEL_UP)
		return;
	if (n.ch != NULL)
		channel_free(n.ch);
	(void)loop_connect(base, server_port(s), NULL, "127.0.0.1", &n);
	if (!loop_up(base, &n))
		bail_out("not connected: %s", n.why);
}

static void
call_within(int ms, const char *path, enum fate want, int status,
    const char *why)
{
	struct noted c;

	be_up();
	if (!loop_call(n.ch, path, ms, "a question", &c))
		bail_out("no call");
	ok(loop_until(base, &c.ended, 1, 5000), "%s is reported", path);
	is(c.fate, want, "%s: its fate", path);
	is(c.status, status, "%s: its status", path);
	if (!ok(strstr(c.why, why) != NULL, "%s: why", path))
		diag("'%s' is not in '%s'", why, c.why);
	loop_rest(base, 5);
	is(c.ended, 1, "%s is reported once", path);
}

/* Calls that are reported before their time is up, on a slow machine, too. */
static void
call(const char *path, enum fate want, int status, const char *why)
{
	call_within(4000, path, want, status, why);
}

static void
test_status(void)
{
	static const struct {
		const char *what;
		enum fate fate;
	} table[] = {
		{ "1/x", FATE_UNKNOWN },
		{ "2/context deadline exceeded", FATE_UNKNOWN },
		{ "3/x", FATE_NOT_APPLIED },
		{ "4/x", FATE_UNKNOWN },
		{ "5/x", FATE_NOT_APPLIED },
		{ "6/x", FATE_UNKNOWN },
		{ "7/x", FATE_NOT_APPLIED },
		{ "8/etcdserver: too many requests", FATE_NOT_APPLIED },
		{ "8/etcdserver: mvcc: database space exceeded",
		    FATE_UNKNOWN },
		{ "9/x", FATE_NOT_APPLIED },
		{ "10/x", FATE_UNKNOWN },
		{ "11/x", FATE_NOT_APPLIED },
		{ "12/x", FATE_NOT_APPLIED },
		{ "13/x", FATE_UNKNOWN },
		{ "14/etcdserver: request timed out", FATE_UNKNOWN },
		{ "14/etcdserver: no leader", FATE_NOT_APPLIED },
		{ "15/x", FATE_UNKNOWN },
		{ "16/x", FATE_NOT_APPLIED },
		{ "99/x", FATE_UNKNOWN },
	};
	char path[100];

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const char *what = table[i].what;

		(void)snprintf(path, sizeof(path), i % 2 == 0 ? "/status/%s" :
		    "/header/%s", what);
		for (char *p = path; (p = strchr(p, ' ')) != NULL;)
			*p = '_';
		call(path, table[i].fate, atoi(what), strchr(what, '/') + 1);
	}
	call("/status/7/50%25_%E2%82%ac", FATE_NOT_APPLIED, 7, "50%    ");
}

static void
test_broken(void)
{
	call_within(300, "/silent", FATE_UNKNOWN, GRPC_NONE,
	    "no answer in time");
	call("/drop", FATE_UNKNOWN, GRPC_NONE, "closed");
	call("/reset", FATE_UNKNOWN, GRPC_NONE, "INTERNAL_ERROR");
	call("/cut", FATE_UNKNOWN, GRPC_NONE, "truncated");
	call("/nothing", FATE_UNKNOWN, GRPC_NONE, "truncated");
	call("/large", FATE_UNKNOWN, GRPC_NONE, "too large");
	call("/compressed", FATE_UNKNOWN, GRPC_NONE, "truncated");
	call("/http/503", FATE_UNKNOWN, GRPC_NONE, "503");
	call("/odd", FATE_UNKNOWN, GRPC_NONE, "without an answer");
	call("/refuse", FATE_NOT_APPLIED, GRPC_NONE, "REFUSED_STREAM");
	call("/leave", FATE_NOT_APPLIED, GRPC_NONE, "");
	call("/leave-late", FATE_UNKNOWN, GRPC_NONE, "leaving");
}

static void
test_done(void)
{
	struct noted c;

	be_up();
	ok(loop_call(n.ch, "/echo", 4000, "hear, hear", &c), "a call");
	ok(c.ended == 0, "is not reported before channel_call() returns");
	ok(loop_until(base, &c.ended, 1, 5000), "it is reported");
	is(c.fate, FATE_DONE, "it is done");
	is(c.len, 10, "the message is whole");
	is_str(c.body, "hear, hear", "and what was said");
	ok(strstr(server_header(s), "hasleader: true\n") != NULL &&
	    strstr(server_header(s), "grpc-timeout: 4000m\n") != NULL &&
	    strstr(server_header(s), "token: secret\n") != NULL &&
	    strstr(server_header(s), "te: trailers\n") != NULL,
	    "what goes with each call");
	ok(loop_call(n.ch, "/echo", 4000, "", &c) &&
	    loop_until(base, &c.ended, 1, 5000) && c.fate == FATE_DONE &&
	    c.len == 0, "a message without a byte is one");
}

int
main(void)
{
	base = event_base_new();
	s = server_start(base, NULL);
	test_done();
	test_status();
	test_broken();
	channel_free(n.ch);
	server_stop(s);
	event_base_free(base);
	return done();
}
