/* SPDX-License-Identifier: MIT */
/* test: slow 18 */
/*
 * A store that is away is tried again, soon at first and then less often, and
 * never in a busy loop: also when it accepts connections and drops them, and
 * with several endpoints.
 *
 * Otherwise a shim would burden its host and the cluster, or miss the cluster's
 * return.
 */
#include <arpa/inet.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <event2/listener.h>
#include "shim/support/kv.h"
#include "shim/support/loop.h"
#include "support/support.h"
#include "tap.h"

#define ROUNDS_MS 3000

static struct event_base *base;
static int tries;
static int64_t at_ms[1000], begun_ns;

static void
on_conn(struct evconnlistener *l, evutil_socket_t fd, struct sockaddr *sa,
    int len, void *arg)
{
	(void)l;
	(void)sa;
	(void)len;
	(void)arg;
	(void)close(fd);
	if (tries < 1000)
		at_ms[tries] = t_since_ms(begun_ns);
	tries++;
}

static struct evconnlistener *
listen_on(uint16_t *port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	struct evconnlistener *l = evconnlistener_new_bind(base, on_conn, NULL,
	    LEV_OPT_CLOSE_ON_FREE, 16, (struct sockaddr *)&a, sizeof(a));

	if (l == NULL || getsockname(evconnlistener_get_fd(l),
	    (struct sockaddr *)&a, &len) != 0)
		bail_out("no port");
	*port = ntohs(a.sin_port);
	return l;
}

static double
cpu_s(void)
{
	struct rusage u;

	(void)getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	    (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* Whether the second round came as soon as it should: what is late because
 * nobody let us run is tried again. */
static bool
away(const char *endpoints, int n)
{
	struct kv_noted k;
	double cpu = cpu_s();
	int64_t took_ms;
	int rounds;

	tries = 0;
	begun_ns = t_now_ns();
	kv_open(&k, base, endpoints, NULL, NULL);
	loop_rest(base, ROUNDS_MS);
	kv_close(&k);
	took_ms = t_since_ms(begun_ns);
	rounds = tries / n;
	cpu = cpu_s() - cpu;
	diag("%d endpoints: %d tries in %d ms, %d us of CPU", n, tries,
	    (int)took_ms, (int)(cpu * 1e6));
	cmp(rounds, >=, 4, "it is tried again");
	/* 25, 50, 100 ... 1000 ms at the least */
	cmp(rounds, <=, 7 + took_ms / 1000, "not too often");
	ok(cpu < 0.5, "with little CPU");
	is(k.here, 0, "it never is here");
	cmp(k.away, >=, 1, "it is said to be away: %s", k.why);
	cmp(k.away, <=, rounds + 1, "once a round at most");
	return tries < 2 * n || at_ms[2 * n - 1] < t_ms(200);
}

static bool
away_of_one(void *endpoints)
{
	return away(endpoints, 1);
}

static bool
away_of_three(void *endpoints)
{
	return away(endpoints, 3);
}

int
main(void)
{
	struct evconnlistener *l[3];
	uint16_t port[3];
	char text[100];

	base = event_base_new();
	for (int i = 0; i < 3; i++)
		l[i] = listen_on(&port[i]);
	(void)snprintf(text, sizeof(text), "127.0.0.1:%u", port[0]);
	ok(t_tries(3, away_of_one, text), "it is tried soon at first");
	(void)snprintf(text, sizeof(text), "127.0.0.1:%u,127.0.0.1:%u,"
	    "127.0.0.1:%u", port[0], port[1], port[2]);
	ok(t_tries(3, away_of_three, text), "they are tried soon at first");
	for (int i = 0; i < 3; i++)
		evconnlistener_free(l[i]);
	event_base_free(base);
	return done();
}
