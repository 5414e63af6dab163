/* SPDX-License-Identifier: MIT */
/*
 * Request ids: may one request be granted twice, and does a process that
 * repeats it get the same lease?  (src/shm/request_record.c,
 * src/op/idempotency.c)
 *
 * Three processes make requests, TRIES rounds each at most: 1 and 2 by id 1, 3
 * by either.  Three places, any of which will do for any id.  All of them may
 * hold the lock at once (shared mode), so that nothing but the index keeps a
 * request from being granted twice.  A lease lives in a session that survives
 * its process.  A process may die anywhere.  Each access to shared memory is a
 * step.
 *
 *	take	a place that is free, or whose taker died before it was PENDING
 *	write	the id, into the place that is ours alone
 *	ask	TAKEN -> ASKED: it can be seen
 *	look	at the other places: throw out a rival that is ASKED; leave the
 *		own place to one that is PENDING or GRANTED
 *	begin	ASKED -> PENDING, unless another process has thrown us out
 *	work	announce the lease in the place, then take the lock
 *	end	PENDING -> GRANTED
 * A process that finds its request PENDING by a living process does not wait
 * here.  It ends one by a dead process as GRANTED if the announced lease is
 * held, and takes it over otherwise.
 *
 * Properties.
 *  P1	A request is granted once.			(G10)
 *  P2	Each process that gets a lease for a request gets the same one.	(G10)
 *  P3	A place that is PENDING is its worker's request's.
 *
 * Mutants:
 *	LOOK	leaves out the look at the others
 *	LATE	announces the lease after the lock was taken
 *	PROOF	takes over from the living
 *	EARLY	takes a place from one that is still writing to it
 *	TORN	passes over a place that changed while it was looked at
 */
#include "common.pml"

#ifndef TRIES
#define TRIES 2
#endif
#ifndef PLACES
#define PLACES 3
#endif

#define FREE	0
#define TAKEN	1
#define ASKED	2
#define PENDING	3
#define GRANTED	4
#define STATE(st, who, n) (((n) << 5) | ((who) << 3) | (st))
#define ST(s)	((s) & 7)
#define WHO(s)	(((s) >> 3) & 3)
#define N(s)	((s) >> 5)
#define NEXT(s, st, who) STATE(st, who, N(s) + 1)

/* shared memory */
short state[PLACES];
byte id[PLACES];
byte lease[PLACES];		/* use << 2 | claim */
byte use[NP + 1];		/* of claim c */
byte held[NP + 1];		/* the lease that claim c holds */

/* ghost */
byte got[3];			/* the lease of each request */

#define HELD(l)	((l) != 0 && held[(l) & 3] == (l))

#if defined(MUTANT_EARLY)
#define VACANT(s) (ST(s) == FREE || ST(s) == TAKEN)
#else
#define VACANT(s) (ST(s) == FREE || \
	((ST(s) == TAKEN || ST(s) == ASKED) && dead[WHO(s)]))
#endif

#if defined(MUTANT_PROOF)
#define GONE(p)	true
#else
#define GONE(p)	dead[p]
#endif

#if defined(MUTANT_TORN)
#define SAME_OR_NEXT(j)	((j) + 1)
#else
#define SAME_OR_NEXT(j)	(j)	/* look at it again */
#endif

