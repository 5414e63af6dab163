/* SPDX-License-Identifier: MIT */
/*
 * A shim gives a key back and is killed; its request to delete the claim is at
 * a stopped member of the store.  The next shim adopts the session, and the key
 * is wanted again.  When the deletion is applied after all, no other host has
 * the key beside this one.
 *
 * Otherwise a late deletion would give the key to a second host.
 */
#include <errno.h>
#include <unistd.h>
#include "support/asked.h"
#include "support/hosts.h"

#define LATE_MS 500

static const char key[] = "cluster:k";
static _Atomic bool late = true;

static enum fake_mishap
delay(unsigned host, uint64_t call, void *arg)
{
	return host == 0 && late && asked_to(KV_DELETE) ? FAKE_LATE : FAKE_NONE;
}

/* A hears of changes so late. */
static int
lag(unsigned host, void *arg)
{
	return host == 0 && !late ? LATE_MS : 0;
}

static void
do_begin(void *arg)
{
	asked_watch(hosts[0].engine);
	fake_store_mishaps(hosts_store, delay, lag, NULL);
}

int
main(void)
{
	struct host *a = &hosts[0], *b = &hosts[1];
	struct lh_lease l, m;
	int fd, e;

	hosts_begin(2);
	host_patient(a, t_ms(LATE_MS));
	hosts_do(do_begin, NULL);
	is(take(a, key, RIGHT_EXCLUSIVE, T_HANG_MS, &l), 0, "A takes a key");
	is(lh_release(a->lh, &l), 0, "which it leaves");
	fd = dial(b);
	is(ask(fd, key, RIGHT_EXCLUSIVE, 0), FRAME_QUEUED, "B wants it");
	ok(t_until(T_HANG_MS, host_right(a, key) == RIGHT_NONE),
	    "A gives it back");
	(void)close(fd);
	host_down(a);
	late = false;
	is(host_up(a), 0, "A's shim is killed, and started");
	e = take(a, key, RIGHT_EXCLUSIVE, t_ms(LATE_MS) / 2, &l);
	diag("A %s", e == 0 ? "has it again" : "waits for that");
	is(take(b, key, RIGHT_EXCLUSIVE, e == 0 ? t_ms(3 * LATE_MS) :
	    T_HANG_MS, &m), e == 0 ? -ETIMEDOUT : 0,
	    "B has it if A has not, and only then");
	if (e == 0) {
		is(lh_verify(a->lh, &l), 0, "A's is not lost");
		is(lh_release(a->lh, &l), 0, "A releases");
	}
	hosts_end();
	return done();
}
