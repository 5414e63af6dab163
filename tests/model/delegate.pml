/* SPDX-License-Identifier: MIT */
/*
 * Cluster keys that a host sub-lets: do two hosts ever have one key, by what a
 * process may go by, and do tokens rise over both?  (src/op/cluster_check.c, shm/cluster_right.c
 * and the order of steps of leasehold-shimd)
 *
 * These exist:
 *	clock		`now`, one for all (drift is in the margin of D)
 *	the cluster	`sess`, our session that lives there (0: none), `beat`,
 *			when its last heartbeat was received; `ours`, what we
 *			hold by it; `theirs`, what another host holds; `rev`.
 *			Each transaction is one step (tests/model/recipe*.pml
 *			have its insides)
 *	the table	until (D), epoch, the right (one word: epoch, gen, mode),
 *			base; gen, which life of the slot; `last`, the last
 *			token of the slot; lease[], whom the core has granted
 *			what: processes and, the last one, the shim.  Each grant
 *			and release is one step (exclusive.pml, readers.pml)
 *
 * Steps:
 *	Process	acquires locally, draws a token, checks; goes by it until its
 *		lease or the D that it has read ends, without looking again;
 *		may check again (lh_verify(), a live handle)
 *	Shim	takes for either mode, returns, beats, finds its session lost;
 *		KILLS times it dies at any step and another one takes over,
 *		adopting the session if it lives.  Stopped: it is just not run
 *	Core	any lease may end at any time: it expires, or its process died
 *	Thief	TTL after a beat was received: deletes the session and its keys
 *	Other	takes and releases in either mode
 *	EVICTS	the slot is given to another key, for which we have no right
 *
 * Properties.
 *  P1	As long as a process may go by its check, no other host holds the key in
 *	a mode that does not go with it, and the key is that of the right.
 *  P2	A token is larger than all before it, on whichever host, where one of
 *	both is exclusive.
 *  P3	The token of a grant under one revision is below that of the next.
 *
 * Mutants leave out one rule each:
 *	CLEAR	a look at the own lease after the right is taken away
 *	EPOCH	the epoch rises before D is written
 *	AGAIN	a second look at the epoch, after D
 *	GEN	the right is of a life of the slot
 *	LATEGEN	... of that in which the shim has it, not of the one it finds
 *	MODE	a shared right lets share only
 *	BASE	tokens are compared with the base
 *	ORDER	the base is raised before the right is set
 *	SENT	D counts from when the beat was sent
 *	ADOPT	what is adopted without a right is returned like any other
 *	END	the base's tokens come to an end
 */
#ifndef ONLY
#define ONLY 0
#endif
#define CLAIMED(n, x)	assert((ONLY != 0 && ONLY != n) || (x))

#ifndef USERS
#define USERS 1
#endif
#ifndef GRANTS
#define GRANTS 1		/* of each process */
#endif
#ifndef CHECKS
#define CHECKS 0		/* again */
#endif
#ifndef TAKES
#define TAKES 1
#endif
#ifndef BEATS
#define BEATS 0
#endif
#ifndef OTHERS
#define OTHERS 1
#endif
#ifndef KILLS
#define KILLS 0
#endif
#ifndef EVICTS
#define EVICTS 0
#endif
#ifndef ENDS
#define ENDS 1			/* leases that end by themselves */
#endif
#ifndef TMAX
#define TMAX 2
#endif
#define TTL 1
#ifndef SPAN
#define SPAN 3			/* tokens under one revision */
#endif

#define SHARED 1
#define EXCL 2
#define SHIM 2

byte now;
byte sess, beat, ours, theirs, rev;
byte until, epoch, base, gen, last;
byte right_epoch, right_gen, right_mode;
byte lease[3];

/* what the processes go by */
byte goes[2], end[2];
byte highest, highest_x;	/* of all tokens that were gone by */
byte sessions;

byte kills, evicts, ends;


#define FREE_FOR(m)	((lease[0] == 0 && lease[1] == 0 && \
			    lease[2] == 0) || (m == SHARED && \
			    lease[0] != EXCL && lease[1] != EXCL && \
			    lease[2] != EXCL))
