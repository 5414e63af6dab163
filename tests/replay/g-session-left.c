/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G4, named sessions (crash rows SE3, SE4 and SE6): a process that
 * hands over or converts a lease of a named session is killed, or comes too
 * late. The session's end must delete only keys that the session holds, no
 * claim may be lost, and no key may be acquired before its lock-delay is over.
 *
 * Otherwise the end of a session would delete a key of others, or the table
 * would lose claims until all its users are gone.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "replay.h"
#include "proc/attachment.h"
#include "support/object.h"

static struct lh *lh;

/* to: NULL is the attachment's own session. */
static int
acquire(struct lh *at, struct lh_session *to, uint32_t policy,
    struct lh_lease *l)
{
	return replay_into(at, "k", to, policy, LH_EXCLUSIVE, l);
}

struct child {
	char table[64];
	bool out;	/* from "s" to "t"; else from its own session to "s" */
	struct lh_lease lease;
};

static int
child_hands_over(void *arg)
{
	struct child *x = arg;
	struct lh *mine = replay_open(x->table, 0);
	struct lh_session *to = replay_session(mine, x->out ? "t" : "s",
	    REPLAY_LONG_MS, 0);

	if (!x->out)
		is(acquire(mine, NULL, LH_POLICY_STRICT, &x->lease), 0,
		    "its own lease");
	return lh_handoff(mine, &x->lease, to);
}

static pid_t
stands_at(struct child *x, const char *point)
{
	pid_t pid;

	replay_hold("child", point);
	pid = replay_fork("child", child_hands_over, x);
	replay_wait_held("child");
	return pid;
}

static void
killed_at(struct child *x, const char *point)
{
	(void)stands_at(x, point);
	replay_kill("child");
}

static bool
key_has_value(void)
{
	char value[LH_VALUE_MAX];
	size_t len = 0;

	return lh_value_get(lh, "k", value, &len, NULL) == 0 && len == 3;
}

/* Makes a free key with a value. */
static void
begin(void)
{
	struct lh_lease l;

	is(replay_try(lh, "k", &l), 0, "the key");
	is(lh_value_set(lh, &l, "old", 3), 0, "has a value");
	is(lh_release(lh, &l), 0, "and is free");
}

/* A session that deletes its keys has handed this one over to another. */
static void
not_its_any_more(struct child *x)
{
	struct lh_session *s = replay_session_deletes(lh, "s");
	struct lh_session *t = replay_session(lh, "t", REPLAY_LONG_MS, 0);

	begin();
	is(acquire(lh, s, LH_POLICY_STRICT, &x->lease), 0, "a lease in it");
	x->out = true;
	killed_at(x, "handoff.swapped");
	replay_session_end(t);
	ok(key_has_value(), "the key was the other session's, and is free");
	replay_session_end(s);
	ok(key_has_value(), "and is not deleted with the first session");
}

/* The session was about to receive the key. */
static void
not_its_yet(struct child *x)
{
	struct lh_session *s = replay_session_deletes(lh, "s");
	struct lh_lease l;

	begin();
	x->out = false;
	killed_at(x, "handoff.announced");
	is(replay_try(lh, "k", &l), 0, "the giver was killed with the key");
	is(lh_release(lh, &l), 0, "release");
	replay_session_end(s);
	ok(key_has_value(), "the key is not deleted with the session");
}

/* The session has received the key. */
static void
its_own(struct child *x)
{
	struct lh_session *s = replay_session_deletes(lh, "s");
	struct lh_lease l;

	begin();
	x->out = false;
	killed_at(x, "handoff.swapped");
	is(replay_try(lh, "k", &l), -EAGAIN, "the session holds it");
	replay_session_end(s);
	ok(!key_has_value(), "and the key is deleted with it");
}

/* Claims without a deadline and without a lease are used again. */
static void
claims_come_back(struct child *x)
{
	struct lh_session *s = replay_session(lh, "s", REPLAY_LONG_MS, 0);
	struct lh_session *t = replay_session(lh, "t", REPLAY_LONG_MS, 0);
	struct lh_lease l;

	x->out = false;
	killed_at(x, "handoff.announced");
	is(replay_leases_in(s), 1,
	    "the claim of the killed hand-over counts as a lease");
	is(acquire(lh, s, LH_POLICY_STRICT, &x->lease), 0, "another lease");
	is(replay_leases_in(s), 1, "uses its claim");
	is(lh_verify(lh, &x->lease), 0, "and is held");
	x->out = true;
	killed_at(x, "handoff.swapped");
	is(replay_leases_in(s), 1,
	    "its lease was handed over, its claim remains");
	replay_session_end(t);
	is(acquire(lh, s, LH_POLICY_STRICT, &l), 0, "another lease");
	is(replay_leases_in(s), 1, "uses its claim");
	is(lh_release(lh, &l), 0, "release");
	is(replay_leases_in(s), 0, "nothing is left");
	replay_session_end(s);
}

static int
downgrade(void *arg)
{
	return lh_convert(lh, arg, LH_SHARED);
}

/* The session ends before its lease has become a reader's. */
static void
delay_of_downgrade(struct lh *other)
{
	struct lh_session *s = replay_session(lh, "d", t_long(300),
	    t_long(1500));
	struct lh_lease l, n;

	is(acquire(lh, s, 0, &l), 0, "a lease");
	replay_stop("converter", "convert.swapped", downgrade, &l);
	t_sleep_ms(t_long(350));
	is(replay_try(other, "k", &n), -EAGAIN,
	    "the key is reserved for the lock-delay");
	is(replay_finish("converter"), -ESTALE, "the downgrade is too late");
	is(replay_try(other, "k", &n), -EAGAIN, "the key is still reserved");
	t_sleep_ms(t_long(1600));
	is(replay_try(other, "k", &n), 0, "until the lock-delay is over");
	is(lh_release(other, &n), 0, "release");
	lh_session_close(s);
}

