/* SPDX-License-Identifier: MIT */
/*
 * The chain of readers: is there ever a writer beside a reader, is a reader who
 * lives ever taken out, and is a key ever lost to claims of nobody?
 *
 * Three processes, two keys (one where -DKEYS=1), one claim each, so that a
 * claim goes to and fro between exclusive and shared, and between the keys.  An
 * operation is begun by any process at any time, as long as its budget lasts:
 *	READS	acquire shared: revive the own idle claim of this key, else push
 *	WRITES	acquire exclusive: collapse the chain (revoke idle ones, expire,
 *		take out the dead) as far as the first that lives
 *	RELEASES anybody's lease, also one that somebody is just releasing or
 *		converting: the caller is another thread of the holder.  By its
 *		owner: sole, sticky (also a sole one) or leave; by others: leave
 *	CONVERTS anybody's lease, the other way: down; up, if it is sole
 *	LOOKS	a whole walk by a bystander
 *	OBSERVES a bystander computes the token of a version that may be old
 *	LATES	a deadline passes; KILLS: deaths at any step (common.pml),
 *		burial by whole walk, and rebirth
 * An owner that needs its claim, idle or ended, frees it first: it ends the
 * claim, marks it, and walks until the word is seen not to name it.  Each access to shared
 * memory is one step.  In a walk: load of the link, load of the state,
 * validation, one swap each to expire or revoke, mark, unlink.
 *
 * Time.  A deadline is one bit a claim, past, which everyone reads as the
 * clock, and which a new use of the claim clears.  Exact states (seq) say what
 * exact deadlines would.  Extension is in exclusive.pml.
 *
 * Left out: the queue, suspects, the 20 ms pause, kicks, eviction, wrap of seq,
 * ver and tag, BROKEN (as REVOKED), hop limits, weak memory.  (A process that
 * would wait gives up.  A release may find somebody queued, or not, and a revive
 * never does.)  A reader that was converted always leaves: that its new token is
 * kept with it, so that it may be revived, is not covered.  With KILLS, a lease
 * is converted by its owner's process only (threads die together).  Tokens are
 * versions, but with OBSERVES they are made from the hint and the version
 * modulo 16, and the winner of each grant moves the hint.
 *
 * Properties.
 *  P1	A word is swapped to X, and X granted, only while nobody else is
 *	certain of the key; to a new reader, and S granted, only while no
 *	writer is.  Certain is who was granted, from the return of the grant
 *	until anybody calls release with this lease, the deadline passes, or
 *	the holder dies.				(G1)
 *  P2	Nobody marks a claim that is HELD, linked and not dead; no claim is
 *	linked marked.					(C12)
 *  P3	The token of an exclusive grant is above all before; of a reader, also
 *	a revived one, not below any earlier exclusive one; a token is the one
 *	of its version.					(G2, C6)
 *  P4	A claim that becomes FREE is named by no word and in no chain; what a
 *	validated walk meets is not FREE; who revives is in the chain.
 *  P5	Whenever nobody is in an operation: a chain ends, has only members of
 *	its key, none FREE; an X word names a claim that holds it or is
 *	terminal or dead; and who is certain is there, HELD.  So the next one
 *	who wants the key can free it from all who are gone: nothing is lost.
 * No deadlock: invalid end states.
 *
 * Mutants leave out one rule each:
 *	VER	a push onto a chain keeps the version
 *	C6	the distance to the hint is unsigned, and observers move the hint
 *	PROOF	a walk reads the link again after the proof, and marks that
 *	LEAVE	who leaves reads its link after its claim is REVOKED: by then it
 *		may be in its next use
 *	REVOKE	a writer marks HELD readers too
 *	REVIVE	a revived claim keeps its seq
 *	SOLE	any thread, not only the owner's, may free the word first
 *		and leave idle: the owner may revive between look and swap
 *	DOWN	a downgrade stores its link
 *	UP	an upgrade swaps the word only: a copy of the reader's lease,
 *		released at that time, leaves X over an idle claim
 *	LOOK	an owner takes its claim back when the word is not S any more,
 *		or its own swap failed: a late conversion may have made it X
 *
 * Seen: 0.1 to 3.8 million states in the usual configurations.  Above 350 lines,
 * as exclusive.pml, and for the same reason.
 */