#define GOES(i)		(goes[i] != 0 && lease[i] != 0 && now < end[i])
#define CLASH(a, b)	((a) != 0 && (b) != 0 && ((a) == EXCL || (b) == EXCL))

proctype process(byte me)
{
	byte n, again, mode, token, e, d, m;
	bool mine, first;
	byte life;

endless:
	do
	:: atomic {
			n < GRANTS && FREE_FOR(SHARED);
			if
			:: FREE_FOR(SHARED) -> mode = SHARED
			:: FREE_FOR(EXCL) -> mode = EXCL
			fi;
			lease[me] = mode;
			token = (last > base -> last : base) + 1;
			last = token;
			life = gen;
			first = true;
			n++;
			again = CHECKS
		};
check:
		e = epoch;
		d_step {
			m = right_mode;
#ifndef MUTANT_GEN
			m = (right_gen == life -> m : 0);
#endif
			m = (right_epoch == e -> m : 0);
			mine = m >= mode;
#ifdef MUTANT_MODE
			mine = m != 0;
#endif
		};
		d = until;
#ifndef MUTANT_AGAIN
		mine = mine && epoch == e;
#endif
#ifndef MUTANT_BASE
		mine = mine && (!first || token > base);
#endif
#ifndef MUTANT_END
		mine = mine && token < base + SPAN;
#endif
		d_step {
			if
			:: mine && now < d && lease[me] != 0 ->
				goes[me] = mode;
				end[me] = d;
				CLAIMED(1, !CLASH(mode, theirs));
				CLAIMED(1, life == 0);
				if
				:: first && mode == EXCL ->
					CLAIMED(2, token > highest);
				:: first && mode != EXCL ->
					CLAIMED(2, token > highest_x);
				:: else
				fi;
				highest = (token > highest -> token : highest);
				highest_x = (mode == EXCL && token > highest_x
				    -> token : highest_x);
				CLAIMED(3, token / SPAN <= rev);
			:: else -> again = 0; goes[me] = 0
			fi;
			first = false
		};
		if
		:: again > 0 -> again--; goto check
		:: true
		fi;
		d_step {
			goes[me] = 0; end[me] = 0; lease[me] = 0;
			mode = 0; token = 0; e = 0; d = 0; m = 0; life = 0;
			mine = false
		};
	od
}

/* The session that the table speaks of is no more.  (Its D has passed: that is
 * when the thief came.) */
#ifdef MUTANT_EPOCH
#define ANOTHER_SESSION \
	d_step { sessions++; mine = sessions; sess = mine; beat = now; t = now };\
	until = t + TTL; \
	d_step { epoch = epoch + 1; t = 0 }
#else
#define ANOTHER_SESSION \
	until = 0; \
	epoch = epoch + 1; \
	d_step { sessions++; mine = sessions; sess = mine; beat = now; t = now };\
	d_step { until = t + TTL; t = 0 }
#endif

#define DIES	:: kills < KILLS -> kills++; goto dead

