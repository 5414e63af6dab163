/* SPDX-License-Identifier: MIT */
/*
 * The hand-off of a shared lease to another claim (op/handoff.c).
 *
 * Claim 1 reads the key, alone or (-DBESIDE) behind claim 3, in use Q.  Copies
 * of that lease are presented: handed over by one process to claim 2, and by
 * another to claim 5, and released; or an operator breaks it.  Claim 3 leaves,
 * or joins.  The owner of claim 1 uses it again once it has ended.  Claim 4
 * wants the key exclusively: it judges the chain from its head, as everybody
 * does.  (A walk is a step for each link here; how walks meet walks is in
 * readers.pml.)  Time passes once, and ends the lease that was there at the
 * beginning, in whatever hands; others have a later deadline.
 *
 *	state	seq << 3 | st
 *	word	ver << 4 | shared << 3 | claim; claim 0: FREE
 *	next	tag << 4 | mark << 3 | claim
 *
 *	P1	nobody is granted the key exclusively while a reader is certain
 *		of it
 *	P2	of a lease that was released, or that was judged to be over,
 *		nothing comes to life again: a hand-off that says so has not
 *		been overtaken by either (G9), and of two only one says so (here
 *		that would be so without step 2, too: step 4 is exact)
 *	P3	no chain leads to a FREE claim
 *	P4	versions grow with each grant
 */
#ifndef ONLY
#define ONLY 0
#endif
#define CLAIMED(n, x)	assert((ONLY != 0 && ONLY != n) || (x))

#define FREE 0
#define HELD 1
#define REVOKED 2
#define EXPIRED 3
#define STATE(st, q)	((q) << 3 | (st))
#define ST(s)		((s) & 7)
#define SEQ(s)		((s) >> 3)
#define SHARED		8
#define S(c, v)		((v) << 4 | SHARED | (c))
#define X(c, v)		((v) << 4 | (c))
#define WFREE(v)	((v) << 4)
#define CLAIM(w)	((w) & 7)
#define VER(w)		((w) >> 4)
#define IS_S(w)		(((w) & SHARED) && CLAIM(w) != 0)
#define MARK		8
#define IDX(l)		((l) & 7)
#define LINK(i, l)	(((l) & ~15) + 16 | (i))	/* after l */
#define WITH(i, l)	(((l) & ~7) | (i))
#define REST(i, w)	((i) != 0 -> S(i, VER(w)) : WFREE(VER(w)))
#define Q		1
#define STEP		8
#define LATE(c)		(past && (c) != 3 && !again[c])

byte state[6];
byte next[6];
byte word;
bool past;
bool again[6];			/* the claim is in a use of its own since */
bool sure[6];			/* its reader is certain */
bool over;			/* the lease of the beginning was released, or
				 * judged to have ended */
byte successes;

/* the chain has at most four members */
#define M1		(IS_S(word) -> CLAIM(word) : 0)
#define M2		(M1 != 0 -> IDX(next[M1]) : 0)
#define M3		(M2 != 0 -> IDX(next[M2]) : 0)
#define M4		(M3 != 0 -> IDX(next[M3]) : 0)
#define LINKED(c)	(M1 == (c) || M2 == (c) || M3 == (c) || M4 == (c))
#define SOUND		CLAIMED(3, (M1 == 0 || ST(state[M1]) != FREE) && \
			(M2 == 0 || ST(state[M2]) != FREE) && \
			(M3 == 0 || ST(state[M3]) != FREE) && \
			(M4 == 0 || ST(state[M4]) != FREE))

/* ... if it is marked, still in the use that was seen */
inline unlink(c)
{
	atomic {
		if
		:: next[c] != (l | MARK)
		:: next[c] == (l | MARK) && M1 == c ->
			word = REST(IDX(l), word)
		:: next[c] == (l | MARK) && M1 != c && M2 == c ->
			next[M1] = WITH(IDX(l), next[M1])
		:: next[c] == (l | MARK) && M1 != c && M2 != c && M3 == c ->
			next[M2] = WITH(IDX(l), next[M2])
		:: next[c] == (l | MARK) && M1 != c && M2 != c && M3 != c &&
		    M4 == c ->
			next[M3] = WITH(IDX(l), next[M3])
		:: next[c] == (l | MARK) && !LINKED(c)
		fi;
		SOUND
	}
}