proctype user(byte me)
{
	byte mine, j, r, tries = TRIES;
	short s, t;

	{
	atomic {
		MAY_START;
		start_me();
		if
		:: r = 1
		:: me == 3 -> r = 2
		fi
	}
again:
	if
	:: atomic { tries == 0 -> goto end_done }
	:: atomic { tries > 0 -> tries--; j = 0 }
	fi;
search:
	do
	:: atomic { j < PLACES -> s = state[j] }
	   if
	   :: atomic { ST(s) >= PENDING && id[j] == r && state[j] == s ->
		mine = j; j = 0; goto found }
	   :: atomic { else -> s = 0; j++ }
	   fi
	:: atomic { j == PLACES -> j = 0; goto take }
	od;
found:
	if
	:: atomic { ST(s) == GRANTED -> CLAIMED(2, lease[mine] == got[r]) }
	   goto end_done
	:: atomic { ST(s) == PENDING && !GONE(WHO(s)) -> goto end_done }
	:: atomic { ST(s) == PENDING && GONE(WHO(s)) -> t = lease[mine] }
	   if
	   :: atomic { HELD(t) ->
		SWAP(state[mine], s, NEXT(s, GRANTED, me));
		CLAIMED(2, t == got[r]) }
	      goto end_done
	   :: atomic { else ->
		t = 0;
		if
		:: state[mine] == s ->
			state[mine] = NEXT(s, PENDING, me);
			s = state[mine];
			goto work
		:: else -> s = 0; goto again
		fi }
	   fi
	fi;
take:
	if
	:: atomic { VACANT(state[0]) -> mine = 0 }
	:: atomic { VACANT(state[1]) -> mine = 1 }
#if PLACES > 2
	:: atomic { VACANT(state[2]) -> mine = 2 }
#endif
	:: atomic { !VACANT(state[0]) && !VACANT(state[1]) &&
	    (PLACES < 3 || !VACANT(state[PLACES - 1])) -> goto end_done }
	fi;
	atomic {	/* as in the library: a swap from what was seen */
		if
		:: VACANT(state[mine]) ->
			state[mine] = NEXT(state[mine], TAKEN, me);
			s = state[mine]
		:: else -> mine = 0; goto again
		fi
	}
	id[mine] = r;
	lease[mine] = 0;
	atomic {	/* nobody takes it from the living */
		CLAIMED(3, state[mine] == s);
		state[mine] = NEXT(s, ASKED, me);
		s = state[mine];
		j = 0
	}
#if !defined(MUTANT_LOOK)
look:
	do
	:: atomic { j < PLACES && j == mine -> j++ }
	:: atomic { j < PLACES && j != mine -> t = state[j] }
	   if
	   :: atomic { ST(t) >= ASKED && id[j] == r && state[j] == t ->
		skip }
	      if
	      :: atomic { ST(t) == ASKED ->
		/* if it has moved on meanwhile: look at it again */
		if
		:: state[j] == t -> state[j] = NEXT(t, FREE, 0); j++
		:: else
		fi;
		t = 0 }
	      :: atomic { ST(t) > ASKED ->
		SWAP(state[mine], s, NEXT(s, FREE, 0));
		s = 0; t = 0; j = 0; mine = 0;
		goto again }
	      fi
	   :: atomic { state[j] == t && (ST(t) < ASKED || id[j] != r) ->
		t = 0; j++ }
	   :: atomic { state[j] != t -> t = 0; j = SAME_OR_NEXT(j) }
	   fi
	:: atomic { j == PLACES -> j = 0; break }
	od;
#endif
	atomic {
		if
		:: state[mine] == s ->
			state[mine] = NEXT(s, PENDING, me);
			s = state[mine]
		:: else -> mine = 0; s = 0; goto again
		fi
	}
work:
	atomic { CLAIMED(3, id[mine] == r); use[me]++ }
#if !defined(MUTANT_LATE)
	lease[mine] = (use[me] << 2) | me;
#endif
	atomic {	/* the swap of the lock word */
		CLAIMED(1, got[r] == 0);
		held[me] = (use[me] << 2) | me;
		got[r] = held[me]
	}
#if defined(MUTANT_LATE)
	lease[mine] = (use[me] << 2) | me;
#endif
	atomic {
		CLAIMED(3, id[mine] == r);
		SWAP(state[mine], s, NEXT(s, GRANTED, me))
	}
end_done:
	false
	} unless {
	d_step { victim == me -> fall(); s = 0; t = 0; j = 0; mine = 0 } };
end_dead:
	false
}

active proctype world()
{
	atomic { run user(1); run user(2); run user(3) }
end_world:
	do
	:: atomic { CAN_KILL -> kill_one() }
	od
}
