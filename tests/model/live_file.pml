/* SPDX-License-Identifier: MIT */
/*
 * The live file (src/shm/live_file.c) and the removal lock (removal_lock.c):
 * does a table that has its name have its live file, and does a remover unlink
 * the table that it means?
 *
 * MAKERS processes make a table each, REMOVERS remove what has the name, each
 * REMOVALS times.  A table has a number, which is its live file's as well.  Each
 * system call is one step: link a live file (it must not be there), link the
 * table (fails if the name is taken), unlink, lock a byte, open or make the
 * lock's file.  A sweep looks at every live file: lock its bytes, look at the
 * name, unlink.  KILLS processes die at any step, which drops their locks; at
 * the end somebody sweeps once more.
 *
 * Left out: users (their bytes only keep a file from being swept), floors and
 * ceilings (R1 to R3), failures of system calls.
 *
 * Properties.
 *  P1	A table that has its name has its live file.		(I1)
 *  P2	A remover unlinks the name of the table that it looked at.
 *  P3	After the last sweep, no live file is left but the table's.
 *
 * Mutants leave out one rule each:
 *	MAKING	a sweep does not lock the file's bytes
 *	LOOK	a sweep does not look at the name
 *	FIRST	the table is linked before its live file
 *	NAMED	a lock counts though its file has lost its name
 *	LOCK	removers do not lock
 *	SWEEP	nobody sweeps
 */
#ifndef MAKERS
#define MAKERS 2
#endif
#ifndef REMOVERS
#define REMOVERS 2
#endif
#ifndef REMOVALS
#define REMOVALS 1
#endif
#ifndef KILLS
#define KILLS 0
#endif
#define TABLES (MAKERS + 1)
#define PROCS (MAKERS + REMOVERS + 1)
#define INODES (REMOVERS + 2)

byte name;			/* the table that has it; 0: none */
bit live[TABLES];		/* table i's file is there */
byte making[TABLES];		/* who has its bytes locked; 0 */
byte lock_name;			/* NAME.removal: an inode; 0: none */
byte lock_owner[INODES];
byte lock_refs[INODES];
bit dead[PROCS];
byte ended;
byte kills = KILLS;

#ifndef ONLY
#define ONLY 0
#endif
#define CLAIMED(n, x)	assert((ONLY != 0 && ONLY != n) || (x))
#define CHECK		CLAIMED(1, name == 0 || live[name])
#define ME (_pid)
#define STEP !dead[ME]

/* Under the locks of process p: they are dropped. */
inline drop_locks(p)
{
	for (j : 0 .. TABLES - 1) {
		if
		:: making[j] == p -> making[j] = 0
		:: else
		fi
	}
	for (j : 0 .. INODES - 1) {
		if
		:: lock_owner[j] == p -> lock_owner[j] = 0
		:: else
		fi
	}
	j = 0
}

inline sweep()
{
	i = 1;
	do
	:: i < TABLES && STEP ->
		if
		:: atomic { STEP && live[i] &&
#ifdef MUTANT_MAKING
			true
#else
			making[i] == 0
#endif
			-> making[i] = (making[i] == 0 -> ME : making[i]) };
			if
			:: atomic { STEP &&
#ifdef MUTANT_LOOK
				true
#else
				name != i
#endif
				-> seen = 1 }
			:: atomic { STEP && !(
#ifdef MUTANT_LOOK
				true
#else
				name != i
#endif
				) -> seen = 0 }
			:: dead[ME] -> goto over
			fi;
			if
			:: atomic { STEP -> if :: seen -> live[i] = 0 :: else
			    fi; seen = 0; CHECK }
			:: dead[ME] -> goto over
			fi;
			if
			:: atomic { STEP -> if :: making[i] == ME ->
			    making[i] = 0 :: else fi }
			:: dead[ME] -> goto over
			fi
		:: atomic { STEP && !(live[i] &&
#ifdef MUTANT_MAKING
			true
#else
			making[i] == 0
#endif
			) -> skip }
		:: dead[ME] -> goto over
		fi;
		i++
	:: i >= TABLES -> break
	:: dead[ME] -> goto over
	od;
	i = 0
}

