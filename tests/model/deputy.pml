/* SPDX-License-Identifier: MIT */
/*
 * The watch over a key: is a free key taken in time, whichever waiters are
 * stopped, dead, or leave?
 *
 * Waiters queue in the order of their numbers (op/wait_watch.c).  The first
 * looks by itself every unit of time, and the last, its deputy, every two.  Each
 * other one sleeps for two, doubled for each waiter behind it that runs.  Time
 * passes when all that run are asleep.  A holder releases: it frees the word, then wakes
 * the first.  Or it dies; then a look frees the word.  A waiter that is granted
 * the key leaves the queue, then wakes the first, then releases.  One that gives
 * up leaves, then wakes its predecessor if it was the last, then the first.
 *	HALTS	processes that are stopped, or killed, at any step, the holder
 *		included
 *	GIVEUPS	waiters that give up
 *
 * Left out: the shorter sleeps of those near the front, and the wake-up of a
 * first waiter by the deputy, which only help.  The list itself is in queue.pml.
 * A look passes over stopped and dead waiters in one step.
 *
 * Properties.
 *  P1	A key that is free, or whose holder is dead, is taken within two units,
 *	doubled for each waiter behind the last running one that was halted, or
 *	left from the middle.
 *  P2	If the last running waiter has gone to sleep since then: within two
 *	units, however many were halted.
 *
 * Seen: 2.7 million states with one halted and one that gives up, 3.3 with two
 * halted; three waiters each.
 *
 * Mutants: WAKE (the last waiter leaves and does not wake its predecessor),
 * ALONE (only the first looks by itself), PARK (a waiter counts who is behind it
 * before it can be woken), RUNS (halted waiters count as running).
 */
#ifndef ONLY
#define ONLY 0
#endif
#define CLAIMED(n, x)	assert((ONLY != 0 && ONLY != n) || (x))

#ifndef NW
#define NW 3
#endif
#ifndef HALTS
#define HALTS 2
#endif
#ifndef GIVEUPS
#define GIVEUPS 1
#endif
#define HOLDER	(NW + 1)
#define FREE	0
#define NEVER	200

byte word = HOLDER;
byte arrived;
byte halts = HALTS, giveups = GIVEUPS;
byte late;			/* units for which it could have been taken */
bool queued[NW + 2], halted[NW + 2], asleep[NW + 2], busy[NW + 2];
bool suspect[NW + 2];
bool middle[NW + 2];		/* left from the middle */
bool fresh[NW + 2];		/* has chosen its sleep since the last such event */
byte due[NW + 2];

#define GRANTABLE	(word == FREE || halted[word])

inline forget() { for (i : 1 .. NW) { fresh[i] = false } }

/* wake the first that is not suspect, and the suspects before it */
inline wake_first()
{
	d_step {
		for (i : 1 .. NW) {
			if
			:: queued[i] ->
				asleep[i] = false;
				if
				:: !suspect[i] -> break
				:: else
				fi
			:: else
			fi
		}
		i = 0
	}
}

/* look: take the key if no waiter that runs is ahead, and suspect those that do
 * not run; else wake the first */
inline look()
{
	atomic {
		took = false;
		if
		:: GRANTABLE ->
			took = true;
			for (i : 1 .. me - 1) {
				suspect[i] = suspect[i] || (queued[i] && halted[i]);
				took = took && !(queued[i] && !halted[i])
			}
			if
			:: took -> word = me; late = 0
			:: else -> word = FREE; wake_first()
			fi
		:: else
		fi;
		i = 0
	}
}

inline count_behind()
{
	d_step {
		n = 0;
		for (i : me + 1 .. NW) {
#ifdef MUTANT_RUNS
			n = n + (queued[i] -> 1 : 0)
#else
			n = n + (queued[i] && !halted[i] -> 1 : 0)
#endif
		}
		first = true;
		for (i : 1 .. me - 1) { first = first && (!queued[i] ||
			suspect[i]) }
		i = 0;
		fresh[me] = true
	}
}

