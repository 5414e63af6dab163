/* SPDX-License-Identifier: MIT */
/*
 * Named sessions (shm/session_named.c): three questions, each a configuration.
 *
 * -DMAKERS=n	Two or three makers of one name, each with a record of its own:
 *		PENDING, look at all the others, then NAMED.  A maker that meets
 *		a pending one withdraws it for its maker, which begins anew with
 *		the next incarnation.  One that meets a named one withdraws
 *		itself.
 *		P1	never are two NAMED
 * -DRENEWS=n	Renewals, an end by ttl and an explicit one, and a clock.
 *		P2	a renewal that is reported was made before the end
 * -DTAKES=n	Claims handed over into a chunk of the session, by whoever is
 *		its keeper for that moment, while the session ends, is buried,
 *		and the chunk becomes another's.  A keeper may die.
 *		P3	nobody writes to a claim of a chunk that is not the
 *			session's any more
 *		P4	two are never in the midst of taking a claim
 *
 * Any process may be stopped for good anywhere (it is not scheduled); a death
 * matters only where others may prove it.
 */
#ifndef ONLY
#define ONLY 0
#endif
#define CLAIMED(n, x)	assert((ONLY != 0 && ONLY != n) || (x))

#ifdef MAKERS
#define PENDING 1
#define NAMED 2
#define GONE 3
/* record: inc << 2 | state */
byte record[4];
byte begun[4];

#define ST(r)	((r) & 3)
#define IS_NAMED(i) (ST(record[i]) == NAMED)

proctype maker(byte me)
{
	byte i, r;

begin:
	if
	:: atomic {
		begun[me] < MAKERS ->
		begun[me]++;
		record[me] = begun[me] << 2 | PENDING;
		i = 1
	   }
	:: begun[me] >= MAKERS -> goto over
	fi;
look:	skip;
	if
	:: atomic { i == me -> i++ }; goto look
	:: i != me && i > 3 -> goto confirm
	:: atomic { i != me && i <= 3 -> r = record[i] }
	fi;
	if
	:: ST(r) == NAMED -> goto withdraw
	:: ST(r) == PENDING ->
#ifndef MUTANT_ABORT
		if
		:: atomic { record[i] == r -> record[i] = r | GONE; i++ }
			goto look
		:: record[i] != r -> goto look
		fi
#else
		i++; goto look
#endif
	:: ST(r) != NAMED && ST(r) != PENDING -> i++; goto look
	fi;
confirm:
	if
	:: atomic {
#ifdef MUTANT_CONFIRM
		true ->
#else
		record[me] == (begun[me] << 2 | PENDING) ->
#endif
		record[me] = begun[me] << 2 | NAMED;
		CLAIMED(1, IS_NAMED(1) + IS_NAMED(2) + IS_NAMED(3) == 1)
	   }
#ifndef MUTANT_CONFIRM
	:: record[me] != (begun[me] << 2 | PENDING) -> goto begin
#endif
	fi;
	/* it lives; and may end */
	atomic { true -> record[me] = begun[me] << 2 | GONE };
	goto begin;
withdraw:
	atomic {
		true ->
		record[me] = (record[me] == (begun[me] << 2 | PENDING) ->
		    record[me] | GONE : record[me])
	};
	goto begin;
over:	skip
}

init { atomic { run maker(1); run maker(2); run maker(3) } }
#endif

#ifdef RENEWS
#define TTL 2
#define TMAX 5
#define ENDED 15
#ifdef MUTANT_RISE
#define RISE(d)	(d)
#else
#define RISE(d)	((d) + 1)	/* so no value comes twice */
#endif
byte until = TTL;
byte now;
bool by_ttl;