#ifdef MUTANT_SWEEP
#define SWEEP skip
#else
#define SWEEP sweep()
#endif

/* Process t makes table t. */
proctype maker(byte t)
{
	byte i;
	bit seen, won;

	if :: STEP -> making[t] = ME :: dead[ME] -> goto over fi;
#ifndef MUTANT_FIRST
	if :: STEP -> live[t] = 1 :: dead[ME] -> goto over fi;
#endif
	if
	:: atomic { STEP && name == 0 -> name = t; won = 1;
		CHECK }
	:: atomic { STEP && name != 0 -> won = 0 }
	:: dead[ME] -> goto over
	fi;
#ifdef MUTANT_FIRST
	if :: STEP -> live[t] = 1 :: dead[ME] -> goto over fi;
#endif
	if
	:: STEP && !won -> live[t] = 0
	:: STEP && won
	:: dead[ME] -> goto over
	fi;
	if :: STEP -> making[t] = 0 :: dead[ME] -> goto over fi;
	if
	:: STEP && won -> SWEEP
	:: STEP && !won
	:: dead[ME] -> goto over
	fi;
over:
	atomic { ended++ }
}

proctype remover()
{
	byte i, n, t, ino;
	bit seen, got;

	do
	:: n < REMOVALS && STEP ->
		n++;
#ifndef MUTANT_LOCK
		/* open NAME.removal, or make it */
		if
		:: atomic { STEP -> if
			:: lock_name != 0 -> ino = lock_name
			:: else -> ino = 1;
				do
				:: lock_refs[ino] != 0 -> ino++
				:: else -> break
				od;
				lock_name = ino
			fi;
			lock_refs[ino]++ }
		:: dead[ME] -> goto over
		fi;
		if
		:: atomic { STEP && lock_owner[ino] == 0 ->
			lock_owner[ino] = ME; got = 1 }
		:: atomic { STEP && lock_owner[ino] != 0 -> got = 0 }
		:: dead[ME] -> goto over
		fi;
#ifndef MUTANT_NAMED
		if
		:: atomic { STEP && got && lock_name != ino ->
			lock_owner[ino] = 0; got = 0 }
		:: atomic { STEP && !(got && lock_name != ino) -> skip }
		:: dead[ME] -> goto over
		fi;
#endif
#else
		got = 1;
#endif
		if
		:: STEP && got -> t = name
		:: STEP && !got -> t = 0
		:: dead[ME] -> goto over
		fi;
		if
		:: STEP && t != 0 ->
			if
			:: atomic { STEP -> CLAIMED(2, name == t);
				name = 0 }
			:: dead[ME] -> goto over
			fi;
			if :: STEP -> live[t] = 0 :: dead[ME] -> goto over fi;
			SWEEP
		:: STEP && t == 0
		:: dead[ME] -> goto over
		fi;
#ifndef MUTANT_LOCK
		if
		:: atomic { STEP && got -> if :: lock_name == ino ->
			lock_name = 0 :: else fi }
		:: STEP && !got
		:: dead[ME] -> goto over
		fi;
		if
		:: atomic { STEP -> if :: got -> lock_owner[ino] = 0 :: else
			fi; lock_refs[ino]--; got = 0; ino = 0 }
		:: dead[ME] -> goto over
		fi
#endif
	:: n == REMOVALS -> break
	:: dead[ME] -> goto over
	od;
over:
	atomic { ended++ }
}

active proctype judge()
{
	byte i, j;
	bit seen;

	atomic {
		for (i : 1 .. MAKERS) {
			run maker(i)
		}
		for (i : 1 .. REMOVERS) {
			run remover()
		}
		i = 0
	}
	do
	:: atomic { kills > 0 && ended < MAKERS + REMOVERS ->
		kills--;
		i = 1;
		do
		:: i < MAKERS + REMOVERS -> i++
		:: break
		od;
		dead[i] = 1; drop_locks(i); i = 0 }
	:: atomic { ended == MAKERS + REMOVERS -> break }
	od;
	SWEEP;
	d_step {
		for (i : 1 .. MAKERS) {
			CLAIMED(3, !live[i] || name == i)
		}
	}
over:
	skip
}
