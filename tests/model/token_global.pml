/* SPDX-License-Identifier: MIT */
/*
 * Tokens that rise over all keys of a table: are they in order and each given
 * once, and does a key's word tell its holders' tokens all the time, however far
 * the others go on meanwhile?  (I1, I2 of op/token_next.c, C6, W16)  And is it
 * above a base that is raised meanwhile?
 *
 * Two processes (or -DUSERS=3) and one key, which is held exclusively or read;
 * and the others, who are granted other keys: one after another, or so many at
 * once that the key's next token is far.  Here a version has 5 bits, not 40, a
 * jump is less than a quarter of all versions, here as there, under readers a
 * little more (a sixteenth there), and a hint may lag by 1 (2^30 there).
 *
 * Operations, each access one step:
 *	ACQUIRES	look at the word; hint; the word again; move the hint if
 *		it lags and nobody reads; load the last token; a long way by
 *		skips (then look again); swap the last token; swap the word;
 *		then move the hint, unless others read
 *	KEEPS	whoever had it exclusively acquires it again with the word that it
 *		left (op/acquire_over_all.c): load the last token; hint; swap the
 *		last token; swap the word.  It gives up, and looks at the word,
 *		if the hint would lag, or a swap fails
 *	a holder	converts (a reader that is the only one: an upgrade is a
 *		grant as well), and releases, a reader out of the chain wherever
 *		it is
 *	OTHERS	a grant of another key, which returns at once
 *	FARS	so many of them that the way is far: what readers can just go,
 *		or further
 *	EVICTS	the free key is evicted, and comes back: the version goes on
 *	READING	a third one reads the key from the beginning to the end
 *	BASES	it is a cluster key: who holds it exclusively raises its base, a
 *		little or far; nothing is drawn, tokens are above the base
 *
 * Left out: the ranges (token_range.pml), which a draw takes as a key does; the ceiling;
 * how a chain is taken apart (readers.pml): here a reader goes in one step.
 *
 * Properties.
 *  P1	A holder finds its own token by version and hint.		(C6)
 *  P2	A grant that begins after another has returned has a larger token.
 *  P3	No two grants have one token.
 *  P4	A key's tokens rise.						(G2)
 *  P5	A grant's token is above the base.
 *
 * Mutants leave out one rule each:
 *	DRAW	the key's next token is taken, whatever was drawn
 *	STORE	the last token is stored, not swapped
 *	AFTER	the last token is swapped after the word
 *	STAYS	the hint is moved while others read, by who joins
 *	LOOKS	... or by who only looks
 *	BOUND	readers join however far it is
 *	SKIP	a long way is one jump
 *	REVIVE	a reader that comes back has the token that it had
 *	EARLY	the base is read before the word
 *	KEPT	the word that was left is kept, and the token after its own taken
 *	LAGS	with the word that was left, the hint may lag
 *	LATER	... and the last token is swapped after the word
 */
#ifndef ONLY
#define ONLY 0
#endif
#define CLAIMED(n, x)	assert((ONLY != 0 && ONLY != n) || (x))

#ifndef ACQUIRES
#define ACQUIRES 3
#endif
#ifndef OTHERS
#define OTHERS 1
#endif
#ifndef FARS
#define FARS 2
#endif
#ifndef CONVERTS
#define CONVERTS 0
#endif
#ifndef EVICTS
#define EVICTS 0
#endif
#ifndef BASES
#define BASES 0
#endif
#ifndef KEEPS
#define KEEPS 0
#endif
#ifndef USERS
#define USERS 2
#endif

#define VERS		32
#define JUMP_MAX	(VERS / 4)
#define HELD_MAX	(VERS / 4 + 2)
#define LAG_MAX		1

/* who: 0 nobody, else process; mode */
#define FREE		0
#define X		1
#define S		2
#define WORD(m, c, t)	(((t) % VERS) << 4 | (m) << 2 | (c))
#define WHO(w)		((w) & 3)
#define MODE(w)		((w) >> 2 & 3)
#define VER(w)		((w) >> 4)
/* the token with that version which is nearest to the hint */
#define TOKEN(h, v)	((h) + ((v) + VERS + VERS / 2 - (h) % VERS) % VERS - \
			VERS / 2)
#define BEGIN		VERS
#if BASES
#define LAST		base
#else
#define LAST		last
#endif

#ifdef READING			/* a third one does, all the time */
short word = WORD(S, 3, BEGIN);
bool reads[4] = { false, false, false, true };
short had[4] = { 0, 0, 0, BEGIN };
#else
short word = WORD(FREE, 0, BEGIN);
bool reads[4];			/* is in the chain */
short had[4];			/* ghost: tokens of those who hold it */
#endif
short hint = BEGIN;
short last = BEGIN;		/* drawn by anybody */
byte acquires = ACQUIRES, others = OTHERS, fars = FARS;
byte converts = CONVERTS, evicts = EVICTS, bases = BASES;
short base;			/* of a cluster key */

