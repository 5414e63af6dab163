/* SPDX-License-Identifier: MIT */
/*
 * A host may have a key shared, and not for itself.  Who tries it shared is not
 * told that he may not, because somebody else tries it for himself at the same
 * time.
 */
#include <errno.h>
#include <unistd.h>
#include "support/asked.h"
#include "support/hosts.h"

static const char key[] = "cluster:k";
static struct host *const a = &hosts[0];

static enum fake_mishap
deny(unsigned host, uint64_t call, void *arg)
{
	return asked_to_write("/q/k/w/") ? FAKE_DENIED : FAKE_NONE;
}

static void
do_begin(void *arg)
{
	fake_store_mishaps(hosts_store, deny, NULL, NULL);
	asked_watch(a->engine);
}

/* Both are heard before anything is answered. */
static void
do_try_both(void *arg)
{
	int fd = *(int *)arg;

	hosts_want(fd, 1, key, RIGHT_EXCLUSIVE, FRAME_TRY);
	hosts_want(fd, 2, key, RIGHT_SHARED, FRAME_TRY);
}

int
main(void)
{
	static struct lhi_frame f[2];
	int fd, type[2], which;

	hosts_begin(1);
	hosts_do(do_begin, NULL);
	fd = dial(a);
	hosts_do(do_try_both, &fd);
	type[0] = hear(fd, &f[0], T_HANG_MS);
	type[1] = hear(fd, &f[1], T_HANG_MS);
	which = f[0].id == 1 ? 0 : 1;
	is(type[which], FRAME_DENIED, "for itself: denied");
	is(type[!which], FRAME_GRANTED, "shared, at the same time: granted");
	(void)close(fd);
	hosts_end();
	return done();
}
