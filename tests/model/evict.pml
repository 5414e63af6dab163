/* SPDX-License-Identifier: MIT */
/*
 * Eviction: does a key that leaves the table and returns, in whatever slot, go
 * on with its tokens, and is nobody left behind in a slot's earlier life?
 *
 * Three processes (or -DUSERS=2), two slots, two keys, each key a shard of its
 * own.  At first key 0 is in slot 1, and slot 2 unused.  Operations:
 *	USES	acquire and release a key by name: look it up (finish what is
 *		half evicted on the way), or make it: reserve a slot, gen, key,
 *		link, publish, find the place, floor, insert; lose to another
 *		maker and withdraw.  WAITS of them may queue; else busy
 *	EVICTS	E0 to E6 of one slot, or from where another stopped.  So there
 *		are as many helpers as there are evictors and visitors, each
 *		stopped anywhere by not being run
 *	KILLS	deaths at any step; the dead stay dead; their locks are freed
 *		by who meets them, their waits do not count, and the slot they
 *		had not linked yet is undone (W6) by anybody
 * Each access to shared memory is one step, with three exceptions.  A lookup is
 * one step.  A find gives slot and gen together (the library reads gen, key,
 * gen).  Gen and maker are written together.  With -DFINE each hop of a lookup
 * is a step, the look at the key that is found another, and the look that it is
 * still linked a third.  (Hashes are read in the step that validates the hop: a
 * slot has one key while it is linked.)
 *
 * Tokens are versions; with -DFLOOR1=n the shard of key 1 is already at n, and
 * evictors compute tokens from the hint and the version modulo 32, which is
 * where a late one goes wrong.
 *
 * A waiter queues, then looks at word and gen, may pass over a free word if
 * somebody else is queued, and sleeps boundedly: it may wake at any time.  That
 * everybody is served, and in which order, is in queue.pml.
 *
 * Left out: several keys a shard (floors are only higher then), buckets and
 * growth, long keys, pressure (a maker without a slot gives up), expiry, shared
 * mode, wrap, weak memory.
 *
 * Properties.
 *  P1	No key is linked twice, unmarked; the list ends.
 *  P2	Tokens of a key grow, over eviction and return.		(G2)
 *  P3	A lock is granted in the slot's present life only, and that is its
 *	key's.							(C15)
 *  P4	No slot begins a new life while somebody sleeps in its queue. (C15)
 *  P5	One holder a key.					(G1)
 *  P6	The version of a slot never goes back.			(C7)
 *  P7	The floor is raised to the token of the version that is evicted. (C7)
 * No deadlock: invalid end states.
 *
 * Mutants leave out one rule each:
 *	FLOOR	a new life's version ignores the floor
 *	OWN	... ignores the slot's own, so that versions come back
 *	EARLY	the floor is read before the place in the list is found: the key
 *		may have been made, used and evicted elsewhere since
 *	RAISE	E3 is left out
 *	LATE	E3 uses a hint that may be of the slot's next life
 *	LOOK	E2 is left out
 *	GEN	a waiter looks at the word alone
 *	MATCH	a key that was found need not be linked still
 *	LINKED	a maker looks at gen when its slot is linked already
 *	COMMITTED E5 marks what it read without a look at the word
 *
 * Seen: 0.9 to 4.0 million states in the usual configurations; 29 for two uses
 * and two evictions by three processes, 39 for three and three by two (larger).
 */
#include "common.pml"

#ifndef USES
#define USES 0
#endif
#ifndef EVICTS
#define EVICTS 0
#endif
#ifndef USERS
#define USERS NP
#endif
#ifndef WAITS
#define WAITS 0
#endif
#ifndef VER1
#define VER1 3			/* of slot 1, at first key 0 */
#endif
#ifndef VER2
#define VER2 0			/* of slot 2, at first unused */
#endif
#ifndef FLOOR1
#define FLOOR1 0		/* of the shard of key 1 */
#endif

/* lock word of a slot: {ver, mode, claim} */
#define UNUSED		0
#define RESERVED	1	/* by the claim */
#define OPEN		2	/* FREE in the library's words */
#define HELD		3	/* by the claim */
#define DYING		4
#define COMMITTED	5
#define SLOT(m, c, v)	(((v) << 5) | ((m) << 2) | (c))
#define WHO(w)		((w) & 3)
#define MODE(w)		(((w) >> 2) & 7)
#define SVER(w)		((w) >> 5)
#define IS_LOCK(w)	(MODE(w) == OPEN || MODE(w) == HELD)

