/* SPDX-License-Identifier: MIT */
/*
 * One key goes from range to range of a table's tokens: does its word tell its
 * token all the time, and does no value of it come back?  (C6, W16, I3 of
 * op/token_ceiling.c, I1 of shm/lock_word.c)
 *
 * Two processes (or -DUSERS=3), one key.  The word says who holds it and a
 * version, which is its token modulo 2^40; the hint is a token that the word
 * had.  Here a range is 16 tokens and a version 8 bits, so that one range in 16
 * looks like another, not one in 256.  A jump is less than a quarter of all
 * versions, here as there, and a hint may lag by 1 (2^30 there).
 *
 * Operations, each access one step:
 *	ACQUIRES	look at the word; hint; the word again; move the hint if
 *		it lags; load the latest range; a long way by skips (then look
 *		again), else swap the word, then move the hint
 *	FREES	a process that finds the key held frees it, as its holder or for
 *		it: a swap of exactly the word that it saw, however late
 *	RAISES	another range is the table's latest: the next, one that is just
 *		in reach of a jump, or one that looks like the last (once)
 *
 * Left out: readers and conversions, who go no way by skips; eviction.
 *
 * Properties.
 *  P1	A process that reads the same word before and after the hint knows its
 *	token from the hint.						(C6)
 *  P2	Tokens rise.							(G2)
 *  P3	Tokens are in ranges of the table.				(I3)
 *  P4	A swap that frees frees the grant that was seen.		(I1)
 *
 * Mutants leave out one rule each:
 *	PLACE	a key begins in another range at its first token
 *	STAY	a skip keeps the place in the range
 *	SKIP	a long way is one jump
 *	HINT	the hint is not moved but by skips
 *	AGAIN	no second look at the word
 */
#ifndef ONLY
#define ONLY 0
#endif
#define CLAIMED(n, x)	assert((ONLY != 0 && ONLY != n) || (x))

#ifndef ACQUIRES
#define ACQUIRES 3
#endif
#ifndef FREES
#define FREES 2
#endif
#ifndef USERS
#define USERS 2
#endif
#ifndef RAISES
#define RAISES 1
#endif

#define WIDTH		16	/* of a range */
#define ALIKE		16	/* ranges */
#define VERS		(ALIKE * WIDTH)
#define JUMP_MAX	(VERS / 4)
#define LAG_MAX		1

#define WORD(c, token)	(((token) % VERS) << 2 | (c))
#define CLAIM(w)	((w) & 3)
#define VER(w)		((w) >> 2)
/* the token with that version which is nearest to the hint */
#define TOKEN(h, v)	((h) + ((v) + VERS + VERS / 2 - (h) % VERS) % VERS - \
			VERS / 2)
#define BEGIN		WIDTH	/* of the first range, which is number 1 */

short word = WORD(0, BEGIN);
short hint = BEGIN;
byte latest = 1;
byte acquires = ACQUIRES, frees = FREES, raises = RAISES;

/* ghosts */
short tok = BEGIN;		/* the word's */
short last;			/* that was granted */
byte grants;
int ours = 2;			/* bit n: range n is the table's */

inline done()
{
	w = 0; h = 0; next = 0; token = 0; to = 0; seen = 0
}

proctype user()
{
	short w, h, next, token, to;
	byte seen;

end_idle:
	if
	:: acquires > 0
	fi;
look:
	if
	:: d_step { CLAIM(word) == 0 -> w = word }
	:: d_step { CLAIM(word) != 0 && frees > 0 -> w = word; seen = grants }
	   goto free
	:: d_step { CLAIM(word) != 0 && frees == 0 -> done() } goto end_idle
	fi;
	h = hint;
	if
#ifdef MUTANT_AGAIN
	:: d_step {
		true ->
		next = TOKEN(h, VER(w) + 1);
		CLAIMED(1, word != w || next == tok + 1)
	   }
#else
	:: d_step {
		word == w ->
		next = TOKEN(h, VER(w) + 1);
		CLAIMED(1, next == tok + 1)
	   }
	:: d_step { word != w -> done() } goto end_idle
#endif
	fi;
#ifndef MUTANT_HINT
	if
	:: next > h + 1 + LAG_MAX ->
		if
		:: d_step { hint == h -> hint = next - 1; h = next - 1 }
		:: hint != h
		fi
	:: next <= h + 1 + LAG_MAX
	fi;
#endif
	if
	:: d_step {
		latest * WIDTH > next ->
#ifdef MUTANT_PLACE
		token = latest * WIDTH
#else
		token = latest * WIDTH + next % WIDTH
#endif
	   }
	:: d_step {
		latest * WIDTH <= next && next < (latest + 1) * WIDTH ->
		token = next
	   }
	:: d_step { next >= (latest + 1) * WIDTH -> done() }
	   goto end_idle			/* no other range: EIO */
	fi;
#ifndef MUTANT_SKIP
	if
	:: token - next >= JUMP_MAX -> next--; goto skips
	:: token - next < JUMP_MAX
	fi;
#endif
	if
	:: d_step {
		word == w && acquires > 0 ->
		acquires--;
		CLAIMED(2, token > last);
		CLAIMED(3, ours & (1 << (token / WIDTH)));
		word = WORD(_pid, token);
		tok = token;
		last = token;
		grants++
	   }
	:: d_step { word != w || acquires == 0 -> done() } goto end_idle
	fi;
	if
	:: d_step {
		token > h + LAG_MAX ->
#ifndef MUTANT_HINT
		hint = (hint == h -> token : hint);
#endif
		done()
	   }
	:: d_step { token <= h + LAG_MAX -> done() }
	fi;
	goto end_idle;

skips:	/* from next, which the word has, to the range of token */
	if
	:: d_step {
		next / WIDTH == token / WIDTH -> h = 0; next = 0; token = 0
	   }
	   goto look
	:: next / WIDTH < token / WIDTH
	fi;
	if
	:: d_step {
		word == w ->
#if defined(MUTANT_PLACE)
		to = token;
		to = (to - next >= JUMP_MAX -> next + JUMP_MAX - WIDTH : to);
#elif defined(MUTANT_STAY)
		to = token / WIDTH * WIDTH + next % WIDTH;
		to = (to - next >= JUMP_MAX -> next + JUMP_MAX - WIDTH : to);
#else
		to = token / WIDTH * WIDTH + (next + 1) % WIDTH;
		to = (to - next >= JUMP_MAX -> next + JUMP_MAX - WIDTH + 1 :
		    to);
#endif
		word = WORD(0, to);
		tok = to;
		w = word
	   }
	:: d_step { word != w -> done() } goto end_idle
	fi;
	if
	:: d_step { hint == h -> hint = to; h = to; next = to; to = 0 }
	   goto skips
	:: d_step { hint != h -> done() } goto end_idle
	fi;

free:
	if
	:: d_step {
		word == w && frees > 0 ->
		frees--;
		CLAIMED(4, grants == seen);
		word = WORD(0, VER(w));
		done()
	   }
	:: d_step { word != w || frees == 0 -> done() }
	fi;
	goto end_idle
}

active proctype world()
{
	byte far;

	atomic {
		run user();
		run user();
#if USERS > 2
		run user()
#endif
	}
end_world:
	do
	:: atomic {
		raises > 0 ->
		raises--;
		if
		:: far = 1
		:: far = JUMP_MAX / WIDTH - 1
		:: latest < ALIKE -> far = ALIKE
		fi;
		latest = latest + far;
		ours = ours | (1 << latest);
		far = 0
	   }
	od
}
