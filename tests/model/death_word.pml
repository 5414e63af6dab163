/* SPDX-License-Identifier: MIT */
/*
 * The death word (src/proc/death_word.c): is a hint of the kernel's ever taken
 * for a death, and is a waiter that sleeps on it ever left asleep?
 *
 * A holder has two threads.  After the kill each ends at its own pace: it runs
 * no more user code; the kernel walks its robust list; it gives up its
 * memory.  EARLY: the proof sees that it is exiting, which it is before the
 * walk.  The walk marks the word if that names the thread, and wakes one
 * sleeper.  Thread 1 has armed the word; it may end by itself, and then thread
 * 2 may arm the word anew.  Two keys are held, and each has a front waiter.  A
 * waiter reads the word.  It asks for the proof if the word is marked or a look
 * is due.  Then it sleeps on its own word and the death word, until it is woken
 * or its look of 20 ms is due.  The one that finds the mark wakes the others
 * before it goes on.  A look is due only when nothing else can happen, so
 * whatever needs one is not prompt.  STOPS: the waiter of key 1 may be stopped
 * for good, at any step.  HANDS times a member scribbles: another word, or into
 * the record the pid of a process that is dead.
 *
 * Left out: that a process may make threads while it is asked (the proof lists
 * twice: src/prim/process_end.c), exec (as a mark without a death), the queue.
 *
 * Properties.
 *  P1	A waiter takes over only when no thread of the holder can run.
 *  P2	Without a hand or a stop: if the word names a living thread when the
 *	process is killed, nobody needs a look of 20 ms to take over.
 *  P3	At the end every waiter that is not stopped has taken over.
 *
 * Mutants:
 *	PROOF	the mark is taken for the proof
 *	BEFORE	the proof is asked before the word is read
 *	START	the start time of the process is not compared
 *	SLEEPS	a waiter that sleeps on the word has no look of its own
 *	CHAIN	the one that is woken does not wake the others
 *	VALUE	it sleeps without comparing the word with what it read
 */
#ifndef STOPS
#define STOPS 0
#endif
#ifndef HANDS
#define HANDS 0
#endif
#ifndef ONLY
#define ONLY 0
#endif
#define CLAIMED(n, x)	assert((ONLY != 0 && ONLY != n) || (x))

#define NONE 0			/* of the word; 1, 2: its thread */
#define MARKED 3
#define OTHER 4			/* neither: scribbled */
#define HOLDER 0		/* whose pid the record has */
#define STRANGER 1		/* a process that is dead */

byte word = 1;
bit runs[3] = 1, memory[3] = 1;	/* of threads 1 and 2 */
bit killed, hinted;		/* the word named a living thread at the kill */
byte subject = HOLDER;
bit asleep[3], took[3], look[3], stopped;
byte hands = HANDS;

/* The kernel wakes one sleeper of the word, a waiter two: here, all. */
inline wake_one()
{
	if
	:: asleep[1] -> asleep[1] = 0
	:: asleep[2] -> asleep[2] = 0
	:: !asleep[1] && !asleep[2] -> skip
	fi
}

/* A thread's end, of its own accord or killed. */
inline end_thread(me)
{
	runs[me] = 0;
#ifdef EARLY
	memory[me] = 0;
#endif
	atomic {
		if
		:: word == me -> word = MARKED; wake_one()
		:: else
		fi
	}
	memory[me] = 0
}

proctype thread(byte me)
{
	if
	:: killed
	:: me == 1 && !killed	/* it ends by itself */
	:: atomic { me == 2 && !killed && word == MARKED && !runs[1] ->
		word = 2 };
		killed
	fi;
	end_thread(me)
}

proctype waiter(byte me)
{
	byte h;
	bit gone;

	do
	:: atomic { STOPS > 0 && me == 1 -> stopped = 1 };
		break
	:: atomic { !took[me] ->
#ifdef MUTANT_BEFORE
		gone = !memory[1] && !memory[2] };
		h = word;
#else
		h = word };
#endif
#ifndef MUTANT_CHAIN
		if
		:: atomic { h == MARKED -> asleep[1] = 0; asleep[2] = 0 }
		:: else
		fi;
#endif
		if
		:: h == MARKED || look[me] ->
			look[me] = 0;
#ifdef MUTANT_PROOF
			gone = (h == MARKED);
#else
#ifndef MUTANT_BEFORE
			if
			:: subject == STRANGER ->
#ifdef MUTANT_START
				gone = 1
#else
				skip	/* but the byte may be asked */
#endif
			:: else
			fi;
			/* thread by thread; or the byte lock */
			if
			:: !gone && !memory[1] -> gone = !memory[2]
			:: else
			fi
#endif
#endif
		:: else
		fi;
		if
		:: atomic { gone ->
			CLAIMED(1, !runs[1] && !runs[2]);
			took[me] = 1 };
			break
		:: else
		fi;
		if
#ifdef MUTANT_BEFORE
		:: h == MARKED ->	/* it has looked, it thinks */
			asleep[me] = 1
#else
		:: h == MARKED		/* it naps, and looks again */
#endif
		:: h != MARKED -> atomic {
#ifdef MUTANT_VALUE
			asleep[me] = 1 }
#else
			asleep[me] = (word == h) }
#endif
		fi;
		!asleep[me] || look[me];
		asleep[me] = 0
	od
}

active proctype world()
{
	atomic {
		run thread(1); run thread(2);
		run waiter(1); run waiter(2)
	}
	do
	:: atomic { !killed -> killed = 1;
		hinted = ((word == 1 && runs[1]) || (word == 2 && runs[2])) }
	:: atomic { hands > 0 -> hands--;
		word = OTHER }
	:: atomic { hands > 0 -> hands--;
		word = MARKED; wake_one() }
	:: atomic { hands > 0 -> hands--;
		subject = STRANGER }
	/* nothing else can happen: 20 ms are over */
	:: atomic { timeout ->
		if
		:: killed && (took[1] || stopped) && took[2] -> break
		:: else ->
			CLAIMED(2, HANDS > 0 || STOPS > 0 || !hinted ||
			    memory[1] || memory[2]);
#ifdef MUTANT_SLEEPS
			CLAIMED(3, !killed);
			break
#else
			look[1] = 1; look[2] = 1
#endif
		fi }
	od;
	CLAIMED(3, (took[1] || stopped) && took[2])
}
