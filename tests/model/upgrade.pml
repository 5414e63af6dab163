/* SPDX-License-Identifier: MIT */
/*
 * Waiting upgrades (src/op/upgrade.c): is there ever a writer beside a reader,
 * and does everybody come to an end, if nobody is ever woken by the clock?
 *
 * Three readers of one key; UPGRADERS of them want it for themselves (process 0
 * and 1 the first), the others leave, in any order; with -DJOINS=n they come
 * again n times if the queue is empty.  A reader that finds that another was
 * first leaves as well.  The chain is a set, the word its version, which grows with
 * each push and with the upgrade; the queue is who is linked, in the order of
 * tickets.  Each access to shared memory is a step, and each hop of a walk over
 * the queue.
 *
 * Left out: deaths, stops and deadlines (the clock wakes for those), idle
 * readers (as those that leave), other waiters, cancelling.
 *
 * Properties.
 *  P1	The word is swapped to X only while nobody else reads.
 *  P2	Nobody sleeps for ever: neither when it is the only reader left, nor
 *	beside another that waits to upgrade.
 *  P3	A reader that gives way has another before it that waits, too.
 *
 * Mutants:
 *	VER	the swap is not from an exact word
 *	PARK	the look at the chain is before the park
 *	RIVAL	... the look at the queue is
 *	WAKE	a reader that leaves does not look at the queue
 *	BEHIND	a waiter that links does not look behind itself
 */
#ifndef ONLY
#define ONLY 0
#endif
#define CLAIMED(n, x)	assert((ONLY != 0 && ONLY != n) || (x))
#ifndef UPGRADERS
#define UPGRADERS 2
#endif
#ifndef JOINS
#define JOINS 0
#endif
#define NP 3
#define NOBODY 9

byte ver = NP;			/* of the word */
bool reads[NP] = true;		/* who is in the chain */
bool linked[NP], asleep[NP], woken[NP];
byte ticket[NP], tickets;
bool wants[NP];			/* is in its wait to upgrade, and reads */
byte ended;

#define OTHERS(me)	(reads[(me + 1) % NP] || reads[(me + 2) % NP])
#define BEFORE(a, b)	(ticket[a] < ticket[b])

inline wake(p)			/* by whoever saw it asleep: one swap */
{
	d_step {
		if
		:: asleep[p] -> asleep[p] = false; woken[p] = true
		:: else
		fi
	}
}

/* Finds who is first before me; with behind, wakes those that are behind me. */
inline walk(me, behind)
{
	rival = NOBODY;
	q = 0;
	do
	:: q < NP ->
		if
		:: q != me && linked[q] && BEFORE(q, me) && wants[q] ->
			rival = q
		:: else ->
			if
			:: behind && q != me && linked[q] && !BEFORE(q, me) ->
				wake(q)
			:: else
			fi
		fi;
		q++
	:: else -> break
	od
}

/* Wake who is first in the queue. */
inline kick()
{
	q = 0;
	first = NOBODY;
	d_step {
		do
		:: q < NP ->
			if
			:: linked[q] && (first == NOBODY || BEFORE(q, first)) ->
				first = q
			:: else
			fi;
			q++
		:: else -> break
		od
	}
	if
	:: first != NOBODY -> wake(first)
	:: else
	fi
}

inline leave(me)
{
	d_step { reads[me] = false; wants[me] = false };
#ifndef MUTANT_WAKE
	kick()
#endif
}

active [NP] proctype reader()
{
	byte me = _pid, was, q, first, rival, joins;

	if
	:: me < UPGRADERS -> goto upgrade
	:: else
	fi;
again:	leave(me);
	if
	:: joins < JOINS ->
		joins++;
		was = ver;
		if
		:: linked[0] || linked[1] || linked[2] -> goto done
		:: else
		fi;
		/* the word's swap; no reader pushes onto X, which is 100 */
		d_step {
			if
			:: ver == was && ver < 100 ->
				ver++;
				reads[me] = true
			:: else
			fi
		}
		goto again
	:: else -> goto done
	fi;

upgrade:
	wants[me] = true;
look:	was = ver;
	if
	:: !OTHERS(me) ->
		/* the chain cannot have grown but by a push */
		atomic {
			if
#ifdef MUTANT_VER
			:: true ->
#else
			:: ver == was ->
#endif
				CLAIMED(1, !OTHERS(me));
				ver = 100;
				goto granted
			:: else -> goto look
			fi
		}
	:: else
	fi;
	if
	:: !linked[me] ->
		d_step { ticket[me] = tickets; tickets++ };
		linked[me] = true;
#ifndef MUTANT_BEHIND
		walk(me, true);
#endif
		goto look
	:: else
	fi;
#ifdef MUTANT_RIVAL
	walk(me, false);
	if
	:: rival != NOBODY -> goto told
	:: else
	fi;
#endif
#ifdef MUTANT_PARK
	if
	:: !OTHERS(me) -> goto look
	:: else
	fi;
#endif
	asleep[me] = true;
#ifndef MUTANT_RIVAL
	walk(me, false);
	if
	:: rival != NOBODY -> goto told
	:: else
	fi;
#endif
#ifndef MUTANT_PARK
	if
	:: !OTHERS(me) -> asleep[me] = false; goto look
	:: else
	fi;
#endif
	atomic { !asleep[me] -> woken[me] = false };
	goto look;

told:	CLAIMED(3, ticket[rival] < ticket[me]);
	asleep[me] = false;
	d_step { linked[me] = false; wants[me] = false };
	kick();
	leave(me);
	goto done;

granted: /* then others come, who are not looked at here */
	linked[me] = false;
	reads[me] = false;
	wants[me] = false;
done:	ended++
}

active proctype watch()
{
	timeout;
	CLAIMED(2, ended == NP)
}
