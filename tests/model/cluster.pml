/* SPDX-License-Identifier: MIT */
/*
 * Cluster keys (src/shim/member/member_session.c, batch.c, peers.c): do two hosts ever both
 * believe to have a key, each before its D, when calls are lost and late?
 *
 * One key, wanted for itself.  Host 0 holds and heartbeats, and may lose its
 * session (session 0, then 2); host 1 ends the sessions of host 0, and its own
 * (session 1) lives for ever.  A store: the sessions' keys, with the number of
 * the latest heartbeat, and the queue's keys with their age.  Each step is what
 * the store does at once, or what a host does between two calls.  A call is
 * sent, done, and answered at different steps; it may be lost on the way
 * (LOSSES in all), or its answer, and one that was given up may be done later
 * all the same (`late`).  Time is what is left until something; clocks do not
 * drift (the real ones: margin, rho and slack).  Values that no step reads any
 * more are reset (end_call, over, keep_look): states that differ in nothing else
 * are one.
 *
 * A host may CONFIRM whenever it is first, as if it knew, and EARLY times for
 * nothing.  With TURNS it has a watch as well, which reports each deletion, in
 * their order and any time later.  In place of GAPS of them the watch only
 * reports that it missed something.  A host keeps from a look which keys are
 * ahead, and the deletion of the last of them grants the key until D (batch.c,
 * TURN).  Somebody deletes up to FORCES keys that wait, or the session of one,
 * by hand: a gap could hide that.  (A host that is first and loses its key by
 * hand hears of it, maybe late.)
 *
 * Left out: readers (two of them could have one turn, with one token: they do
 * not), many keys (each is first from its own turn on; the latest of these is
 * the token of all), adoption (adopt.pml).
 *
 * Properties.
 *  P1	Never do two hosts believe to have the key, each before its D.
 *  P2	Each grant, and each anchor, has a larger revision than all before.
 *  P3	In the end no key of a dead session is in the queue, though it was
 *	swept but once.
 *
 * Mutants:
 *	HEART	a heartbeat puts without comparing
 *	ANSWER	D counts from the answer's time
 *	THIEF	a session is ended without comparing
 *	MOD	... comparing with what was heard after the decision
 *	FENCE	the token is the key's age
 *	AGAIN	a host that finds its own key, and nobody ahead, has it, by its
 *		age
 *	STALE	a deletion newer than the look makes a host first
 *	ENQUEUE	a key is put without comparing the session
 *	OLD	an answer to the last session counts
 * and of turns:
 *	TURN_OLD	a deletion that is older than the look grants
 *	TURN_ONE	... the deletion of one of those ahead, not of all
 *	TURN_GAP	... though some changes were missed
 *	TURN_EARLY	... though some were reported before the look's answer
 *	TURN_AGE	the token is the key's age
 *	TURN_HELD	a host that hears of its key's deletion goes on waiting
 *	TURN_SESSION	... of its session's deletion
 */
#ifndef ONLY
#define ONLY 0
#endif
#define CLAIMED(n, x)	assert((ONLY != 0 && ONLY != n) || (x))
#ifndef LOSSES
#define LOSSES 2
#endif
#ifndef EARLY
#define EARLY 1
#endif
#ifndef BEATS
#define BEATS 2
#endif
#ifndef ANCHORS
#define ANCHORS 1
#endif
#ifndef TTL
#define TTL 2
#endif
#ifndef TURNS
#define TURNS 0
#endif
#ifndef GAPS
#define GAPS 0
#endif
#ifndef FORCES
#define FORCES 0
#endif
#define NS 3
#define NONE 7
#define OWN 6			/* a session of one's own */

byte rev;			/* counts what is put and deleted in the queue */
byte top[2];			/* the latest token of a host */
byte losses = LOSSES, early = EARLY, gaps = GAPS, forces = FORCES;
byte skey[NS];			/* 0: not there; else which heartbeat */
byte q[NS];			/* 0: not there; else create_revision */

/* Of hosts. */
byte cur[2];
byte left[2];			/* until D */
bool has[2];
byte beats[2], anchors[2];
mtype = { IDLE, ASKED, QUEUED, GRANTED, LEAVING, OVER };
mtype st[2];
byte age[2];			/* of the key, as known */

