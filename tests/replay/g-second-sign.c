/* SPDX-License-Identifier: MIT */
/*
 * G1: a session that was passed on (lh_liveness_fd()) is not dead while a copy
 * of its second sign is open, though its process is gone and its byte is free.
 * If the sign's file was removed by hand, nobody can tell: that is not dead
 * either (shm/session_sign.c).
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <unistd.h>
#include "replay.h"
#include "proc/attachment.h"
#include "shm/session_liveness.h"
#include "shm/session_sign.h"

struct shared {
	const char *table;
	struct t_event had;
	uint64_t sid;
	pid_t heir;
};

/* Passes its session on to a child, which only has it open, and waits. */
static int
pass_on(void *arg)
{
	struct lh_open_opts o = replay_opts(0);
	struct shared *sh = arg;
	struct lh *lh;
	pid_t heir;

	o.flags |= LH_LIVENESS_FD;
	if (lh_open(&lh, sh->table, &o) != 0)
		return -EINVAL;
	(void)t_hold(lh, "k");
	sh->sid = lh->sid;
	if (lh_liveness_fd(lh) < 3)
		return -EBADF;
	heir = fork();
	if (heir == 0) {
		(void)alarm(20);
		for (;;)
			pause();
	}
	sh->heir = heir;
	t_post(&sh->had);
	pause();
	return 0;
}

int
main(void)
{
	struct shared *sh = t_shared(sizeof(*sh));
	struct lh_lease l;
	char file[160], away[170];
	struct lh *lh;

	sh->table = replay_begin();
	lh = replay_open(sh->table, 0);
	replay_fork("P", pass_on, sh);
	ok(t_await(&sh->had, 1, REPLAY_MS), "a session is passed on");
	replay_kill("P");
	is(lhi_session_dead(&lh->v, sh->sid, true), false,
	    "its process is killed: it lives on in the heir");
	is(replay_try(lh, "k", &l), -EAGAIN, "and holds its key");
	snprintf(file, sizeof(file), "/dev/shm/leasehold.%u/%016" PRIx64
	    "-%u.sign", (unsigned)geteuid(), lh->v.uuid[0],
	    (unsigned)sid_idx(sh->sid));
	snprintf(away, sizeof(away), "%s.away", file);
	is(rename(file, away), 0, "the sign's file is removed by hand");
	is(lhi_sign_held(&lh->v, sid_idx(sh->sid)), -ENOENT, "cannot tell");
	is(lhi_session_dead(&lh->v, sh->sid, true), false, "so it is not dead");
	is(rename(away, file), 0, "it is put back");
	(void)kill(sh->heir, SIGKILL);
	for (int i = 0; i < REPLAY_MS &&
	    lhi_sign_held(&lh->v, sid_idx(sh->sid)) == 1; i++)
		t_sleep_ms(1);
	is(lhi_sign_held(&lh->v, sid_idx(sh->sid)), 0, "the heir is killed");
	is(replay_try(lh, "k", &l), 0, "then it is dead, and its key free");
	is(lh_release(lh, &l), 0, "released");
	(void)unlink(file);
	t_close(lh);
	return done();
}
