/* SPDX-License-Identifier: MIT */
/*
 * Lives of a shim (src/shim/member/member_session.c, resync.c, host.c, key_step.c): do two hosts
 * ever have one key, when a shim is killed at any step, the next one adopts its
 * session, and what the dead one sent is done late?  And when the making of a
 * session is asked for twice?
 *
 * Host A has a table: D, a right of this epoch, its base, the name of a
 * session, and the key's lock, that a process has or the shim.  Its shim lives
 * LIVES times; each step is one that a kill can come after.  The knowledge of a
 * life is lost with it, but the calls that it sent are not: ENQUEUE, CONFIRM,
 * DELETE and MAKE may be done at any later time, or never.  Host B queues, and is granted in one step
 * when it is first (cluster.pml has the insides); it ends sessions whose
 * heartbeats it has not heard of for a TTL, and revokes their leases any time
 * later.  A session's number is its name and its lease; a claim's is its
 * request.  Time is what is left until something.
 *
 * With SHARED, A asks for reading: then a claim that is being left does not keep
 * the next one waiting, and both may be found.
 *
 * With LAPSES, the shim's own lease of the key may run out while it has it, just
 * before it clears the right: a process may have the key then (delegate.pml has
 * the rest of that).
 *
 * Left out: late heartbeats (they only make others wait), many keys, deletions
 * by hand.
 *
 * Properties.
 *  P1	While a process of A may go by what it was shown (a right, and D), B does
 *	not have the key.
 *  P2	A token that a process gets is above all that B had before.
 *
 * Mutants:
 *	KEEP	uses a claim that it finds without a right
 *	REPEAT	makes a session again after TTL, by the same name and lease
 *	WHEN	counts D from the sending that finds the session made
 *	NUMBER	counts requests from 1 in each life
 *	BOTH	of two claims that it finds, keeps the first
 *	FIRST	... the one of the older revision
 *	MOD	... not the one that was put again last, if both were since the
 *		right's base
 *	RIGHT	... the first, if the right has been cleared
 */
#ifndef ONLY
#define ONLY 0
#endif
#define CLAIMED(n, x)	assert((ONLY != 0 && ONLY != n) || (x))
#ifndef LIVES
#define LIVES 2
#endif
#ifndef LOSSES
#define LOSSES 1		/* of calls; those of a kill are free */
#endif
#ifndef BEATS
#define BEATS 1			/* of each life */
#endif
#ifndef ANCHORS
#define ANCHORS 0
#endif
#ifndef SHARED
#define SHARED 0
#endif
#ifndef LAPSES
#define LAPSES 0
#endif
#ifndef NAMES
#define NAMES 2
#endif
#ifndef REQUESTS
#define REQUESTS 2
#endif
#ifndef ENDS
#define ENDS 1			/* B ends sessions */
#endif
#ifndef TTL
#define TTL 1
#endif

#define N 3			/* names and requests are 1 and 2 */
#define R 3

/* The store. */
byte rev;
byte skey[N];			/* create_revision; 0: not there */
byte beat[N];			/* counts what is put there */
byte created[N];		/* the same, as A knows it */
bool revoked[N];		/* its lease */
byte q[R], mod[R], whose[R];	/* A's: create, mod; which session */
byte qb;

/* Under way, for ever if need be. */
bool late_make[N], late_enqueue[R], late_delete[R], revoking[N];
byte late_confirm[R];		/* the age it compares */

/* A's table. */
byte left;			/* until D */
bool right;
byte base, table_name;
mtype = { FREE, PROCESS, SHIM };
mtype lock = FREE;
byte goes;			/* a process goes by it so long */

