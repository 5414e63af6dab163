/* SPDX-License-Identifier: MIT */
/*
 * A shim closes while the cluster has not answered two questions, one of a
 * client that is there and one of a client that has gone.  The first client is
 * disconnected, and nothing is leaked (LeakSanitizer checks).
 *
 * Otherwise the shim would crash at its end, or its client would wait for ever.
 */
#include <string.h>
#include <unistd.h>
#include "support/hosts.h"

/* Two: equal questions that come together are asked as one. */
static const char *const keys[] = { "cluster:k", "cluster:l" };

static enum fake_mishap
lose_all(unsigned host, uint64_t call, void *arg)
{
	return FAKE_LOST_REQUEST;
}

static void
do_lose_all(void *arg)
{
	fake_store_mishaps(hosts_store, lose_all, NULL, NULL);
}

static void
do_count_queries(void *arg)
{
	*(unsigned *)arg = hosts[0].shim->n_asked;
}

static void
do_count_clients(void *arg)
{
	*(unsigned *)arg = hosts[0].shim->n_clients;
}

static unsigned
count(void (*fn)(void *arg))
{
	unsigned n;

	hosts_do(fn, &n);
	return n;
}

static int
ask_who_holds(struct host *h, const char *key)
{
	struct lhi_frame f = { .type = FRAME_STATUS, .id = 1, .n = 1 };
	int fd = dial(h);

	f.key[0].key = key;
	f.key[0].len = (uint16_t)strlen(key);
	say(fd, &f);
	return fd;
}

int
main(void)
{
	struct host *a = &hosts[0];
	struct lhi_frame answer;
	unsigned n_clients;
	int fd, gone;

	hosts_begin(1);
	host_patient(a, t_ms(HOSTS_TTL_MS));
	n_clients = count(do_count_clients);
	hosts_do(do_lose_all, NULL);
	gone = ask_who_holds(a, keys[0]);
	fd = ask_who_holds(a, keys[1]);
	ok(t_until(T_HANG_MS, count(do_count_queries) == 2),
	    "the cluster is asked twice");
	(void)close(gone);
	ok(t_until(T_HANG_MS, count(do_count_clients) == n_clients + 1),
	    "one of the clients is gone");
	is(count(do_count_queries), 2, "neither question is answered");
	host_down(a);
	is(hear(fd, &answer, T_HANG_MS), 0, "the other client is hung up on");
	(void)close(fd);
	hosts_end();
	return done();
}