#define VER_AT 3
#include "common.pml"

#ifndef READS
#define READS 0
#endif
#ifndef WRITES
#define WRITES 0
#endif
#ifndef RELEASES
#define RELEASES 0
#endif
#ifndef CONVERTS
#define CONVERTS 0
#endif
#ifndef LATES
#define LATES 0
#endif
#ifndef LOOKS
#define LOOKS 0
#endif
#ifndef OBSERVES
#define OBSERVES 0
#endif
#ifndef KEYS
#define KEYS 2
#endif

/* lock word: FREE (claim 0), X, or S: the claim is the head of a chain */
#define SHARED		4
#define SWORD(c, v)	(WORD(c, v) | SHARED)
#define IS_S(w)		((w) & SHARED)
#define IS_FREE(w)	(CLAIM(w) == 0)
#define IS_X(w)		(CLAIM(w) != 0 && !IS_S(w))
/* what is left of the chain when its head goes */
#define REST(i, w)	((i) != 0 -> SWORD(i, VER(w)) : WORD(0, VER(w)))

/* claim state */
#define FREE		0
#define HELD		1
#define IDLE		2
#define REVOKED		3
#define EXPIRED		4
#define STATE(st, q)	(((q) << 3) | (st))
#define ST(s)		((s) & 7)
#define SEQ(s)		((s) >> 3)
#define TERMINAL(s)	(ST(s) >= REVOKED)

/* link */
#define LINK(m, i, t)	(((t) << 3) | ((i) << 1) | (m))
#define MARK(l)		((l) & 1)
#define IDX(l)		(((l) >> 1) & 3)
#define TAG(l)		((l) >> 3)

/* lease record: what its holder presents; 0: none */
#define LEASE(v, conv, k, x) (((v) << 3) | ((conv) << 2) | ((k) << 1) | (x))
#define L_VER(r)	((r) >> 3)
#define L_CONV(r)	(((r) >> 2) & 1)
#define L_KEY(r)	(((r) >> 1) & 1)
#define L_X(r)		((r) & 1)

/* shared memory, with word[] */
byte rnext[NP + 1];
byte state[NP + 1];
byte token[NP + 1];	/* of the claim's last push */
bit home[NP + 1];
#if OBSERVES
byte hint[2];
#endif

byte lease[NP + 1], lease_seq[NP + 1];
byte past;		/* bit c: the deadline of claim c is past */
byte busy;		/* bit p: process p is in an operation */
byte reads = READS, writes = WRITES, releases = RELEASES,
    converts = CONVERTS, lates = LATES, looks = LOOKS, observes = OBSERVES;

/* ghosts */
byte reader[2];		/* bit c: claim c's holder is certain to read */
byte writer[2];		/* bit c: ... to write */
byte top_x[2], top_s[2]; /* largest token of each mode so far */

#define BIT(c)		(1 << (c))
#define PAST(c)		(past & BIT(c))
#define HELD_AS(c, q)	(state[c] == STATE(HELD, q))

/* the members of key k's chain */
#define M1(k)		(IS_S(word[k]) -> CLAIM(word[k]) : 0)
#define M2(k)		(M1(k) != 0 -> IDX(rnext[M1(k)]) : 0)
#define M3(k)		(M2(k) != 0 -> IDX(rnext[M2(k)]) : 0)
#define LINKED_AT(c, k)	(M1(k) == (c) || M2(k) == (c) || M3(k) == (c))
#define LINKED(c)	(LINKED_AT(c, 0) || LINKED_AT(c, 1))
#define NAMED(c)	(CLAIM(word[0]) == (c) || CLAIM(word[1]) == (c))

inline not_certain(c_)
{
	reader[0] = reader[0] & ~BIT(c_);
	reader[1] = reader[1] & ~BIT(c_);
	writer[0] = writer[0] & ~BIT(c_);
	writer[1] = writer[1] & ~BIT(c_)
}

inline forget() { pred = 0; pl = 0; cur = 0; l = 0; s = 0 }

inline reset()
{
	forget();
	c = 0; w = 0; q = 0; v = 0; ret = 0; k = 0; to = 0; x = 0; all = 0;
	revoke = 0; conv = 0
}

