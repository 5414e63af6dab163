/* SPDX-License-Identifier: MIT */
/*
 * Sets of cluster keys (src/live/acquire_many.c, src/shim/agent/key_step.c,
 * src/shim/member/batch.c): do hosts that acquire several keys, together or one
 * after the other, ever wait for each other for ever?
 *
 * HOSTS hosts and two keys.  Each key has a queue in the cluster; its first host
 * may have the right to it.  A host has one process, which acquires ROUNDS
 * times: a key, or both together (the rights to both are requested first), or
 * both one after the other.  It acquires them in their order, holds each, and
 * releases them at the end.  For each key on its own, the shim puts a request
 * into the queue, takes the right when it is first, and returns it when another
 * host is queued and no process here holds the key.  A right that is missing
 * when it is a key's turn is requested again, by itself.
 *
 * Left out: readers, sessions that end, tries, and who is served first (a right
 * can be returned before the process has used it, again and again).
 *
 * Properties.
 *  P1	When nothing can go on, all have had their keys.
 *  P2	A key is held by one host, which is the first of its queue.
 *
 * Mutants leave out one rule each:
 *	WHOLE	a request for both keys is granted when it is first in both
 *	KEEP	a right is returned only if no process here wants the key
 *	ORDER	one host acquires in the other order
 *	AGAIN	a missing right is not requested again
 *	HELD	a right is returned though a process holds the key
 */
#ifndef HOSTS
#define HOSTS 2
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifndef ONLY
#define ONLY 0
#endif
#define CLAIMED(n, x)	assert((ONLY != 0 && ONLY != n) || (x))
#define BOTH 3
#define BIT(k)	(1 << (k))

mtype = { IDLE, WANTS };
mtype st[HOSTS];
byte rounds[HOSTS];
byte wants[HOSTS];		/* keys of this round; bit 0, bit 1 */
byte holds[HOSTS];
byte asked[HOSTS];		/* requested, and no right yet */
byte queued[HOSTS];
byte right[HOSTS];
bit whole[HOSTS];		/* WHOLE: both were requested together */
chan queue[2] = [HOSTS] of { byte };
byte first[2];			/* of the queue, unless it is empty */

/* The key whose turn it is, of a process that does not hold all. */
#define FIRST_TURN(h)	(!(holds[h] & 1) && (wants[h] & 1) -> 0 : 1)
#ifdef MUTANT_ORDER
#define TURN(h)	(h == 0 && wants[h] == BOTH -> (holds[h] & 2 -> 0 : 1) : \
	FIRST_TURN(h))
#else
#define TURN(h)	FIRST_TURN(h)
#endif
#define LACKS(h)	(st[h] == WANTS && holds[h] != wants[h])

#ifdef MUTANT_AGAIN
#define MAY_ASK(h, k)	(!(asked[h] & BIT(k)) && !(before & BIT(k)))
#else
#define MAY_ASK(h, k)	(!(asked[h] & BIT(k)))
#endif

#ifdef MUTANT_KEEP
#define KEPT(h, k)	(wants[h] & BIT(k))
#else
#ifdef MUTANT_HELD
#define KEPT(h, k)	false
#else
#define KEPT(h, k)	(holds[h] & BIT(k))
#endif
#endif

#ifdef MUTANT_WHOLE
#define MAY_HAVE(h, k)	(first[k] == h && (!whole[h] || (first[0] == h && \
	first[1] == h)))
#else
#define MAY_HAVE(h, k)	(first[k] == h)
#endif

/* One step of the shim of host h for key k. */
inline serve(h, k)
{
	if
	:: atomic { (asked[h] & BIT(k)) && !(queued[h] & BIT(k)) ->
		queue[k] ! h;
		queued[h] = queued[h] | BIT(k);
		queue[k] ? <first[k]> }
	:: atomic { (queued[h] & BIT(k)) && !(right[h] & BIT(k)) &&
	    MAY_HAVE(h, k) ->
		right[h] = right[h] | BIT(k);
		asked[h] = asked[h] & ~BIT(k) }
	:: atomic { (right[h] & BIT(k)) && len(queue[k]) > 1 && !KEPT(h, k) ->
		right[h] = right[h] & ~BIT(k);
		queued[h] = queued[h] & ~BIT(k);
		queue[k] ? _;
		queue[k] ? <first[k]> }
	fi
}

active [HOSTS] proctype process()
{
	byte how;
	byte before;		/* AGAIN: was requested in this round */

	atomic { rounds[_pid] = ROUNDS; st[_pid] = IDLE }
	do
	:: atomic { st[_pid] == IDLE && rounds[_pid] > 0 ->
		rounds[_pid]--;
		st[_pid] = WANTS;
		select(how : 0 .. 3);	/* a key, both together, both in turn */
		wants[_pid] = (how < 2 -> how + 1 : BOTH);
		if
		:: how == 2 ->
			asked[_pid] = BOTH & ~right[_pid];
			whole[_pid] = (asked[_pid] == BOTH);
			before = asked[_pid]
		:: else
		fi;
		how = 0 }
	:: atomic { LACKS(_pid) && (right[_pid] & BIT(TURN(_pid))) ->
		CLAIMED(2, first[TURN(_pid)] == _pid);
		holds[_pid] = holds[_pid] | BIT(TURN(_pid)) }
	:: atomic { LACKS(_pid) && !(right[_pid] & BIT(TURN(_pid))) &&
	    MAY_ASK(_pid, TURN(_pid)) ->
		asked[_pid] = asked[_pid] | BIT(TURN(_pid));
		before = before | BIT(TURN(_pid));
		whole[_pid] = 0 }
	:: atomic { st[_pid] == WANTS && holds[_pid] == wants[_pid] ->
		CLAIMED(2, !(holds[_pid] & 1) || first[0] == _pid);
		CLAIMED(2, !(holds[_pid] & 2) || first[1] == _pid);
		holds[_pid] = 0;
		wants[_pid] = 0;
		whole[_pid] = 0;
		before = 0;
		st[_pid] = IDLE }
	:: atomic { st[_pid] == IDLE && rounds[_pid] == 0 -> break }
	od
}

active [HOSTS] proctype shim()
{
	byte h = _pid - HOSTS;

end:	do
	:: serve(h, 0)
	:: serve(h, 1)
	od
}

/* Nothing can go on. */
active proctype judge()
{
	byte i;

	timeout -> d_step {
		for (i : 0 .. HOSTS - 1) {
			CLAIMED(1, rounds[i] == 0 && st[i] == IDLE)
		}
		i = 0
	}
end:	false
}
