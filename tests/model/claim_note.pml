/* SPDX-License-Identifier: MIT */
/*
 * The note of a claim that is moving (shm/session_named_end.c).  Several
 * processes present one lease of a named session.  They hand it over to claims
 * of their own, or convert it to shared, or to exclusive again.  Any of them may
 * be killed anywhere.  (A shared claim that is handed over stays in the chain:
 * handoff_shared.pml.)
 *
 *	state[c]	the use in which claim c is HELD; 0: FREE
 *	word		ver << 3 | claim; in use[claim] it was granted
 *	mark[c]		the use that is said to move, its low bit; or NONE
 *
 * A use that is converted, or moved, is the next one (seq + 2^20 + 1).
 *
 *	P1	a claim that is held, and named by no word, is marked when all is
 *		over: so its chunk's next keeper frees it
 *	P2	a reader's lease, as long as it is not certain that it came in
 *		time, is marked
 *	P3	nobody was killed: no claim that is held is marked when all is
 *		over
 */
#ifndef ONLY
#define ONLY 0
#endif
#define CLAIMED(n, x)	assert((ONLY != 0 && ONLY != n) || (x))

#define NONE	255
#define WORD(c, v)	((v) << 3 | (c))
#define CLAIM(w)	((w) & 7)
#define VER(w)		((w) >> 3)
#define SAID(c)		(mark[c] == BITS(state[c]))
#ifdef MUTANT_TAG		/* one bit for all uses */
#define BITS(q)		0
#else
#define BITS(q)		(q)
#endif

#define AGAIN	9		/* a later use than any */

byte state[5];
byte use[5];
byte mark[5] = NONE;
byte word = WORD(1, 1);
bit reads;			/* it is a reader's */
byte unsure;			/* claim of which that is not certain yet */
byte kills;

#define DIE	if \
	:: atomic { kills < KILLS -> kills++; goto over } \
	:: skip \
	fi

/* Set exactly, clear exactly: if the claim is in that use.  (What was said
 * before is compared, too, so both are one step.) */
#ifdef MUTANT_LATE
#define SAY(c, q)	mark[c] = BITS(q)
#else
#define SAY(c, q)	mark[c] = (state[c] == q -> BITS(q) : mark[c])
#endif
#define UNSAY(c, q)	mark[c] = (mark[c] == BITS(q) -> NONE : mark[c])
/* ... by its keeper, who announces it. */
#define WILL(c, q)	mark[c] = BITS(q)

/* Hand it over, whatever claim has it, to claim c. */
proctype hander(byte c)
{
	byte f, q, w;

	atomic { true -> w = word; f = CLAIM(w); q = use[f] };
	if
	:: state[f] == q && f != c && !reads
	:: state[f] != q || f == c || reads -> goto over
	fi;
	atomic { true -> WILL(c, 1) };
	atomic { true -> state[c] = 1 };
#ifdef MUTANT_LOSER
	atomic { true -> SAY(f, q + 1) };
#endif
	DIE;
	if
	:: atomic { state[f] == q -> state[f] = q + 1 }
	:: state[f] != q -> goto back
	fi;
	DIE;
#if !defined(MUTANT_LOSER) && !defined(MUTANT_AFTER)
	atomic { true -> SAY(f, q + 1) };
	DIE;
#endif
	if
	:: atomic { word == w ->
		word = WORD(c, VER(w) + 1);
		use[c] = 1
	   }
	:: atomic { word != w ->			/* released */
		state[f] = (state[f] == q + 1 -> q : state[f])
	   }
	   goto back
	fi;
	DIE;
#ifdef MUTANT_AFTER
	atomic { true -> SAY(f, q + 1) };
#endif
	atomic { true -> UNSAY(c, 1) };
	DIE;
	atomic { true -> state[f] = (state[f] == q + 1 -> 0 : state[f]) };
	goto over;
back:	atomic { true -> state[c] = 0 };
#ifdef MUTANT_LOSER
	atomic { true -> UNSAY(f, q + 1) };
#endif
over:	skip
}

/* Make it a reader's, said until that is seen to have come in time; or
 * exclusive again. */
proctype converter()
{
	byte f, q, w;
	bit up;

	atomic { true -> w = word; f = CLAIM(w); q = use[f]; up = reads };
	DIE;
	if
	:: atomic { state[f] == q -> state[f] = q + 1 }
	:: state[f] != q -> goto over
	fi;
	DIE;
#ifndef MUTANT_SAY
	atomic { true -> if :: up :: !up -> SAY(f, q + 1) fi };
	DIE;
#endif
	if
	:: atomic { word == w ->
		word = WORD(f, VER(w) + 1);
		use[f] = q + 1;
		reads = !up;
		unsure = (up -> 0 : f)
	   }
	:: atomic { word != w ->
		state[f] = (state[f] == q + 1 -> q : state[f])
	   }
	   goto over
	fi;
	DIE;
	/* its session lives: held, and a reader's */
	atomic { true -> unsure = (use[f] == q + 1 -> 0 : unsure) };
	atomic { true -> UNSAY(f, q + 1) };
over:	skip
}

/* It lives: if it were killed between the two steps, its claim would be the
 * session's until the lease's deadline. */
proctype releaser()
{
	byte f, q, w;

	atomic { true -> w = word; f = CLAIM(w); q = use[f] };
	if
	:: atomic { word == w && !reads -> word = WORD(0, VER(w)) }
	:: word != w || reads -> goto over
	fi;
	atomic { true -> state[f] = (state[f] == q || state[f] == q + 1 ->
		0 : state[f]) };
over:	skip
}

/* When it has been released its claim is announced again, by one who is killed
 * before the word. */
proctype keeper()
{
	if
	:: atomic { state[1] == 0 && CLAIM(word) == 0 && kills < KILLS ->
		kills++;
		WILL(1, AGAIN)
	   }
	:: skip -> goto over
	fi;
	atomic { true -> state[1] = AGAIN };
over:	skip
}

#define LOST(c)	(state[c] != 0 && CLAIM(word) != c && !SAID(c))
#define IDLY(c)	(state[c] != 0 && CLAIM(word) == c && SAID(c))

init {
	atomic {
		state[1] = 1;
		use[1] = 1;
		run hander(2);
		run hander(3);
#ifdef RELEASE
		run releaser();
#endif
#ifdef KEEPER
		run keeper();
#endif
#if CONVERTERS > 0
		run converter();
#endif
#if CONVERTERS > 1
		run converter()
#endif
	};
	do
	:: atomic { unsure != 0 && reads && CLAIM(word) == unsure &&
		state[unsure] == use[unsure] && !SAID(unsure) ->
		CLAIMED(2, false); break
	   }
	:: _nr_pr == 1 -> break
	od;
	atomic {
		_nr_pr == 1 ->
		CLAIMED(1, !LOST(1) && !LOST(2) && !LOST(3));
		CLAIMED(3, kills > 0 || (!IDLY(1) && !IDLY(2) && !IDLY(3)))
	}
}