/* The knowledge that a host has of its queue. */
byte ahead[2];			/* of a look: a bit for each session's key */
byte looked[2];			/* its revision */
bool sure[2];			/* and nothing was missed since */
byte watched[2];		/* nothing later than this was missed */
bool heard[2];			/* of a deletion later than the look's answer */
chan told[2] = [5] of { byte, byte };	/* whose, when */

/* Calls.  hb: 0 none, 1 sent, 2 done, 3 done: no session; 4 the same, by the
 * watch.  hb_left: of the TTL since it was sent. */
byte hb[2], hb_left[2];
mtype = { ENQUEUE, CONFIRM, LEAVE, NOTHING };
/* rq: 0 none, 1 sent; answers: 2 granted, 3 waits, 4 no session; 5 no
 * key (what is late alone) */
byte rq[2], rq_s[2], rq_age[2];
byte rq_rev[2], rq_ahead[2];	/* what a look says */
mtype rq_kind[2];
mtype late = NOTHING;
byte late_s, late_age, late_hb = NONE;

/* Others' sessions. */
byte seen_s[2], seen_mod[2], seen_left[2];
bool steal[2];
byte steal_mod[2], steal_s[2], to_sweep[2];

#define ALIVE(s) (skey[s] != 0)
#define IS_FIRST(s) ((q[(s + 1) % NS] == 0 || q[(s + 1) % NS] > q[s]) && \
		     (q[(s + 2) % NS] == 0 || q[(s + 2) % NS] > q[s]))

#define AHEAD_OF(s, x)	(q[x] != 0 && q[x] < q[s])
#define ALL_AHEAD(s)	(AHEAD_OF(s, 0) + 2 * AHEAD_OF(s, 1) + \
			    4 * AHEAD_OF(s, 2))

/* A host that has no session left to ask with does not listen. */
#define LISTENS(h)	(TURNS && (st[h] != OVER || cur[h] == 0))

inline tell(h, s)
{
	if
	:: LISTENS(h) -> assert(nfull(told[h])); told[h]!s,rev
	:: else
	fi
}

inline gone(s)
{
	q[s] = 0;
	rev = rev + TURNS;
	d_step { tell(0, s); tell(1, s) }
}

inline look()
{
	CLAIMED(1, !(has[0] && left[0] > 0 && has[1] && left[1] > 0))
}

/* In the store. */
inline do_call(kind, s, known, res, tok)
{
	if
#ifdef MUTANT_ENQUEUE
	:: kind == ENQUEUE ->
#else
	:: kind == ENQUEUE && !ALIVE(s) -> res = 4
	:: kind == ENQUEUE && ALIVE(s) ->
#endif
		if
		:: q[s] == 0 ->
			rev++; q[s] = rev; tok = rev;
			res = (IS_FIRST(s) -> 2 : 3)
		:: else ->
			tok = rev;
#ifdef MUTANT_AGAIN
			tok = q[s];
			res = (IS_FIRST(s) -> 2 : 3)
#else
			res = 3
#endif
		fi
	:: kind == CONFIRM && !ALIVE(s) -> res = 4
	:: kind == CONFIRM && ALIVE(s) && (q[s] == 0 || q[s] != known) ->
		res = 5
	:: kind == CONFIRM && ALIVE(s) && q[s] != 0 && q[s] == known ->
		rev++; tok = rev;
		res = (IS_FIRST(s) -> 2 : 3);
#ifdef MUTANT_FENCE
		if
		:: res == 2 -> tok = q[s]
		:: else
		fi
#endif
	:: kind == LEAVE ->
		if
		:: q[s] != 0 -> gone(s)
		:: else
		fi;
		res = 2
	fi;
	if
	:: kind != LEAVE && res == 2 ->
		CLAIMED(2, tok > top[0] && tok > top[1]);
		top[s % 2] = tok	/* sessions 0 and 2: host 0 */
	:: else
	fi
}

/* Resets the values of a call that has ended.  Nothing reads them any more. */
inline end_call(h)
{
	d_step {
		rq[h] = 0; rq_kind[h] = NOTHING; rq_s[h] = 0; rq_age[h] = 0;
		rq_rev[h] = 0; rq_ahead[h] = 0; heard[h] = false
	}
}