/* ghosts */
short told = BEGIN;		/* the largest token that somebody was given */
short theirs;			/* the others' last one */
short top = BEGIN;		/* the key's last one */

#define HEAD		(reads[1] -> 1 : (reads[2] -> 2 : \
			(reads[3] -> 3 : 0)))
#define OTHERS_READ	((_pid != 1 && reads[1]) || (_pid != 2 && reads[2]) || \
			(_pid != 3 && reads[3]))
#define ALONE		(word == WORD(S, _pid, VER(word)) && !OTHERS_READ)
/* the key's word once we are out of the chain */
#define WITHOUT(w)	(HEAD == 0 -> WORD(FREE, 0, VER(w)) : \
			(WHO(w) == _pid -> WORD(S, HEAD, VER(w)) : (w)))

inline done()
{
	w = 0; h = 0; next = 0; token = 0; l = 0; before = 0;
	want = 0; up = false
}

#define FINDS(i)	(had[i] == 0 || TOKEN(hint, had[i] % VERS) == had[i])

/* The hint was moved, or the word is another. */
inline all_find_theirs()
{
	CLAIMED(1, FINDS(1) && FINDS(2) && FINDS(3))
}

/* The word is ours, with that token. */
inline granted()
{
#if !BASES
	CLAIMED(2, token > before);
#endif
	CLAIMED(3, token != theirs && token != had[1] && token != had[2] &&
	    token != had[3]);
	CLAIMED(4, token > top);
	CLAIMED(5, token > base);
	told = (told > token -> told : token);
	top = token;
	had[_pid] = token;
	word = WORD(want, _pid, token);
	reads[_pid] = (want == S);
	all_find_theirs()
}

