/* SPDX-License-Identifier: MIT */
/*
 * Doorbells: does whoever listens learn of everything that was rung for, if
 * nobody dies in between?
 *
 * Two ringers make news and ring (src/shm/doorbell.c), RINGS times each; a thread
 * of the listener's own process does so under the lock that the listener gives
 * back for its sleep alone (src/live/wakeup.c).  The listener looks, compares the
 * words with those it served last, and sleeps for those values, on both words
 * (futex_waitv), or, with -DONE, on the doorbell alone, which its own process
 * then rings as well.
 *
 * Left out: deaths, which cost the ring (the next look by the clock makes up
 * for it); who starts to listen and stops.
 *
 * Properties.
 *  P1	When all have rung and the listener sleeps, it has seen all news.
 *
 * Mutants: LISTENS (the bit is set after the comparison), EARLY (rings before
 * the news are there), STALE (sleeps for what the word says then, not for what
 * was served).
 */
#ifndef ONLY
#define ONLY 0
#endif
#define CLAIMED(n, x)	assert((ONLY != 0 && ONLY != n) || (x))

#ifndef RINGS
#define RINGS 2
#endif

byte bell, own;			/* bell: bit 0 LISTENS; += 2 */
byte news, seen_news;
bool listens = true;		/* (with LISTENS: nobody asks for it yet) */
bool locked, asleep, woken;
byte ended;

inline wake() { woken = true }

inline ring(old)
{
	d_step { old = bell; bell = bell + 2 }
	if
	:: old & 1 -> wake()
	:: else
	fi
}

active [2] proctype ringer()
{
	byte n, old;

	do
	:: n < RINGS ->
#ifdef MUTANT_EARLY
		ring(old);
		news++;
#else
		news++;
		ring(old);
#endif
		n++
	:: else -> break
	od;
	ended++
}

active proctype neighbour()
{
	byte n, old;

	do
	:: n < RINGS ->
		atomic { !locked -> locked = true };
		news++;
		own++;
		if
		:: asleep ->
#ifdef ONE
			ring(old)
#else
			wake()
#endif
		:: else
		fi;
		locked = false;
		n++
	:: else -> break
	od;
	ended++
}

active proctype listener()
{
	byte served_bell = 1, served_own, now, mine;

end:	do
	:: true ->
		atomic { !locked -> locked = true };
look:	skip;
#ifdef MUTANT_LISTENS
		now = bell | 1;
#else
		atomic { bell = bell | 1; now = bell };
#endif
		mine = own;
		if
		:: now != served_bell || mine != served_own ->
			served_bell = now;
			served_own = mine;
			seen_news = news;
			goto look
		:: else
		fi;
#ifdef MUTANT_LISTENS
		bell = bell | 1;
		served_bell = bell;
#endif
#ifdef MUTANT_STALE
		served_bell = bell;
#endif
		asleep = true;
		locked = false;
		/* the kernel compares, and sleeps, in one */
#ifdef ONE
		woken = (bell != served_bell);
#else
		woken = (bell != served_bell || own != served_own);
#endif
end_sleep:	do
		:: atomic { woken -> break }
		:: atomic { ended == 3 && !woken ->
			CLAIMED(1, seen_news == news);
			goto over }
		od;
		atomic { !locked -> locked = true };
		asleep = false;
		locked = false
	od;
over:	skip
}
