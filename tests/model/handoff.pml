/* SPDX-License-Identifier: MIT */
/*
 * The hand-off of an exclusive lease to another claim (op/handoff.c).
 *
 * Claim 1 holds the key in use Q, version 1.  Copies of that lease are
 * presented: handed over to claim 2 and to claim 3, and released.  Whoever
 * wants the key (claim 4, and claim 1 itself when it is free again) settles it
 * at the deadline, as everybody does.  Time passes.
 *
 *	state	deadline is the same for all: seq << 2 | st
 *	word	ver << 3 | claim; claim 0: FREE
 *
 *	P1	nobody is granted the key while another is certain of it
 *	P2	versions grow with each grant
 *	P3	no word names a FREE claim
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
#define STATE(st, q)	((q) << 2 | (st))
#define ST(s)		((s) & 3)
#define SEQ(s)		((s) >> 2)
#define WORD(c, v)	((v) << 3 | (c))
#define CLAIM(w)	((w) & 7)
#define VER(w)		((w) >> 3)
#define Q		1
#define STEP		16
#define DEADLINE	1
#define LATER		9		/* of who acquires afterwards */

byte state[5];
byte word = WORD(1, 1);
byte top = 1;
byte now;
byte sure = 1;			/* the claim whose holder is certain */
#define CERTAIN		(sure != 0 && (sure == 4 || sure == 5 || \
			now < DEADLINE))
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
	byte q;

	/* present it */
	if
	:: state[1] == STATE(HELD, Q)
	:: state[1] != STATE(HELD, Q) -> goto over
	fi;
	if
	:: word == WORD(1, 1) && now < DEADLINE
	:: !(word == WORD(1, 1) && now < DEADLINE) -> goto over
	fi;
	atomic { true -> q = SEQ(state[c]) + 1; state[c] = STATE(HELD, q) };
	if
	:: atomic { state[1] == STATE(HELD, Q) ->
		state[1] = STATE(HELD, Q + STEP)
	   }
	:: state[1] != STATE(HELD, Q) -> goto back
	fi;
	if
	:: atomic { word == WORD(1, 1) ->
		word = WORD(c, 2);
		granted(c)
	   }
	:: atomic { word != WORD(1, 1) ->
		if
		:: state[1] == STATE(HELD, Q + STEP) ->
			state[1] = STATE(HELD, Q)
		:: else
		fi
	   }
	   goto back
	fi;
	/* the old claim is nobody's now but ours to free */
	if
	:: atomic { state[1] == STATE(HELD, Q + STEP) ->
		state[1] = STATE(FREE, Q + STEP);
		SOUND
	   }
#ifdef MUTANT_STORE
	:: atomic { state[1] != STATE(HELD, Q + STEP) ->
		state[1] = STATE(FREE, Q + STEP);
		SOUND
	   }
#else
	:: state[1] != STATE(HELD, Q + STEP)
#endif
	fi;
#ifndef MUTANT_CLOCK
	if
	:: state[c] == STATE(HELD, q)
	:: state[c] != STATE(HELD, q) -> goto over	/* lost */
	fi;
#endif
	if
#ifndef MUTANT_CLOCK
	:: atomic { now < DEADLINE ->
#else
	:: atomic { true ->
#endif
		CLAIMED(1, sure == 1 || sure == 0 || sure == c);
		CLAIMED(1, CLAIM(word) == c || sure == 0);
		sure = (sure == 1 -> c : sure)
	   }
#ifndef MUTANT_CLOCK
	:: atomic { now >= DEADLINE ->
		if
		:: state[c] == STATE(HELD, q) -> state[c] = STATE(EXPIRED, q)
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
	:: state[1] == STATE(HELD, Q)
	:: state[1] != STATE(HELD, Q) -> goto over
	fi;
	atomic { true -> sure = (sure == 1 -> 0 : sure) };
	if
	:: atomic { word == WORD(1, 1) -> word = WORD(0, 1) }
	:: word != WORD(1, 1) -> goto over
	fi;
	if
	:: atomic { state[1] == STATE(HELD, Q) ->
		state[1] = STATE(FREE, Q);
		SOUND
	   }
	:: state[1] != STATE(HELD, Q)
	fi;
over:	skip
}

/* with claim 4, or its own claim 1 when that is free or past its deadline */
proctype wanter(byte me)
{
	byte w, s, c;

begin:
	w = word;
	c = CLAIM(w);
	if
	:: c == 0 -> goto announce
	:: c != 0 -> s = state[c]
	fi;
	if
	:: ST(s) == HELD && now >= DEADLINE && c != 4 && SEQ(s) < 32 ->
		if
		:: atomic { state[c] == s ->
			state[c] = STATE(EXPIRED, SEQ(s)) }
		:: state[c] != s -> goto begin
		fi
	:: ST(s) == EXPIRED
	:: ST(s) == HELD && (now < DEADLINE || c == 4 || SEQ(s) >= 32) ->
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
	:: ST(s) == HELD && me == 1 && now >= DEADLINE && SEQ(s) < 32 ->
		if		/* nobody else saw to it: #6 */
		:: atomic { state[me] == s ->
			state[me] = STATE(EXPIRED, SEQ(s)) }
		:: state[me] != s -> goto announce
		fi
	:: ST(s) == HELD && !(me == 1 && now >= DEADLINE && SEQ(s) < 32) ->
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
		run wanter(4);
#ifdef OWNER
		run wanter(1)
#endif
	};
end_clock:
	do
	:: now < DEADLINE -> now++
	od
}
