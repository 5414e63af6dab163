/* SPDX-License-Identifier: MIT */
/* test: slow 9 */
/*
 * The connection is cut after each byte of a request and of an answer.  A call
 * that was reported as done is applied, one that was reported as not applied is
 * not there and never will be, and only the rest is unknown.
 *
 * Otherwise a host could have a key without knowing it, or believe in one that
 * it does not have.
 */
#include "shim/support/etcd.h"
#include "shim/support/kv.h"
#include "shim/support/loop.h"
#include "shim/support/proxy.h"
#include "support/support.h"
#include "tap.h"

static struct event_base *base;
static struct cluster *c;

static struct proxy *proxy;
static int n_done, n_not, n_unknown, n_wrong;

static bool
is_there(struct kv_noted *direct, const char *key)
{
	struct kv_said s;

	if (!kv_get(direct, key, &s) || s.fate != FATE_DONE)
		bail_out("etcd does not answer");
	return s.n_pairs == 1;
}

/* Told in time, that is, not by the timeout. */
static bool
cut_at(struct kv_noted *direct, bool up, int at)
{
	char endpoint[64], key[32];
	struct etcd_opts o = { .connect_ms = 5000 };
	struct kv_noted n;
	struct kv_said s;
	bool there;

	(void)snprintf(endpoint, sizeof(endpoint), "127.0.0.1:%u",
	    proxy_port(proxy));
	(void)snprintf(key, sizeof(key), "t/%s/%d", up ? "up" : "down", at);
	kv_open(&n, base, endpoint, &o, NULL);
	if (!kv_here(&n, 5000))
		bail_out("not here: %s", n.why);
	loop_rest(base, 1);	/* window updates and the like are through */
	proxy_cut_after(proxy, up ? at : -1, up ? -1 : at);
	if (!kv_put(&n, key, "x", &s))
		bail_out("not asked");
	proxy_cut_after(proxy, -1, -1);
	kv_close(&n);
	if (s.fate != FATE_DONE)
		loop_rest(base, 2);	/* what is on its way arrives */
	there = is_there(direct, key);
	n_done += s.fate == FATE_DONE;
	n_not += s.fate == FATE_NOT_APPLIED;
	n_unknown += s.fate == FATE_UNKNOWN;
	if ((s.fate == FATE_DONE && !there) ||
	    (s.fate == FATE_NOT_APPLIED && there)) {
		n_wrong++;
		diag("%s after %d bytes: told %d, there %d: %s", up ?
		    "asking, cut" : "answering, cut", at, s.fate, there,
		    s.why);
	}
	return s.fate == FATE_DONE;
}

int
main(void)
{
	struct kv_noted direct;
	int last = 0;

	base = event_base_new();
	c = cluster_start(1, NULL);
	proxy = proxy_start(base, cluster_port(c, 0));
	kv_open(&direct, base, cluster_endpoints(c), NULL, NULL);
	ok(kv_here(&direct, 5000), "etcd");
	for (int at = 0; at < 1000 && last < 5; at++)
		last = cut_at(&direct, true, at) ? last + 1 : 0;
	is(last, 5, "cut after each byte of what is asked, to the end");
	diag("%d done, %d not applied, %d unknown", n_done, n_not, n_unknown);
	cmp(n_unknown, >, 20, "most of which are unknown");
	last = n_done = n_not = n_unknown = 0;
	for (int at = 1; at < 1000 && last < 5; at++)
		last = cut_at(&direct, false, at) ? last + 1 : 0;
	is(last, 5, "cut after each byte of the answer, to the end");
	diag("%d done, %d not applied, %d unknown", n_done, n_not, n_unknown);
	is(n_wrong, 0, "each report is true");
	kv_close(&direct);
	proxy_stop(proxy);
	cluster_end(c);
	event_base_free(base);
	return done();
}