inline done() { busy = busy & ~BIT(me); reset() }

inline begin() { start_me(); busy = busy | BIT(me) }

inline present(p)
{
	c = p;
	k = L_KEY(lease[p]);
	v = L_VER(lease[p]);
	x = L_X(lease[p]);
	conv = L_CONV(lease[p]);
	q = lease_seq[p]
}

#define SOME_LEASE	(lease[1] || lease[2] || lease[3])

inline present_some()
{
	if
	:: lease[1] -> present(1)
	:: lease[2] -> present(2)
	:: lease[3] -> present(3)
	fi
}

#define M 16		/* versions, modulo */
#ifdef MUTANT_C6
#define TOKEN(h, v)	((h) + (((v) - (h)) & (M - 1)))
#else
#define TOKEN(h, v)	((h) + ((((v) - (h) + M / 2) & (M - 1)) - M / 2))
#endif

/* a grant: c is certain from now on; the order of tokens is looked at where
 * the word is swapped, and for a revived reader here */
inline granted(t, v_, conv_, x_)
{
	if
	:: x_ ->
		CLAIMED(1, writer[k] == 0 && (reader[k] & ~BIT(c)) == 0);
		writer[k] = BIT(c);
		reader[k] = reader[k] & ~BIT(c)
	:: else ->
		CLAIMED(1, (writer[k] & ~BIT(c)) == 0);
		CLAIMED(3, t >= top_x[k]);
		writer[k] = writer[k] & ~BIT(c);
		reader[k] = reader[k] | BIT(c)
	fi;
	lease[c] = LEASE((x_ -> v_ : 1), conv_, k, x_);
	lease_seq[c] = q
}

inline tokens_of_x(t)
{
	CLAIMED(3, t > top_x[k] && t > top_s[k]);
	top_x[k] = t
}

inline tokens_of_s(t)
{
	CLAIMED(3, t >= top_x[k]);
	top_s[k] = (t > top_s[k] -> t : top_s[k])
}

/* A lease that has been released is presented by nobody who comes later. */
inline released()
{
	if
	:: c != 0 && lease_seq[c] == q && !HELD_AS(c, q) ->
		lease[c] = 0;
		lease_seq[c] = 0
	:: else
	fi;
	done()
}

inline claim_free(c_)
{
	CLAIMED(4, !NAMED(c_) && !LINKED(c_));
	token[c_] = 0;
	state[c_] = STATE(FREE, SEQ(state[c_]))
}

/* walk: then */
#define TO_END		0
#define TO_TRY		1
#define TO_UPGRADE	2
#define TO_RETAKEN	3
#define TO_BURIED	4

