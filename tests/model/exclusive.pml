/* SPDX-License-Identifier: MIT */
/*
 * The exclusive path without its queue: can two processes ever be certain of
 * one key, and does a key ever stay with somebody who is gone?
 *
 * Three processes, two keys, one claim each, so that a claim is used again and
 * again, on either key.  An operation is begun by any process at any time, as
 * long as its budget (-DACQUIRES=... and so on, over all processes) lasts:
 *	acquire	allocate the claim (free it first if it is terminal),
 *		announce, swap the word, read the clock; on the way, free
 *		the word for a holder that is past its deadline or dead
 *	release, extend	anybody's lease: the caller is the holder's other
 *		thread, or whoever was handed the lease
 *	reap	one due claim, from the claim to the word
 *	bury	the claim of a dead session, one at a time per session
 * Between any two accesses to shared memory anyone may run, the clock may tick,
 * or a process may die (common.pml).  Each access is one step.
 *
 * Time is a counter up to TMAX.  A lease is for two ticks, an extension to one
 * or two ticks from now, so that deadlines repeat (C1) and an extension may
 * shorten.  The clock is read when acquire begins: all later is late.
 *
 * Left out: the queue (queue.pml), shared mode, tokens beyond the version,
 * eviction, the cause in a FREE word (the version alone makes it unique), seq
 * and version wrap, weak memory (all is sequentially consistent).  Dead and
 * reborn sessions differ in dead[] alone, without incarnations.
 *
 * Properties.
 *  P1	A word is swapped, and a grant or an extension reported, only
 *	while nobody else is certain of the key.  Certain is a live holder
 *	from the return of its grant until it calls release, or the
 *	deadline comes that the grant reported, or the earlier one that it
 *	has asked for since.				(G1, G3)
 *  P2	Tokens grow with every grant.			(G2)
 *  P3	A FREE claim is named by no word.
 *  P4	An operation that met a word of a dead or expired holder has not
 *	left it so.					(G4)
 *  P5	Whenever nobody is in an operation, a certain holder's word and
 *	claim say so; and, if nobody has died, each HELD claim is named by
 *	a word.
 * No deadlock: every process can always finish its operation (end states).
 *
 * The mutants leave out one repair each:
 *	C1	claim states carry no seq
 *	C2	a release that lost the word frees the claim all the same
 *	C3	the reaper marks the claim first, and then looks for its word
 *	C11	extend looks at nothing after its swap
 *	C11_NEW	... only at the clock, and only whether the old deadline is past
 *
 * The last one is why extend looks at one thing more after its swap: a short
 * extension may have run out and been enforced before its caller hears of it.
 * The library reads the word again; -DBOTH compares the clock with the new
 * deadline as well.  Both hold P1.
 *
 * Seen: 0.8 to 12 million states in the usual configurations, 11 and 16 in the
 * larger ones.  Above 350 lines because a process is one automaton, and
 * Promela has no way to put half of it elsewhere.
 */
#include "common.pml"

#ifndef ACQUIRES
#define ACQUIRES 3
#endif
#ifndef RELEASES
#define RELEASES 0
#endif
#ifndef EXTENDS
#define EXTENDS 0
#endif
#ifndef REAPS
#define REAPS 0
#endif
#ifndef TMAX
#define TMAX 2
#endif
#define TTL 2			/* ticks */

/* claim state */
#define FREE		0
#define HELD		1
#define EXPIRED		3
#define STATE(st, q, d)	(((q) << 5) | ((d) << 2) | (st))
#define ST(s)		((s) & 3)
#define DEADLINE(s)	(((s) >> 2) & 7)
#define SEQ(s)		((s) >> 5)
#ifdef MUTANT_C1
#define NEXT_SEQ(s)	SEQ(s)
#else
#define NEXT_SEQ(s)	(SEQ(s) + 1)
#endif

/* shared memory, with word[] */
byte state[NP + 1];
bit slot[NP + 1];

byte now;			/* the clock */
byte busy;			/* bit p: process p is in an operation */
byte acquires = ACQUIRES, releases = RELEASES, extends = EXTENDS,
    reaps = REAPS;

/* each process's last lease: what its holder presents; ver 0: none */
bit lease_key[NP + 1];
byte lease_ver[NP + 1], lease_seq[NP + 1];

/* ghosts */
byte sure_ver[2], sure_until[2]; /* which grant is certain, until when */
byte top[2];		/* the largest token so far */
byte given_up[2];	/* bit v: the holder of v released, or died */

