/* SPDX-License-Identifier: MIT */
/*
 * The second sign of life (src/shm/session_sign.c): is a session that was
 * passed on judged dead only when nobody has it any more, and always then?
 *
 * One session record.  OWNERS processes use it one after the other: each
 * reserves it, makes its sign (a file, numbered like its session), is ALIVE,
 * passes the sign on to an heir, and then closes.  Or it dies at any step, which
 * drops its byte first and its descriptor later.  The heir ends at any time.
 * JUDGES processes ask once each, at any step.  HANDS times somebody who may do
 * so removes the named file, or puts another there, to which nothing is bound.
 * At the end, when all are dead, one asks once more.
 *
 * Left out: the file's other name (steps SM1, SM2: it is one process's at a time), the
 * recycle byte (who reserves is atomic), failures of system calls.
 *
 * Properties.
 *  P1	A session becomes DEAD only if its owner and its heir are dead, or the
 *	owner has begun to end it.
 *  P2	Without a hand: when all are dead, the last one who asks does not say
 *	"cannot tell".
 *
 * Mutants leave out one rule each:
 *	FILE	any file of that name is asked
 *	NAME	the name is asked, and not the file that was looked at
 *	LATE	the record names the sign after the state is ALIVE
 *	REMOVED	the file is removed before the record names none
 *	INC	the swap does not compare the incarnation
 */
#ifndef OWNERS
#define OWNERS 2
#endif
#ifndef JUDGES
#define JUDGES 1
#endif
#ifndef HANDS
#define HANDS 0
#endif
#ifndef ONLY
#define ONLY 0
#endif
#define CLAIMED(n, x)	assert((ONLY != 0 && ONLY != n) || (x))

#define FOREIGN 7		/* a file that no record names */
#define FREE 0
#define RESERVED 1
#define ALIVE 2
#define CLOSING 3
#define DEAD 4

byte st = FREE, inc;		/* the state word: one swap changes both */
byte byte_of;			/* the owner whose lock holds the byte; 0 */
byte sign;			/* the file that the record names; 0 */
byte name;			/* the file that has the name; 0: none */
byte copies[8];		/* of the descriptor that is bound to a file */
bit owner_dead[OWNERS + 1], heir_alive[OWNERS + 1], ending[OWNERS + 1];
byte hands = HANDS;

/* dies, here or never: the kernel drops the byte, then the descriptor */
#define OR_DIE	:: atomic { owner_dead[me] = 1; \
	byte_of = (byte_of == me -> 0 : byte_of) } -> goto over

proctype heir(byte me)
{
	atomic { heir_alive[me] = 0; copies[me]-- }
}

proctype owner(byte me)
{
	bit has;

	/* it needs no proof where the record is free, or its owner is dead and
	 * it was never ALIVE.  (It may wait for ever: "cannot tell".) */
end_take:
	atomic { byte_of == 0 && (st == FREE || st == DEAD || st == RESERVED) ->
		st = RESERVED; inc = me; byte_of = me; sign = 0 };
	if :: atomic { copies[me]++; has = 1 } OR_DIE fi;
	if :: name = me OR_DIE fi;
#ifdef MUTANT_LATE
	if :: st = ALIVE OR_DIE fi;
	if :: atomic { copies[me]++; heir_alive[me] = 1; run heir(me) } OR_DIE fi;
	if :: sign = me OR_DIE fi;
#else
	if :: sign = me OR_DIE fi;
	if :: st = ALIVE OR_DIE fi;
	if :: atomic { copies[me]++; heir_alive[me] = 1; run heir(me) } OR_DIE fi;
#endif
	if :: atomic { ending[me] = 1; st = CLOSING } OR_DIE fi;
#ifdef MUTANT_REMOVED
	if :: atomic { name = (name == me -> 0 : name) } OR_DIE fi;
	if :: sign = 0 OR_DIE fi;
#else
	if :: sign = 0 OR_DIE fi;
	if :: atomic { name = (name == me -> 0 : name) } OR_DIE fi;
#endif
	if :: atomic { st == CLOSING && inc == me -> st = FREE }
	   :: atomic { !(st == CLOSING && inc == me) -> skip }
	OR_DIE fi;
	atomic { owner_dead[me] = 1; byte_of = (byte_of == me -> 0 : byte_of) };
over:
	if
	:: atomic { has -> copies[me]-- }
	:: else
	fi;
	/* the next one comes when this one is gone, or not at all */
	if
	:: atomic { me < OWNERS -> run owner(me + 1) }
	:: atomic { else -> skip }
	fi
}

/* Asks once: DEAD, alive, or cannot tell. */
inline ask()
{
	cannot = 0;
	d_step { s = st; i = inc };
	if
	:: s == ALIVE || s == CLOSING ->
		if
		:: byte_of == 0 ->
			told = sign;
			if
			:: told == 0 -> gone = 1
			:: told != 0 ->
				gone = 0;
				file = name;
#ifdef MUTANT_FILE
				cannot = (file == 0);
#else
				cannot = (file != told);
#endif
#ifdef MUTANT_NAME
				if
				:: !cannot -> atomic {
					cannot = (name == 0);
					gone = (name != 0 && copies[name] == 0)
				   }
				:: else
				fi
#else
				if
				:: !cannot -> gone = (copies[file] == 0)
				:: else
				fi
#endif
			fi;
			if
			:: gone -> atomic {
				if
#ifdef MUTANT_INC
				:: st == s ->
#else
				:: st == s && inc == i ->
#endif
					CLAIMED(1, ending[inc] ||
					    (owner_dead[inc] &&
					    !heir_alive[inc]));
					st = DEAD
				:: else
				fi }
			:: else
			fi
		:: else
		fi
	:: else
	fi;
	s = 0; i = 0; told = 0; file = 0; gone = 0
}

proctype judge(bit last)
{
	byte s, i, told, file;
	bit gone, cannot;

	ask();
	CLAIMED(2, HANDS > 0 || !last || !cannot)
}

active proctype world()
{
	byte n;

	atomic {
		run owner(1);
		for (n : 1 .. JUDGES) {
			run judge(0)
		}
		n = 0
	}
	do
	:: atomic { hands > 0 -> hands--; name = 0 }
	:: atomic { hands > 0 -> hands--; name = FOREIGN }
	:: timeout -> break
	od;
	run judge(1)
}