proctype user(byte me)
{
	byte c, w, l, s, q, v, pred, pl, cur, ret;
	bit k, to, x, all, revoke, conv;

end_alive:
	{ true;
end_idle:
	if
	:: atomic {
		reads + writes > 0 && MAY_START &&
		    (started > 0 || reads + writes == READS + WRITES) ->
		if
		:: reads > 0 -> reads--
		:: writes > 0 -> writes--; x = 1
		fi;
		if
		:: k = 0
		:: KEYS == 2 && (started > 1 ||
		    reads + writes < READS + WRITES - 1) -> k = 1
		fi;
		to = k;
		c = me;
		begin()
	   }
	   goto acquire
	:: atomic {
		releases > 0 && SOME_LEASE && MAY_START ->
		releases--;
		begin();
		present_some();
		not_certain(c)
	   }
	   if
	   :: x -> goto release_x
	   :: !x -> goto release_s
	   fi
	:: atomic {
		converts > 0 && SOME_LEASE && MAY_START &&
		    (!KILLS || lease[me]) ->
		converts--;
		begin();
		/* threads die with their session */
		if
		:: KILLS -> present(me)
		:: !KILLS -> present_some()
		fi;
		if
		:: x && (writer[k] & BIT(c)) ->
			writer[k] = 0;
			reader[k] = reader[k] | BIT(c)
		:: else
		fi;
		if
		:: x
		:: !x -> revoke = 1; all = 1; ret = TO_UPGRADE
		fi
	   }
	   if
	   :: x -> goto downgrade
	   :: !x -> goto walk
	   fi
#if LOOKS
	:: atomic {
		looks > 0 && MAY_START && started > 0 ->
		looks--;
		begin();
		all = 1;
		if
		:: k = 0
		:: KEYS == 2 -> k = 1
		fi
	   }
	   goto walk
#endif
#if OBSERVES
	:: atomic {
		observes > 0 && MAY_START && started > 0 ->
		observes--;
		begin();
		w = word[0]
	   }
	   goto observe
#endif
#if KILLS
	:: atomic {
		(CAN_BURY(1) || CAN_BURY(2) || CAN_BURY(3)) && MAY_START ->
		begin();
		if
		:: CAN_BURY(1) -> c = 1
		:: CAN_BURY(2) -> c = 2
		:: CAN_BURY(3) -> c = 3
		fi;
		recycler[c] = me
	   }
	   goto bury
#endif
	fi;

acquire:	/* the claim first */
	if
	:: d_step { ST(state[me]) == FREE -> q = SEQ(state[me]) + 1 }
	   goto try
	:: d_step { ST(state[me]) == HELD -> done() }
	   goto end_idle					/* in use */
	:: d_step {
		ST(state[me]) == IDLE -> s = state[me]; q = SEQ(s)
	   }
	:: TERMINAL(state[me]) -> goto retake
	fi;
	if
	:: d_step {
		!x && home[me] == k && state[me] == s ->
		/* revive */
#ifndef MUTANT_REVIVE
		q = q + 1;
#endif
		state[me] = STATE(HELD, q);
		past = past & ~BIT(me);
		CLAIMED(4, LINKED_AT(me, k));
		s = 0
	   }
	   goto revived
	:: d_step {
		(x || home[me] != k) && state[me] == s ->
		state[me] = STATE(REVOKED, q);
		s = 0
	   }
	:: d_step { state[me] != s -> s = 0 }
	   goto acquire
	fi;
retake:
	if
	:: d_step { MARK(rnext[me]) -> k = home[me] }
	:: d_step { !MARK(rnext[me]) -> l = rnext[me]; k = home[me] }
	   if
	   :: d_step {
		rnext[me] == l ->
		rnext[me] = l | 1;
		l = 0
	      }
	   :: d_step { rnext[me] != l -> l = 0 }
	      goto retake
	   fi
	fi;
out:
	if
	:: atomic { IS_S(word[k]) -> ret = TO_RETAKEN; all = 1 }
	   goto walk
	:: d_step { IS_X(word[k]) && CLAIM(word[k]) == me -> w = word[k] }
	   d_step { SWAP(word[k], w, WORD(0, VER(w))); w = 0 }
#ifndef MUTANT_LOOK
	   goto out	/* a late downgrade may have been first */
#endif
	:: !IS_S(word[k]) && CLAIM(word[k]) != me
	fi;
retaken:
	if
	:: d_step {
		true ->
		claim_free(me);
		q = SEQ(state[me]) + 1;
		k = to; ret = 0; all = 0
	   }
	fi;

try:
	if
	:: atomic { IS_FREE(word[k]) || (IS_S(word[k]) && !x) -> w = word[k] }
	:: atomic { IS_S(word[k]) && x -> revoke = 1; ret = TO_TRY }
	   goto walk
	:: atomic { IS_X(word[k]) -> w = word[k]; cur = CLAIM(w) }
	   goto settle
	fi;
#if OBSERVES
	v = hint[k];
	v = TOKEN(v, (VER(w) + 1) & (M - 1));
#else
	v = VER(w) + 1;
#endif
	if
	:: d_step {
		!x ->
		home[me] = k;
		token[me] = v;
		rnext[me] = LINK(0, CLAIM(w), TAG(rnext[me]) + 1);
		lease[me] = 0; lease_seq[me] = 0
	   }
	:: d_step {
		x -> home[me] = k; token[me] = v; lease[me] = 0;
		lease_seq[me] = 0
	   }
	fi;
	d_step { state[me] = STATE(HELD, q); past = past & ~BIT(me) };
	if
	:: d_step {
		word[k] == w ->
		CLAIMED(1, writer[k] == 0 && (!x || reader[k] == 0));
		if
		:: x -> tokens_of_x(v); word[k] = WORD(me, VER(w) + 1)
		:: else ->
			CLAIMED(2, !MARK(rnext[me]));
			tokens_of_s(v);
#ifdef MUTANT_VER
			word[k] = SWORD(me,
			    (IS_S(w) -> VER(w) : VER(w) + 1))
#else
			word[k] = SWORD(me, VER(w) + 1)
#endif
		fi;
#if OBSERVES
		CLAIMED(3, v == VER(w) + 1);
#endif
		w = word[k]
	   }
	:: word[k] != w -> goto not_had
	fi;
#if OBSERVES
	hint[k] = (v > hint[k] -> v : hint[k]);
#endif
	if
	:: d_step {
		!PAST(me) -> granted(v, VER(w), 0, x); done()
	   }
	   goto end_idle					/* granted */
	:: PAST(me) -> goto late
	fi;
not_had:
	if
	:: d_step { true -> claim_free(me); done() }
	   goto end_idle					/* busy */
	fi;
revived:
	if
	:: d_step {
		!PAST(me) -> v = token[me]; granted(v, v, 0, 0); done()
	   }
	   goto end_idle					/* granted */
	:: PAST(me) -> goto late
	fi;
late:	/* of an acquire or a conversion: enforce it first */
	if
	:: d_step {
		true ->
		SWAP(state[c], STATE(HELD, q), STATE(EXPIRED, q));
		done()
	   }
	   goto end_idle					/* ESTALE */
	fi;

settle:	/* an exclusive holder */
	if
	:: TERMINAL(state[cur]) -> goto settle_word
	:: d_step {
		ST(state[cur]) == HELD && PAST(cur) ->
		state[cur] = STATE(EXPIRED, SEQ(state[cur]))
	   }
	   goto settle_word
	:: dead[cur] -> goto settle_word
	:: d_step {
		!TERMINAL(state[cur]) && !dead[cur] &&
		    !(ST(state[cur]) == HELD && PAST(cur)) -> done()
	   }
	   goto end_idle					/* busy */
	fi;
settle_word:
	if
	:: d_step {
		true ->
		SWAP(word[k], w, WORD(0, VER(w)));
		w = 0; cur = 0
	   }
	   goto try
	fi;

release_x:
	if
	:: d_step { word[k] == WORD(c, v) -> word[k] = WORD(0, v) }
	:: d_step { word[k] != WORD(c, v) -> released() }
	   goto end_idle					/* ESTALE */
	fi;
	if
	:: d_step {
		true ->
		if
		:: HELD_AS(c, q) -> claim_free(c)
		:: else
		fi;
		released()
	   }
	   goto end_idle
	fi;

release_s:
#ifndef MUTANT_SOLE
	if
	:: c == me
	:: c == me -> goto part		/* sole or not: it may stay, idle */
	:: c != me -> goto leave	/* its owner may revive it meanwhile */
	fi;
#endif
	if
	:: d_step { IS_S(word[k]) && CLAIM(word[k]) == c -> w = word[k] }
	:: !(IS_S(word[k]) && CLAIM(word[k]) == c) -> goto part
	fi;
	if
	:: rnext[c] == LINK(0, 0, TAG(rnext[c]))
	:: d_step { rnext[c] != LINK(0, 0, TAG(rnext[c])) -> w = 0 }
	   goto part
	fi;
	if
	:: HELD_AS(c, q)
	:: d_step { !HELD_AS(c, q) -> released() }
	   goto end_idle					/* ESTALE */
	fi;
	if
	:: d_step { word[k] == w -> word[k] = WORD(0, VER(w)); w = 0 }
	:: d_step { word[k] != w -> w = 0 }
	   goto part
	fi;
	if
	:: d_step {
		true ->
		if
		:: HELD_AS(c, q) -> claim_free(c)
		:: else
		fi;
		released()
	   }
	   goto end_idle					/* released */
	fi;
part:	/* stay in the chain as IDLE, or leave */
	if
	:: d_step {
		HELD_AS(c, q) && !conv -> state[c] = STATE(IDLE, q)
	   }
	   if
	   :: d_step { true -> released() }
	      goto end_idle					/* sticky */
	   :: goto leave	/* somebody has queued meanwhile */
	   fi
	:: goto leave
	fi;
leave:
#ifndef MUTANT_LEAVE
	l = rnext[c];		/* before the proof (C12) */
#endif
	if
	:: d_step {
		SEQ(state[c]) == q && (ST(state[c]) == HELD ||
		    ST(state[c]) == IDLE || ST(state[c]) == REVOKED) ->
		state[c] = STATE(REVOKED, q)
	   }
	:: d_step {
		SEQ(state[c]) != q || ST(state[c]) == FREE ||
		    ST(state[c]) == EXPIRED -> released()
	   }
	   goto end_idle					/* ESTALE */
	fi;
#ifdef MUTANT_LEAVE
	l = rnext[c];
#endif
	if
	:: MARK(l) -> goto walk
	:: d_step {
		!MARK(l) && rnext[c] == l ->
		CLAIMED(2, ST(state[c]) != HELD || !LINKED(c));
		rnext[c] = l | 1;
		l = 0
	   }
	   goto walk
	:: d_step { !MARK(l) && rnext[c] != l -> l = 0 }
	   goto leave
	fi;

downgrade:
	l = rnext[c];
	if
	:: HELD_AS(c, q) && !PAST(c)
	:: d_step { HELD_AS(c, q) && PAST(c) -> skip } goto late
	:: d_step { !HELD_AS(c, q) -> done() }
	   goto end_idle					/* ESTALE */
	fi;
#ifdef MUTANT_DOWN
	rnext[c] = LINK(0, 0, TAG(l) + 1);
#else
	if
	:: d_step { rnext[c] == l -> rnext[c] = LINK(0, 0, TAG(l) + 1) }
	:: d_step { rnext[c] != l -> l = 0 }
	   goto downgrade
	fi;
#endif
	if
	:: d_step {
		HELD_AS(c, q) -> q = q + 1; state[c] = STATE(HELD, q); l = 0
	   }
	:: d_step { !HELD_AS(c, q) -> done() }
	   goto end_idle					/* ESTALE */
	fi;
	if
	:: d_step {
		word[k] == WORD(c, v) ->
		CLAIMED(2, !MARK(rnext[c]) || dead[c] || !HELD_AS(c, q));
		v = v + 1;
		word[k] = SWORD(c, v);
		tokens_of_s(v)
	   }
	:: word[k] != WORD(c, v) -> goto undo
	fi;
converted:
	if
	:: d_step {
		HELD_AS(c, q) && !PAST(c) ->
		x = !x;
		/* unless it was released meanwhile by another thread */
		if
		:: reader[k] & BIT(c) -> granted(v, v, 1, x)
		:: else -> lease[c] = LEASE((x -> v : 1), 1, k, x);
			lease_seq[c] = q
		fi;
		done()
	   }
	   goto end_idle
	:: HELD_AS(c, q) && PAST(c) -> goto late
	:: d_step { !HELD_AS(c, q) -> done() }
	   goto end_idle					/* ESTALE */
	fi;

upgrade:	/* the others are gone, or it does not succeed */
	if
	:: d_step { IS_S(word[k]) && CLAIM(word[k]) == c -> w = word[k] }
	:: d_step { !(IS_S(word[k]) && CLAIM(word[k]) == c) -> done() }
	   goto end_idle					/* busy */
	fi;
	if
	:: rnext[c] == LINK(0, 0, TAG(rnext[c]))
	:: d_step { rnext[c] != LINK(0, 0, TAG(rnext[c])) -> done() }
	   goto end_idle					/* busy */
	fi;
	/* state, then word: all copies of the lease are stale from here on */
	if
	:: d_step {
		HELD_AS(c, q) && !PAST(c) ->
#ifndef MUTANT_UP
		q = q + 1;
#endif
		state[c] = STATE(HELD, q)
	   }
	:: d_step { HELD_AS(c, q) && PAST(c) -> skip } goto late
	:: d_step { !HELD_AS(c, q) -> done() }
	   goto end_idle					/* ESTALE */
	fi;
	if
	:: d_step {
		word[k] == w ->
		CLAIMED(1, writer[k] == 0 && (reader[k] & ~BIT(c)) == 0);
		v = VER(w) + 1;
		word[k] = WORD(c, v);
		w = 0;
		tokens_of_x(v)
	   }
	   goto converted
	:: word[k] != w -> goto undo
	fi;
undo:	/* of a conversion: the word has changed */
	if
	:: d_step {
		true ->
		SWAP(state[c], STATE(HELD, q), STATE(HELD, q - 1));
		done()
	   }
	   goto end_idle
	fi;

walk:	/* from the word, as far as the first that stays, or to the end (all) */
	if
	:: d_step {
		IS_S(word[k]) ->
		forget();
		w = word[k];
		cur = CLAIM(w)
	   }
	:: d_step { !IS_S(word[k]) -> forget(); w = 0 }
	   if
#ifndef MUTANT_LOOK
	   /* a late upgrade of this very claim? */
	   :: ret == TO_RETAKEN -> goto out
#if KILLS
	   :: ret == TO_BURIED -> goto bury_word
#endif
	   :: ret != TO_RETAKEN && ret != TO_BURIED -> goto walked
#else
	   :: goto walked
#endif
	   fi
	fi;
hop:
	if
	:: d_step { cur == 0 -> forget(); w = 0 }
	   goto walked
	:: d_step { cur != 0 -> l = rnext[cur] }
	fi;
	s = state[cur];
	if
	:: d_step {
		(pred == 0 -> word[k] != w : rnext[pred] != pl) ->
		forget(); w = 0
	   }
	   goto walk
	:: d_step {
		(pred == 0 -> word[k] == w : rnext[pred] == pl) ->
		CLAIMED(4, ST(s) != FREE)
	   }
	fi;
	if
	:: MARK(l) -> goto unlink
	:: !MARK(l) && TERMINAL(s)
	:: !MARK(l) && !TERMINAL(s) && revoke && dead[cur]
	:: d_step {
		!MARK(l) && revoke && state[cur] == s && cur != c &&
		    (ST(s) == IDLE || (ST(s) == HELD && PAST(cur))) ->
		s = STATE((ST(s) == IDLE -> REVOKED : EXPIRED), SEQ(s));
		state[cur] = s
	   }
#ifdef MUTANT_REVOKE
	:: d_step {
		!MARK(l) && revoke && state[cur] == s && cur != c &&
		    ST(s) == HELD -> skip
	   }
#endif
	:: d_step {
		!MARK(l) && !TERMINAL(s) && revoke && state[cur] != s ->
		forget(); w = 0
	   }
	   goto walk
	:: d_step {
		!MARK(l) && (ST(s) == HELD || ST(s) == IDLE) &&
		    (!revoke || cur == c || (state[cur] == s && !dead[cur] &&
		    ST(s) == HELD && !PAST(cur))) ->
		if
		:: all -> pred = cur; pl = l; cur = IDX(l); l = 0; s = 0
		:: else -> forget(); w = 0; cur = NP + 1
		fi
	   }
	   if
	   :: cur != NP + 1 -> goto hop
	   :: d_step { cur == NP + 1 -> cur = 0 }
	      goto walked
	   fi
	fi;
#ifdef MUTANT_PROOF
	l = rnext[cur];
#endif
	if
	:: d_step {
		!MARK(l) && rnext[cur] == l ->
		CLAIMED(2, ST(state[cur]) != HELD || dead[cur] ||
		    !LINKED(cur));
		l = l | 1;
		rnext[cur] = l
	   }
	:: d_step { MARK(l) || rnext[cur] != l -> forget(); w = 0 }
	   goto walk
	fi;
unlink:
	if
	:: d_step {
		pred == 0 && word[k] == w ->
		w = REST(IDX(l), w);
		word[k] = w;
		cur = IDX(l);
		l = 0; s = 0;
		CLAIMED(5, CLAIM(w) == 0 || home[CLAIM(w)] == k)
	   }
	   goto hop
	:: d_step {
		pred != 0 && rnext[pred] == pl ->
		pl = LINK(0, IDX(l), TAG(pl) + 1);
		rnext[pred] = pl;
		cur = IDX(l);
		l = 0; s = 0
	   }
	   goto hop
	:: d_step {
		(pred == 0 -> word[k] != w : rnext[pred] != pl) ->
		forget(); w = 0
	   }
	   goto walk
	fi;
walked:
	if
	:: d_step { ret == TO_END -> released() } goto end_idle
	:: d_step { ret == TO_UPGRADE -> ret = 0 } goto upgrade
	:: ret == TO_RETAKEN -> goto retaken
#if KILLS
	:: ret == TO_BURIED -> goto buried
#endif
	:: d_step { ret == TO_TRY && IS_FREE(word[k]) -> ret = 0 } goto try
	:: d_step { ret == TO_TRY && !IS_FREE(word[k]) -> done() }
	   goto end_idle					/* busy */
	fi;

#if OBSERVES
observe:
	v = hint[0];
	if
	:: d_step {
		true ->
		v = TOKEN(v, VER(w) & (M - 1));
		CLAIMED(3, v == VER(w))
	   }
	fi;
#ifdef MUTANT_C6
	hint[0] = (v > hint[0] -> v : hint[0]);
#endif
	if
	:: d_step { true -> done() } goto end_idle
	fi;
#endif

#if KILLS
bury:
	if
	:: ST(state[c]) == FREE -> goto resurrect
	:: d_step { ST(state[c]) != FREE -> k = home[c] }
	fi;
bury_link:
	if
	:: MARK(rnext[c])
	:: d_step { !MARK(rnext[c]) -> rnext[c] = rnext[c] | 1 }
	fi;
bury_word:
	if
	:: atomic { IS_S(word[k]) -> ret = TO_BURIED; all = 1 }
	   goto walk
	:: d_step { IS_X(word[k]) && CLAIM(word[k]) == c -> w = word[k] }
	   d_step { SWAP(word[k], w, WORD(0, VER(w))); w = 0 }
	   goto bury_word
	:: !IS_S(word[k]) && CLAIM(word[k]) != c
	fi;
buried:
	if
	:: d_step { true -> claim_free(c) }
	fi;
resurrect:
	if
	:: d_step {
		true -> dead[c] = false; recycler[c] = 0; done()
	   }
	   goto end_idle
	fi
#endif
	} unless {
	d_step {
		victim == me ->
		fall();
		not_certain(me);
		lease[me] = 0; lease_seq[me] = 0;
		done()
	} };
end_dead:
	!dead[me];
	goto end_alive
}

