/* SPDX-License-Identifier: MIT */
/*
 * Issue 21 C2, deadlocks by job: a process looks for the waits of a run's job,
 * and is stopped when it has seen whose job a session is, before it looks at
 * its waits.  The session ends.  Another session, which is nobody's job, gets
 * its claims, and waits for a key that the process holds.  That is no circle,
 * and none may be reported.
 *
 * Otherwise a job would fail with a deadlock that does not exist.
 */
#include "prim/shared.h"
#include "proc/attachment.h"
#include "shm/claim_chunk.h"
#include "sake.h"

static struct lh *job, *stranger;

static int
want_b(void *unused)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 5000);
	struct lh_lease l;
	int error;

	(void)unused;
	o.priority = 1;
	error = lh_acquire(stranger, "b", &o, &l);
	return error != 0 ? error : lh_release(stranger, &l);
}

int
main(void)
{
	const char *table = replay_begin();
	struct lh_lease l;
	uint32_t chunk;

	sake_begin(table);
	job = replay_open(table, 0);
	unsetenv("LEASEHOLD_HELD");
	is(replay_try(job, "x", &l), 0, "a job's claims");
	chunk = lid_claim(l.id[1]) / SHM_CHUNK;
	is(lh_release(job, &l), 0, "are not in use");
	replay_hold("B", "deadlock.job_met");
	replay_go("B", sake_want_a, NULL);
	replay_wait_held("B");
	t_close(job);
	stranger = replay_open(table, 0);
	sh32_store(&sake_run->v.hdr->chunk_next, chunk);
	replay_go("stranger", want_b, NULL);
	ok(t_await_waiters(sake_run, "b", 1), "another session waits for b");
	ok(sh64_load(&sake_run->v.chunks[chunk].owner) == stranger->sid,
	    "with claims that were the job's");
	replay_release("B");
	t_sleep_ms(50);
	is(lh_release(sake_run, &sake_a), 0, "the run ends");
	is(replay_result("B"), 0, "B gets a: no deadlock is reported");
	is(replay_result("stranger"), 0, "the other one has b then");
	t_close(stranger);
	t_close(sake_b);
	t_close(sake_run);
	return done();
}
