/* SPDX-License-Identifier: MIT */
/*
 * G1: a repair by force declares a session dead only if no sign of life is
 * left that says something.  Words of its record are no sign: one whose record
 * says that it is free, and whose byte is locked through a mapping, stays.
 * One that was passed on to a living process stays;
 * one whose sign was removed by hand, and whose process is gone, does not
 * (offline/declare_dead.c).
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/procstat.h"
#include "replay.h"
#include "proc/attachment.h"
#include "shm/session_liveness.h"

struct shared {
	const char *table;
	struct t_event had;
	uint64_t sid;
	pid_t heir;
};

static char said[1024];

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

static void
keep_line(const char *what, void *arg)
{
	size_t n = strlen(said);

	(void)arg;
	(void)snprintf(said + n, sizeof(said) - n, "%s\n", what);
}

static int
repair_by_force(const struct shared *sh)
{
	said[0] = '\0';
	return lh_table_repair(sh->table, LH_FORCE, keep_line, NULL);
}

/* Repairs; we use the table ourselves.  True if the session was declared dead:
 * if just then another process on this machine cannot be examined, it is not
 * known to be. */
static bool
is_declared_dead(const struct shared *sh)
{
	is(repair_by_force(sh), -EBUSY, "by force: we use the table ourselves");
	return strstr(said, "is declared dead") != NULL;
}

int
main(void)
{
	struct shared *sh = t_shared(sizeof(*sh));
	struct lhi_procstat ps;
	struct lh_lease l;
	uint64_t state;
	char file[160];
	struct lh *lh;

	sh->table = replay_begin();
	lh = replay_open(sh->table, 0);
	replay_fork("P", pass_on, sh);
	ok(t_await(&sh->had, 1, REPLAY_MS), "a session is passed on");
	is(repair_by_force(sh), -EBUSY, "by force: it is in use");
	is(lhi_session_dead(&lh->v, sh->sid, true), false, "it lives");
	replay_kill("P");
	is(repair_by_force(sh), -EBUSY, "its process is killed: the same");
	is(lhi_session_dead(&lh->v, sh->sid, true), false,
	    "it lives on in the heir");
	is(replay_try(lh, "k", &l), -EAGAIN, "and holds its key");
	snprintf(file, sizeof(file), "/dev/shm/leasehold.%u/%016" PRIx64
	    "-%u.sign", (unsigned)geteuid(), lh->v.uuid[0],
	    (unsigned)sid_idx(sh->sid));
	is(unlink(file), 0, "the sign's file is removed by hand");
	is(sh->heir > 0 && t_signal(sh->heir, SIGKILL) == 0, true,
	    "the heir is killed");
	ok(t_until(REPLAY_MS, !lhi_procstat_read(sh->heir, 0, &ps) ||
	    ps.state == 'Z'), "and has ended");
	is(lhi_session_dead(&lh->v, sh->sid, true), false,
	    "nobody can tell, so it is not dead");
	ok(t_until(REPLAY_MS, is_declared_dead(sh)), "by force: it is dead");
	diag("%s%s", said, lh_error_detail());
	is(replay_try(lh, "k", &l), 0, "its key is free");
	state = sh64_load(&lh->v.me->state);
	sh64_store(&lh->v.me->state, sess_make(SESS_UNUSED, 0,
	    sess_inc(state)));
	is(repair_by_force(sh), -EBUSY,
	    "our record says that it is free, but our byte is locked");
	sh64_store(&lh->v.me->state, state);
	is(lh_verify(lh, &l), 0, "we hold the key still");
	is(lh_release(lh, &l), 0, "released");
	t_close(lh);
	return done();
}