/* P5 */
#define STAYS(c, k)	((c) == 0 || (ST(state[c]) != FREE && home[c] == (k)))
#define ENDS(l)		(l == 0 || IDX(rnext[l]) == 0)

/* a downgrade may have died before its word swap */
#define IN(c, k)	(ST(state[c]) == HELD && \
			(LINKED_AT(c, k) || CLAIM(word[k]) == (c)))

inline quiet_key(k)
{
	CLAIMED(5, STAYS(M1(k), k) && STAYS(M2(k), k) && STAYS(M3(k), k));
	CLAIMED(5, ENDS(M3(k)));
	CLAIMED(5, !IS_X(word[k]) || dead[CLAIM(word[k])] ||
	    (home[CLAIM(word[k])] == k &&
	    (ST(state[CLAIM(word[k])]) == HELD ||
	    TERMINAL(state[CLAIM(word[k])]))));
	/* who is certain is there */
	CLAIMED(5, writer[k] == 0 || (IS_X(word[k]) &&
	    writer[k] == BIT(CLAIM(word[k]))));
	CLAIMED(5, !(reader[k] & BIT(1)) || IN(1, k));
	CLAIMED(5, !(reader[k] & BIT(2)) || IN(2, k));
	CLAIMED(5, !(reader[k] & BIT(3)) || IN(3, k))
}

inline deadline_passes(c)
{
	past = past | BIT(c);
	not_certain(c)
}

#define RUNNING(c)	(ST(state[c]) == HELD && !PAST(c))

active proctype world()
{
	atomic { run user(1); run user(2); run user(3) }
end_world:
	do
	:: atomic { CAN_KILL -> kill_one() }
	:: atomic {
		lates > 0 && (RUNNING(1) || RUNNING(2) || RUNNING(3)) ->
		lates--;
		if
		:: RUNNING(1) -> deadline_passes(1)
		:: RUNNING(2) -> deadline_passes(2)
		:: RUNNING(3) -> deadline_passes(3)
		fi
	   }
	:: d_step {					/* P5 */
		busy == 0 && victim == 0 -> quiet_key(0); quiet_key(1)
	   }
	od
}