#define CERTAIN(k)	(sure_ver[k] != 0 && now < sure_until[k])
#define NAMED(c)	(CLAIM(word[0]) == (c) || CLAIM(word[1]) == (c))
#define DUE(c)		(ST(state[c]) == HELD && now >= DEADLINE(state[c]))
#define HAS_LEASE(c)	(lease_ver[c] != 0)
#define SOME_LEASE	(HAS_LEASE(1) || HAS_LEASE(2) || HAS_LEASE(3))

/* locals of a process */
inline reset()
{
	k = 0; c = 0; w = 0; s = 0; d = 0; v = 0; q = 0; stale = 0
}

inline done() { busy = busy & ~(1 << me); reset() }

/* The holder of p's lease stops being certain of it. */
inline give_up(p)
{
	if
	:: HAS_LEASE(p) ->
#if EXTENDS
		given_up[lease_key[p]] = given_up[lease_key[p]] |
		    (1 << lease_ver[p]);
#endif
		if
		:: sure_ver[lease_key[p]] == lease_ver[p] ->
			sure_ver[lease_key[p]] = 0;
			sure_until[lease_key[p]] = 0
		:: else
		fi;
		lease_key[p] = 0;
		lease_ver[p] = 0;
		lease_seq[p] = 0
	:: else
	fi
}

inline present(p)
{
	c = p;
	k = lease_key[p];
	v = lease_ver[p];
	q = lease_seq[p]
}

