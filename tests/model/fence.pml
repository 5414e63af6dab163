/* SPDX-License-Identifier: MIT */
/*
 * Ranges of tokens claimed on disk: does no range serve two tables, and does a
 * new table begin above everything that was ever issued?  (C14, scope `local`,
 * and I4 of op/token_ceiling.c: every scope)
 *
 * Three processes (or -DUSERS=2), one name, one directory.  These exist:
 *	directory	a set of numbers, each a file.  `dir` is what processes
 *		see; `disk` is what was there at the last sync; a number in
 *		`dirty` was linked or unlinked since, and after a power loss it
 *		is there or not, each on its own: harsher than any file system,
 *		which keeps some order.  `stuck` are those that a failed sync
 *		left behind: later syncs do not carry them
 *	tables		numbered as they got the name; `latest` is the table's
 *		latest range, `sealed` its flag SEALED
 *	name		which table has it
 *
 * Operations, each access one step (a scan is one: see src/fence/range.c):
 *	OPENS	open: attach to what has the name, or make it: claim, then take
 *		the name (its maker may be stopped in between); then, in either
 *		case, secure the table, and use its latest range
 *	GRANTS	who is attached, however long ago, uses the table: if it is not
 *		sealed, secures it first; then reads the latest range
 *	AWAY	the disk does not answer a process that would secure a table;
 *		the process stays attached
 *	RAISES	a user of a table, however old its mapping, claims a further
 *		range for it
 *	KEEPS	a reaper, which has no session, secures the table if it is
 *		sealed when the reaper begins, but does not seal it
 *	REMOVES	the name is removed by hand (nothing else happens)
 *	RETIRES	the table is removed properly: flag, latest frozen, name
 *	REPAIRS	all who are attached are gone, and the table is repaired: its
 *		latest range is the first again, then the seal is taken off
 *	POWER	power is lost: memory, name and processes are gone
 *	ERRORS	a directory sync fails
 * Death and a long stop are one thing here: a process that is not run any more;
 * nobody waits for anybody.  (That removers take turns is left out: it makes
 * fewer runs, not more.)
 *
 * Claim(at least): scan; link to the next number, or while that exists the one
 * after; sync the directory; scan again.  (The directory is opened before the
 * link, so that its sync reports an error.)  With K higher numbers in that scan
 * ours may be one that was used and pruned, so try above them.  Else prune those
 * with K higher ones.  K is 64 there and 2 here.
 * Raise: look at flag and name, claim, look at both again, then: load latest,
 * look at the flag, swap, until latest is not below the claim.
 * Secure: load latest; scan; if it is the highest, or the table is sealed and
 * its file is there, well; else raise.  Then seal the table.
 *
 * Left out: contents of files (tests/fence/images), the temporary file, the
 * wall-clock floor, an older directory restored, tokens within a range (they
 * are token_range.pml's).  That a repair lifts all keys above the ceiling as
 * well (offline/repair.c, M3) is left out too: the seal alone has to keep P4.
 *
 * Properties.
 *  P1	No number is claimed twice, hence no range used by two tables.
 *  P2	Each range that a table uses is above all that earlier tables used.
 *									(G2)
 *  P3	Each range that an old table uses later is below all that newer ones
 *	used.								(G2)
 *  P4	A table's ranges rise: what is read as the latest is not below any that
 *	was used.							(G2)
 *  P5	Every image that a power loss may leave has a number not below any that
 *	was published.
 *  P6	A retired table gets no further range.
 *
 * Mutants leave out one rule each:
 *	SYNC	the directory is not synced
 *	EARLY	published before the sync
 *	RETRY	after a failed sync the same number is synced again
 *	RESCAN	no second scan, and the first serves for pruning
 *	PRUNE	pruned before the own number is synced
 *	EXIST	the link replaces what is there (rename)
 *	LOOK	who secures a table does not look at the directory
 *	GONE	no look at the name after the claim
 *	FLAG	no look at the flag RETIRED
 *	FREEZE	the latest range is not frozen
 *	SEAL	a table is sealed before the highest number was asked for
 *	HASTE	... when it was, before a higher one is published
 *	BORN	a table is sealed by its maker, before it has the name
 *	GRANT	a table that is not sealed is used
 *	ORDER	the latest range is read before the seal
 *	KEPT	the seal outlasts a repair
 *	REAPER	reapers seal, too
 */