static uint32_t
chunk_of(const struct lh_lease *l)
{
	return lid_claim(l->id[1]) / SHM_CHUNK;
}

/* A process is stopped as the keeper of a chunk, and the session ends: its
 * other chunks are given back at once, that one when the process is dead. */
static void
stopped_keeper(struct child *x)
{
	struct t_object o = t_map_object(x->table);
	struct lh_session *s = replay_session(lh, "s", REPLAY_LONG_MS, 0);
	struct lh_lease l, n;

	is(acquire(lh, s, LH_POLICY_STRICT, &l), 0, "a lease");
	is(lh_release(lh, &l), 0, "released");
	x->out = false;
	(void)stands_at(x, "tenant.keeper");
	is(lh_break(lh, "k", NULL, 0), 1, "its own lease is broken");
	is(acquire(lh, s, LH_POLICY_STRICT, &n), 0, "another lease");
	ok(chunk_of(&n) != chunk_of(&l), "has other claims");
	replay_session_end(s);
	ok(sh64_load(&o.chunks[chunk_of(&n)].owner) == 0,
	    "their chunk is free");
	ok(sh64_load(&o.chunks[chunk_of(&l)].owner) != 0,
	    "and the keeper's is not");
	replay_kill("child");
	s = replay_session(lh, "s", REPLAY_LONG_MS, 0);
	replay_session_end(s);
	ok(sh64_load(&o.chunks[chunk_of(&l)].owner) !=
	    lhi_view_session_of(&lh->v, n.id[0]),
	    "until the keeper is dead");
	t_unmap_object(&o);
}

/* Returns the chunk that the session's next lease will use. */
static uint32_t
chunk_used(struct lh_session *s)
{
	struct lh_lease l;

	is(acquire(lh, s, LH_POLICY_STRICT, &l), 0, "a lease");
	is(lh_release(lh, &l), 0, "released");
	return chunk_of(&l);
}

static void
say_pid(const struct t_object *o, uint32_t pid, uint32_t as)
{
	for (uint32_t i = 0; i < o->geo.max_sessions; i++) {
		if (sess_st(sh64_load(&o->sessions[i].state)) == SESS_ALIVE &&
		    sh32_load(&o->sessions[i].pid) == pid)
			sh32_store(&o->sessions[i].pid, as);
	}
}

/* A keeper is killed whose pid is also that of a living process, as in another
 * pid namespace: its free lock is proof enough. */
static void
keeper_of_elsewhere(struct child *x)
{
	struct t_object o = t_map_object(x->table);
	struct lh_session *s = replay_session(lh, "s", REPLAY_LONG_MS, 0);
	uint32_t ch = chunk_used(s);
	struct lh_lease l;

	x->out = false;
	say_pid(&o, (uint32_t)stands_at(x, "tenant.keeper"),
	    (uint32_t)getpid());
	replay_kill("child");
	is(acquire(lh, s, LH_POLICY_STRICT, &l), 0, "its lease has ended");
	is((int)chunk_of(&l), (int)ch, "the claims that it kept are used");
	is(lh_release(lh, &l), 0, "release");
	replay_session_end(s);
	ok(sh64_load(&o.chunks[ch].owner) == 0,
	    "they are given back at the end");
	t_unmap_object(&o);
}

/* A keeper is killed, and no lock proves its death. */
static void
keeper_without_proof(struct child *x)
{
	struct t_object o = t_map_object(x->table);
	struct lh_session *s = replay_session(lh, "s", REPLAY_LONG_MS, 0);
	uint32_t ch = chunk_used(s);
	struct lh_lease l;
	pid_t pid;

	x->out = false;
	pid = stands_at(x, "tenant.keeper");
	for (uint32_t i = 0; i < o.geo.max_sessions; i++) {
		uint64_t st = sh64_load(&o.sessions[i].state);

		if (sess_st(st) == SESS_ALIVE &&
		    sh32_load(&o.sessions[i].pid) == (uint32_t)pid)
			sh64_store(&o.sessions[i].state, sess_make(SESS_ALIVE,
			    SESS_NOPROOF, sess_inc(st)));
	}
	replay_kill("child");
	is(replay_try(lh, "k", &l), -EAGAIN, "its own lease stays");
	is(lh_break(lh, "k", NULL, 0), 1, "until it is broken");
	is(acquire(lh, s, LH_POLICY_STRICT, &l), 0, "a lease");
	is((int)chunk_of(&l), (int)ch, "uses the claims that it kept");
	is(lh_release(lh, &l), 0, "release");
	x->out = false;
	replay_session_end(s);
	ok(sh64_load(&o.chunks[ch].owner) == 0,
	    "they are given back at the end");
	t_unmap_object(&o);
}

static void
play_all(void)
{
	const char *table = replay_begin();
	struct child *x = t_shared(sizeof(*x));
	struct lh *other;

	(void)snprintf(x->table, sizeof(x->table), "%s", table);
	lh = replay_open(table, 0);
	not_its_any_more(x);
	not_its_yet(x);
	its_own(x);
	claims_come_back(x);
	other = replay_open(table, 0);
	delay_of_downgrade(other);
	t_close(other);
	stopped_keeper(x);
	keeper_of_elsewhere(x);
	keeper_without_proof(x);
	is(t_findings(lh), 0, "the table is sound");
	t_close(lh);
}

int
main(void)
{
	t_part(play_all, 290, "session left");
	return done();
}
