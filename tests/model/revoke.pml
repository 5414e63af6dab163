/* SPDX-License-Identifier: MIT */
/*
 * Removal by force (src/shm/table_revoke.c): does the old table grant a key
 * after a new one may?
 *
 * Two processes acquire and release one key of the old table, ACQUIRES times
 * each.  Each goes straight where its own last release left the word behind: it
 * loads the queue's link, then swaps the word that it remembers.  Otherwise it
 * goes the slow way: it loads the word, then the flag RETIRED, then swaps.  The remover sets
 * the flag (R1), marks the queue (V1), passes a word that is free (V2), and
 * gives the name up (R4).  With -DWAITER somebody queues at the old key, and
 * leaves, so that the link of the queue is written by others as well.
 *
 * Store buffers: a plain store of the remover's stays in its buffer until a
 * locked operation of its own, or any moment before.  (All of its stores are
 * locked operations; STORE makes V1 a plain one.)
 *
 * Left out: readers, whose words are passed alike, and whose revival is a swap
 * of their claim, which the remover revokes; deaths (a dead remover leaves the
 * name taken); evictions.
 *
 * Properties.
 *  P1	After R4 nobody is granted the key of the old table.
 *  P2	A lease that is held is not taken away: its release finds its word.
 *
 * Mutants:
 *	MARK	without V1
 *	PASS	without V2
 *	FLAG	a slow acquire does not look at the flag
 *	EARLY	... looks before it loads the word
 *	FREED	V2 comes after R4
 *	STORE	V1 is a plain store
 *	KEEP	a waiter that leaves takes the mark with it
 *	TAKE	V2 passes a word that is held, too
 */
#ifndef ONLY
#define ONLY 0
#endif
#define CLAIMED(n, x)	assert((ONLY != 0 && ONLY != n) || (x))

#ifndef ACQUIRES
#define ACQUIRES 3
#endif

/* the word: its version, and which process holds the key; 0: nobody */
#define WORD(ver, x)	((ver) << 2 | (x))
#define FREE(w)		(((w) & 3) == 0)

byte word = WORD(1, 0);
bool marked, queued, retired, renewed;
#ifdef MUTANT_STORE
bool buffered;			/* the mark, in the remover's buffer */
#endif

inline swap(from, to, done)
{
	atomic {
		done = (word == from);
		if
		:: done -> word = to
		:: else
		fi
	}
}

proctype holder(byte me)
{
	byte left, w, n, mine;
	bool may, stop;

	do
	:: n < ACQUIRES && !stop ->
		n++;
#ifdef MUTANT_EARLY
		stop = retired;
#endif
		if
		:: left != 0 -> w = left	/* not loaded again */
		:: w = word
		fi;
		if
		:: w == left ->			/* straight */
			may = !(marked || queued)
		:: w != left && FREE(w) ->	/* slow */
#if !defined(MUTANT_FLAG) && !defined(MUTANT_EARLY)
			stop = retired;
#endif
			may = !stop
		:: else -> may = false
		fi;
		mine = WORD((w >> 2) + 1, me);
		if
		:: may ->
			atomic {
				may = (word == w);
				if
				:: may ->
					word = mine;
					CLAIMED(1, !renewed)
				:: else
				fi
			}
		:: else
		fi;
		if
		:: may ->			/* held: release */
			left = WORD(mine >> 2, 0);
			swap(mine, left, may);
			CLAIMED(2, may);
			may = false
		:: else ->
			left = 0
		fi
	:: else -> break
	od
}

inline pass(w, done)
{
	done = false;
	do
	:: !done ->
		w = word;
		if
#ifdef MUTANT_TAKE
		:: true ->
#else
		:: FREE(w) ->
#endif
#ifdef MUTANT_STORE
			atomic {	/* a locked operation: the buffer is out */
				marked = marked || buffered;
				buffered = false
			};
#endif
			swap(w, WORD((w >> 2) + 1, w & 3), done)
		:: else -> done = true
		fi
	:: else -> break
	od
}

active proctype remover()
{
	byte w;
	bool done;

	retired = true;				/* R1 */
#ifdef MUTANT_STORE
	buffered = true;			/* V1, not yet seen */
#endif
#if !defined(MUTANT_MARK) && !defined(MUTANT_STORE)
	marked = true;				/* V1 */
#endif
#ifdef MUTANT_FREED
	renewed = true;
#endif
#ifndef MUTANT_PASS
	pass(w, done);				/* V2 */
#else
	w = 0; done = true;
#endif
	renewed = true				/* R4 */
}

#ifdef MUTANT_STORE
active proctype buffer()
{
end:	atomic { buffered -> buffered = false; marked = true }
}
#endif

#ifdef WAITER
active proctype waiter()
{
	queued = true;
#ifdef MUTANT_KEEP
	atomic { queued = false; marked = false }
#else
	queued = false
#endif
}
#endif

init {
	atomic {
		run holder(1);
		run holder(2)
	}
}
