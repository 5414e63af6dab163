/* SPDX-License-Identifier: MIT */
/*
 * Shared rights: readers of two hosts at once; a writer, on another host or
 * here, waits for them, and keeps new readers out.
 *
 * Otherwise a writer would starve behind readers of other hosts, or come in
 * beside them.
 */
#include <errno.h>
#include <unistd.h>
#include "support/hosts.h"

static const char key[] = "cluster:r";

int
main(void)
{
	struct host *a = &hosts[0], *b = &hosts[1];
	struct lh_lease ra, rb, w;
	uint64_t token;
	int fd, other;

	hosts_begin(2);
	is(take(a, key, RIGHT_SHARED, T_HANG_MS, &ra), 0, "A reads");
	is(take(b, key, RIGHT_SHARED, T_HANG_MS, &rb), 0, "B reads beside it");
	is(host_right(a, key), RIGHT_SHARED, "A's right is shared");
	is(host_right(b, key), RIGHT_SHARED, "and so is B's");
	token = ra.token > rb.token ? ra.token : rb.token;

	fd = dial(a);
	is(ask(fd, key, RIGHT_EXCLUSIVE, FRAME_TRY), FRAME_BUSY,
	    "A's writer, a try: busy, as readers of A have it");
	ok(host_may(a, key, RIGHT_SHARED), "A's readers stay");
	is(ask(fd, key, RIGHT_EXCLUSIVE, 0), FRAME_QUEUED,
	    "A's writer waits");
	t_sleep_ms(t_ms(50));
	ok(host_may(a, key, RIGHT_SHARED), "as long as A reads");
	other = dial(a);
	is(ask(other, key, RIGHT_SHARED, 0), FRAME_QUEUED,
	    "a new reader has to wait behind it");
	(void)close(other);
	is(lh_release(a->lh, &ra), 0, "A's reader ends");
	ok(t_until(T_HANG_MS, host_right(a, key) == RIGHT_NONE),
	    "A gives its share back");
	t_sleep_ms(t_ms(50));
	is(host_right(a, key), RIGHT_NONE, "and waits for B's reader");
	is(lh_verify(b->lh, &rb), 0, "B reads still");
	is(lh_release(b->lh, &rb), 0, "B's reader ends");
	ok(t_until(T_HANG_MS, host_may(a, key, RIGHT_EXCLUSIVE)),
	    "now A may write");
	is(host_right(b, key), RIGHT_NONE, "and B nothing");
	is(take(a, key, RIGHT_EXCLUSIVE, T_HANG_MS, &w), 0, "A writes");
	cmp(w.token, >, token, "its token is larger than the readers'");
	token = w.token;
	is(lh_release(a->lh, &w), 0, "done");

	is(take(a, key, RIGHT_SHARED, T_HANG_MS, &ra), 0,
	    "A reads under its exclusive right");
	cmp(ra.token, >=, token, "its token is not smaller");
	is(host_right(a, key), RIGHT_EXCLUSIVE, "that it has still");
	other = dial(b);
	is(ask(other, key, RIGHT_SHARED, 0), FRAME_QUEUED, "B would read");
	is(lh_release(a->lh, &ra), 0, "A's reader ends");
	ok(t_until(T_HANG_MS, host_may(b, key, RIGHT_SHARED)), "B may");
	(void)close(fd);
	(void)close(other);
	host_ended(a);
	host_ended(b);
	is(fake_store_keys(hosts_store), 0, "nothing is left in the store");
	hosts_end();
	return done();
}
