/* SPDX-License-Identifier: MIT */
/*
 * The note of a robust key (src/shm/consistency.c, op/mark_consistent.c): does
 * each holder see that a robust holder left without a release, until one has
 * declared the resource consistent?
 *
 * One key.  HOLDERS processes acquire it USES times each, robust or not, may
 * declare it consistent if they saw a note, and release it.  EXPIRES times a
 * lease ends under its holder, at any step; so does a death, because a holder
 * may take no step after that.
 *
 * Left out: readers, hand-overs (CN5), and versions that come back.
 *
 * Properties.
 *  P1	A holder sees a note if a robust holder's lease ended without a
 *	release, and nobody has repaired the resource under a lease since.
 *  P2	If no lease ended so, no holder sees a note.
 *  P3	A declaration that fails, because the lease was lost, leaves a note, if
 *	nobody has been granted the key since.
 *
 * Mutants leave out one rule each:
 *	NOTE	a robust holder writes no note
 *	FAST	a free key with a note has a cause
 *	VERSION	the swap of a release compares the version
 *	UNDO	a late declaration is undone
 *	ORDER	the note is ended before the key is free
 */
#ifndef HOLDERS
#define HOLDERS 2
#endif
#ifndef USES
#define USES 2
#endif
#ifndef EXPIRES
#define EXPIRES 1
#endif
#ifndef ONLY
#define ONLY 0
#endif
#define CLAIMED(n, x)	assert((ONLY != 0 && ONLY != n) || (x))
#define GRANTS (HOLDERS * USES + 1)

#define IN_USE 1
#define LOST 2
#define LOST_ROBUST 3

byte ver, held;			/* of the latest grant; of the holder, or 0 */
bit cause;			/* the free word has one */
byte kind, by;			/* the note, and the grant that wrote it */
bit owed;			/* the resource was left, and not repaired */
bit robust[GRANTS];		/* that grant's holder would leave it so */

proctype holder()
{
	byte v, uses, is, is_of, to;
	bit rob, told, noted, removed;

again:
	if
	:: uses == USES -> goto over
	:: else -> uses++
	fi;
	told = 0;
	if :: rob = 0 :: rob = 1 fi;
end_wait:
	atomic { held == 0 -> ver++; held = ver; v = ver;
		if
		:: !cause && !rob -> CLAIMED(1, !owed); goto have
		:: skip
		fi
	};
#ifdef MUTANT_NOTE
	if :: rob -> goto have :: else fi;
#endif
grant:	atomic { is = kind; is_of = by;
		if
		:: is == 0 && !rob ->
			CLAIMED(1, !owed || held != v); goto have
		:: else
		fi
	};
	atomic {				/* CN1, CN3 */
		if
		:: kind == is && by == is_of ->
			kind = (is == 0 -> IN_USE :
			    (rob -> LOST_ROBUST : LOST));
			by = v; told = (is != 0);
			CLAIMED(1, told || !owed || held != v)
		:: else -> goto grant
		fi
	};
have:	atomic {
		CLAIMED(2, !told || EXPIRES != 0);
		if :: held == v -> robust[v] = rob :: else -> goto again fi
	};
	if
	:: !told
	:: told				/* and does not repair it */
	:: told ->
		atomic { is = kind; is_of = by };
		atomic {		/* repaired, under its lease */
			if :: held == v -> owed = 0 :: else -> goto again fi
		};
		if
		:: is == 0 || (is == IN_USE && is_of == v) -> goto leave
		:: else -> to = (is == LOST -> 0 : IN_USE)
		fi;
		removed = 0;
		atomic {		/* CN4 */
			if
			:: kind == is && by == is_of ->
				kind = to; by = (to == 0 -> 0 : v);
				removed = 1
			:: else
			fi
		};
		atomic {
			if :: held == v -> goto leave :: else fi
		};
#ifndef MUTANT_UNDO
		atomic {
			if
			:: removed && kind == to && by == (to == 0 -> 0 : v) ->
				kind = is; by = is_of
			:: else
			fi
		};
#endif
		atomic { CLAIMED(3, !removed || ver != v || kind != 0);
			goto again }
	fi;
leave:	atomic {		/* it has done its work under its lease */
		if :: held == v -> robust[v] = 0 :: else -> goto again fi
	};
#ifndef MUTANT_ORDER
	atomic {				/* CN2 */
		if
#ifdef MUTANT_VERSION
		:: rob && kind == IN_USE -> kind = 0; by = 0
#else
		:: rob && kind == IN_USE && by == v -> kind = 0; by = 0
#endif
		:: else
		fi
	};
#endif
#ifndef MUTANT_FAST
	noted = (kind != 0);
#endif
	atomic {				/* W2 */
		if
		:: held == v -> held = 0; cause = noted
		:: else -> goto again
		fi
	};
#ifdef MUTANT_ORDER
	atomic {
		if
		:: rob && kind == IN_USE && by == v -> kind = 0; by = 0
		:: else
		fi
	};
#endif
	goto again;
over:
	skip
}

proctype clock()
{
	byte n;

end_over:
	do
	:: atomic { n < EXPIRES && held != 0 -> n++; cause = 1;
		owed = (owed || robust[held]); held = 0 }
	od
}

init {
	byte i;

	atomic {
		for (i : 1 .. HOLDERS) { run holder() }
		run clock()
	}
}
