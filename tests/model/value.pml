/* SPDX-License-Identifier: MIT */
/*
 * A key's value: is it ever read torn, is its record ever taken while it is the
 * value, or is it other than the last that was reported to be set?
 *
 * One slot, RECORDS records of two words each.  Setter 1 has the lease at
 * first, setter 2 from some moment on (`holder` moves on once); each sets
 * -DSETS values in turn, as shm/value_record.c and op/lease_value.c do: takes a record,
 * writes it word by word, reads slot.value and holds what it leads to, looks at
 * its lease, swaps, looks again, keeps or undoes.  A reader reads slot.value,
 * both words, slot.value.  Each access to shared memory is a step; setter 1 may
 * die (-DKILLS) before any of them.
 *
 * Properties.
 *  P1	A value is read whole: both words are of one call.
 *  P2	When nobody is setting, and nobody has died doing so, the value is the
 *	last that was reported to be set; or none, if an undoing found nothing
 *	to go back to.
 *  P3	A record that the slot leads to is not taken.
 *
 * The mutants: HOLD does not hold the old record before the swap; LOOK leaves
 * out the reader's second look; TAG the tag; UNDO the undoing; SLOT does not
 * ask whether the slot leads to what a dead one holds.
 *
 * Left out: the next key in the slot (the tag goes on, no more).
 */
#ifndef SETS
#define SETS 2
#endif
#ifndef KILLS
#define KILLS 0
#endif
#ifndef RECORDS
#define RECORDS 3
#endif
#ifndef ONLY
#define ONLY 0
#endif
#define CLAIMED(n, x)	assert((ONLY != 0 && ONLY != n) || (x))

/* slot.value and owner words */
#ifdef MUTANT_TAG
#define LINK(idx, tag)	(idx)
#else
#define LINK(idx, tag)	(((tag) << 2) | (idx))
#endif
#define IDX(l)		((l) & 3)
#define TAG(l)		((l) >> 2)
#define FREE		0
#define HELD(s)		(s)		/* s: setter 1 or 2 */
#define OWNED		3
#define OWNER(k, n)	(((n) << 2) | (k))
#define KIND(o)		((o) & 3)
#define COUNT(o)	((o) >> 2)

byte value;
byte owner[RECORDS + 1];
byte word1[RECORDS + 1], word2[RECORDS + 1];
byte holder = 1;
bool dead;			/* setter 1 */
bool setting[3];
byte last;			/* ghost: told to be set */
bool cleared;			/* ghost: undone to nothing */
byte kills = KILLS;

#define GONE(o)	(dead && KIND(o) == HELD(1))
#ifdef MUTANT_SLOT
#define LED_TO(i) false
#else
#define LED_TO(i) (IDX(value) == (i))
#endif
#define MAY_TAKE(i, o) (KIND(o) == FREE || \
	((KIND(o) == OWNED || GONE(o)) && !LED_TO(i)))

/* Owner word of record i: to that kind, if it is still o. */
inline change(i, o, k)
{
	if
	:: owner[i] == (o) -> owner[i] = OWNER(k, COUNT(o) + 1)
	:: else
	fi
}

/* Not held any more: the value's, or free.  Two steps, as in the code. */
inline give_back(i, o)
{
	atomic { kind = (LED_TO(i) -> OWNED : FREE) };
	atomic { change(i, o, kind); kind = 0 }
}

proctype setter(byte me)
{
	byte n, i, o, mine, from, old, held, kind;

	{
end_idle:
	do
	:: atomic { n < SETS && holder >= me && (me == 1 || holder == 2) ->
		n++; setting[me] = true; i = 1 }
take:	   do
	   :: atomic { i <= RECORDS -> o = owner[i] }
	      atomic {
		if
		:: MAY_TAKE(i, o) -> skip
		:: else -> i++; goto take
		fi
	      }
	      atomic {
		if
		:: owner[i] == o ->
			CLAIMED(3, IDX(value) != i);
			mine = OWNER(HELD(me), COUNT(o) + 1);
			owner[i] = mine;
			break
		:: else -> i++
		fi
	      }
	   :: else -> goto none
	   od;
	   word1[i] = 4 * me + n;
	   word2[i] = 4 * me + n;
look:	   atomic { from = value; old = IDX(from); held = 0 }
#ifndef MUTANT_HOLD
	   if
	   :: old != 0 -> o = owner[old];
	      if
	      :: (KIND(o) == OWNED || GONE(o)) && value == from ->
		 atomic {
			if
			:: owner[old] == o ->
				held = OWNER(HELD(me), COUNT(o) + 1);
				owner[old] = held
			:: else
			fi
		 }
	      :: else
	      fi
	   :: else
	   fi;
#endif
	   if
	   :: holder != me -> goto drop
	   :: else
	   fi;
	   atomic {
		if
		:: value == from -> value = LINK(i, TAG(from) + 1); goto done
		:: else
		fi
	   }
	   if
	   :: held != 0 -> give_back(old, held)
	   :: else
	   fi;
	   goto look;
done:	   atomic {
#ifndef MUTANT_UNDO
		if
		:: holder != me -> goto undo
		:: else
		fi;
#endif
		if
		:: last < 4 * me + n && holder == me -> last = 4 * me + n;
		   cleared = false
		:: else
		fi
	   }
	   give_back(i, mine);
	   goto over;
undo:	   atomic {
		if
		:: value == LINK(i, TAG(from) + 1) ->
#ifdef MUTANT_HOLD
			value = LINK(old, TAG(from) + 2)
#else
			value = LINK((held != 0 -> old : 0), TAG(from) + 2);
			cleared = cleared || (held == 0 && old != 0)
#endif
		:: else
		fi
	   }
drop:	   give_back(i, mine);
over:	   if
#ifdef MUTANT_HOLD
	   :: old != 0 && KIND(owner[old]) == OWNED ->
		held = owner[old]; give_back(old, held)
#else
	   :: held != 0 -> give_back(old, held)
#endif
	   :: else
	   fi;
none:	   atomic { i = 0; o = 0; mine = 0; from = 0; old = 0; held = 0;
		kind = 0; setting[me] = false }
	od
	} unless atomic { me == 1 && dead -> skip }
}

proctype reader()
{
	byte l, a, b;

end_reading:
	do
	:: atomic { IDX(value) != 0 -> l = value }
	   a = word1[IDX(l)];
	   b = word2[IDX(l)];
	   atomic {
#ifndef MUTANT_LOOK
		if
		:: value == l -> CLAIMED(1, a == b)
		:: else
		fi;
#else
		CLAIMED(1, a == b);
#endif
		l = 0; a = 0; b = 0
	   }
	od
}

init
{
	atomic { run setter(1); run setter(2); run reader() };
end_all:
	do
	:: atomic { holder == 1 -> holder = 2 }
	:: atomic { kills > 0 -> kills--; dead = true }
	:: atomic { !setting[1] && !setting[2] && !dead ->
		CLAIMED(2, (value == 0 && last == 0) ||
		    (IDX(value) == 0 && (cleared || last == 0)) ||
		    (IDX(value) != 0 && word1[IDX(value)] == last))
	   }
	od
}