/* A's shim. */
byte lives = LIVES, losses = LOSSES, beats = BEATS, anchors = ANCHORS;
#if LAPSES
byte lapses = LAPSES;
bool clearing;
#endif
mtype = { START, MAKE, ADOPT, LOOK, FIND, UP };
mtype phase = START;
byte name, names, requests;	/* drawn until now */
mtype = { NOTHING, SENT, DONE, THERE, NOT };
mtype sc = NOTHING;		/* the session's call */
byte sc_left;			/* of the TTL since it was sent */
bool unknown;			/* an answer was lost */
byte make_left;
byte part;			/* our claim; 0: none */
mtype = { ASKED, QUEUED, GRANTED };
mtype state = ASKED;
bool returning, raised, anchor;
byte revision, age;
mtype = { ENQUEUE, CONFIRM };
mtype cc = NOTHING, cc_kind = ENQUEUE;
byte cc_rev, cc_age;
bool seen[R];

/* B. */
bool has;
bool came;			/* once */
byte b_top;
byte heard, heard_beat, heard_left;

#define IS_THERE(n)	(skey[n] != 0 && skey[n] == created[n])
#define OLDER(x, i)	((x) != 0 && (x) < q[i])
#define FIRST(i)	(q[i] != 0 && !OLDER(qb, i) && \
			    (SHARED || (!OLDER(q[1], i) && !OLDER(q[2], i))))
#define AHEAD_OF_B(i)	(q[i] != 0 && q[i] < qb)
#define B_FIRST		(qb != 0 && !AHEAD_OF_B(1) && !AHEAD_OF_B(2))
#define tick(x)		x = (x > 0 -> x - 1 : 0)

inline look()
{
	CLAIMED(1, !(goes > 0 && has))
}

/* Leases under a right that is void are broken; who has one and does not look
 * goes on until its D. */
inline new_epoch()
{
	right = false; left = 0;
	lock = (lock == PROCESS -> FREE : lock)
}

inline no_claim()
{
	part = 0; state = ASKED; returning = false; raised = false;
	anchor = false; revision = 0; age = 0;
	cc = NOTHING; cc_rev = 0; cc_age = 0
}

/* A call that is under way stays so, or is lost. */
inline drop_calls()
{
	if
	:: sc == SENT && phase == MAKE -> late_make[name] = true
	:: true
	fi;
	if
	:: cc == SENT && cc_kind == ENQUEUE -> late_enqueue[part] = true
	:: cc == SENT && cc_kind == CONFIRM -> late_confirm[part] = age
	:: true
	fi;
	sc = NOTHING; sc_left = 0; unknown = false; make_left = 0
}

inline kill()
{
	lives--;
	drop_calls();
	no_claim();
#if LAPSES
	clearing = false;
#endif
	phase = START; name = 0;
	seen[1] = false; seen[2] = false;
	beats = BEATS;
	lock = (lock == SHIM -> FREE : lock)
}

/* The store says that it is dead. */
inline lost()
{
	drop_calls();
	no_claim();
#if LAPSES
	clearing = false;
#endif
	new_epoch();
	table_name = 0; name = 0; phase = START;
	seen[1] = false; seen[2] = false
}

inline do_make(n)
{
	if
	:: skey[n] == 0 && !revoked[n] ->
		rev++; skey[n] = rev; beat[n]++
	:: else
	fi
}

inline do_enqueue(i)
{
	if
	:: IS_THERE(whose[i]) && q[i] == 0 ->
		rev++; q[i] = rev; mod[i] = rev
	:: else
	fi
}

inline do_confirm(i, known)
{
	if
	:: IS_THERE(whose[i]) && q[i] == known -> rev++; mod[i] = rev
	:: else
	fi
}

inline alive()
{
	if
	:: left == 0 -> new_epoch()	/* nothing is made good again */
	:: else
	fi;
	left = (sc_left > left -> sc_left : left);
	sc_left = 0
}

inline leave(i)
{
	late_delete[i] = true
}

/* True if claim i is that of the right, or of the last right; host.c,
 * is_its_claim(). */
