/* SPDX-License-Identifier: MIT */
/*
 * Policies: whether a lease ends at its deadline.
 *
 *	lease	yes; only its holder moves the deadline on, by extending
 *	strict	it has no deadline: the greatest one that a state can express
 *		means that, and no lease of another policy has it.  It ends by
 *		release, with its session, or by an operator
 *	live	not while its holder runs and is observed: a process that wants
 *		the key, or the reaper, sees that it runs, and moves the
 *		deadline on
 *
 * The policy is in the claim's state, in one word with the deadline.  So no
 * process can act on one policy and the deadline of another.  A deadline is
 * moved on by the lease's ttl, which is in claim.ticket while the state is
 * HELD_LIVE (or READ_LIVE), in milliseconds.
 *
 * A lease under policy live, ttl t, granted at G:
 *
 *	1  granted as any other: HELD(seq, d), d = G + t
 *	2  out of the queue, if it waited; ticket = t
 *	3  HELD(seq, d) -> HELD_LIVE(seq, d)			(claim #19)
 *	   the acquire returns
 *	4  an observer comes when less than 3/4 of t (or 60 ms) is left and d
 *	   has not passed, and sees that the holder runs, at E:
 *	   HELD_LIVE(seq, d) -> HELD_LIVE(seq, E + t)		(claim #20)
 *	5  if the clock is not before d any more, it is swapped back
 *
 * The holder runs if
 *	its session is alive, by the kernel's word;
 *	its process can be seen (the same pid namespace), and is the very one
 *	that made the session (its start time);
 *	one of its threads can go on: it is neither stopped, nor traced to a
 *	stop, nor a zombie, nor frozen by its control group (base/procstat.h,
 *	base/freezer.h).
 * A thread that sleeps, or waits for a disk, can go on: the disk's answer may
 * still change the guarded resource.  Anything else proves nothing, and the
 * deadline stays, also if it cannot be found out whether it is frozen.
 *
 * Invariants.
 *  I1	ticket is the ttl of use seq from before HELD_LIVE(seq) until another
 *	use: it is the claim's place in a queue only while a link leads to it,
 *	and step 2 comes before step 3.
 *  I2	A deadline that has passed is not moved: of step 4's swap and an
 *	expirer's, both exact, one fails; and one that was made late is undone
 *	(amendment C11, G3).  If it is stopped between steps 4 and 5, an
 *	observer leaves a lease that ends at E + t: not later than a moment at
 *	which the holder ran plus its ttl.
 *  I3	An observer swaps back only its own swap.  The holder's own deadlines
 *	under this policy are odd, and observers' are even, so that no extension
 *	that its holder knows of is undone (a second observer would find no
 *	reason to move a deadline that has just been moved).
 *  I4	The holder's state is read after the claim's state (amendment C3): it is
 *	about that use, or the swap fails.
 *
 * Conversion and hand-off swap a state from and to its known policy: it is HELD
 * meanwhile, and HELD_LIVE again afterwards, also if it was extended in
 * between.  (If that is seen too late, when the old deadline has passed, it
 * stays HELD: the extending caller may have to undo that.)
 *
 * A crash or stop of the holder after step 1 or 2 leaves a lease with a
 * deadline; of an observer anywhere, the deadline as it was, or moved on once.
 *
 * Not guaranteed: that an observer comes.  A lease that no process wanted ends
 * at its deadline, when the next request comes; a try must come before.  Ttls
 * of less than 20 ms leave observers too little time.
 */
#include <errno.h>
#include <string.h>
#include <leasehold/lease.h>
#include "base/clock.h"
#include "base/procstat.h"
#include "shm/damaged.h"
#include "shm/session_liveness.h"
#include "op/policy.h"
#include "shm/readers.h"
#include "shm/table_age.h"

#define NEAR_NS (60 * NS_PER_MS)	/* three checks of a waiter */
#define WALKS 16

/* Returns the ttl (I1); 0: it is impossible (G12). */
static int64_t
ttl_ns(const struct shm_claim *c)
{
	uint32_t ms = sh32_load(&c->ticket);

	return ms <= LH_TTL_MAX_MS ? (int64_t)ms * NS_PER_MS : 0;
}