inline drop_told(h)
{
	if
	:: !LISTENS(h) && nempty(told[h]) -> told[h]?_,_
	:: LISTENS(h) || empty(told[h])
	fi
}

/* The host is done with its key.  It ignores the watch from here on. */
inline over(h)
{
	st[h] = OVER; age[h] = 0;
	forget(h);
#if TURNS && !FORCES
	d_step {
		drop_told(h); drop_told(h); drop_told(h); drop_told(h);
		drop_told(h)
	}
#endif
}

/* Resets a look that is not sure: it cannot grant later. */
inline keep_look(h)
{
#if !defined(MUTANT_TURN_OLD) && !defined(MUTANT_TURN_GAP)
	if
	:: !sure[h] -> ahead[h] = 0; looked[h] = 0
	:: else
	fi
#else
	skip
#endif
}

inline grant(h)
{
	st[h] = GRANTED;
	has[h] = true;
	forget(h);
	look()
}

inline forget(h)
{
	d_step {
		ahead[h] = 0; looked[h] = 0; sure[h] = false; heard[h] = false
	}
}

/* By a deletion at that revision.  Before D no other was granted since. */
inline turn(h, r)
{
#ifdef MUTANT_TURN_AGE
	r = age[h];
#endif
	CLAIMED(2, left[h] == 0 || r > top[1 - h]);
	top[h] = (r > top[h] -> r : top[h]);
	grant(h)
}

/* The watch reports a deletion. */
inline hear(h)
{
	heard[h] = heard[h] || (rq[h] == 3 && rev_of > rq_rev[h]);
	if
	:: whose == NONE ->
		watched[h] = rev_of;
#ifndef MUTANT_TURN_GAP
		sure[h] = sure[h] && looked[h] >= rev_of;
		keep_look(h)
#endif
	:: whose == OWN ->
#ifdef MUTANT_TURN_SESSION
		skip
#else
		hb[h] = 4
#endif
	:: whose < OWN && (st[h] != QUEUED || rq[h] != 0)
	:: whose < OWN && st[h] == QUEUED && rq[h] == 0 ->
		if
#ifndef MUTANT_TURN_HELD
		:: whose == cur[h] && rev_of > age[h] ->
			over(h)
#endif
#ifdef MUTANT_TURN_OLD
		:: whose != cur[h] && ahead[h] != 0 ->
			turn(h, rev_of)
#else
		:: whose != cur[h] && rev_of > looked[h] &&
		    (ahead[h] & (1 << whose)) != 0 ->
			ahead[h] = ahead[h] & ~(1 << whose);
#ifdef MUTANT_TURN_ONE
			ahead[h] = 0;
#endif
			if
			:: ahead[h] == 0 && sure[h] -> turn(h, rev_of)
			:: else
			fi
#endif
		:: else
		fi
	fi;
	whose = 0; rev_of = 0
}

/* A look has found that others are ahead. */
inline wait(h)
{
	st[h] = QUEUED;
	ahead[h] = rq_ahead[h]; looked[h] = rq_rev[h];
	sure[h] = looked[h] >= watched[h];
#ifndef MUTANT_TURN_EARLY
	sure[h] = sure[h] && !heard[h];
#endif
	keep_look(h)
}

/* It is dead for certain, says the store. */
inline lost(h)
{
	left[h] = 0; has[h] = false; hb[h] = 0; hb_left[h] = 0;
	forget(h);
#ifdef MUTANT_OLD
	rq[h] = (rq[h] == 4 -> 0 : rq[h]);
#else
	end_call(h);
#endif
	if
	:: cur[h] == 0 ->	/* another one */
		cur[h] = 2; skey[2] = 1; left[h] = TTL; age[h] = 0;
		st[h] = IDLE; beats[h] = 0
	:: else -> cur[h] = NONE; end_call(h); over(h)
	fi
}

