/* SPDX-License-Identifier: MIT */
/*
 * A host may have a key shared, and not for itself, and another host has it.
 * Who waits for it for himself is told that he may not, also while somebody
 * else here waits to share it, which may last.
 */
#include <errno.h>
#include <unistd.h>
#include "support/asked.h"
#include "support/hosts.h"

#define KEY "cluster:k"
#define TOLD_MS 3000

static struct host *const a = &hosts[0], *const b = &hosts[1];

static enum fake_mishap
deny(unsigned host, uint64_t call, void *arg)
{
	return host == 0 && asked_to_write("/q/k/w/") ? FAKE_DENIED : FAKE_NONE;
}

static void
do_begin(void *arg)
{
	fake_store_mishaps(hosts_store, deny, NULL, NULL);
	asked_watch(a->engine);
}

struct one {
	unsigned mode;
	int e;
	_Atomic bool done;
	int64_t took_ms;
};

static void *
wait_for_it(void *arg)
{
	struct lh_acquire_opts o = t_opts(60000, TOLD_MS + T_HANG_MS);
	struct one *w = arg;
	struct lh_lease l;
	int64_t then_ns = t_now_ns();

	o.mode = w->mode;
	w->e = lh_acquire(a->lh, KEY, &o, &l);
	w->took_ms = t_since_ms(then_ns);
	w->done = true;
	if (w->e == 0)
		(void)lh_release(a->lh, &l);
	return NULL;
}

int
main(void)
{
	static struct one alone = { .mode = LH_EXCLUSIVE },
	    shared = { .mode = LH_SHARED };
	struct lh_lease l;
	pthread_t t[2];

	hosts_begin(2);
	hosts_do(do_begin, NULL);
	is(take(b, KEY, RIGHT_EXCLUSIVE, T_HANG_MS, &l), 0,
	    "another host has it");
	host_cut(a, true);	/* both are there before it is asked */
	t[0] = t_thread(wait_for_it, &alone);
	t_sleep_ms(200);
	t[1] = t_thread(wait_for_it, &shared);
	t_sleep_ms(200);
	host_cut(a, false);
	ok(t_until(TOLD_MS, alone.done), "who wants it for himself is told");
	ok(!shared.done, "while the other one waits on");
	(void)t_join(t[0]);
	is(alone.e, -EACCES, "that he may not (after %d ms)",
	    (int)alone.took_ms);
	is(lh_release(b->lh, &l), 0, "released");
	(void)t_join(t[1]);
	is(shared.e, 0, "the other one has it then");
	hosts_end();
	return done();
}