#ifndef ONLY
#define ONLY 0
#endif
#define CLAIMED(n, x)	assert((ONLY != 0 && ONLY != n) || (x))

#ifndef OPENS
#define OPENS 3
#endif
#ifndef RAISES
#define RAISES 0
#endif
#ifndef REMOVES
#define REMOVES 0
#endif
#ifndef RETIRES
#define RETIRES 0
#endif
#ifndef GRANTS
#define GRANTS 0
#endif
#ifndef AWAY
#define AWAY 0
#endif
#ifndef KEEPS
#define KEEPS 0
#endif
#ifndef REPAIRS
#define REPAIRS 0
#endif
#ifndef POWER
#define POWER 0
#endif
#ifndef ERRORS
#define ERRORS 0
#endif
#ifndef USERS
#define USERS 3
#endif
#define TABLES 3
#ifndef MOST
#define MOST 6			/* the last number */
#endif

#define TRIES 1			/* after a failed sync, or as a late one */

/* the directory, as processes see it and on disk: bit n is number n */
byte dir, disk, dirty, stuck;

#define BIT(n)		(1 << (n))
#define HIGHEST(m)	((m) >= 64 -> 6 : ((m) >= 32 -> 5 : ((m) >= 16 -> 4 : \
			((m) >= 8 -> 3 : ((m) >= 4 -> 2 : \
			((m) >= 2 -> 1 : 0))))))
#define LOWEST(m)	((m) & 2 -> 1 : ((m) & 4 -> 2 : ((m) & 8 -> 3 : \
			((m) & 16 -> 4 : ((m) & 32 -> 5 : 6)))))
/* with K = 2: the lowest number that stays, and whether n is too low */
#define KEPT(m)		HIGHEST((m) & ~BIT(HIGHEST(m)))
#define PAST(m, n)	((n) < KEPT(m))
/* what no power loss takes away */
#define SURE		(disk & ~(dirty | stuck))

/* memory; latest: the range, and FROZEN */
byte name, made;
byte latest[TABLES + 1];
bool retired[TABLES + 1];
bool sealed[TABLES + 1];
#if REPAIRS
byte first[TABLES + 1];		/* its first range */
byte mending;			/* which is being repaired */
byte attached[4];		/* a process, by a session, to which */
#define FIRST(n)	first[t] = n
#define ATTACH(t)	attached[me] = t
#define LEFT(i, t)	down[i] = (down[i] || attached[i] == t)
#else
#define FIRST(n)	skip
#define ATTACH(t)	skip
#define mending		0
#endif
#define FROZEN		8
#define RANGE(w)	((w) & 7)

byte opens = OPENS, raises = RAISES, removes = REMOVES, retires = RETIRES;
byte power = POWER, faults = ERRORS;
byte grants = GRANTS, away = AWAY, keeps = KEEPS, repairs = REPAIRS;
bool down[4];			/* lost with the power, or ended */
byte claiming[4];		/* has the directory open: for what */
bool untold[4];			/* a sync failed since */
byte started;

/* ghosts */
byte given;			/* bit n: somebody had n of a claim */
byte base[TABLES + 1];		/* the lowest range that was used, */
byte top[TABLES + 1];		/* and the highest */
byte most;			/* of all tables */
bool final[TABLES + 1];		/* the table is retired for good */

/* Linked or unlinked: not on disk, or not gone from it, for certain. */
inline touch(i)
{
	dirty = dirty | BIT(i);
	stuck = stuck & ~BIT(i)
}

