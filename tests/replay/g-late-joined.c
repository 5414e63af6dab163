/* SPDX-License-Identifier: MIT */
/*
 * Who is granted a key too late gives it back also if another thread, that had
 * found the lease, makes it a reader's just then, and others join: its claim is
 * not free while the chain has it.
 */
#include <errno.h>
#include "proc/attachment.h"
#include "replay.h"

static struct lh *lh, *other;

static int
down(void *l)
{
	return lh_convert(lh, l, LH_SHARED);
}

static void
play_all(void)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);
	const char *table = replay_begin();
	struct replay_call a;
	struct lh_lease found, l, r;
	int64_t ttl = t_ms(60);

	lh = replay_open(table, 0);
	other = replay_open(table, 0);
	a = (struct replay_call)REPLAY_CALL(lh, "k", ttl, 0);
	is(replay_try(other, "k", &l), 0, "the key is there");
	is(lh_release(other, &l), 0, "and free");
	replay_stop("A", "acquire.granted", replay_acquire, &a);
	is(replay_find(lh, "k", &found), 0, "found");
	replay_stop("B", "convert.announced", down, &found);
	replay_sleep_past(&found);
	replay_stop_next("A", "cas");	/* the state */
	replay_stop_next("A", "cas");	/* the word */
	is(replay_finish("B"), -ESTALE, "made a reader's, but too late");
	o.mode = LH_SHARED;
	is(lh_acquire(other, "k", &o, &r), 0, "another one joins");
	is(replay_finish("A"), -EAGAIN, "it is too late, and others read");
	is(t_findings(other), 0, "sound");
	is(lh_release(other, &r), 0, "released");
	is(replay_try(other, "k", &l), 0, "the key is to be had: %s",
	    lh_error_detail());
	(void)lh_release(other, &l);
	is(sh32_load(&lh->v.hdr->flags) & SHM_DAMAGED, 0u, "not damaged");
	is(t_findings(other), 0, "sound");
	t_close(other);
	t_close(lh);
}

int
main(void)
{
	t_part(play_all, 290, "late, joined");
	return done();
}