proctype renewer()
{
	byte d, later, n = RENEWS;

again:
	if
	:: n > 0 -> n--
	:: n == 0 -> goto over
	fi;
look:
	d = until;
	if
	:: d == ENDED -> goto over			/* ESTALE */
	:: d != ENDED && now >= d -> goto end
	:: atomic { d != ENDED && now < d ->
		later = (now + TTL > d -> now + TTL : RISE(d))
	   }
	fi;
	if
	:: atomic { until == d -> until = later }
	:: until != d -> goto look
	fi;
	if
#ifdef MUTANT_LATE
	:: atomic { true -> CLAIMED(2, !by_ttl && now < d) }; goto again
#else
	:: atomic { now < d -> CLAIMED(2, !by_ttl) }; goto again
	:: atomic { now >= d -> d = later }		/* too late: undo */
#endif
	fi;
end:
	if
	:: atomic { until == d -> until = ENDED; by_ttl = true }; goto over
	:: until != d -> goto look
	fi;
over:	skip
}

proctype ender()
{
	byte d;

look:
	d = until;
	if
	:: d == ENDED -> goto over
	:: d != ENDED && now >= d ->
		if
#ifdef MUTANT_EXACT
		:: atomic { true -> until = ENDED; by_ttl = true }; goto over
#else
		:: atomic { until == d -> until = ENDED; by_ttl = true };
			goto over
		:: until != d -> goto look
#endif
		fi
	:: d != ENDED && now < d -> goto look
	:: d != ENDED ->				/* explicitly */
		if
		:: atomic { until == d -> until = ENDED }
		:: until != d -> goto look
		fi
	fi;
over:	skip
}

init {
	atomic { run renewer(); run renewer(); run ender() };
end_clock:
	do
	:: now < TMAX -> now++
	od
}
#endif

#ifdef TAKES
/* of the chunk: nobody's, the session's, another's */
#define NOBODY 0
#define OURS 1
#define THEIRS 2
byte owner = OURS;
byte keeper;
bool ended;
bool dead[4];
byte midst;			/* who is in the midst of it */
byte deaths = DEATHS;

proctype taker(byte me)
{
	byte k, n = TAKES;

	{ true;
begin:
	if
	:: n > 0 -> n--
	:: n == 0 -> goto over
	fi;
	if
	:: owner == OURS
	:: owner != OURS -> goto over
	fi;
	k = keeper;
	if
	:: k == 0
	:: k != 0 && dead[k]
	:: k != 0 && !dead[k] -> goto begin	/* another chunk */
	fi;
	if
	:: atomic { keeper == k -> keeper = me }
	:: keeper != k -> goto begin
	fi;
#ifndef MUTANT_LOOK
	/* pairs with: ended, then the keeper looked at */
	if
	:: ended -> goto leave
	:: !ended
	fi;
	if
	:: owner != OURS -> goto leave
	:: owner == OURS
	fi;
#endif
	atomic {
		true ->
		CLAIMED(4, midst == 0 || dead[midst]);
		midst = me;
		CLAIMED(3, owner == OURS)
	};
	atomic {				/* the claim is announced ... */
		true ->
		CLAIMED(3, owner == OURS)
	};
	atomic {				/* ... and the word swapped */
		midst == me ->
		midst = 0
	};
leave:
	atomic { true -> keeper = (keeper == me -> 0 : keeper) };
	goto begin
	} unless { dead[me] };
over:	skip
}

proctype burier()
{
	byte k;

look:
	if
	:: atomic { !ended -> ended = true }
	:: ended
	fi;
	k = keeper;
#ifndef MUTANT_KEEPER
	if
	:: k == 0
	:: k != 0 && dead[k]
	:: k != 0 && !dead[k] -> goto look	/* another time */
	fi;
#endif
	owner = NOBODY;
	owner = THEIRS
}

init {
	byte who;
	atomic { run taker(1); run taker(2); run burier() };
end_deaths:
	do
	:: atomic { deaths > 0 && keeper != 0 && !dead[keeper] ->
		deaths--;
		dead[keeper] = true
	   }
	od
}
#endif