/* This process is about to use range r of the table. */
inline use(r)
{
	CLAIMED(2, t < 2 || r > top[1]);
	CLAIMED(2, t < 3 || r > top[2]);
	CLAIMED(3, t >= 2 || base[2] == 0 || r < base[2]);
	CLAIMED(3, t >= 3 || base[3] == 0 || r < base[3]);
	CLAIMED(5, HIGHEST(SURE) >= r);
	base[t] = (base[t] == 0 || r < base[t] -> r : base[t]);
	top[t] = (r > top[t] -> r : top[t]);
	most = (most < top[t] -> top[t] : most)
}

/* Its latest one, as it reads it now. */
inline use_latest()
{
	CLAIMED(4, RANGE(latest[t]) >= top[t]);
	use(RANGE(latest[t]))
}

/* A claim has come to its end with n. */
inline give()
{
	CLAIMED(1, !(given & BIT(n)));
	given = given | BIT(n)
}

inline done()
{
	n = 0; l = 0; seen = 0; tries = 0;
	claiming[me] = 0;
	untold[me] = false;
	t = (reaper -> 0 : t);
	reaper = false
}

/* A failed sync is reported to everyone who has the directory open. */
#ifdef MUTANT_RETRY
#define AFTER_FAULT	skip
#define NEXT_TRY	sync
#else
#define AFTER_FAULT	tries++; n++
#define NEXT_TRY	link
#endif

inline sync_directory()
{
	if
	:: d_step {
		!untold[me] ->
		disk = (disk & ~dirty) | (dir & dirty);
		dirty = 0
	   }
	:: d_step {
		untold[me] && tries < TRIES ->
		untold[me] = false;
		AFTER_FAULT
	   }
	   goto NEXT_TRY
	:: d_step {
		!untold[me] && faults > 0 && tries < TRIES ->
		faults--;
		stuck = stuck | dirty;
		dirty = 0;
		untold[1] = (me != 1 && claiming[1]);
		untold[2] = (me != 2 && claiming[2]);
		untold[3] = (me != 3 && claiming[3]);
		AFTER_FAULT
	   }
	   goto NEXT_TRY
	:: d_step { untold[me] && tries == TRIES -> done() } goto end_idle
	fi
}

/* Is the table in its place?  Before and after the claim. */
#ifdef MUTANT_FLAG
#define UNFLAGGED	true
#else
#define UNFLAGGED	(!retired[t])
#endif
#define FRESH		(UNFLAGGED && name == t)
#ifdef MUTANT_GONE
#define STILL_FRESH	UNFLAGGED
#else
#define STILL_FRESH	FRESH
#endif

/* Whether a table is sealed may be read before its latest range only. */
#ifdef MUTANT_GRANT
#define MAY_USE		true
#else
#define MAY_USE		sealed[t]
#endif

/* a claim: for what? */
#define TO_MAKE		1
#define TO_RAISE	2