bool
lhi_policy_go_live(struct lhi_view *v, uint32_t ci, int64_t ttl_ns)
{
	struct shm_claim *c = &v->claims[ci];
	uint64_t st = sh64_load(&c->state);

	if (!state_held(st))
		return false;
	sh32_store(&c->ticket, (uint32_t)(ttl_ns / NS_PER_MS));
	lhi_point("policy.told");
	return sh64_cas(&c->state, st,
	    /* claim #19 */
	    st | (uint64_t)(ST_HELD_LIVE ^ ST_HELD) << ST_SHIFT);
}

void
lhi_policy_resume(struct lhi_view *v, uint32_t ci, uint64_t st)
{
	shm_u64 *state = &v->claims[ci].state;
	uint32_t n = 0;
	uint64_t was;

	lhi_point("policy.resuming");
	while (was = st, !sh64_cas(state, was,
	    /* claim #19 */
	    was | (uint64_t)(ST_HELD_LIVE ^ ST_HELD) << ST_SHIFT)) {
		/*
		 * it was extended, in time as far as is known: a caller that
		 * extended it too late must find the state that it has to undo
		 */
		st = sh64_load(state);
		if (!state_held(st) || state_live(st) ||
		    state_seq(st) != state_seq(was) ||
		    lhi_now_ns(v) >= lhi_deadline_ns(v, state_deadline(was)))
			return;
		if (!LHI_WITHIN(n, LHI_SWAPS_MAX)) {
			(void)lhi_damaged_restless(v, "the state of a claim",
			    ci);
			return;
		}
	}
}

static bool
is_running(struct lhi_view *v, uint64_t sid)
{
	pid_t pid = lhi_session_pid(v, sid);
	const struct shm_session *se;
	struct lhi_procstat ps;

	if (pid == 0 || !lhi_procstat_runs(pid, &ps))
		return false;
	se = &v->sessions[sid_idx(sid)];
	/* (0: it waits for a disk; the session's sign says that it lives) */
	return (ps.start_ticks == 0 ||
	    ps.start_ticks == sh64_load_rlx(&se->start_ticks)) &&
	    sess_st(sh64_load(&se->state)) == SESS_ALIVE &&
	    !lhi_session_dead(v, sid, true);
}

void
lhi_policy_tend(struct lhi_view *v, uint32_t ci, uint64_t st, int64_t now_ns)
{
	struct shm_claim *c = &v->claims[ci];
	int64_t ttl = ttl_ns(c), near = ttl - ttl / 4, end;
	uint64_t later;

	if (!state_live(st) || state_strict(st) || ttl == 0)
		return;
	end = lhi_deadline_ns(v, state_deadline(st));
	if (now_ns >= end ||
	    end - now_ns > (near > NEAR_NS ? near : NEAR_NS) ||
	    lhi_table_age_left_ns(v, now_ns) <= 0 ||
	    !lhi_view_same_time(v) || !is_running(v, lhi_claim_owner(v, ci)))
		return;
	later = state_make(state_st(st), state_seq(st),
	    lhi_deadline(v, now_ns + ttl) & ~UINT64_C(1));
	if (state_deadline(later) <= state_deadline(st) ||
	    state_deadline(later) == DEADLINE_MAX)
		return;
	lhi_point("policy.seen");
	/* claim #20 */
	if (!sh64_cas(&c->state, st, later))
		return;
	lhi_point("policy.moved");
	if (lhi_now_ns(v) >= end && !lhi_mutant_on(moved_too_late))
		(void)sh64_cas(&c->state, later, st);
}

struct tending {
	int64_t now_ns;
};

static bool
tend_reader(struct lhi_view *v, uint32_t ci, void *arg)
{
	const struct tending *t = arg;

	lhi_policy_tend(v, ci, sh64_load(&v->claims[ci].state), t->now_ns);
	return true;
}

void
lhi_policy_tend_key(struct lhi_view *v, struct shm_slot *s, uint64_t w,
    int64_t now_ns)
{
	struct tending t = { now_ns };
	int moved = -EAGAIN;

	if (word_mode(w) == WORD_X && lhi_claim(v, word_idx(w)) != NULL)
		(void)tend_reader(v, word_idx(w), &t);
	for (int i = 0; word_mode(w) == WORD_S && moved == -EAGAIN &&
	    i < WALKS; i++)
		moved = lhi_readers_walk(v, s, tend_reader, &t);
}

int64_t
lhi_policy_next_look_ns(struct lhi_view *v, uint32_t ci, uint64_t st,
    int64_t now_ns)
{
	int64_t end = lhi_ends_ns(v, st);
	int64_t early = end - ttl_ns(&v->claims[ci]) / 2;

	return state_live(st) && early > now_ns ? early : end;
}