proctype user(byte me)
{
	byte c, w, s, d, v, q;	/* claim, word, state, deadline, ver, seq */
	bit k, stale;

end_alive:
	{ true;
end_idle:
	if
	:: atomic {
		acquires > 0 && MAY_START &&
		    (started > 0 || acquires == ACQUIRES) ->
		acquires--;
		busy = busy | (1 << me);
		d = now + TTL;
		if
		:: k = 0
		:: started > 1 || acquires < ACQUIRES - 1 -> k = 1
		fi;
		start_me()
	   }
	   goto acquire
	:: atomic {
		releases > 0 && SOME_LEASE && MAY_START ->
		start_me();
		releases--;
		busy = busy | (1 << me);
		if
		:: HAS_LEASE(1) -> present(1)
		:: HAS_LEASE(2) -> present(2)
		:: HAS_LEASE(3) -> present(3)
		fi;
		give_up(c)
	   }
	   goto release
	:: atomic {
		extends > 0 && SOME_LEASE && MAY_START ->
		start_me();
		extends--;
		busy = busy | (1 << me);
		if
		:: HAS_LEASE(1) -> present(1)
		:: HAS_LEASE(2) -> present(2)
		:: HAS_LEASE(3) -> present(3)
		fi
	   }
	   goto extend
	:: atomic {
		reaps > 0 && MAY_START && (DUE(1) || DUE(2) || DUE(3)) ->
		start_me();
		reaps--;
		busy = busy | (1 << me);
		if
		:: DUE(1) -> c = 1
		:: DUE(2) -> c = 2
		:: DUE(3) -> c = 3
		fi;
		s = state[c]
	   }
	   goto reap
	:: atomic {
		(CAN_BURY(1) || CAN_BURY(2) || CAN_BURY(3)) && MAY_START ->
		start_me();
		busy = busy | (1 << me);
		if
		:: CAN_BURY(1) -> c = 1
		:: CAN_BURY(2) -> c = 2
		:: CAN_BURY(3) -> c = 3
		fi;
		recycler[c] = me
	   }
	   goto recycle
	fi;

acquire:
	if
	:: atomic { CLAIM(word[k]) == 0 -> w = word[k] }
	   goto allocate
	:: atomic {
		CLAIM(word[k]) != 0 ->
		w = word[k];
		c = CLAIM(w);
		stale = dead[c] || ST(state[c]) == EXPIRED
	   }
	fi;
	/* held: settle it */
	if
	:: ST(state[c]) == FREE -> goto acquire		/* in motion */
	:: ST(state[c]) == EXPIRED -> goto settle_word
	:: atomic { DUE(c) -> s = state[c] }
	:: ST(state[c]) == HELD && !DUE(c) -> goto settle_dead
	fi;
	if
	:: d_step {
		state[c] == s ->
		state[c] = STATE(EXPIRED, SEQ(s), 0);
		s = 0
	   }
	:: d_step { state[c] != s -> s = 0 }; goto acquire
	fi;
settle_word:
	if
	:: d_step {
		true ->
		SWAP(word[k], w, WORD(0, VER(w)));
		w = 0; c = 0; stale = 0
	   }
	   goto acquire
	fi;
settle_dead:
	if
	:: dead[c] -> goto settle_word
	:: d_step {
		!dead[c] ->
		CLAIMED(4, !stale || word[k] != w);
		done()
	   }
	   goto end_idle					/* busy */
	fi;

allocate:
	if
	:: d_step { ST(state[me]) == FREE -> s = state[me] }
	   goto announce
	:: d_step { ST(state[me]) == EXPIRED -> s = state[me] }
	:: d_step { ST(state[me]) == HELD -> done() }
	   goto end_idle					/* in use */
	fi;
	if
	:: d_step {
		CLAIM(word[slot[me]]) == me -> v = word[slot[me]]
	   }
	:: CLAIM(word[slot[me]]) != me -> goto retake
	fi;
	SWAP(word[slot[me]], v, WORD(0, VER(v)));
retake:
	if
	:: d_step {
		true ->
		CLAIMED(3, state[me] == s && !NAMED(me));
		s = STATE(FREE, SEQ(s), 0);
		state[me] = s;
		v = 0
	   }
	fi;
announce:
	slot[me] = k;
	if
	:: d_step {
		true ->
		s = STATE(HELD, NEXT_SEQ(s), d);
		state[me] = s
	   }
	fi;
	if
	:: d_step {
		word[k] == w ->
		CLAIMED(1, !CERTAIN(k));
		CLAIMED(3, ST(state[me]) != FREE);
		v = VER(w) + 1;
		CLAIMED(2, v > top[k]);
		top[k] = v;
		word[k] = WORD(me, v);
		w = 0
	   }
	:: word[k] != w -> goto not_had
	fi;
	if
	:: d_step {
		now < d ->
		CLAIMED(1, !CERTAIN(k));
		give_up(me);
		lease_key[me] = k;
		lease_ver[me] = v;
		lease_seq[me] = SEQ(s);
		sure_ver[k] = v;
		sure_until[k] = d;
		done()
	   }
	   goto end_idle					/* granted */
	:: d_step { now >= d -> c = me; q = SEQ(s) }
	   goto late
	fi;
not_had:
	if
	:: d_step {
		true ->
		CLAIMED(3, !NAMED(me));
		state[me] = STATE(FREE, SEQ(s), 0);
		done()
	   }
	   goto end_idle					/* busy */
	fi;

release:
	if
	:: d_step { word[k] == WORD(c, v) -> word[k] = WORD(0, v) }
	:: d_step {
		word[k] != WORD(c, v) ->
#ifdef MUTANT_C2
		state[c] = STATE(FREE, q, 0);
		CLAIMED(3, !NAMED(c));
#endif
		done()
	   }
	   goto end_idle					/* ESTALE */
	fi;
release_claim:
	if
	:: d_step { ST(state[c]) == HELD && SEQ(state[c]) == q ->
		s = state[c]
	   }
	:: d_step { !(ST(state[c]) == HELD && SEQ(state[c]) == q) ->
		done()
	   }
	   goto end_idle					/* ESTALE */
	fi;
	if
	:: d_step {
		state[c] == s || c == me ->	/* the owner stores */
		CLAIMED(3, !NAMED(c));
		state[c] = STATE(FREE, q, 0);
		done()
	   }
	   goto end_idle
	:: state[c] != s && c != me -> goto release_claim
	fi;

extend:
	if
	:: d_step { ST(state[c]) == HELD && SEQ(state[c]) == q ->
		s = state[c]
	   }
	:: d_step { !(ST(state[c]) == HELD && SEQ(state[c]) == q) ->
		done()
	   }
	   goto end_idle					/* ESTALE */
	fi;
	if
	:: word[k] == WORD(c, v)
	:: d_step { word[k] != WORD(c, v) -> done() }
	   goto end_idle					/* ESTALE */
	fi;
	if
	:: now >= DEADLINE(s) -> goto late
	:: d_step {
		/* from now on its holder counts on no more than this */
		now < DEADLINE(s) ->
		d = now + 1;
		if
		:: sure_ver[k] == v && d < sure_until[k] ->
			sure_until[k] = d
		:: else
		fi
	   }
	:: d_step { now < DEADLINE(s) -> d = now + 2 }
	fi;
	if
	:: d_step { state[c] == s -> state[c] = STATE(HELD, q, d) }
	:: d_step { state[c] != s -> s = 0; d = 0 }
	   goto extend
	fi;
#if defined(MUTANT_C11)
#define IN_TIME	true
#elif defined(BOTH)
#define IN_TIME	(now < DEADLINE(s) && now < d)
#else
#define IN_TIME	(now < DEADLINE(s))
#endif
#if defined(MUTANT_C11) || defined(MUTANT_C11_NEW) || defined(BOTH)
#define STILL_OURS	true
#else
	if
	:: IN_TIME
	:: d_step { !IN_TIME -> s = STATE(HELD, q, d) }
	   goto late
	fi;
#undef IN_TIME
#define IN_TIME	true
#define STILL_OURS	(word[k] == WORD(c, v))
#endif
	if
	:: d_step {
		IN_TIME && STILL_OURS ->
		if
		:: !(given_up[k] & (1 << v)) ->
			CLAIMED(1, sure_ver[k] == v);
			if
			:: state[c] == STATE(HELD, q, d) ->
				sure_until[k] = d
			:: else
			fi
		:: else
		fi;
		done()
	   }
	   goto end_idle					/* extended */
	:: d_step { IN_TIME && !STILL_OURS -> done() }
	   goto end_idle					/* ESTALE */
	:: d_step { !IN_TIME -> s = STATE(HELD, q, d) }
	fi;
late:	/* it is reported as expired: make it so first */
	if
	:: d_step { state[c] == s -> state[c] = STATE(EXPIRED, q, 0) }
	:: d_step { state[c] != s -> done() }
	   goto end_idle					/* ESTALE */
	fi;
	if
	:: d_step {
		true ->
		SWAP(word[k], WORD(c, v), WORD(0, v));
		done()
	   }
	   goto end_idle					/* ESTALE */
	fi;

reap:
#ifdef MUTANT_C3
	if
	:: d_step { state[c] == s -> state[c] = STATE(EXPIRED, SEQ(s), 0) }
	:: d_step { state[c] != s -> done() }
	   goto end_idle
	fi;
	k = slot[c];
	w = word[k];
#else
	k = slot[c];
	w = word[k];
	if
	:: d_step { state[c] == s -> state[c] = STATE(EXPIRED, SEQ(s), 0) }
	:: d_step { state[c] != s -> done() }
	   goto end_idle
	fi;
#endif
	if
	:: d_step {
		true ->
		if
		:: CLAIM(w) == c -> SWAP(word[k], w, WORD(0, VER(w)))
		:: else
		fi;
		done()
	   }
	   goto end_idle
	fi;

recycle:
	if
	:: d_step { ST(state[c]) != FREE -> s = state[c]; k = slot[c] }
	:: d_step {
		ST(state[c]) == FREE ->
		dead[c] = false;
		recycler[c] = 0;
		done()
	   }
	   goto end_idle
	fi;
	if
	:: d_step { CLAIM(word[k]) == c -> w = word[k] }
	:: CLAIM(word[k]) != c -> goto bury
	fi;
	SWAP(word[k], w, WORD(0, VER(w)));
bury:
	if
	:: d_step {
		true ->
		if
		:: state[c] == s ->
			CLAIMED(3, !NAMED(c));
			state[c] = STATE(FREE, SEQ(s), 0)
		:: else
		fi;
		s = 0; w = 0; k = 0
	   }
	   goto recycle
	fi
	} unless {
	d_step {
		victim == me ->
		fall();
		give_up(me);
		done()
	} };
end_dead:
	!dead[me];
	goto end_alive
}

/* P5, P3: what holds whenever nobody is in an operation */
inline quiet_claim(c)
{
	CLAIMED(5, ST(state[c]) != HELD || CLAIM(word[slot[c]]) == c ||
	    kills < KILLS)
}

inline quiet_key(k)
{
	CLAIMED(3, CLAIM(word[k]) == 0 || ST(state[CLAIM(word[k])]) != FREE);
	CLAIMED(5, !CERTAIN(k) || (CLAIM(word[k]) != 0 &&
	    VER(word[k]) == sure_ver[k] &&
	    ST(state[CLAIM(word[k])]) == HELD &&
	    DEADLINE(state[CLAIM(word[k])]) >= sure_until[k]))
}

active proctype world()
{
	atomic { run user(1); run user(2); run user(3) }
end_world:
	do
	:: now < TMAX -> now++
	:: atomic { CAN_KILL -> kill_one() }
	:: d_step {					/* P5 */
		busy == 0 && victim == 0 ->
		quiet_claim(1); quiet_claim(2); quiet_claim(3);
		quiet_key(0); quiet_key(1)
	   }
	od
}
