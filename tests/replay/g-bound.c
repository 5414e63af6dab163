/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1 and G4, shm/session_bound.c: who judges whether the process
 * that a session is bound to has ended.  The number alone is no proof: a later
 * process of that number is another one, and a number of another pid namespace
 * says nothing here.  Facts that do not fit their sum are not believed.  A
 * judge that comes too late ends no other session of the record.
 *
 * Otherwise a lock would stay with a dead script, or be taken from a living
 * one.
 */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "replay.h"
#include "proc/attachment.h"
#include "shm/session_facts.h"
#include "shm/session_liveness.h"
#include "shm/session_reclaim.h"

static pid_t
sitting(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)alarm(20);
		for (;;)
			pause();
	}
	return pid;
}

static void
end(pid_t pid)
{
	(void)t_signal(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

/* Returns the number of a session that is bound to that process. */
static uint64_t
bind_to(struct lh *lh, const char *name, pid_t pid)
{
	struct lh_session_opts o = LH_SESSION_OPTS_INIT;
	struct lh_session_info info;
	struct lh_session *s;

	o.pid = pid;
	if (lh_session_open(lh, name, &o, &s) != 0 ||
	    lh_session_info(s, &info) != 0)
		bail_out("no session: %s", lh_error_detail());
	lh_session_close(s);
	return lhi_view_session_of(&lh->v, info.id);
}

static struct shm_session *
record_of(struct lh *lh, uint64_t sid)
{
	return &lh->v.sessions[sid_idx(sid)];
}

static void
fit(struct shm_session *se)
{
	sh32_store(&se->sum, lhi_session_facts_sum(se));
}

struct question {
	struct lh *lh;
	uint64_t sid;
};

static int
judge(void *arg)
{
	const struct question *q = arg;

	return lhi_session_dead(&q->lh->v, q->sid, true);
}

/* The record is another session's when the judge goes on at that point. */
static void
judge_late(struct lh *lh, struct lh *other, const char *point)
{
	struct lh_session_opts o = LH_SESSION_OPTS_INIT;
	pid_t first = sitting(), second = sitting();
	struct question q = { other, bind_to(lh, "first", first) };
	struct lh_session *s;
	uint64_t sid;

	end(first);
	replay_stop("J", point, judge, &q);
	o.flags = LH_NO_CREATE;
	/* another one is quicker */
	is(lh_session_open(lh, "first", &o, &s), -ENOENT,
	    "a judge has looked, another one too: it has ended");
	(void)lhi_session_reclaim_dead(&lh->v);
	sid = bind_to(lh, "second", second);
	is(sid_idx(sid), sid_idx(q.sid), "its record is another session's");
	is(replay_finish("J"), true, "the judge finds the first one dead");
	is(lhi_session_dead(&lh->v, sid, true), false, "the second one lives");
	end(second);
	is(lhi_session_dead(&lh->v, sid, true), true, "until its process ends");
	(void)lhi_session_reclaim_dead(&lh->v);
}

int
main(void)
{
	struct lh *lh, *other;
	const char *table = replay_begin();
	struct shm_session *se;
	pid_t pid = sitting();
	uint64_t sid, start;

	lh = replay_open(table, 0);
	other = replay_open(table, 0);
	judge_late(lh, other, "bound.looked");
	judge_late(lh, other, "named.asked");

	sid = bind_to(lh, "k", pid);
	se = record_of(lh, sid);
	start = sh64_load(&se->start_ticks);
	is(lhi_session_dead(&lh->v, sid, true), false, "its process lives");
	sh64_store(&se->start_ticks, start - 1);
	is(lhi_session_dead(&lh->v, sid, true), false,
	    "facts that do not fit their sum are not believed");
	fit(se);
	is(lhi_session_dead(&lh->v, sid, true), true,
	    "a process that began at another time is another one");

	sid = bind_to(lh, "l", pid);
	se = record_of(lh, sid);
	sh64_store(&se->pidns_ino, sh64_load(&se->pidns_ino) + 1);
	fit(se);
	end(pid);
	is(lhi_session_dead(&lh->v, sid, true), false,
	    "a number of another namespace is not judged");
	sh64_store(&se->pidns_ino, sh64_load(&se->pidns_ino) - 1);
	fit(se);
	is(lhi_session_dead(&lh->v, sid, true), true, "one of ours is");
	t_close(other);
	t_close(lh);
	return done();
}
