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
 * The library counts the changes of a place in its state, and a swap compares
 * the number as well.  No number comes twice.  So each process has a bit for
 * each place here: has its state been written since this process read it?
 *
 * Properties.
 *  P1	A request is granted once.			(G10)
 *  P2	Each process that gets a lease for a request gets the same one.	(G10)
 *  P3	A place that is PENDING is its worker's request's, and a process that
 *	has ended works at no place.
 *
 * Mutants:
 *	LOOK	leaves out the look at the others
 *	LATE	announces the lease after the lock was taken
 *	PROOF	takes over from the living
 *	EARLY	takes a place from one that is still writing to it
 *	TORN	passes over a place that changed while it was looked at
 */
#include "common.pml"

/* A process that has ended works at no place, so its death changes nothing. */
byte over;
#undef MAY_DIE
#define MAY_DIE(p) (started >= p && !dead[p] && !(over & (1 << (p))))

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
#define STATE(st, who)	(((who) << 3) | (st))
#define ST(s)	((s) & 7)
#define WHO(s)	((s) >> 3)

/* shared memory */
byte state[PLACES];
byte id[PLACES];
byte lease[PLACES];		/* use << 2 | claim */
byte use[NP + 1];		/* of claim c */
byte held[NP + 1];		/* the lease that claim c holds */

/* Of each process: the places whose state it has read and may compare yet, and
 * those of them that were written since. */
byte noted[NP + 1], changed[NP + 1];
#define BIT(i)	(1 << (i))
#define SAME(i)	(!(changed[me] & BIT(i)))

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
#define SAME_OR_NEXT(j)	NEXT_BESIDE(j, mine)
#else
#define SAME_OR_NEXT(j)	(j)	/* look at it again */
#endif

inline note(i)
{
	noted[me] = noted[me] | BIT(i);
	changed[me] = changed[me] & ~BIT(i)
}

inline forget(i)
{
	noted[me] = noted[me] & ~BIT(i);
	changed[me] = changed[me] & ~BIT(i)
}

/* A write to the state of a place. */
inline put(i, st)
{
	changed[1] = changed[1] | (noted[1] & BIT(i));
	changed[2] = changed[2] | (noted[2] & BIT(i));
	changed[3] = changed[3] | (noted[3] & BIT(i));
	state[i] = st
}

/* Nobody reads the rest of a FREE one. */
inline put_free(i)
{
	put(i, FREE);
	id[i] = 0; lease[i] = 0
}

/* ... of our own place, which we go on comparing */
inline put_own(st)
{
	put(mine, STATE(st, me));
	note(mine);
	s = 0
}

inline reset()
{
	s = 0; t = 0; j = 0; mine = 0;
	noted[me] = 0; changed[me] = 0
}

#define WORKS_AT(i)	(WHO(state[i]) == me && ST(state[i]) != GRANTED)
#define FIRST_BESIDE(i)		(i == 0 -> 1 : 0)
#define NEXT_BESIDE(j, i)	((j) + 1 == i -> (j) + 2 : (j) + 1)