/* links: [0] the head of the list, [1], [2] the slots' own */
#define LINK(m, i, t)	(((t) << 3) | ((i) << 1) | (m))
#define MARK(l)		((l) & 1)
#define IDX(l)		(((l) >> 1) & 3)
#define TAG(l)		((l) >> 3)

/* shared memory */
short slot[3];
byte link[3];
byte gen[3], maker[3];
bit key[3];
byte floor[2];		/* a shard for each key */
byte queue[3];		/* bit c: claim c is in the slot's queue */
byte wgen[NP + 1];	/* for which life it queued */
#if FLOOR1
byte hint[3];
#endif

byte uses = USES, evicts = EVICTS, waits = WAITS;

/* ghosts */
byte holder[2];		/* of each key */
byte top[2];		/* its largest token so far */
byte asleep[3];		/* bit c: sleeps in the slot's queue */

#define BIT(c)		(1 << (c))
#define WAITING(c, s)	((queue[s] & BIT(c)) && !dead[c] && wgen[c] == gen[s])
#define WAITED_FOR(s)	(WAITING(1, s) || WAITING(2, s) || WAITING(3, s))

/* the slot of a maker who died before it linked it, as far as a burier sees */
#define UNDO(s)	((MODE(slot[s]) == RESERVED && dead[WHO(slot[s])]) || \
		(MODE(slot[s]) == OPEN && maker[s] != 0 && dead[maker[s]]))

#define EVICTABLE(s)	(MODE(slot[s]) == OPEN || MODE(slot[s]) >= DYING)

#define M		32	/* versions, modulo */
#define TOKEN(h, v)	((h) + ((((v) - (h) + M / 2) & (M - 1)) - M / 2))

inline forget() { pred = 0; pl = 0; cur = 0; nl = 0; kk = 0 }

inline done()
{
	forget();
	s = 0; g = 0; n = 0; f = 0; w = 0; ret = 0; k = 0; evicting = 0
}

/* P1: no key is in the table twice */
inline sound()
{
	CLAIMED(1, !(IDX(link[0]) != 0 && IDX(link[IDX(link[0])]) != 0 &&
	    !MARK(link[IDX(link[0])]) &&
	    !MARK(link[IDX(link[IDX(link[0])])]) &&
	    key[IDX(link[0])] == key[IDX(link[IDX(link[0])])]));
	CLAIMED(1, IDX(link[0]) == 0 || IDX(link[IDX(link[0])]) == 0 ||
	    IDX(link[IDX(link[IDX(link[0])])]) == 0);
	assert(TAG(link[0]) < 31 && TAG(link[1]) < 31 && TAG(link[2]) < 31)
}

/* find: then */
#define TO_USE		0
#define TO_INSERT	1
#define TO_KILL		2	/* E0: is the slot in the list? */
#define TO_FREE		3	/* E6: is it out of the list? */
#define TO_UNDO		4	/* W6: did its maker not come to link it? */

