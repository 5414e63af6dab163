/* SPDX-License-Identifier: MIT */
/*
 * The hand-off of an exclusive lease to another claim (op/handoff.c).
 *
 * Claim 1 holds the key in use Q, version 1.  Copies of that lease are
 * presented: handed over to claim 2 and to claim 3, extended, and released, the
 * latter two also in the use that it is moved to (op/lease_verify.c).  A claim
 * that wants the key (claim 4, and claim 1 itself when it is free again) settles
 * it at the deadline, as everybody does.  Or claim 1 is used for another key,
 * since no word names it (op/session_claim.c).  Time passes.
 *
 *	state	seq << 3 | later << 2 | st: one of two deadlines
 *	word	ver << 3 | claim; claim 0: FREE
 *
 *	P1	nobody is granted the key while another is certain of it
 *	P2	versions grow with each grant
 *	P3	no word names a FREE claim
 *	P4	nobody but who took the claim back touches its next use
 *
 * A shared lease's is in handoff_shared.pml.
 */
#ifndef ONLY
#define ONLY 0
#endif
#define CLAIMED(n, x)	assert((ONLY != 0 && ONLY != n) || (x))

#define FREE 0
#define HELD 1
#define EXPIRED 2
#define STATE(st, q)	((q) << 3 | (st))
#define LATER		4
#define ST(s)		((s) & 3)
#define SEQ(s)		((s) >> 3)
#define WORD(c, v)	((v) << 3 | (c))
#define CLAIM(w)	((w) & 7)
#define VER(w)		((w) >> 3)
#define Q		1
#define STEP		16
#define DEADLINE	1
#define ENDS(s)		(((s) & LATER) != 0 -> DEADLINE + 1 : DEADLINE)
/* claim 1 is held in use q; or in that which it is moved to */
#define IN(q)		(ST(state[1]) == HELD && SEQ(state[1]) == (q))
#define SAME(q)		STATE(HELD, q) | (state[1] & LATER)

short state[5];
byte word = WORD(1, 1);
byte top = 1;
byte now;
byte sure = 1;			/* the claim whose holder is certain */
byte until = DEADLINE;		/* and until when */
#define CERTAIN		(sure != 0 && (sure == 4 || sure == 5 || now < until))
#define SOUND		CLAIMED(3, CLAIM(word) == 0 || \
			ST(state[CLAIM(word)]) != FREE)

inline granted(c)
{
	CLAIMED(2, VER(word) > top);
	top = VER(word);
	SOUND
}

