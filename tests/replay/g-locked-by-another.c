/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G4: a member waits for the byte of a living holder (F_OFD_SETLKW),
 * and gets it when the holder is killed.  The holder counts as dead all the
 * same, because its process does not exist.  A living holder whose pid in the
 * record has a wrong bit does not (guarantee G1).
 *
 * Otherwise a member could keep the lease of a dead process for ever, or one
 * changed bit could take the lease of a living one.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "proc/attachment.h"
#include "replay.h"
#include "shm/session_bytes.h"
#include "support/actor.h"

static struct shared {
	struct t_event waits, got;
	uint32_t idx;
} *sh;
static const char *table;

/* The member: its lock lasts as long as it lives. */
static int
wait_for_byte(void *unused)
{
	struct flock fl = { .l_type = F_WRLCK, .l_whence = SEEK_SET,
	    .l_start = lhi_session_live_byte(sh->idx), .l_len = 1 };
	char pattern[192];
	glob_t found;
	int fd;

	(void)unused;
	snprintf(pattern, sizeof(pattern), "%.*s.live.*",
	    (int)(strlen(t_object(table)) - strlen(".table")), t_object(table));
	if (glob(pattern, 0, NULL, &found) != 0)
		return 1;
	fd = open(found.gl_pathv[0], O_RDWR | O_CLOEXEC);
	t_post(&sh->waits);
	if (fcntl(fd, F_OFD_SETLKW, &fl) != 0)
		return 1;
	t_post(&sh->got);
	pause();
	return 0;
}

static int
note_record(struct t_actor *a, void *unused)
{
	(void)unused;
	sh->idx = sid_idx(a->lh->sid);
	return 0;
}

static int
try(struct lh *lh, struct lh_lease *lease)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;

	o.max_wait_ms = 0;
	return lh_acquire(lh, "k", &o, lease);
}

int
main(void)
{
	struct t_actor *holder;
	struct shm_session *se;
	struct lh_lease lease;
	struct lh *lh;
	pid_t member;

	table = replay_begin();
	sh = t_shared(sizeof(*sh));
	lh = t_open(table);
	holder = t_actor(table);
	is(t_do_acquire(holder, "k", 3600000, 0), 0, "a process holds k");
	is(t_do(holder, note_record, NULL), 0, "its record is known");
	member = t_fork(wait_for_byte, NULL);
	ok(t_await(&sh->waits, 1, T_HANG_MS), "a member waits for its byte");

	se = &lh->v.sessions[sh->idx];
	(void)sh32_xchg(&se->pid, sh32_load(&se->pid) ^ 0x80000);
	is(try(lh, &lease), -EAGAIN, "its pid has a wrong bit: k is held");
	(void)sh32_xchg(&se->pid, sh32_load(&se->pid) ^ 0x80000);
	is(try(lh, &lease), -EAGAIN, "it is right again: k is held");

	t_actor_kill(holder);
	ok(t_await(&sh->got, 1, T_HANG_MS),
	    "the holder is killed: the member has its byte");
	is(try(lh, &lease), 0, "k is free all the same");
	is(lh_release(lh, &lease), 0, "released");
	t_kill(member);
	t_close(lh);
	return done();
}