proctype host(byte h)
{
	byte whose, rev_of;

end:	do
	/* Heartbeats. */
	:: atomic { h == 0 && cur[h] != NONE && hb[h] == 0 &&
	    beats[h] < BEATS ->
		beats[h]++; hb[h] = 1; hb_left[h] = TTL }
	:: atomic { hb[h] == 2 ->
		hb[h] = 0;
#ifdef MUTANT_ANSWER
		left[h] = TTL;
#else
		left[h] = (hb_left[h] > left[h] -> hb_left[h] : left[h]);
#endif
		hb_left[h] = 0;
		look() }
	:: atomic { hb[h] >= 3 ->
		if		/* what is under way stays so */
		:: rq[h] == 1 && late == NOTHING ->
			late = rq_kind[h]; late_s = rq_s[h];
			late_age = rq_age[h]
		:: else
		fi;
		lost(h) }

	/* The key. */
	:: atomic { (st[h] == IDLE || st[h] == ASKED) && rq[h] == 0 &&
	    cur[h] != NONE ->
		st[h] = ASKED; age[h] = 0;
		rq_kind[h] = ENQUEUE; rq_s[h] = cur[h]; rq[h] = 1 }
	:: atomic { st[h] == QUEUED && rq[h] == 0 && (IS_FIRST(cur[h]) ||
	    early > 0) ->		/* by the watch, or a guess */
		early = (IS_FIRST(cur[h]) -> early : early - 1);
		sure[h] = false;
		keep_look(h);
		rq_kind[h] = CONFIRM; rq_s[h] = cur[h]; rq_age[h] = age[h];
		rq[h] = 1 }
	:: atomic { st[h] == GRANTED && rq[h] == 0 && anchors[h] < ANCHORS ->
		anchors[h]++;
		rq_kind[h] = CONFIRM; rq_s[h] = cur[h]; rq_age[h] = age[h];
		rq[h] = 1 }
	:: atomic { (st[h] == GRANTED || st[h] == LEAVING) && rq[h] == 0 ->
		has[h] = false; st[h] = LEAVING; age[h] = 0;
		rq_kind[h] = LEAVE; rq_s[h] = cur[h]; rq[h] = 1 }
	:: atomic { rq[h] == 2 && rq_kind[h] == LEAVE ->
		end_call(h); over(h) }
	:: atomic { rq[h] == 2 && rq_kind[h] != LEAVE ->
		age[h] = rq_age[h];
		end_call(h);
		grant(h) }
	:: atomic { rq[h] == 3 ->
		age[h] = rq_age[h];
		if
		:: st[h] == GRANTED
#ifdef MUTANT_STALE
		:: st[h] != GRANTED && heard[h] -> grant(h)
		:: st[h] != GRANTED && !heard[h] -> wait(h)
#else
		:: st[h] != GRANTED -> wait(h)
#endif
		fi;
		end_call(h) }
	:: atomic { rq[h] == 4 -> lost(h) }
	:: atomic { rq[h] == 5 ->	/* by hand */
		end_call(h); over(h) }
	:: atomic { nempty(told[h]) && hb[h] != 4 ->
		told[h]?whose,rev_of;
		if
		:: true
		:: gaps > 0 -> gaps--; whose = NONE
		fi;
		hear(h) }
	/* A key that no claim is known for. */
	:: atomic { st[h] == OVER && cur[h] != NONE && rq[h] == 0 &&
	    q[cur[h]] != 0 -> gone(cur[h]) }

	/* The other's session. */
	:: atomic { h == 1 && cur[1 - h] != NONE && ALIVE(cur[1 - h]) &&
	    (seen_s[h] != cur[1 - h] || seen_mod[h] != skey[cur[1 - h]]) ->
		seen_s[h] = cur[1 - h]; seen_mod[h] = skey[cur[1 - h]];
		seen_left[h] = TTL }
	:: atomic { seen_s[h] != NONE && !steal[h] && to_sweep[h] == NONE &&
	    seen_left[h] == 0 && ALIVE(seen_s[h]) ->
		steal[h] = true; steal_s[h] = seen_s[h];
		steal_mod[h] = seen_mod[h] }
	:: atomic { steal[h] ->
		steal[h] = false;
		if
#ifdef MUTANT_THIEF
		:: ALIVE(steal_s[h]) ->
#else
#ifdef MUTANT_MOD
		:: ALIVE(steal_s[h]) && skey[steal_s[h]] == seen_mod[h] ->
#else
		:: ALIVE(steal_s[h]) && skey[steal_s[h]] == steal_mod[h] ->
#endif
#endif
			skey[steal_s[h]] = 0; to_sweep[h] = steal_s[h]
		:: else
		fi;
		steal_s[h] = 0; steal_mod[h] = 0 }
	:: atomic { to_sweep[h] != NONE ->
		if
		:: q[to_sweep[h]] != 0 ->
			gone(to_sweep[h])
		:: else
		fi;
		to_sweep[h] = NONE }
	od
}

