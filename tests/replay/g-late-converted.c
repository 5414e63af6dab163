/* SPDX-License-Identifier: MIT */
/*
 * Who is granted a key too late gives it back also if another thread of his
 * process has found the lease and made it a reader's: no claim is free that the
 * word names.
 */
#include <errno.h>
#include "proc/attachment.h"
#include "replay.h"

static struct lh *lh, *other;

static void
play_all(void)
{
	const char *table = replay_begin();
	struct replay_call a;
	struct lh_lease found, l;
	int64_t ttl = t_ms(60);

	lh = replay_open(table, 0);
	other = replay_open(table, 0);
	a = (struct replay_call)REPLAY_CALL(lh, "k", ttl, 0);
	is(replay_try(other, "k", &l), 0, "the key is there");
	is(lh_release(other, &l), 0, "and free");
	replay_stop("A", "acquire.granted", replay_acquire, &a);
	is(replay_find(lh, "k", &found), 0, "found");
	is(lh_convert(lh, &found, LH_SHARED), 0, "made a reader's: %s",
	    lh_error_detail());
	replay_sleep_past(&found);
	is(replay_finish("A"), 0, "it is had anew");
	is(lh_release(lh, &a.lease), 0, "and released");
	is(replay_try(other, "k", &l), 0, "the key is to be had: %s",
	    lh_error_detail());
	is(sh32_load(&lh->v.hdr->flags) & SHM_DAMAGED, 0u, "not damaged");
	is(t_findings(other), 0, "sound");
	t_close(other);
	t_close(lh);
}

int
main(void)
{
	t_part(play_all, 290, "late, converted");
	return done();
}
