/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G1, shm/session_sign.c: a session that was passed on by
 * lh_liveness_fd() is not dead while a copy of its second sign is open, though
 * its process is gone and its byte lock is free.  If the sign's file was
 * removed by hand, or another file is in its place, nobody can tell: then it
 * is not dead either.  The file that is asked is the one that was looked at.
 *
 * Otherwise the key of a job that still runs would be granted to a second one.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
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

/* Passes its session on to a child that only keeps it open, and waits. */
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

static int
ask(void *arg)
{
	const struct replay_call *c = arg;

	return lhi_sign_held(&c->lh->v, (uint32_t)c->ttl_ms);
}

/* A file to which nothing is bound any more takes the sign's place after the
 * judge has looked at the sign: the sign is asked. */
static void
exchange_while_asked(struct lh *lh, const struct shared *sh, const char *file,
    const char *away)
{
	struct replay_call c = REPLAY_CALL(lh, "k", sid_idx(sh->sid), 0);
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	replay_stop("J", "sign.asking", ask, &c);
	is(rename(file, away), 0, "a judge has looked at the sign");
	(void)strncpy(a.sun_path, file, sizeof(a.sun_path) - 1);
	is(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0, "another is there");
	(void)close(fd);
	is(replay_finish("J"), 1, "the judge finds the sign held");
	(void)unlink(file);
	is(rename(away, file), 0, "the sign is put back");
}

/* Puts other files in the sign's place: they are not asked. */
static void
put_another_there(struct lh *lh, const struct shared *sh, const char *file,
    const char *away)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)strncpy(a.sun_path, file, sizeof(a.sun_path) - 1);
	is(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0, "a socket there");
	is(lhi_sign_held(&lh->v, sid_idx(sh->sid)), -ESTALE, "cannot tell");
	is(lhi_session_dead(&lh->v, sh->sid, true), false, "it is not dead");
	(void)close(fd);
	(void)unlink(file);
	is(mkfifo(file, 0600), 0, "a FIFO there, which nobody reads");
	is(lhi_sign_held(&lh->v, sid_idx(sh->sid)), -ESTALE, "cannot tell");
	is(lhi_session_dead(&lh->v, sh->sid, true), false, "it is not dead");
	(void)unlink(file);
	is(symlink(away, file), 0, "a link to the sign");
	is(lhi_sign_held(&lh->v, sid_idx(sh->sid)), -ESTALE, "cannot tell");
	(void)unlink(file);
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
	    "its process is killed: the session lives on in the heir");
	is(replay_try(lh, "k", &l), -EAGAIN, "and holds its key");
	snprintf(file, sizeof(file), "/dev/shm/leasehold.%u/%016" PRIx64
	    "-%u.sign", (unsigned)geteuid(), lh->v.uuid[0],
	    (unsigned)sid_idx(sh->sid));
	snprintf(away, sizeof(away), "%s.away", file);
	exchange_while_asked(lh, sh, file, away);
	is(rename(file, away), 0, "the sign's file is removed by hand");
	is(lhi_sign_held(&lh->v, sid_idx(sh->sid)), -ENOENT, "cannot tell");
	is(lhi_session_dead(&lh->v, sh->sid, true), false, "so it is not dead");
	put_another_there(lh, sh, file, away);
	is(rename(away, file), 0, "the file is put back");
	(void)t_signal(sh->heir, SIGKILL);
	for (int i = 0; i < REPLAY_MS &&
	    lhi_sign_held(&lh->v, sid_idx(sh->sid)) == 1; i++)
		t_sleep_ms(1);
	is(lhi_sign_held(&lh->v, sid_idx(sh->sid)), 0, "the heir is killed");
	is(replay_try(lh, "k", &l), 0,
	    "then the session is dead, and its key free");
	is(lh_release(lh, &l), 0, "released");
	(void)unlink(file);
	t_close(lh);
	return done();
}