proctype hander(byte c)
{
	byte q, x;
	short s;

	/* present it */
	if
	:: atomic { IN(Q) -> s = state[1] }
	:: !IN(Q) -> goto over
	fi;
	if
	:: word == WORD(1, 1) && now < ENDS(s)
	:: !(word == WORD(1, 1) && now < ENDS(s)) -> goto over
	fi;
	atomic { true -> q = SEQ(state[c]) + 1;
		state[c] = STATE(HELD, q) | (s & LATER) };
	if
	:: atomic { state[1] == s -> state[1] = SAME(Q + STEP) }
	:: state[1] != s -> goto back
	fi;
	/* it was extended since: so is the new one, which nobody sees yet */
	atomic { true -> s = (IN(Q + STEP) -> state[1] : s);
		state[c] = STATE(HELD, q) | (s & LATER) };
	if
	:: atomic { word == WORD(1, 1) ->
		word = WORD(c, 2);
		/* a copy is worth no more than the new lease from here on */
		until = (sure == 1 -> ENDS(state[c]) : until);
		granted(c)
	   }
	:: atomic { word != WORD(1, 1) ->
		if
		:: IN(Q + STEP) -> state[1] = SAME(Q)
		:: else
		fi
	   }
	   goto back
	fi;
	/* the old claim is nobody's now but ours to free */
	if
	:: atomic { IN(Q + STEP) ->
		x = state[1] & LATER;
		state[1] = STATE(FREE, Q + STEP);
		SOUND
	   }
#ifdef MUTANT_STORE
	:: atomic { !IN(Q + STEP) ->
		state[1] = STATE(FREE, Q + STEP);
		SOUND
	   }
#else
	:: !IN(Q + STEP)
#endif
	fi;
	/* it was extended meanwhile: so is the new one */
	atomic { true -> s = STATE(HELD, q) | (s & LATER);
		state[c] = (state[c] == s -> s | x : state[c]) };
#ifndef MUTANT_CLOCK
	if
	:: ST(state[c]) == HELD && SEQ(state[c]) == q
	:: !(ST(state[c]) == HELD && SEQ(state[c]) == q) ->
		goto over				/* lost */
	fi;
#endif
	if
#ifndef MUTANT_CLOCK
	:: atomic { now < ENDS(state[c]) ->
#else
	:: atomic { true ->
#endif
		CLAIMED(1, sure == 1 || sure == 0 || sure == c);
		CLAIMED(1, CLAIM(word) == c || sure == 0);
		until = (sure == 1 -> ENDS(state[c]) : until);
		sure = (sure == 1 -> c : sure)
	   }
#ifndef MUTANT_CLOCK
	:: atomic { now >= ENDS(state[c]) ->
		if
		:: ST(state[c]) == HELD && SEQ(state[c]) == q ->
			state[c] = STATE(EXPIRED, q)
		:: else
		fi
	   }
#endif
	fi;
	goto over;
back:	atomic { true -> CLAIMED(3, CLAIM(word) != c);
		state[c] = STATE(FREE, q) };
over:	skip
}

proctype releaser()
{
	if
	:: IN(Q) || IN(Q + STEP)
	:: !(IN(Q) || IN(Q + STEP)) -> goto over
	fi;
	atomic { true -> sure = (sure == 1 -> 0 : sure) };
	if
	:: atomic { word == WORD(1, 1) -> word = WORD(0, 1) }
	:: word != WORD(1, 1) -> goto over
	fi;
	if
	:: atomic { IN(Q) || IN(Q + STEP) ->
		state[1] = STATE(FREE, SEQ(state[1]));
		SOUND
	   }
	:: !(IN(Q) || IN(Q + STEP))
	fi;
over:	skip
}

proctype extender()
{
	short s;

	if
	:: atomic { IN(Q) || IN(Q + STEP) -> s = state[1] }
	:: !(IN(Q) || IN(Q + STEP)) -> goto over
	fi;
	if
	:: word == WORD(1, 1) && now < ENDS(s)
	:: !(word == WORD(1, 1) && now < ENDS(s)) -> goto over
	fi;
	if
	:: atomic { state[1] == s -> state[1] = s | LATER }
	:: state[1] != s -> goto over
	fi;
	if
	:: now < ENDS(s)
	:: atomic { now >= ENDS(s) ->			/* undo */
		if
		:: state[1] == (s | LATER) ->
			state[1] = STATE(EXPIRED, SEQ(s))
		:: else
		fi
	   }
	   goto over
	fi;
	if
#ifndef MUTANT_GRANTED
	:: atomic { word == WORD(1, 1) ->		/* reported */
#else
	:: atomic { true ->
#endif
		CLAIMED(1, sure == 1 || sure == 0);
		until = (sure == 1 -> DEADLINE + 1 : until)
	   }
#ifndef MUTANT_GRANTED
	:: atomic { word != WORD(1, 1) ->		/* lost */
		if
		:: SEQ(s) != Q && state[1] == (s | LATER) ->
			state[1] = s
		:: else
		fi
	   }
#endif
	fi;
over:	skip
}

/* The keeper of claim 1 wants it for another key. */
proctype taker()
{
	short s;

	if
	:: atomic { ST(state[1]) == HELD && SEQ(state[1]) < 32 ->
		s = state[1] }
	:: ST(state[1]) != HELD || SEQ(state[1]) >= 32 -> goto over
	fi;
#ifndef MUTANT_TAKE
	if
	:: CLAIM(word) != 1
	:: CLAIM(word) == 1 -> goto over
	fi;
#endif
	if
	:: atomic { state[1] == s ->
		state[1] = STATE(FREE, SEQ(s));
		SOUND
	   }
	:: state[1] != s -> goto over
	fi;
	atomic { true -> s = STATE(HELD, 64 + SEQ(s)); state[1] = s };
over:	if
	:: SEQ(s) < 64
	:: SEQ(s) >= 64 -> CLAIMED(4, state[1] == s)
	fi
}

/* with claim 4, or its own claim 1 when that is free or past its deadline */
proctype wanter(byte me)
{
	byte w, c;
	short s;

begin:
	w = word;
	c = CLAIM(w);
	if
	:: c == 0 -> goto announce
	:: c != 0 -> s = state[c]
	fi;
	if
	:: ST(s) == HELD && now >= ENDS(s) && c != 4 && SEQ(s) < 32 ->
		if
		:: atomic { state[c] == s ->
			state[c] = STATE(EXPIRED, SEQ(s)) }
		:: state[c] != s -> goto begin
		fi
	:: ST(s) == EXPIRED
	:: ST(s) == HELD && (now < ENDS(s) || c == 4 || SEQ(s) >= 32) ->
		goto over
	:: ST(s) == FREE -> goto begin
	fi;
	atomic { true -> word = (word == w -> WORD(0, VER(w)) : word) };
	goto begin;
announce:
	s = state[me];
	if
	:: ST(s) == FREE
	:: ST(s) == EXPIRED
	:: ST(s) == HELD && me == 1 && now >= ENDS(s) && SEQ(s) < 32 ->
		if		/* nobody else saw to it: #6 */
		:: atomic { state[me] == s ->
			state[me] = STATE(EXPIRED, SEQ(s)) }
		:: state[me] != s -> goto announce
		fi
	:: ST(s) == HELD && !(me == 1 && now >= ENDS(s) && SEQ(s) < 32) ->
		goto over
	fi;
	if
	:: CLAIM(word) == me -> goto begin
	:: CLAIM(word) != me
	fi;
	atomic { true -> state[me] = STATE(HELD, 32 + SEQ(s)) };
	if
	:: atomic { word == w ->
		CLAIMED(1, !CERTAIN);
		word = WORD(me, VER(w) + 1);
		granted(me);
		sure = (me == 4 -> 4 : 5)
	   }
	:: atomic { word != w -> state[me] = STATE(FREE, 32 + SEQ(s)) }
	fi;
over:	skip
}

init {
	atomic {
		state[1] = STATE(HELD, Q);
		run hander(2);
#if HANDERS > 1
		run hander(3);
#endif
#ifdef RELEASE
		run releaser();
#endif
#ifdef EXTEND
		run extender();
#endif
		run wanter(4);
#ifdef OWNER
		run wanter(1);
#endif
#ifdef TAKE
		run taker()
#endif
	};
end_clock:
	do
	:: now < DEADLINE + 1 -> now++
	od
}