proctype user(byte me)
{
	short w;
	byte s, g, n, f, pred, pl, cur, nl, ret;
	bit k, kk, evicting;

end_alive:
	{ true;
end_idle:
	if
	:: atomic {
		uses > 0 && MAY_START && me <= USERS ->
		uses--;
		if
		:: k = 0
		:: k = 1
		fi;
		start_me()
	   }
	   goto find
	:: atomic {
		evicts > 0 && MAY_START && me <= USERS &&
		    (EVICTABLE(1) || EVICTABLE(2)) ->
		if
		:: EVICTABLE(1) -> s = 1
		:: EVICTABLE(2) -> s = 2
		fi;
		w = slot[s];
		k = key[s];
		evicting = 1;
		start_me();
		evicts--
	   }
	   goto evict
#if KILLS
	:: atomic {
		MAY_START && (UNDO(1) || UNDO(2)) ->
		if
		:: UNDO(1) -> s = 1
		:: UNDO(2) -> s = 2
		fi;
		w = slot[s];
		k = key[s];
		evicting = 1;
		start_me()
	   }
	   if
	   :: MODE(w) == RESERVED -> goto undo
	   :: MODE(w) == OPEN -> ret = TO_UNDO; goto find
	   fi
#endif
	fi;

find:	/* the place of key k */
	if
	:: d_step {
		true ->
		forget();
		pl = link[0];
		cur = IDX(pl);
#ifndef FINE
		do
		:: cur == 0 -> break
		:: cur != 0 && MARK(link[cur]) ->
			pl = LINK(0, IDX(link[cur]), TAG(pl) + 1);
			link[pred] = pl;
			cur = IDX(pl);
			sound()
		:: cur != 0 && !MARK(link[cur]) && key[cur] < k ->
			pred = cur;
			pl = link[cur];
			cur = IDX(pl)
		:: cur != 0 && !MARK(link[cur]) && key[cur] >= k -> break
		od;
		kk = (cur != 0 && key[cur] == k);
		g = (kk -> gen[cur] : 0)
#endif
	   }
	fi;
#ifndef FINE
	if
	:: d_step { kk -> kk = 0 } goto present
	:: !kk -> goto absent
	fi;
#else
hop:
	if
	:: cur == 0 -> goto absent
	:: cur != 0 -> nl = link[cur]
	fi;
	/* what stays linked has its key: key and validation are one step */
	if
	:: link[pred] != pl -> goto find
	:: d_step { link[pred] == pl && MARK(nl) -> skip }
	:: d_step {
		link[pred] == pl && !MARK(nl) && key[cur] < k ->
		pred = cur;
		pl = nl;
		cur = IDX(pl);
		nl = 0
	   }
	   goto hop
	:: d_step { link[pred] == pl && !MARK(nl) && key[cur] == k -> nl = 0 }
	   goto match
	:: d_step { link[pred] == pl && !MARK(nl) && key[cur] > k -> nl = 0 }
	   goto absent
	fi;
	if
	:: d_step {
		link[pred] == pl ->
		pl = LINK(0, IDX(nl), TAG(pl) + 1);
		link[pred] = pl;
		cur = IDX(pl);
		nl = 0;
		sound()
	   }
	   goto hop
	:: link[pred] != pl -> goto find
	fi;
match:	/* gen and key, while it is linked: of one life, which others find */
	if
	:: d_step { true -> kk = (key[cur] == k); g = (kk -> gen[cur] : 0) }
	fi;
	if
#ifdef MUTANT_MATCH
	:: d_step { kk -> kk = 0 } goto present
#else
	:: d_step { kk && link[pred] == pl -> kk = 0 } goto present
	:: d_step { link[pred] != pl -> g = 0 } goto find
#endif
	:: d_step { !kk -> g = 0 } goto find
	fi;
#endif

present:
	if
	:: d_step { ret == TO_USE -> s = cur; forget() }
	   goto met
	:: ret == TO_INSERT -> goto withdraw
	:: d_step { ret == TO_KILL && cur == s -> forget(); g = 0 } goto kill
	:: d_step { ret == TO_FREE && cur != s -> forget(); g = 0 } goto release_slot
	:: d_step {
		(ret == TO_KILL && cur != s) || ret == TO_UNDO ||
		    (ret == TO_FREE && cur == s && evicting) -> done()
	   }
	   goto end_idle
	:: d_step {
		ret == TO_FREE && cur == s && !evicting ->
		forget(); s = 0; g = 0; w = 0; ret = TO_USE
	   }
	   goto find
	fi;
absent:
	if
	:: d_step { ret == TO_USE -> forget() } goto reserve
	:: ret == TO_INSERT -> goto insert
	:: d_step { ret == TO_KILL -> done() } goto end_idle
	:: d_step { ret == TO_FREE -> forget() } goto release_slot
#if KILLS
	:: d_step { ret == TO_UNDO -> forget() } goto undo
#endif
	fi;

	/* a key, at its slot s of life g */
met:
	if
	:: d_step { MODE(slot[s]) == DYING -> w = slot[s] } goto dying
	:: d_step { MODE(slot[s]) == COMMITTED -> w = slot[s] }
	   goto committed
	:: MODE(slot[s]) == UNUSED || MODE(slot[s]) == RESERVED -> goto find
	:: d_step { IS_LOCK(slot[s]) -> w = slot[s] }
	fi;
	if
	:: d_step { gen[s] != g -> s = 0; g = 0; w = 0 } goto find
	:: gen[s] == g && MODE(w) == OPEN -> goto take
#if WAITS
	:: d_step { gen[s] == g && waits > 0 -> waits-- }
#endif
	:: d_step { gen[s] == g && MODE(w) == HELD && !dead[WHO(w)] -> done() }
	   goto end_idle					/* busy */
	:: d_step {
		gen[s] == g && MODE(w) == HELD && dead[WHO(w)] ->
		SWAP(slot[s], w, SLOT(OPEN, 0, SVER(w)));
		w = 0
	   }
	   goto met
	fi;
#if WAITS
	d_step { queue[s] = queue[s] | BIT(me); wgen[me] = g; w = 0 };
look:
	w = slot[s];
	if
#ifdef MUTANT_GEN
#define THIS_LIFE	true
#else
#define THIS_LIFE	(gen[s] == g)
#endif
	:: IS_LOCK(w) && THIS_LIFE
	:: d_step {
		!(IS_LOCK(w) && THIS_LIFE) ->
		queue[s] = queue[s] & ~BIT(me);
		wgen[me] = 0;
		s = 0; g = 0; w = 0
	   }
	   goto find
	fi;
	if
	:: MODE(w) == OPEN -> goto take
	:: d_step {
		MODE(w) == OPEN && (queue[s] & ~BIT(me)) ->
		/* somebody is before us */
		w = 0;
		asleep[s] = asleep[s] | BIT(me)
	   }
	:: d_step {
		MODE(w) == HELD && !dead[WHO(w)] ->
		w = 0;
		asleep[s] = asleep[s] | BIT(me)
	   }
	:: d_step {
		MODE(w) == HELD && dead[WHO(w)] ->
		SWAP(slot[s], w, SLOT(OPEN, 0, SVER(w)))
	   }
	   goto look
	fi;
	/* sleeps, boundedly */
	d_step { asleep[s] = asleep[s] & ~BIT(me) };
	goto look;
#endif

take:
	if
	:: d_step {
		slot[s] == w ->
		CLAIMED(2, SVER(w) + 1 > top[k]);
		CLAIMED(3, key[s] == k && gen[s] == g);
		CLAIMED(5, holder[k] == 0);
		top[k] = SVER(w) + 1;
		holder[k] = me;
		w = SLOT(HELD, me, SVER(w) + 1);
		slot[s] = w
	   }
	:: d_step { slot[s] != w && !(queue[s] & BIT(me)) -> w = 0 }
	   goto met
#if WAITS
	:: d_step { slot[s] != w && (queue[s] & BIT(me)) -> w = 0 }
	   goto look
#endif
	fi;
#if WAITS
	if
	:: !(queue[s] & BIT(me))
	:: d_step {
		queue[s] & BIT(me) ->
		queue[s] = queue[s] & ~BIT(me);
		wgen[me] = 0
	   }
	fi;
#endif
	if
	:: d_step {
		true ->
		CLAIMED(5, slot[s] == w && holder[k] == me);
		holder[k] = 0;
		slot[s] = SLOT(OPEN, 0, SVER(w));
		done()
	   }
	   goto end_idle
	fi;

reserve:	/* make the key */
	if
	:: atomic { MODE(slot[1]) == UNUSED -> n = 1; w = slot[1] }
	:: atomic { MODE(slot[2]) == UNUSED -> n = 2; w = slot[2] }
	:: d_step {
		MODE(slot[1]) != UNUSED && MODE(slot[2]) != UNUSED -> done()
	   }
	   goto end_idle					/* ENOSPC */
	fi;
	if
	:: d_step {
		slot[n] == w ->
		w = SLOT(RESERVED, me, SVER(w) + 1);
		slot[n] = w
	   }
	:: d_step { slot[n] != w -> w = 0; n = 0 } goto find
	fi;
	if
	:: d_step {
		true ->
		CLAIMED(4, asleep[n] == 0);
		maker[n] = me;
		gen[n] = gen[n] + 1
	   }
	fi;
	key[n] = k;
	link[n] = LINK(0, 0, TAG(link[n]) + 1);
#ifdef MUTANT_EARLY
	f = floor[k];
#endif
	if
	:: d_step {
		true ->
#ifdef MUTANT_OWN
		w = SLOT(OPEN, 0, f);
#else
		w = SLOT(OPEN, 0, (f > SVER(w) -> f : SVER(w)));
#endif
		CLAIMED(6, SVER(w) >= SVER(slot[n]));
		slot[n] = w;
		f = 0;
		ret = TO_INSERT
	   }
	   goto find
	fi;
insert:
#if !defined(MUTANT_EARLY) && !defined(MUTANT_FLOOR)
	f = floor[k];		/* after the place was found */
	if
	:: d_step {
		f > SVER(w) && slot[n] == w ->
		w = SLOT(OPEN, 0, f);
#if FLOOR1
		hint[n] = f;
#endif
		slot[n] = w;
		f = 0
	   }
	:: d_step { f <= SVER(w) -> f = 0 }
	fi;
#endif
	if
	:: d_step {
		!MARK(link[n]) -> link[n] = LINK(0, cur, TAG(link[n]) + 1);
		g = gen[n]	/* while it is ours */
	   }
#ifdef MUTANT_COMMITTED
	:: d_step { MARK(link[n]) -> done() } goto end_idle	/* lost */
#endif
	fi;
	if
	:: d_step {
		link[pred] == pl ->
		link[pred] = LINK(0, n, TAG(pl) + 1);
		sound();
		forget();
		s = n;
		n = 0; w = 0; ret = TO_USE
	   }
#ifdef MUTANT_LINKED
	   g = gen[s];
#endif
	   goto met
	:: link[pred] != pl -> goto find
	fi;
withdraw:	/* somebody else made it */
	if
	:: d_step {
		true ->
		SWAP(slot[n], w, SLOT(UNUSED, 0, SVER(w)));
		s = cur;
		forget();
		n = 0; w = 0; ret = TO_USE
	   }
	   goto met
	fi;

evict:
	if
	:: atomic { MODE(w) == OPEN && !WAITED_FOR(s) -> ret = TO_KILL }
	   goto find
	:: MODE(w) == DYING -> goto dying
	:: MODE(w) == COMMITTED -> goto committed
	:: d_step { MODE(w) == OPEN && WAITED_FOR(s) -> done() }
	   goto end_idle
	fi;
kill:	/* E1 */
	if
	:: d_step {
		slot[s] == w ->
		w = SLOT(DYING, 0, SVER(w) + 1);
		slot[s] = w;
		g = 0
	   }
	:: d_step { slot[s] != w -> done() }
	   goto end_idle
	fi;
dying:	/* E2 */
	ret = 0;
#ifndef MUTANT_LOOK
	if
	:: !WAITED_FOR(s)
	:: WAITED_FOR(s) ->
		d_step { SWAP(slot[s], w, SLOT(OPEN, 0, SVER(w))); w = 0 };
		goto next
	fi;
#endif
	/* E3 */
#if FLOOR1
	d_step { f = hint[s]; kk = key[s] };
#ifndef MUTANT_LATE
	if
	:: slot[s] == w
	:: d_step { slot[s] != w -> f = 0; kk = 0; w = 0 } goto next
	fi;
#endif
	if
	:: d_step {
		true ->
		f = TOKEN(f, SVER(w) & (M - 1));
		CLAIMED(7, f == SVER(w));
		floor[kk] = (floor[kk] < f -> f : floor[kk]);
		f = 0; kk = 0
	   }
	fi;
#elif !defined(MUTANT_RAISE)
	if
	:: d_step {
		true ->
		kk = key[s];
		floor[kk] = (floor[kk] < SVER(w) -> SVER(w) : floor[kk]);
		kk = 0
	   }
	fi;
#endif
	/* E4 */
	if
	:: d_step {
		slot[s] == w ->
		w = SLOT(COMMITTED, 0, SVER(w));
		slot[s] = w
	   }
	:: d_step { slot[s] != w -> w = 0 } goto next
	fi;
committed:	/* E5 */
	nl = link[s];
#ifndef MUTANT_COMMITTED
	if
	:: slot[s] == w
	:: d_step { slot[s] != w -> w = 0; nl = 0 } goto next
	fi;
#endif
	if
	:: d_step {
		!MARK(nl) && link[s] == nl ->
		link[s] = nl | 1;
		nl = 0;
		ret = TO_FREE
	   }
	   goto find
	:: d_step { MARK(nl) -> nl = 0; ret = TO_FREE }
	   goto find
	:: d_step { !MARK(nl) && link[s] != nl -> nl = 0 }
	   goto committed
	fi;
release_slot:	/* E6 */
	if
	:: d_step {
		true ->
		SWAP(slot[s], w, SLOT(UNUSED, 0, SVER(w) + 1));
		w = 0
	   }
	fi;
next:
	if
	:: d_step { evicting -> done() } goto end_idle
	:: d_step { !evicting -> ret = TO_USE; s = 0; g = 0 } goto find
	fi;

#if KILLS
undo:
	if
	:: d_step {
		true ->
		SWAP(slot[s], w, SLOT(UNUSED, 0, SVER(w)));
		done()
	   }
	   goto end_idle
	fi
#endif
	} unless {
	d_step {
		victim == me ->
		fall();
		SWAP(holder[0], me, 0);
		SWAP(holder[1], me, 0);
		asleep[1] = asleep[1] & ~BIT(me);
		asleep[2] = asleep[2] & ~BIT(me);
		done()
	} };
end_dead:
	false
}

active proctype world()
{
	atomic {
		key[1] = 0; gen[1] = 1;
		slot[1] = SLOT(OPEN, 0, VER1);
		top[0] = VER1;
		link[0] = LINK(0, 1, 0);
		slot[2] = SLOT(UNUSED, 0, VER2);
		floor[1] = FLOOR1;
#if FLOOR1
		hint[1] = VER1;
		hint[2] = VER2;
#endif
		run user(1); run user(2); run user(3)
	}
end_world:
	do
	:: atomic { CAN_KILL -> kill_one() }
	od
}
