/* SPDX-License-Identifier: MIT */
/*
 * Endpoints by name: a name is looked up without stopping the event loop.  A
 * name that does not exist, or whose lookup gets no answer, is only a member
 * that is away.
 *
 * Otherwise one slow name server would stop a shim, and its host's session
 * would end.
 */
#include <unistd.h>
#include "shim/support/etcd.h"
#include "shim/support/kv.h"
#include "shim/support/loop.h"
#include "support/support.h"
#include "tap.h"

static struct event_base *base;
static struct cluster *c;
static struct kv_said s;
static int ticks;

static void
on_tick(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	ticks++;
}

static void
here(const char *endpoints)
{
	struct etcd_opts o = { .connect_ms = 300 };
	struct kv_noted n;

	for (int i = 0; i < 4; i++) {	/* whichever is tried first */
		kv_open(&n, base, endpoints, &o, NULL);
		if (!kv_here(&n, 5000) || !kv_put(&n, "t/a", "1", &s)) {
			fail("%s: %s", endpoints, n.why);
			return;
		}
		kv_close(&n);
	}
	pass("%s", endpoints);
}

static void
away(const char *endpoints)
{
	struct timeval tick = { 0, 10000 };
	struct etcd_opts o = { .connect_ms = 300 };
	struct event *timer = event_new(base, -1, EV_PERSIST, on_tick, NULL);
	int64_t begun = t_now_ns(), ran_ms = t_awake_ms(getpid());
	struct kv_noted n;

	ticks = 0;
	(void)event_add(timer, &tick);
	kv_open(&n, base, endpoints, &o, NULL);
	ok(kv_until_state(&n, KV_AWAY, 5000), "%s: %s", endpoints, n.why);
	loop_rest(base, 300);
	/* ticks may be late for want of a processor, not for anything else */
	ran_ms = t_awake_ms(getpid()) - ran_ms;
	cmp((ticks * 10 + ran_ms) * 2, >, t_since_ms(begun),
	    "the loop went on");
	kv_close(&n);
	event_free(timer);
}

int
main(void)
{
	char text[200];
	unsigned port;

	base = event_base_new();
	c = cluster_start(1, NULL);
	port = cluster_port(c, 0);
	(void)snprintf(text, sizeof(text), "localhost:%u", port);
	here(text);
	(void)snprintf(text, sizeof(text), "http://no-such-host.invalid,"
	    "127.0.0.1:%u", port);
	here(text);
	/* TEST-NET-1: nobody answers */
	(void)snprintf(text, sizeof(text), "192.0.2.1:1,localhost:%u", port);
	here(text);
	away("no-such-host.invalid:1");
	away("192.0.2.1:1");
	cluster_end(c);
	event_base_free(base);
	return done();
}