#ifdef MUTANT_BOTH
#define IS_ITS_CLAIM(i)	false
#else
#ifdef MUTANT_FIRST
#define IS_ITS_CLAIM(i)	(mod[i] < revision)
#else
#ifdef MUTANT_MOD
#define IS_ITS_CLAIM(i)	(right && mod[i] >= base && \
			    (revision < base || mod[i] < revision))
#else
#define COULD_BE(create, latest) \
			(create <= base && base <= latest)
#ifdef MUTANT_RIGHT
#define CLEARED		(!right)
#else
#define CLEARED		false
#endif
#define IS_ITS_CLAIM(i)	(!CLEARED && COULD_BE(q[i], mod[i]) && \
			    (!COULD_BE(age, revision) || q[i] > age))
#endif
#endif
#endif

inline keep(i)
{
	part = i; state = GRANTED; revision = mod[i]; age = q[i];
#ifdef MUTANT_KEEP
	returning = false
#else
	returning = !right
#endif
}

inline found(i)
{
	if
	:: !seen[i]
	:: seen[i] && q[i] == 0
	:: seen[i] && q[i] != 0 && !FIRST(i) -> leave(i)
	:: seen[i] && FIRST(i) && part == 0 -> keep(i)
	:: seen[i] && FIRST(i) && part != 0 ->
		if
		:: IS_ITS_CLAIM(i) -> leave(part); keep(i)
		:: else -> leave(i)
		fi
	fi;
	seen[i] = false
}