proctype shim()
{
	byte mine, t, mode, takes, beats, r, life;

	ANOTHER_SESSION;
endless:
	do
	:: atomic {						/* take */
			takes < TAKES && ours == 0 && sess == mine &&
			    FREE_FOR(EXCL);
			takes++;
			if
			:: mode = SHARED
			:: mode = EXCL
			fi;
			lease[SHIM] = EXCL;
			life = gen
		};
		if
		DIES
		:: life == 0
		:: life != 0 -> lease[SHIM] = 0; goto next
		fi;
		d_step {
			r = 0;
			if
			:: lease[SHIM] == EXCL && sess == mine && ours == 0 &&
			    !CLASH(mode, theirs) ->
				rev++;
				ours = mode;
				r = rev
			:: else
			fi
		};
		if
		:: r == 0 -> lease[SHIM] = 0; goto next
		DIES
		:: r != 0
		fi;
#ifndef MUTANT_ORDER
		base = (r * SPAN > base -> r * SPAN : base);
		if
		DIES
		:: true
		fi;
#endif
		d_step {
			right_epoch = epoch;
			right_gen = life;
#ifdef MUTANT_LATEGEN
			right_gen = gen;
#endif
			right_mode = mode
		};
		if
		DIES
		:: true
		fi;
#ifdef MUTANT_ORDER
		lease[SHIM] = 0;
		base = (r * SPAN > base -> r * SPAN : base);
		d_step { r = 0; mode = 0; life = 0 }
#else
		d_step { lease[SHIM] = 0; r = 0; mode = 0; life = 0 }
#endif
	:: ours != 0 && sess == mine ->				/* return */
back:
		lease[SHIM] = 0;
		d_step { FREE_FOR(EXCL) -> lease[SHIM] = EXCL };
		if
		DIES
		:: true
		fi;
		right_mode = 0;
		if
		DIES
		:: true
		fi;
#ifndef MUTANT_CLEAR
		if
		:: lease[SHIM] != EXCL -> goto back
		:: lease[SHIM] == EXCL
		fi;
#endif
		d_step {
			if
			:: sess == mine -> ours = 0
			:: else
			fi
		};
		d_step { lease[SHIM] = 0; r = 0; t = 0; mode = 0; life = 0 }
	:: beats < BEATS ->					/* beat */
		beats++;
		t = now;
		d_step {
			r = (sess == mine -> 1 : 0);
			beat = (sess == mine -> now : beat)
		};
		if
		DIES
		:: r == 0 -> goto lost
		:: r != 0
		fi;
#ifdef MUTANT_SENT
		t = now;
#endif
		until = t + TTL;
		d_step { t = 0; r = 0 }
	:: sess != mine && sessions < 2 ->			/* lost */
lost:
		lease[SHIM] = 0;
		if
		:: sessions < 2 -> ANOTHER_SESSION
		:: else -> break
		fi
	DIES
next:		skip;
		d_step { r = 0; t = 0; mode = 0; life = 0 }
	od;
	goto done;
dead:	skip;	/* whoever is next has the byte, and reads the header */
	lease[SHIM] = 0;
	t = now;
	d_step {
		r = (sess == mine && mine != 0 -> 1 : 0);
		beat = (r == 1 -> now : beat)
	};
	if
	:: r == 0 -> goto lost2
	:: r != 0
	fi;
	until = t + TTL;
	if
	:: ours != 0 && !(right_mode == ours && right_gen == 0 &&
	    right_epoch == epoch) ->
#ifdef MUTANT_ADOPT
		d_step { ours = (sess == mine -> 0 : ours) };
		goto next2
#else
		goto back
#endif
	:: else -> goto next2
	fi;
lost2:	goto lost;
next2:	goto next;
done:	skip
}

proctype core()
{
endless:
	do
	:: d_step { ends < ENDS && lease[0] != 0 -> lease[0] = 0; ends++ }
	:: d_step { ends < ENDS && lease[1] != 0 -> lease[1] = 0; ends++ }
	:: d_step { ends < ENDS && lease[SHIM] != 0 -> lease[SHIM] = 0; ends++ }
	:: now < TMAX -> now++
	:: d_step {
		evicts < EVICTS && FREE_FOR(EXCL) && gen == 0 &&
		    !(right_mode != 0 && right_epoch == epoch) ->
		gen = 1; evicts++
	   }
	od
}

proctype cluster()
{
	byte n, mode, i;

endless:
	do
	:: d_step {
		sess != 0 && now >= beat + TTL -> sess = 0; ours = 0
	   }
	:: atomic {
			n < OTHERS && theirs == 0 && ours != EXCL;
			if
			:: mode = SHARED
			:: ours == 0 -> mode = EXCL
			fi;
			n++;
			rev++;
			theirs = mode;
			i = 0;
			do
			:: i < USERS ->
				CLAIMED(1, !(GOES(i) && CLASH(mode, goes[i])));
				i++
			:: else -> break
			od;
			if
			:: mode == EXCL ->
				CLAIMED(2, rev * SPAN + 1 > highest);
				highest_x = rev * SPAN + 1
			:: else ->
				CLAIMED(2, rev * SPAN + 1 > highest_x)
			fi;
			highest = (rev * SPAN + 1 > highest -> rev * SPAN + 1 :
			    highest);
			i = 0;
			mode = 0
		}
	:: theirs != 0 -> theirs = 0
	od
}

init
{
	byte i;

	atomic {
		do
		:: i < USERS -> run process(i); i++
		:: else -> break
		od;
		run shim();
		run core();
		run cluster()
	}
}