inline beat(h)
{
	if
	:: ALIVE(cur[h]) ->
		skey[cur[h]]++;
		hb[h] = 2
#ifdef MUTANT_HEART
	:: !ALIVE(cur[h]) ->
		skey[cur[h]]++;
		hb[h] = 2
#else
	:: !ALIVE(cur[h]) -> hb[h] = 3
#endif
	:: losses > 0 -> losses--; hb[h] = 0; hb_left[h] = 0
	:: losses > 0 && late_hb == NONE ->
		losses--; late_hb = cur[h];
		hb[h] = 0; hb_left[h] = 0
	fi
}

inline call(h)
{
	if
	:: true ->
		do_call(rq_kind[h], rq_s[h], rq_age[h], res, tok);
		rq[h] = res;
		rq_age[h] = q[rq_s[h]];
		rq_rev[h] = (TURNS && res == 3 -> rev : 0);
		rq_ahead[h] = (TURNS && res == 3 -> ALL_AHEAD(rq_s[h]) : 0);
		res = 0; tok = 0
	:: losses > 0 -> losses--; end_call(h)
	:: losses > 0 && late == NOTHING ->
		losses--; late = rq_kind[h]; late_s = rq_s[h];
		late_age = rq_age[h]; end_call(h)
	fi
}

#define tick(x)		x = (x > 0 -> x - 1 : 0)
#define WAITS(s)	(q[s] != 0 && !IS_FIRST(s))

active proctype network()
{
	byte res, tok;

end:	do
	:: atomic { left[0] + hb_left[0] + seen_left[1] > 0 ->
		tick(left[0]); tick(hb_left[0]); tick(seen_left[1]) }
	:: atomic { hb[0] == 1 -> beat(0) }
	:: atomic { rq[0] == 1 -> call(0) }
	:: atomic { rq[1] == 1 -> call(1) }
	/* An answer is lost. */
	:: atomic { hb[0] >= 2 && losses > 0 ->
		losses--; hb[0] = 0; hb_left[0] = 0 }
	:: atomic { rq[0] >= 2 && losses > 0 -> losses--; end_call(0) }
	:: atomic { rq[1] >= 2 && losses > 0 -> losses--; end_call(1) }
	/* By hand. */
	:: atomic { forces > 0 && WAITS(0) -> forces--; gone(0) }
	:: atomic { forces > 0 && WAITS(1) -> forces--; gone(1) }
	:: atomic { forces > 0 && WAITS(2) -> forces--; gone(2) }
	:: atomic { forces > 0 && WAITS(1) && ALIVE(1) && LISTENS(1) ->
		forces--; skey[1] = 0; rev++; told[1]!OWN,rev }
	:: atomic { !ALIVE(1) && q[1] != 0 -> gone(1) }
	/* A call that was given up is done after all. */
	:: atomic { late_hb != NONE ->
		if
		:: ALIVE(late_hb) -> skey[late_hb]++
		:: else
		fi;
		late_hb = NONE }
	:: atomic { late != NOTHING ->
		do_call(late, late_s, late_age, res, tok);
		late = NOTHING; late_s = 0; late_age = 0;
		res = 0; tok = 0 }
	od
}

active proctype final()
{
end:	timeout;
	CLAIMED(3, !(q[0] != 0 && !ALIVE(0)) && !(q[1] != 0 && !ALIVE(1)) &&
	    !(q[2] != 0 && !ALIVE(2)))
}

init {
	atomic {
		skey[0] = 1; skey[1] = 1;
		cur[1] = 1;
		left[0] = TTL; left[1] = TTL;
		st[0] = IDLE; st[1] = IDLE;
		rq_kind[0] = NOTHING; rq_kind[1] = NOTHING;
		seen_s[0] = NONE; seen_s[1] = NONE;
		to_sweep[0] = NONE; to_sweep[1] = NONE;
		run host(0); run host(1)
	}
}