active proctype shim()
{
	byte i, n;

end:	do
	:: atomic { lives > 0 && phase != START -> kill() }

	/* The session. */
	:: atomic { phase == START && lives > 0 && table_name != 0 ->
		phase = ADOPT; name = table_name; sc = SENT; sc_left = TTL }
	:: atomic { phase == START && lives > 0 && table_name == 0 &&
	    names < NAMES ->
		names++; name = names; phase = MAKE;
		make_left = TTL; sc = SENT; sc_left = TTL }
	:: atomic { phase == MAKE && sc == NOTHING ->
		sc = SENT; sc_left = TTL }
	:: atomic { phase == MAKE && (sc == DONE || sc == THERE) &&
	    !(unknown && make_left == 0) ->
		table_name = name;
		new_epoch();
		phase = UP;
		if
#ifdef MUTANT_WHEN
		:: sc == DONE || sc == THERE -> alive()
#else
		:: sc == DONE -> alive()
		:: sc == THERE -> sc_left = 0
#endif
		fi;
		sc = NOTHING; unknown = false; make_left = 0 }
	:: atomic { phase == MAKE && (sc == NOT || ((sc == DONE ||
	    sc == THERE) && unknown && make_left == 0)) ->
#ifdef MUTANT_REPEAT
		if
		:: sc == NOT
		:: else ->
			make_left = TTL; unknown = false;
			goto end
		fi;
#endif
		revoking[name] = true;
		sc = NOTHING; sc_left = 0; unknown = false; make_left = 0;
		name = 0; phase = START }
	:: atomic { phase == ADOPT && sc == NOTHING ->
		sc = SENT; sc_left = TTL }
	:: atomic { phase == ADOPT && sc == DONE ->
		alive();
		sc = NOTHING; phase = LOOK }
	:: atomic { phase == LOOK ->
		seen[1] = q[1] != 0 && whose[1] == name;
		seen[2] = q[2] != 0 && whose[2] == name;
		phase = FIND }
	:: atomic { phase == FIND ->	/* the second look */
		if
		:: q[1] != 0 && whose[1] == name && !seen[1] -> leave(1)
		:: else
		fi;
		if
		:: q[2] != 0 && whose[2] == name && !seen[2] -> leave(2)
		:: else
		fi;
		if		/* requests of two lives have no order */
		:: i = 1
		:: seen[1] && seen[2] -> i = 2
		fi;
		do
		:: n < 2 -> found(i); i = 3 - i; n++
		:: else -> break
		od;
		i = 0; n = 0;
		if
		:: right && part == 0 -> new_epoch()
		:: else
		fi;
		phase = UP }
	:: atomic { phase == UP && sc == NOTHING && beats > 0 ->
		beats--; sc = SENT; sc_left = TTL }
	:: atomic { phase == UP && sc == DONE ->
		sc = NOTHING;
		alive() }
	:: atomic { (phase == UP || phase == ADOPT) && sc == NOT -> lost() }

	/* The key. */
	:: atomic { phase == UP && lock == FREE -> lock = SHIM }
	:: atomic { phase == UP && lock == SHIM && !right && part == 0 ->
		lock = FREE }
	:: atomic { phase == UP && lock == SHIM && !right && part == 0 &&
	    requests < REQUESTS ->
#ifdef MUTANT_NUMBER
		requests++;
		part = (lives < LIVES && q[1] == 0 -> 1 : requests);
#else
		requests++; part = requests;
#endif
		whose[part] = name; state = ASKED; cc_kind = ENQUEUE; cc = SENT }
	:: atomic { phase == UP && part != 0 && state == ASKED &&
	    cc == NOTHING -> cc_kind = ENQUEUE; cc = SENT }
	:: atomic { phase == UP && part != 0 && state == QUEUED &&
	    cc == NOTHING && FIRST(part) ->
		cc_kind = CONFIRM; cc = SENT }
	:: atomic { cc == DONE ->
		state = GRANTED; revision = cc_rev; age = cc_age;
		anchor = false;
		cc = NOTHING; cc_rev = 0; cc_age = 0 }
	:: atomic { cc == THERE ->
		state = (state == GRANTED -> GRANTED : QUEUED); age = cc_age;
		anchor = false;
		cc = NOTHING; cc_rev = 0; cc_age = 0 }
	:: atomic { cc == NOT -> lost() }
	/* take */
	:: atomic { phase == UP && part != 0 && state == GRANTED && !right &&
	    lock == SHIM && !returning && !raised && left > 0 ->
		base = (revision > base -> revision : base);
		raised = true }
	:: atomic { phase == UP && raised ->
		right = true; raised = false; lock = FREE }
	/* return, or not wanted any more */
#if LAPSES
	:: atomic { phase == UP && right && part != 0 && lock == SHIM ->
		clearing = true }
	:: atomic { lock == SHIM && lapses > 0 -> lapses--; lock = FREE }
	:: atomic { phase == UP && clearing ->
		right = false; returning = true; clearing = false }
#else
	:: atomic { phase == UP && right && part != 0 && lock == SHIM ->
		right = false; returning = true }
#endif
	:: atomic { phase == UP && part != 0 && !right && !raised &&
	    cc == NOTHING && (state != GRANTED || lock == SHIM) ->
		leave(part);
		no_claim() }
	/* a new base */
	:: atomic { phase == UP && right && part != 0 && !anchor &&
	    anchors > 0 && cc == NOTHING ->
		anchors--; anchor = true; cc_kind = CONFIRM; cc = SENT }
	:: atomic { phase == UP && right && part != 0 && lock == SHIM &&
	    revision > base -> base = revision; lock = FREE }
	:: atomic { phase == UP && right && lock == SHIM -> lock = FREE }
	od
}

active proctype process()
{
end:	do
	:: atomic { lock == FREE && right && left > 0 ->
		lock = PROCESS; goes = left;
		look();
		CLAIMED(2, base > b_top) }
	:: atomic { lock == PROCESS -> lock = FREE; goes = 0 }
	od
}

active proctype other()
{
end:	do
	:: atomic { !came -> came = true; rev++; qb = rev }
	:: atomic { B_FIRST && !has ->
		rev++; b_top = rev; has = true;
		look() }
	:: atomic { has -> has = false; qb = 0; rev++ }
	:: atomic { ENDS && skey[1] != 0 && (heard != 1 ||
	    heard_beat != beat[1]) ->
		heard = 1; heard_beat = beat[1]; heard_left = TTL }
	:: atomic { ENDS && skey[2] != 0 && (heard != 2 ||
	    heard_beat != beat[2]) ->
		heard = 2; heard_beat = beat[2]; heard_left = TTL }
	:: atomic { heard != 0 && heard_left == 0 && skey[heard] != 0 &&
	    beat[heard] == heard_beat ->
		skey[heard] = 0; revoking[heard] = true }
	od
}