proctype user(byte me)
{
	byte t;			/* the table it has mapped */
	bool reaper;		/* for now: it has no session */
	byte n, l, seen, tries;

end_alive:
	{ true;
end_idle:
	if
	:: atomic {
		opens > 0 && started + 1 >= me && me <= USERS ->
		opens--;
		started = (started < me -> me : started)
	   }
	   goto open
	:: atomic { t != 0 && sealed[t] && raises > 0 -> raises-- } goto raise
	:: atomic { t != 0 && grants > 0 -> grants-- } goto grant
	:: atomic {
		t != 0 && sealed[t] && name == t && retires > 0 -> retires--
	   }
	   goto retire
#if KEEPS
	:: atomic {
		keeps > 0 && name != 0 && started + 1 >= me && me <= USERS ->
		keeps--;
		started = (started < me -> me : started);
		t = name;
		ATTACH(0);
		reaper = true
	   }
	   goto keep
#endif
	fi;

open:
	if
	:: atomic { name != 0 && mending == 0 -> t = name; ATTACH(t) }
	   goto secure
	:: atomic {
		name == 0 && made < TABLES ->
		t = 0;
		ATTACH(0);
		claiming[me] = TO_MAKE
	   }
	   goto claim
	:: d_step { name == 0 && made == TABLES -> t = 0; ATTACH(0) }
	   goto end_idle
	fi;

claim:	/* above l, if that is a number */
	if
	:: d_step {
		true ->
		n = HIGHEST(dir) + 1;
		n = (n > RANGE(l) -> n : RANGE(l) + 1)
#ifdef MUTANT_RESCAN
		; seen = dir & (BIT(KEPT(dir)) - 1)
#endif
	   }
	fi;
link:
	if
	:: d_step { n > MOST -> done() } goto end_idle
#ifdef MUTANT_EXIST
	:: d_step { n <= MOST -> dir = dir | BIT(n); touch(n) }
#else
	:: d_step {
		n <= MOST && !(dir & BIT(n)) ->
		dir = dir | BIT(n);
		touch(n)
	   }
	:: d_step { n <= MOST && (dir & BIT(n)) -> n++ } goto link
#endif
	fi;
sync:
#ifdef MUTANT_EARLY
	if			/* the power goes before it comes to that */
	:: claiming[me] == TO_RAISE -> goto synced
	:: claiming[me] != TO_RAISE
	fi;
#endif
#if !defined(MUTANT_SYNC) && !defined(MUTANT_PRUNE)
	sync_directory();
#endif
synced:
#ifndef MUTANT_RESCAN
	if
	:: d_step {
		!PAST(dir, n) -> seen = dir & (BIT(KEPT(dir)) - 1); tries = 0
	   }
	:: d_step {
		PAST(dir, n) && tries < TRIES ->
		tries++;
		n = HIGHEST(dir) + 1
	   }
	   goto link
	:: d_step { PAST(dir, n) && tries == TRIES -> done() } goto end_idle
	fi;
#endif
prune:
	if
	:: d_step {
		seen != 0 ->
		dir = dir & ~BIT(LOWEST(seen));
		touch(LOWEST(seen));
		seen = seen & ~BIT(LOWEST(seen));
		CLAIMED(5, HIGHEST(SURE) >= most)
	   }
	   goto prune
#ifdef MUTANT_PRUNE
	:: seen == 0
	fi;
	sync_directory();
	if
#endif
	:: d_step {
		seen == 0 && claiming[me] == TO_MAKE && name == 0 &&
		    made < TABLES ->
		give();
		made++;
		name = made;
		t = made;
		latest[t] = n;
		FIRST(n);
#ifdef MUTANT_BORN
		sealed[t] = true;
#endif
		ATTACH(t);
		done()
	   }
	   goto secure
	:: d_step {
		seen == 0 && claiming[me] == TO_MAKE && name == 0 &&
		    made == TABLES ->
		give();
		done()
	   }
	   goto end_idle
	:: d_step {
		seen == 0 && claiming[me] == TO_MAKE && name != 0 ->
		give();
		done()
	   }
	   goto open
	:: d_step {
		seen == 0 && claiming[me] == TO_RAISE && STILL_FRESH -> give()
	   }
	   goto raised
	:: d_step {
		seen == 0 && claiming[me] == TO_RAISE && !STILL_FRESH ->
		give();
		done()
	   }
	   goto end_idle				/* ESTALE */
	fi;

#if KEEPS
keep:
	if
	:: sealed[t] -> goto secure
	:: d_step { !sealed[t] -> done() } goto end_idle
	fi;
#endif
grant:
#ifdef MUTANT_ORDER
	l = RANGE(latest[t]);
	if
	:: d_step { sealed[t] -> use(l); done() } goto end_idle
	:: d_step { !sealed[t] -> l = 0 }
	fi;
#else
	if
	:: MAY_USE -> goto use_it
	:: !MAY_USE
	fi;
#endif
secure:
#ifdef MUTANT_SEAL
	sealed[t] = true;
#endif
	if
	:: true -> l = latest[t]
#if AWAY
	:: d_step { away > 0 -> away--; done() } goto end_idle	/* EIO */
#endif
	fi;
	if
#ifdef MUTANT_LOOK
	:: true -> goto seal
#else
	:: HIGHEST(dir) == RANGE(l) -> goto seal
	:: HIGHEST(dir) != RANGE(l)
#endif
	fi;
	if
	:: sealed[t] && (dir & BIT(RANGE(l))) -> goto seal
	:: !(sealed[t] && (dir & BIT(RANGE(l))))
	fi;
#ifdef MUTANT_HASTE
	sealed[t] = true;
#endif
raise:
	if
	:: d_step { FRESH -> l = latest[t]; claiming[me] = TO_RAISE } goto claim
	:: d_step { !FRESH -> done() } goto end_idle		/* ESTALE */
	fi;
raised:
	if
	:: d_step { RANGE(latest[t]) < n -> l = latest[t] }
	:: RANGE(latest[t]) >= n -> goto seal
	fi;
	if
	:: UNFLAGGED
	:: d_step { !UNFLAGGED -> done() } goto end_idle	/* ESTALE */
	fi;
	if
	:: d_step {
		latest[t] == l ->
		CLAIMED(6, !final[t]);
		latest[t] = n
	   }
	   goto seal
	:: latest[t] != l -> goto raised
	fi;
seal:
	if
#if KEEPS
	:: d_step {
		reaper ->
#ifdef MUTANT_REAPER
		sealed[t] = true;
#endif
		done()
	   }
	   goto end_idle
#endif
	:: d_step { !reaper -> sealed[t] = true; use_latest(); done() }
	   goto end_idle
	fi;
use_it:
	if
	:: d_step { true -> use_latest(); done() }
	fi;
	goto end_idle;

retire:
	retired[t] = true;
	if
	:: d_step {
		true ->
#ifndef MUTANT_FREEZE
		latest[t] = latest[t] | FROZEN;
#endif
		final[t] = true
	   }
	fi;
	if
	:: d_step { name == t -> name = 0 }
	:: name != t
	fi;
	goto end_idle
	}
#if POWER || REPAIRS
	unless {
	d_step { down[me] -> down[me] = false; t = 0; ATTACH(0); done() } };
	goto end_alive
#endif
}