proctype user()
{
	short w, h, next, token, l, before;
	byte want;
	bool up;
#if KEEPS
	short left = 0;			/* the token of the word that it left */
#endif

end_idle:
#ifdef MUTANT_EARLY
	l = base;
end_begin:
#endif
	if
#if KEEPS
	:: d_step {
		acquires > 0 && left != 0 ->
		want = X;
		before = told;
		next = left + 1
	   }
	   goto straight
#endif
	:: d_step {
		acquires > 0 && MODE(word) == FREE ->
		want = X;
		before = told;
		w = word
	   }
	:: d_step {
		acquires > 0 && MODE(word) != X ->
		want = S;
		before = told;
		w = word
	   }
	fi;
look:
	h = hint;
	if
	:: d_step { word == w -> next = TOKEN(h, VER(w) + 1) }
	:: d_step { word != w && !up -> done() } goto end_idle
	:: d_step { word != w && up -> done() } goto hold
	fi;
	if
#if defined(MUTANT_LOOKS)
	:: next > h + 1 + LAG_MAX ->
#else
	:: next > h + 1 + LAG_MAX && MODE(w) != S ->
#endif
		if
		:: d_step {
			hint == h ->
			hint = next - 1;
			h = next - 1;
			all_find_theirs()
		   }
		:: hint != h
		fi
#if defined(MUTANT_LOOKS)
	:: next <= h + 1 + LAG_MAX
#else
	:: next <= h + 1 + LAG_MAX || MODE(w) == S
#endif
	fi;
draw:
	atomic {
#ifndef MUTANT_EARLY
	l = LAST;
#endif
#ifdef MUTANT_DRAW
	token = next;
#else
	token = (next > l -> next : l + 1);
#endif
	if
#ifndef MUTANT_BOUND
	:: d_step { MODE(w) == S && token - h > HELD_MAX && !up -> done() }
	   goto end_idle			/* barred */
	:: d_step { MODE(w) == S && token - h > HELD_MAX && up -> done() }
	   goto hold
#endif
#ifndef MUTANT_SKIP
	:: MODE(w) == FREE && token - next >= JUMP_MAX -> next--; goto skips
#endif
	:: else
	fi
	};
#if !defined(MUTANT_AFTER) && !BASES
	if
#if defined(MUTANT_STORE)
	:: true -> last = token
#elif defined(MUTANT_DRAW)
	:: true
#else
	:: d_step { last == l -> last = token }
	:: last != l -> goto draw
#endif
	fi;
#endif
	if
	:: d_step {
		word == w && (acquires > 0 || up) ->
		acquires = (up -> acquires : acquires - 1);
		granted()
	   }
	:: d_step { !up && (word != w || acquires == 0) -> done() }
	   goto end_idle
	:: d_step { up && word != w -> done() } goto hold
	fi;
#ifdef MUTANT_AFTER
	if
	:: d_step { true -> last = (last > token -> last : token) }
	fi;
#endif
	if
#ifdef MUTANT_STAYS
	:: token > h + LAG_MAX ->
#else
	:: token > h + LAG_MAX && (MODE(w) != S || up) ->
#endif
		if
		:: d_step { hint == h -> hint = token; all_find_theirs() }
		:: hint != h
		fi
#ifdef MUTANT_STAYS
	:: token <= h + LAG_MAX
#else
	:: token <= h + LAG_MAX || (MODE(w) == S && !up)
#endif
	fi;
	d_step { true -> done() };
hold:
	if
	:: d_step {
		MODE(word) == X ->
		CLAIMED(1, WHO(word) == _pid);
		word = WORD(FREE, 0, VER(word));
#if KEEPS
		left = had[_pid];
#endif
		had[_pid] = 0
	   }
	:: d_step {
		MODE(word) == S ->
		reads[_pid] = false;
		word = WITHOUT(word);
		had[_pid] = 0
	   }
#ifdef MUTANT_REVIVE
	:: d_step { MODE(word) == S && acquires > 0 -> acquires--; before = told }
	   if
	   :: d_step { true -> CLAIMED(2, had[_pid] > before); before = 0 }
	   fi;
	   goto hold
#endif
#if BASES
	:: d_step { MODE(word) == X && bases > 0 -> bases--; base = top }
	   goto hold
	:: d_step {
		MODE(word) == X && bases > 0 ->
		bases--;
		base = top + VERS / 2 + 1
	   }
	   goto hold
#endif
#if CONVERTS
	:: d_step {
		MODE(word) == S && converts > 0 ->
		converts--;
		up = true;
		want = X;
		before = told
	   }
	   if
	   :: d_step { ALONE -> w = word } goto look
	   :: d_step { !ALONE -> done() } goto hold
	   fi
#endif
	fi;
	goto end_idle;

#if KEEPS
straight:
	l = last;
	d_step {
#ifdef MUTANT_KEPT
		token = next;
#else
		token = (next > l -> next : l + 1);
#endif
		h = hint
	}
	if
#ifndef MUTANT_LAGS
	:: d_step { token - h > LAG_MAX -> left = 0; done() } goto end_idle
	:: token - h <= LAG_MAX
#else
	:: true
#endif
	fi;
#if !defined(MUTANT_LATER) && !defined(MUTANT_KEPT)
	if
	:: d_step { last == l -> last = token }
	:: d_step { last != l -> left = 0; done() } goto end_idle
	fi;
#endif
	if
	:: d_step {
		word == WORD(FREE, 0, left) && acquires > 0 ->
		acquires--;
		left = 0;
		granted()
	   }
	:: d_step {
		word != WORD(FREE, 0, left) || acquires == 0 ->
		left = 0;
		done()
	   }
	   goto end_idle
	fi;
#ifdef MUTANT_LATER
	d_step { true -> last = (last > token -> last : token) };
#endif
	d_step { true -> done() };
	goto hold;
#endif

skips:	/* from next, which the word has, to near the token */
	if
	:: d_step {
		token - next < JUMP_MAX && MODE(word) != X &&
		    (MODE(word) == FREE || want == S) ->
		h = 0; next = 0; token = 0; l = 0;
		w = word
	   }
	   goto look
	:: d_step {
		token - next < JUMP_MAX && MODE(word) != FREE &&
		    (MODE(word) == X || want == X) ->
		done()
	   }
	   goto end_idle
	:: token - next >= JUMP_MAX
	fi;
	if
	:: d_step {
		word == w ->
		next = next + JUMP_MAX - 1;
		word = WORD(FREE, 0, next);
		top = next;
		w = word
	   }
	:: d_step { word != w -> done() } goto end_idle
	fi;
	if
	:: d_step {
		hint == h -> hint = next; h = next; all_find_theirs()
	   }
	   goto skips
	:: d_step { hint != h -> done() } goto end_idle
	fi
}

active proctype world()
{
	short before;

	atomic {
		run user();
		run user();
#if USERS > 2
		run user()
#endif
	}
end_world:
	do
	:: d_step {
		others > 0 ->
		others--;
		last++;
		CLAIMED(3, last != had[1] && last != had[2] && last != had[3]);
		theirs = last;
		told = last
	   }
	:: atomic {
		fars > 0 ->
		fars--;
		if
		:: last = last + HELD_MAX - 1
		:: last = last + VERS / 2 + 1
		fi;
		told = last
	   }
	:: d_step {
		evicts > 0 && MODE(word) == FREE ->
		evicts--;
		word = WORD(FREE, 0, VER(word) + 2);
		top = top + 2
	   }
	od
}