inline revoke(n)
{
	revoking[n] = false; revoked[n] = true; skey[n] = 0;
	q[1] = (whose[1] == n -> 0 : q[1]);
	q[2] = (whose[2] == n -> 0 : q[2])
}

inline late(i)
{
	if
	:: late_delete[i] ->
		late_delete[i] = false; q[i] = 0
	:: late_enqueue[i] ->
		late_enqueue[i] = false; do_enqueue(i)
	:: late_confirm[i] != 0 ->
		do_confirm(i, late_confirm[i]); late_confirm[i] = 0
	fi
}

inline call()
{
	if
	:: cc_kind == ENQUEUE ->
		if
		:: !IS_THERE(whose[part]) -> cc = NOT
		:: else ->
			if
			:: q[part] == 0 ->
				do_enqueue(part);
				cc = (FIRST(part) -> DONE : THERE)
			:: else -> cc = THERE
			fi;
			cc_rev = rev; cc_age = q[part]
		fi
	:: cc_kind == CONFIRM ->
		if
		:: !IS_THERE(whose[part]) || q[part] != age -> cc = NOT
		:: else ->
			do_confirm(part, age);
			cc = (FIRST(part) -> DONE : THERE);
			cc_rev = rev; cc_age = age
		fi
	fi
}

active proctype network()
{
end:	do
	:: atomic { left + goes + sc_left + make_left + heard_left > 0 ->
		tick(left); tick(goes); tick(sc_left); tick(make_left);
		tick(heard_left) }
	/* Calls of the session. */
	:: atomic { sc == SENT && phase == MAKE ->
		if
		:: revoked[name] -> sc = NOT
		:: !revoked[name] && skey[name] == 0 ->
			do_make(name); created[name] = skey[name]; sc = DONE
		:: !revoked[name] && skey[name] != 0 ->
			created[name] = skey[name]; sc = THERE
		fi }
	:: atomic { sc == SENT && phase != MAKE ->
		if
		:: IS_THERE(name) -> beat[name]++; sc = DONE
		:: else -> sc = NOT
		fi }
	:: atomic { sc != NOTHING && losses > 0 ->
		losses--;
		if
		:: sc == SENT && phase == MAKE -> late_make[name] = true
		:: true
		fi;
		unknown = (phase == MAKE);
		sc = NOTHING; sc_left = 0 }
	/* Of claims. */
	:: atomic { cc == SENT -> call() }
	:: atomic { cc != NOTHING && losses > 0 ->
		losses--;
		if
		:: cc == SENT && cc_kind == ENQUEUE ->
			late_enqueue[part] = true
		:: cc == SENT && cc_kind == CONFIRM ->
			late_confirm[part] = age
		:: true
		fi;
		cc = NOTHING; cc_rev = 0; cc_age = 0; anchor = false }
	/* Calls that are done late. */
	:: atomic { late_make[1] -> late_make[1] = false; do_make(1) }
	:: atomic { late_make[2] -> late_make[2] = false; do_make(2) }
	:: atomic { late_delete[1] || late_enqueue[1] ||
	    late_confirm[1] != 0 -> late(1) }
	:: atomic { late_delete[2] || late_enqueue[2] ||
	    late_confirm[2] != 0 -> late(2) }
	:: atomic { revoking[1] -> revoke(1) }
	:: atomic { revoking[2] -> revoke(2) }
	/* A resync. */
	:: atomic { q[1] != 0 && skey[whose[1]] == 0 -> q[1] = 0 }
	:: atomic { q[2] != 0 && skey[whose[2]] == 0 -> q[2] = 0 }
	od
}
