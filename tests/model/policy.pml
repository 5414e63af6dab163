/* SPDX-License-Identifier: MIT */
/*
 * A lease under policy live: when others move its deadline on for its holder,
 * can it end before the deadline that the holder knows, or stay held too long?
 *
 * One lease, held from the beginning, of TTL ticks; the clock goes to TMAX.
 *	holder	verifies nothing, but extends (-DEXTENDS) by one or TTL ticks:
 *		read, clock, swap, clock; a late win is undone
 *	looker	two of them: read, clock, see whether it runs, swap, clock; a
 *		late win is swapped back			(op/policy.c)
 *	wanter	ends the lease when its deadline has come	(shm/lock_word.c)
 * The holder may be stopped (-DSTOPS=1) between any two steps, for good.
 *
 * A deadline is 2 x tick, and 1 more if the holder made it (I3).
 *
 * Properties.
 *  P1	The lease is not ended before the deadline that its holder got at the
 *	grant, or has asked for since.				(G1)
 *  P2	When nobody is in an operation, the deadline that stands has come, or
 *	was made before the one before it had; but by a holder that was stopped
 *	before it could look.					(G3)
 *  P3	A stopped holder's lease ends within TTL of its last step.
 *
 * The mutants: PARITY makes all deadlines even; LOOK leaves out the look at the
 * clock after an observer's swap; RUN the look whether the holder runs.
 */
#ifndef EXTENDS
#define EXTENDS 2
#endif
#ifndef LOOKS
#define LOOKS 2
#endif
#ifndef ONLY
#define ONLY 0
#endif
#define CLAIMED(n, x)	assert((ONLY != 0 && ONLY != n) || (x))
#define TTL 2
#ifndef TMAX
#define TMAX 4
#endif
#ifndef STOPS
#define STOPS 0
#endif
#define ENDED 0			/* state; else the deadline */

#ifdef MUTANT_PARITY
#define HOLDERS(t)	(2 * (t))
#else
#define HOLDERS(t)	(2 * (t) + 1)
#endif
#define LOOKERS(t)	(2 * (t))
#define COME(d)		(2 * now >= ((d) & 254))

byte state = LOOKERS(TTL);
byte now;
bool stopped;
byte stopped_at;
byte told = TTL;		/* ghost: the holder is certain until then */
bool late;			/* ghost: of the deadline that stands */
bool extending;
byte looking;
byte extends = EXTENDS, looks = LOOKS;

#define QUIET (!extending && looking == 0)

proctype holder()
{
	byte s, d, asked;

	{
end:	do
	:: atomic { extends > 0 && state != ENDED ->
		extends--; extending = true; s = state; d = now;
		if
		:: asked = d + 1
		:: asked = d + TTL
		fi
	   }
	   atomic {
		if
		:: s == ENDED || COME(s) -> goto over
		:: else
		fi;
		/* from here on the earlier one counts */
		if
		:: asked < told -> told = asked
		:: else
		fi
	   }
	   atomic {
		if
		:: state == s -> late = COME(s); state = HOLDERS(asked)
		:: else -> goto over
		fi
	   }
	   atomic {
		if
		:: !COME(s) && now < asked && state != ENDED -> told = asked
		:: else -> goto undo
		fi;
		goto over
	   }
undo:	   atomic {
		if
		:: state == HOLDERS(asked) -> state = ENDED; told = 0;
		   late = false
		:: else
		fi
	   }
over:	   atomic { extending = false; s = 0; d = 0; asked = 0 }
	od
	} unless atomic { stopped ->
		/* its own swap, not looked at again, is no observer's */
		late = late && !extending;
		extending = false
	}
}

proctype looker()
{
	byte s, d, to;
	bool was_late;

end:	do
	:: atomic { looks > 0 && state != ENDED ->
		looks--; looking++; s = state }
	   d = now;
	   atomic {
		if
		:: s == ENDED || COME(s) -> goto over
#ifndef MUTANT_RUN
		:: stopped -> goto over
#endif
		:: else
		fi;
		to = LOOKERS(d + TTL)
	   }
	   atomic {
		if
		:: to > s && state == s ->
			was_late = late; late = COME(s); state = to
		:: else -> goto over
		fi
	   }
#ifndef MUTANT_LOOK
	   atomic {
		if
		:: !COME(s) -> goto over
		:: else
		fi
	   }
	   atomic {
		if
		:: state == to -> state = s; late = was_late
		:: else
		fi
	   }
#endif
over:	   atomic { looking--; s = 0; d = 0; to = 0; was_late = false }
	od
}

/* Its swap is of what it has loaded: so both are one step. */
proctype wanter()
{
end:	do
	:: atomic { state != ENDED && COME(state) ->
		CLAIMED(1, now >= told);
		state = ENDED;
		late = false
	   }
	od
}

init
{
	atomic { run holder(); run looker(); run looker(); run wanter() };
end:	do
	:: atomic { now < TMAX -> now++ }
	:: atomic { STOPS && !stopped -> stopped = true; stopped_at = now }
	:: atomic { QUIET && state != ENDED ->
		CLAIMED(2, !late || COME(state));
		CLAIMED(3, !stopped || (state >> 1) <= stopped_at + TTL)
	   }
	od
}