#define EITHER(i)							\
	if								\
	:: (dirty | stuck) & BIT(i) -> dir = dir | BIT(i)		\
	:: (dirty | stuck) & BIT(i) -> dir = dir & ~BIT(i)		\
	:: !((dirty | stuck) & BIT(i)) -> dir = (dir & ~BIT(i)) |	\
		(disk & BIT(i))						\
	fi

active proctype world()
{
	atomic { run user(1); run user(2); run user(3) }
end_world:
	do
	:: atomic { removes > 0 && name != 0 -> removes--; name = 0 }
#if REPAIRS
	:: atomic {
		repairs > 0 && name != 0 ->
		repairs--;
		mending = name;
		LEFT(1, name); LEFT(2, name); LEFT(3, name)
	   }
	   latest[mending] = first[mending];
	   d_step {
		true ->
#ifndef MUTANT_KEPT
		sealed[mending] = false;
#endif
		mending = 0
	   }
#endif
	:: atomic {
		power > 0 && (dirty | stuck) ->
		power--;
		EITHER(1); EITHER(2); EITHER(3);
		EITHER(4); EITHER(5); EITHER(6);
		disk = dir;
		dirty = 0; stuck = 0;
		name = 0;
		down[1] = true; down[2] = true; down[3] = true
	   }
	od
}
