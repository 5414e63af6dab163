/* SPDX-License-Identifier: MIT */
/* test: slow 9 */
/*
 * An endpoint accepts connections and says nothing, as when its machine is
 * stopped.  It costs the time of one try now and then, and not one each time
 * that another connection is lost.  It is tried again soon when the others
 * cannot be used.
 *
 * Otherwise one stopped member would make each reconnection slow, until
 * sessions end.
 */
#include "shim/support/etcd.h"
#include "shim/support/kv.h"
#include "shim/support/loop.h"
#include "shim/support/proxy.h"
#include "support/support.h"
#include "tap.h"

#define CUTS 20

static struct event_base *base;
static struct kv_noted n;

/* Until another connection can be used; how long that took. */
static int64_t
cut(struct proxy *p)
{
	int64_t begun = t_now_ns();
	struct kv_said s;

	proxy_hang_up(p);
	do
		loop_rest(base, 1);
	while ((!kv_here(&n, 10000) || !kv_put(&n, "t/a", "x", &s) ||
	    s.fate != FATE_DONE) && t_since_ms(begun) < T_HANG_MS);
	return t_since_ms(begun);
}

int
main(void)
{
	struct etcd_opts o = { .connect_ms = (int)t_ms(500) };
	struct proxy *good, *silent;
	int64_t begun, most = 0;
	struct cluster *c;
	char endpoints[64];
	int slow = 0;

	base = event_base_new();
	c = cluster_start(1, NULL);
	good = proxy_start(base, cluster_port(c, 0));
	silent = proxy_start(base, cluster_port(c, 0));
	proxy_hold(silent, true);
	(void)snprintf(endpoints, sizeof(endpoints),
	    "127.0.0.1:%u,127.0.0.1:%u", proxy_port(good), proxy_port(silent));
	kv_open(&n, base, endpoints, &o, NULL);
	ok(kv_here(&n, 5000), "it is here");

	begun = t_now_ns();
	for (int i = 0; i < CUTS; i++) {
		unsigned tries = proxy_conns(silent);
		int64_t took = cut(good);

		/* else it was the machine that cost the time */
		slow += took >= o.connect_ms && proxy_conns(silent) > tries;
		most = took > most ? took : most;
	}
	diag("%d of %d took as long as a try; %d ms in all, %d at most", slow,
	    CUTS, (int)t_since_ms(begun), (int)most);
	cmp(slow, <=, 1 + t_since_ms(begun) / (2 * o.connect_ms),
	    "few of them cost time");

	proxy_hold(silent, false);
	proxy_cut_after(good, 0, 0);
	begun = t_now_ns();
	ok(cut(good) < 10 * o.connect_ms, "the others gone, it is used again");
	diag("after %d ms", (int)t_since_ms(begun));

	kv_close(&n);
	proxy_stop(good);
	proxy_stop(silent);
	cluster_end(c);
	event_base_free(base);
	return done();
}