/* Nobody does a step between the choice of a victim and its death. */
proctype user(byte me) provided (victim == 0 || victim == _pid)
{
	byte mine, j, r, tries = TRIES;
	byte s, t;

	{
	atomic {
		MAY_START;
		start_me();
		if
		:: r = 1
		:: me == 3 -> r = 2
		fi;
		tries--
	}
	goto search;
again:
	atomic {
		reset();
		if
		:: tries == 0 -> goto done
		:: else -> tries--
		fi
	}
search:
	if
	:: atomic { j < PLACES && ST(state[j]) < PENDING -> j++ }
	   goto search
	:: atomic { j < PLACES && ST(state[j]) >= PENDING ->
		s = state[j]; note(j) }
	:: atomic { j == PLACES && VACANT(state[0]) -> j = 0; mine = 0 }
	   goto take
	:: atomic { j == PLACES && VACANT(state[1]) -> j = 0; mine = 1 }
	   goto take
#if PLACES > 2
	:: atomic { j == PLACES && VACANT(state[2]) -> j = 0; mine = 2 }
	   goto take
#endif
	:: atomic { j == PLACES && !VACANT(state[0]) && !VACANT(state[1]) &&
	    (PLACES < 3 || !VACANT(state[PLACES - 1])) -> goto done }
	fi;
	if
	:: atomic {
		id[j] == r && SAME(j) -> mine = j; j = 0
	   }
	:: atomic {
		!(id[j] == r && SAME(j)) ->
		forget(j); s = 0; j++
	   }
	   goto search
	fi;
	/* found */
	if
	:: atomic {
		ST(s) == GRANTED -> CLAIMED(2, lease[mine] == got[r]);
		goto done
	   }
	:: atomic { ST(s) == PENDING && !GONE(WHO(s)) -> goto done }
	:: atomic { ST(s) == PENDING && GONE(WHO(s)) -> t = lease[mine] }
	fi;
	if
	:: atomic {
		HELD(t) ->
		CLAIMED(2, t == got[r]);
		if
		:: SAME(mine) -> put(mine, STATE(GRANTED, me))
		:: else
		fi;
		goto done
	   }
	:: atomic {
		!HELD(t) ->
		t = 0;
		if
		:: SAME(mine) -> put_own(PENDING)
		:: else -> goto again
		fi
	   }
	   goto work
	fi;
take:
	atomic {	/* as in the library: a swap from what was seen */
		if
		:: VACANT(state[mine]) -> put_own(TAKEN)
		:: else -> goto again
		fi
	}
	atomic { true -> id[mine] = r; lease[mine] = 0 };
	atomic {	/* nobody takes it from the living */
		CLAIMED(3, SAME(mine));
		put_own(ASKED);
		j = FIRST_BESIDE(mine)
	}
#if !defined(MUTANT_LOOK)
look:
	if
	:: atomic { j < PLACES && ST(state[j]) < ASKED ->
		j = NEXT_BESIDE(j, mine) }
	   goto look
	:: atomic { j < PLACES && ST(state[j]) >= ASKED ->
		t = state[j]; note(j) }
	:: atomic { j >= PLACES -> j = 0; goto begin }
	fi;
	if
	:: atomic { id[j] == r && SAME(j) -> skip }
	:: atomic {
		id[j] != r && SAME(j) ->
		forget(j); t = 0; j = NEXT_BESIDE(j, mine)
	   }
	   goto look
	:: atomic { !SAME(j) -> forget(j); t = 0; j = SAME_OR_NEXT(j) }
	   goto look
	fi;
	if
	:: atomic {
		ST(t) == ASKED ->
		/* if it has moved on meanwhile: look at it again */
		if
		:: SAME(j) ->
			put_free(j);
			forget(j);
			j = NEXT_BESIDE(j, mine)
		:: else -> forget(j)
		fi;
		t = 0
	   }
	   goto look
	:: atomic {
		ST(t) > ASKED ->
		if
		:: SAME(mine) -> put_free(mine)
		:: else
		fi;
		goto again
	   }
	fi;
#endif
begin:
	atomic {
		if
		:: SAME(mine) -> put_own(PENDING)
		:: else -> goto again
		fi
	}
work:
	atomic {
		CLAIMED(3, id[mine] == r);
		use[me]++;
#if !defined(MUTANT_LATE)
		lease[mine] = (use[me] << 2) | me
#endif
	}
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
		if
		:: SAME(mine) -> put(mine, STATE(GRANTED, me))
		:: else
		fi;
		goto done
	}
done:
	atomic {
		true ->
		reset();
		CLAIMED(3, !WORKS_AT(0) && !WORKS_AT(1) &&
		    !WORKS_AT(PLACES - 1));
		over = over | (1 << me);
		r = 0; tries = 0
	}
end_done:
	false
	} unless {
	d_step { victim == me -> fall(); reset(); r = 0; tries = 0 } };
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