proctype waiter(byte me)
{
	byte i, n;
	bool took, first, last;

	{
	atomic { arrived == me - 1 -> arrived = me; busy[me] = true;
		queued[me] = true };
again:	look();
	if
	:: took -> goto granted
	:: else
	fi;
	if
	:: atomic { giveups > 0 -> giveups--; goto leave }
	:: true
	fi;
#ifdef MUTANT_PARK
	count_behind();
	asleep[me] = true;
#else
	asleep[me] = true;
	count_behind();
#endif
	/* sleep, unless something has happened */
	atomic {
		if
		:: GRANTABLE -> asleep[me] = false; goto again
		:: else
		fi;
#ifdef MUTANT_ALONE
		due[me] = (first -> 1 : NEVER);
#else
		due[me] = (first -> 1 : 2 << n);
#endif
		busy[me] = !asleep[me];
		n = 0; first = false
	}
	if
	:: atomic { !asleep[me] || due[me] == 0 -> busy[me] = true;
		asleep[me] = false; due[me] = 0; goto again }
	:: atomic { giveups > 0 -> giveups--; busy[me] = true;
		asleep[me] = false; due[me] = 0; goto leave }
	fi;
granted:
	atomic { took = false; queued[me] = false };
	wake_first();
	busy[me] = false;		/* it holds the key as long as it likes */
	atomic { true -> busy[me] = true; word = FREE };
	wake_first();
	goto over;
leave:
	atomic {
		queued[me] = false;
		last = true;
		for (i : me + 1 .. NW) { last = last && !queued[i] }
		if
		:: !last -> middle[me] = true; forget()
		:: else
		fi;
		i = 0
	}
#ifndef MUTANT_WAKE
	if
	:: last ->
		d_step {
			last = false;
			n = 0;
			for (i : 1 .. me - 1) { n = (queued[i] -> i : n) }
			asleep[n] = false;
			n = 0; i = 0
		}
	:: else
	fi;
#endif
	wake_first();
over:	atomic { busy[me] = false; last = false; asleep[me] = false }
	} unless { halted[me] }
}

proctype holder()
{
	byte i;

	{
	atomic { true -> busy[HOLDER] = true; word = FREE };
	wake_first();
	busy[HOLDER] = false
	} unless { halted[HOLDER] }
}

proctype halt_some()
{
	byte i, v;

	do
	:: atomic { halts > 0 ->
		halts--;
		select(v : 1 .. NW + 1);
		if
		:: (v == HOLDER || v <= arrived) && !halted[v] ->
			halted[v] = true; busy[v] = false; forget()
		:: else -> halts++
		fi;
		v = 0; i = 0 }
	od
}

/* A waiter that is awake or due runs before time passes. */
#define READY(p)	(queued[p] && !halted[p] && (!asleep[p] || due[p] == 0))

proctype time()
{
	byte i, k, l;
	bool quiet;

	do
	:: atomic {
		quiet = !busy[HOLDER];
		for (i : 1 .. NW) { quiet = quiet && !busy[i] && !READY(i) };
		if
		:: quiet ->
			l = 0; k = 0;
			for (i : 1 .. NW) {
				due[i] = (due[i] > 0 && due[i] < NEVER ->
				    due[i] - 1 : due[i]);
				if
				:: queued[i] && !halted[i] -> l = i; k = 0
				:: i <= arrived && (halted[i] || middle[i]) &&
				    !(queued[i] && !halted[i]) -> k++
				:: else
				fi
			}
			if
			:: l != 0 && GRANTABLE ->
				late++;
				CLAIMED(1, late <= 2 << k);
				CLAIMED(2, !fresh[l] || late <= 2)
			:: else -> late = 0
			fi
		:: else
		fi;
		i = 0; k = 0; l = 0; quiet = false
	   }
	od
}

init
{
	byte p;

	atomic {
		for (p : 1 .. NW) { run waiter(p) }
		p = 0;
		run holder();
		run halt_some();
		run time()
	}
}
