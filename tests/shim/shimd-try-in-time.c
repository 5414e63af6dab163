/* SPDX-License-Identifier: MIT */
/*
 * Issue 21 D4: a try is answered in time, whatever the store does: within two
 * timeouts of a call and the moment that another host gets.  A known holder is
 * named; otherwise the answer is not "busy".
 *
 * Otherwise a try would wait like a wait, or report a busy key without knowing.
 */
#include <unistd.h>
#include "support/asked.h"
#include "support/hosts.h"

static struct host *a = &hosts[0], *b = &hosts[1];
static _Atomic bool losing;

static enum fake_mishap
lose(unsigned host, uint64_t call, void *arg)
{
	return losing && host == 0 && asked_to_write("/q/") ?
	    FAKE_LOST_REQUEST : FAKE_NONE;
}

static void
do_begin(void *arg)
{
	fake_store_mishaps(hosts_store, lose, NULL, NULL);
	asked_watch(a->engine);
}

static int
try_once(const char *key, const char *what)
{
	static struct lhi_frame f;
	int fd = dial(a), type;
	int64_t then_ns = t_now_ns(), ms;

	hosts_want(fd, 7, key, RIGHT_EXCLUSIVE, FRAME_TRY);
	type = hear(fd, &f, T_HANG_MS);
	ms = t_since_ms(then_ns);
	cmp(ms, <, hosts_try_ms() + t_ms(300), "%s: answered in time (%d ms)",
	    what, (int)ms);
	(void)close(fd);
	return type;
}

int
main(void)
{
	struct lh_lease l;

	hosts_begin(2);
	hosts_do(do_begin, NULL);
	losing = true;
	is(try_once("cluster:free", "every request is lost"), FRAME_AWAY,
	    "  the cluster has not answered");
	losing = false;
	ok(t_until(T_HANG_MS, ask(dial(a), "cluster:free", RIGHT_EXCLUSIVE,
	    FRAME_TRY) == FRAME_GRANTED), "it answers again: granted");
	is(take(b, "cluster:held", RIGHT_EXCLUSIVE, T_HANG_MS, &l), 0,
	    "another host has a key");
	is(try_once("cluster:held", "held elsewhere"), FRAME_BUSY,
	    "  it is busy");
	is(lh_release(b->lh, &l), 0, "released");
	hosts_end();
	return done();
}
