/* SPDX-License-Identifier: MIT */
/*
 * Endpoints as an operator writes them: each form is understood, and anything
 * else is refused with a reason.
 *
 * Otherwise a typing error would lead a shim to another store, or to none.
 */
#include "shim/store/endpoint.h"
#include "tap.h"

static struct endpoints e;

static void
good(const char *text, unsigned n, const char *host, unsigned port, bool tls)
{
	char why[200] = "";

	is(endpoints_parse(&e, text, why, sizeof(why)), 0, "%s %s", text,
	    why);
	is(e.n, n, "so many");
	is_str(e.list[0].host, host, "its host");
	is(e.list[0].port, port, "its port");
	is(e.tls, tls, "TLS or not");
}

static void
bad(const char *text)
{
	char why[200] = "";

	is(endpoints_parse(&e, text, why, sizeof(why)), -EINVAL, "'%s'", text);
	ok(why[0] != '\0', "why: %s", why);
}

int
main(void)
{
	char many[400] = "a";

	good("http://127.0.0.1:2379", 1, "127.0.0.1", 2379, false);
	ok(!e.names, "no name is to be looked up");
	good("https://etcd.example", 1, "etcd.example", 2379, true);
	ok(e.names, "a name is to be looked up");
	good("h:1", 1, "h", 1, false);
	good("https://[fd00::1]:7/", 1, "fd00::1", 7, true);
	good("https://[::1], https://b:2 ,https://c", 3, "::1", 2379, true);
	is_str(e.list[1].host, "b", "the second");
	is(e.list[1].port, 2, "its port");
	ok(e.names, "some are names");
	bad("");
	bad(",");
	bad("a,");
	bad("http://");
	bad("ftp://a");
	bad("a:0");
	bad("a:65536");
	bad("a:");
	bad("a:x");
	bad("a:1x");
	bad("http://a/path");
	bad("http://user@a");
	bad("[::1");
	bad("[a]");
	bad("::1");
	bad("https://a,http://b");
	bad("https://a,b");
	bad("a b");
	for (int i = 0; i < ENDPOINTS_MAX; i++)
		(void)strcat(many, ",a");
	bad(many);
	return done();
}