/* Take claim c out, which is, or was, in use q_ and has ended. */
inline leave(c, q_)
{
	l = next[c];
	if
	:: SEQ(state[c]) == q_ && ST(state[c]) >= REVOKED ->
		atomic { true -> next[c] = (next[c] == l -> l | MARK :
		    next[c]) };
		unlink(c)
	:: SEQ(state[c]) != q_ || ST(state[c]) < REVOKED
	fi;
	l = 0
}

inline to_free(c, q_)
{
	atomic { true -> state[c] = STATE(FREE, q_); SOUND }
}

proctype hander(byte c)
{
	byte w, q, l;
	bool whole;

	q = SEQ(state[c]) + 1;
	/* present it */
	if
	:: state[1] == STATE(HELD, Q) && !past
	:: state[1] != STATE(HELD, Q) || past -> goto done
	fi;
again_:
	w = word;
	if
	:: IS_S(w)
	:: !IS_S(w) -> goto done
	fi;
	atomic { true -> next[c] = LINK(CLAIM(w), next[c]);		/* step 1 */
		state[c] = STATE(HELD, q) };
	if								/* step 2 */
	:: atomic { state[1] == STATE(HELD, Q) ->
		state[1] = STATE(HELD, Q + STEP)
	   }
	:: state[1] != STATE(HELD, Q) -> to_free(c, q); goto done
	fi;
	if								/* step 3 */
	:: atomic { word == w ->
		word = S(c, VER(w) + 1);
		CLAIMED(4, VER(word) > VER(w));
		SOUND
	   }
	:: word != w ->
		atomic { true -> state[1] = (state[1] == STATE(HELD, Q + STEP)
		    -> STATE(HELD, Q) : state[1]) };
		to_free(c, q);
		if
		:: state[1] == STATE(HELD, Q) -> q = q + 1; goto again_
		:: state[1] != STATE(HELD, Q) -> goto done
		fi
	fi;
	if								/* step 4 */
	:: atomic { state[1] == STATE(HELD, Q + STEP) ->
		state[1] = STATE(REVOKED, Q + STEP); whole = true }
	:: state[1] != STATE(HELD, Q + STEP)
	fi;
	if
	:: whole -> leave(1, Q + STEP)
	:: !whole
	fi;
#ifdef MUTANT_WHOLE
	whole = true;
#endif
	if								/* step 5 */
	:: whole && state[c] == STATE(HELD, q)
	:: !whole || state[c] != STATE(HELD, q) -> goto lost
	fi;
	if
#ifdef MUTANT_READS
	:: atomic { true ->
#else
	:: atomic { !past ->
#endif
		CLAIMED(2, !over && successes == 0);
		CLAIMED(1, IS_S(word) && LINKED(c));
		successes++;
		sure[c] = sure[1];
		sure[1] = false
	   }
	   goto done
#ifndef MUTANT_READS
	:: past
#endif
	fi;
lost:	if
	:: atomic { state[c] == STATE(HELD, q) -> state[c] = STATE(EXPIRED, q) }
	:: state[c] != STATE(HELD, q)
	fi;
done:	skip
}

#ifdef RELEASE
/* another thread, with a copy of the lease */
proctype releaser()
{
	byte l;

	if
	:: state[1] == STATE(HELD, Q)
	:: state[1] != STATE(HELD, Q) -> goto done
	fi;
	if
	:: atomic { state[1] == STATE(HELD, Q) ->
		state[1] = STATE(REVOKED, Q);
		CLAIMED(2, successes == 0);
		over = true;
		sure[1] = false
	   }
	:: state[1] != STATE(HELD, Q) -> goto done
	fi;
	leave(1, Q);
done:	skip
}
#endif

#ifdef BREAK
/* an operator, or the end of its session */
proctype breaker()
{
	byte s, l;

	s = state[1];
	if
	:: atomic { state[1] == s && ST(s) == HELD && !again[1] ->
		state[1] = STATE(REVOKED, SEQ(s));
		CLAIMED(2, successes == 0);
		over = true;
		sure[1] = false
	   }
	:: state[1] != s || ST(s) != HELD || again[1] -> goto done
	fi;
	leave(1, SEQ(s));
done:	skip
}
#endif

#ifdef BESIDE
/* claim 3 stands in the chain and leaves, and comes again */
proctype beside()
{
	byte w, q, l;

	if
	:: ST(state[3]) == HELD ->
		atomic { true -> sure[3] = false;
			state[3] = STATE(REVOKED, SEQ(state[3])) };
		leave(3, SEQ(state[3]));
		if
		:: !LINKED(3)
		:: LINKED(3) -> goto done
		fi;
		to_free(3, SEQ(state[3]))
	:: ST(state[3]) != HELD
	fi;
	q = SEQ(state[3]) + 1;
	w = word;
	if
	:: IS_S(w) || CLAIM(w) == 0
	:: !IS_S(w) && CLAIM(w) != 0 -> goto done
	fi;
	atomic { true -> next[3] = LINK(CLAIM(w), next[3]);
		state[3] = STATE(HELD, q) };
	if
	:: atomic { word == w -> word = S(3, VER(w) + 1); sure[3] = true;
		SOUND }
	:: word != w -> to_free(3, q)
	fi;
done:	skip
}
#endif

#ifdef OWNER
/* the owner of claim 1 uses it again, for a lease of its own */
proctype owner()
{
	byte w, q, l;

	if
	:: atomic { ST(state[1]) >= REVOKED -> q = SEQ(state[1]) }
	:: ST(state[1]) < REVOKED -> goto done
	fi;
	leave(1, q);
	/* it walks until the word is seen not to lead to it */
	if
	:: !LINKED(1)
	:: LINKED(1) -> goto done
	fi;
	to_free(1, q);
	w = word;
	if
	:: IS_S(w) || CLAIM(w) == 0
	:: !IS_S(w) && CLAIM(w) != 0 -> goto done
	fi;
	atomic { true -> next[1] = LINK(CLAIM(w), next[1]); again[1] = true;
		state[1] = STATE(HELD, q + 1) };
	if
	:: atomic { word == w -> word = S(1, VER(w) + 1); SOUND }
	:: word != w -> to_free(1, q + 1)
	fi;
done:	skip
}
#endif

proctype wanter()
{
	byte w, c, s, l;
	byte tries = 4;

begin:
	w = word;
	if
	:: CLAIM(w) == 0 -> goto take
	:: CLAIM(w) != 0 -> c = CLAIM(w)
	fi;
	l = next[c];
	s = state[c];
	if
	:: word == w
	:: word != w -> goto more
	fi;
	if
	:: ST(s) == HELD && LATE(c) ->
		if
		:: atomic { state[c] == s ->
			state[c] = STATE(EXPIRED, SEQ(s));
			over = (c == 1 -> true : over)
		   }
		:: state[c] != s -> goto more
		fi
	:: ST(s) >= REVOKED
	:: ST(s) == FREE || (ST(s) == HELD && !LATE(c)) -> goto more
	fi;
	/* the link that was read before the word was seen to name it still */
	atomic { true -> next[c] = (next[c] == l && !(l & MARK) -> l | MARK :
	    next[c]) };
	unlink(c);
more:	l = 0;
	if
	:: tries > 0 -> tries--; goto begin
	:: tries == 0 -> goto done
	fi;
take:
	if
	:: atomic { word == w ->
		CLAIMED(1, !sure[1] || past);
		CLAIMED(1, !sure[2] || past);
		CLAIMED(1, !sure[5] || past);
		CLAIMED(1, !sure[3]);
		word = X(4, VER(w) + 1)
	   }
	:: word != w
	fi;
done:	skip
}

init {
	atomic {
		state[1] = STATE(HELD, Q);
		sure[1] = true;
		word = S(1, 1);
#ifdef BESIDE
		state[3] = STATE(HELD, 1);
		next[3] = 1;
		sure[3] = true;
		word = S(3, 2);
#endif
		run hander(2);
#if HANDERS > 1
		run hander(5);
#endif
#ifdef RELEASE
		run releaser();
#endif
#ifdef BREAK
		run breaker();
#endif
#ifdef BESIDE
		run beside();
#endif
#ifdef OWNER
		run owner();
#endif
		run wanter()
	};
	past = true
}
