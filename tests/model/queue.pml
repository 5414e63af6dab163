/* SPDX-License-Identifier: MIT */
/*
 * The wait queue: does it keep its order, whoever dies, gives up or uses a
 * claim again for another key; and is everybody served in the end?
 *
 * Three processes, two keys, one claim each.  An acquire takes a ticket,
 * announces WAIT, and links its claim into the key's sorted list (Harris and
 * Michael: {mark, idx, tag} links).  Then it looks: settle the word, walk to the
 * first waiter, take the word if that is itself, else sleep.  With -DTRY it
 * may also look before it queues, as the library does.  Granted, it marks and
 * unlinks itself, holds, releases.  A walker takes out whoever surely does not
 * wait here: of another key, terminal, dead, or HELD and named by the word.  A
 * waiter that finds itself marked comes back with its old ticket.
 *	KILLS	deaths at any step, burial and rebirth (common.pml)
 *	CANCELS	waiters that give up
 *	LATES	grants that come too late: EXPIRED, word FREE, back to
 *		WAIT with the link as it was
 *
 * Sleep is bounded in the library (20 ms), so that a lost wake-up costs time
 * and nothing else.  Here a sleeper wakes whenever another look would change
 * something (AWAKE), judged from the physical list: it is marked, or the word
 * is open and the first member is itself, nobody, or somebody to be taken out.
 * If nobody is awake and somebody waits, the state is an invalid end state,
 * which is how starvation shows.
 *
 * Left out: deadlines (exclusive.pml; here only LATES), priorities (they only
 * change the place of insertion, and tickets are inserted out of order anyway),
 * suspects, barging (strict FIFO), kicks, eviction and so generations, hop
 * limits, tag wrap, weak memory.
 *
 * Properties.
 *  P1	Nobody takes out a claim that waits: alive, linked, not granted,
 *	not giving up.					(C12)
 *  P2	One holder a key.				(G1)
 *  P3	No overtaking: whoever is granted began the look that led to it
 *	with nobody before it who waits ever since.	(G7)
 *  P4	A queue ends, is sorted by ticket, and has only members of its key;
 *	checked after every change of a list.
 *  P5	A claim that becomes FREE is named by no word.
 * No starvation and no deadlock: invalid end states.	(G6)
 *
 * Mutant C12 reads the link after the proof instead of before.  A walker of one
 * key then marks a claim that meanwhile waits for the other key (P1); it comes
 * back, but until then it is passed over (P3, one acquire more).
 *
 * Seen: 10.3 million states for three acquires; 2.7 for two with two deaths, a
 * late grant and a cancellation; 63 for three and a death (larger).
 */
#include "common.pml"

#ifndef ACQUIRES
#define ACQUIRES 3
#endif
#ifndef CANCELS
#define CANCELS 0
#endif
#ifndef LATES
#define LATES 0
#endif
#ifndef KEYS
#define KEYS 2
#endif
#ifndef TRY
#define TRY 0
#endif

/* claim state */
#define FREE	0
#define HELD	1
#define WAIT	2
#define EXPIRED	3

/* links: [1..3] the claims' own, HEAD(k) the head of key k's queue */
#define HEAD(k)		((k) << 2)
#define LINK(m, i, t)	(((t) << 3) | ((i) << 1) | (m))
#define MARK(l)		((l) & 1)
#define IDX(l)		(((l) >> 1) & 3)
#define TAG(l)		((l) >> 3)

/* shared memory, with word[] */
byte link[5];
byte next_ticket[2];
byte state[NP + 1], ticket[NP + 1];
bit home[NP + 1];

byte acquires = ACQUIRES, cancels = CANCELS, lates = LATES;

/* ghosts */
byte queued;		/* bit c: alive, linked, and neither granted nor gone */
byte ahead[NP + 1];	/* queued before p began its look, and still */
byte holder[2];		/* who may be certain of the key */

hidden byte i1, i2, i3;	/* scratch of sound() */

#define BIT(c)		(1 << (c))

inline not_queued(c_)
{
	queued = queued & ~BIT(c_);
	ahead[1] = ahead[1] & ~BIT(c_);
	ahead[2] = ahead[2] & ~BIT(c_);
	ahead[3] = ahead[3] & ~BIT(c_)
}

#define BEFORE(q)	((queued & BIT(q)) && home[q] == k && \
			(!inq || ticket[q] < ticket[me]))

inline look_begins()
{
	ahead[me] = (BEFORE(1) -> BIT(1) : 0) | (BEFORE(2) -> BIT(2) : 0) |
	    (BEFORE(3) -> BIT(3) : 0)
}

/* The list of key k_ ends, is in order, and every member is of this key. */
#define NODE_OK(i, k_)	(i == 0 || (home[i] == k_))
inline sound(k_)
{
	i1 = IDX(link[HEAD(k_)]);
	i2 = (i1 -> IDX(link[i1]) : 0);
	i3 = (i2 -> IDX(link[i2]) : 0);
	CLAIMED(4, TAG(link[HEAD(k_)]) < 31);
	CLAIMED(4, i3 == 0 || IDX(link[i3]) == 0);
	CLAIMED(4, NODE_OK(i1, k_) && NODE_OK(i2, k_) && NODE_OK(i3, k_));
	CLAIMED(4, i2 == 0 || ticket[i1] < ticket[i2]);
	CLAIMED(4, i3 == 0 || ticket[i2] < ticket[i3]);
	i1 = 0; i2 = 0; i3 = 0
}

inline forget() { pred = 0; pl = 0; cur = 0; nxt = 0; out = 0 }
inline look_ends() { forget(); w = 0; ahead[me] = 0 }
inline reset() { forget(); k = 0; c = 0; w = 0; x = 0; ret = 0; inq = 0 }

#define GONE(f)		(dead[f] || state[f] == FREE || state[f] == EXPIRED)
#define FIRST		IDX(link[HEAD(k)])
#define WORD_OPEN	(CLAIM(word[k]) == 0 || dead[CLAIM(word[k])] || \
			state[CLAIM(word[k])] == EXPIRED)
/* Would another look change anything? */
#define AWAKE	(WORD_OPEN && (FIRST == me || FIRST == 0 || \
		MARK(link[FIRST]) || GONE(FIRST) || home[FIRST] != k || \
		(state[FIRST] == HELD && CLAIM(word[k]) == FIRST)))

#define HELD_BY_SOME	WORD(1, 0)	/* of a look: the word is held */

/* find: the place before the first claim not before x; then, by `ret` */
#define FOUND	(link[pred] == pl && !MARK(nxt) && !out)
#define TO_INSERT	0
#define TO_HOLD		1
#define TO_END		2
#define TO_BURY		3

proctype user(byte me)
{
	byte w, c, x, pred, pl, cur, nxt, ret;
	bit k, out, inq;

end_alive:
	{ true;
end_idle:
	if
	:: atomic {
		acquires > 0 && MAY_START &&
		    (started > 0 || acquires == ACQUIRES) ->
		acquires--;
		x = me;
		if
		:: k = 0
		:: KEYS == 2 && (started > 1 || acquires < ACQUIRES - 1) ->
			k = 1
		fi;
		start_me()
	   }
#if TRY
	   if
	   :: goto look
	   :: goto enqueue
	   fi
#else
	   goto enqueue
#endif
	:: atomic {
		(CAN_BURY(1) || CAN_BURY(2) || CAN_BURY(3)) && MAY_START ->
		start_me();
		if
		:: CAN_BURY(1) -> x = 1
		:: CAN_BURY(2) -> x = 2
		:: CAN_BURY(3) -> x = 3
		fi;
		recycler[x] = me;
		k = home[x]
	   }
	   goto bury
	fi;

look:
	if
	:: d_step {
		CLAIM(word[k]) == 0 ->
		w = word[k];
		look_begins()
	   }
	   goto walk
	:: d_step { CLAIM(word[k]) != 0 -> w = word[k]; c = CLAIM(w) }
	fi;
	if
	:: dead[c] || state[c] == EXPIRED
	:: d_step {
		!(dead[c] || state[c] == EXPIRED) && inq ->
		c = 0;
		w = HELD_BY_SOME
	   }
	   goto walk
	:: d_step { !(dead[c] || state[c] == EXPIRED) && !inq -> c = 0; w = 0 }
	   goto enqueue
	fi;
	if
	:: d_step {
		true ->
		SWAP(word[k], w, WORD(0, VER(w)));
		c = 0; w = 0
	   }
	   goto look
	fi;

walk:
	if
	:: d_step {
		true ->
		pred = HEAD(k);
		pl = link[HEAD(k)];
		cur = IDX(pl);
		nxt = 0; out = 0
	   }
	fi;
hop:
	if
	:: d_step {
		(cur == 0 || (inq && cur == me)) && CLAIM(w) == 0 ->
		home[me] = k;
		forget()
	   }
	   goto turn
	:: d_step {
		(cur == 0 || (inq && cur == me)) && CLAIM(w) != 0 ->
		look_ends()
	   }
	   goto wait
	:: d_step {
		cur != 0 && !(inq && cur == me) ->
		nxt = link[cur]
	   }
	fi;
	if
	:: MARK(nxt) -> goto unlink
	:: state[cur] == HELD && !dead[cur] && home[cur] == k && !MARK(nxt) ->
		out = (CLAIM(word[k]) == cur)
	:: d_step {
		!MARK(nxt) &&
		!(state[cur] == HELD && !dead[cur] && home[cur] == k) ->
		out = GONE(cur) || home[cur] != k
	   }
	fi;
	if
	:: link[pred] == pl
	:: link[pred] != pl -> goto walk
	fi;
#ifdef MUTANT_C12
	nxt = link[cur];
#endif
	if
	:: MARK(nxt) -> goto unlink
	:: d_step { !out && !MARK(nxt) && inq -> look_ends() }
	   goto wait			/* somebody else is first */
	:: d_step { !out && !MARK(nxt) && !inq -> look_ends() }
	   goto enqueue
	:: d_step {
		out && !MARK(nxt) && link[cur] == nxt ->
		CLAIMED(1, !(queued & BIT(cur)));
		nxt = LINK(1, IDX(nxt), TAG(nxt) + 1);
		link[cur] = nxt
	   }
	:: out && !MARK(nxt) && link[cur] != nxt -> goto walk
	fi;
unlink:
	if
	:: d_step {
		link[pred] == pl ->
		pl = LINK(0, IDX(nxt), TAG(pl) + 1);
		link[pred] = pl;
		cur = IDX(pl);
		nxt = 0; out = 0;
		sound(k)
	   }
	   goto hop
	:: link[pred] != pl -> goto walk
	fi;

turn:	/* ours to try */
	state[me] = HELD;
	if
	:: d_step {
		word[k] == w ->
		CLAIMED(2, holder[k] == 0);
		CLAIMED(3, ahead[me] == 0);
		w = WORD(me, VER(w) + 1);
		word[k] = w;
		ahead[me] = 0;
		not_queued(me)
	   }
	:: d_step { word[k] != w -> w = 0; ahead[me] = 0 }
	   state[me] = (inq -> WAIT : FREE);
	   goto look
	fi;
	if
	:: d_step { inq -> holder[k] = me; w = 0; ret = TO_HOLD }
	   goto leave
	:: d_step { !inq -> holder[k] = me; w = 0 }
	   goto hold
	:: d_step { lates > 0 -> lates-- }
	fi;
	state[me] = EXPIRED;
	if
	:: d_step {
		true ->
		SWAP(word[k], w, WORD(0, VER(w)));
		w = 0
	   }
	fi;
	state[me] = (inq -> WAIT : FREE);
	goto look;

wait:
	if
	:: MARK(link[me]) -> goto find
	:: !MARK(link[me]) && AWAKE -> goto look
	:: d_step { cancels > 0 -> cancels--; not_queued(me); ret = TO_END }
	   goto leave
	fi;

enqueue:
	if
	:: d_step {
		true ->
		home[me] = k;
		ticket[me] = next_ticket[k];
		next_ticket[k]++;
		inq = 1
	   }
	fi;
	state[me] = WAIT;
	goto find;

leave:
	if
	:: d_step {
		true ->
		link[x] = (MARK(link[x]) -> link[x] :
		    LINK(1, IDX(link[x]), TAG(link[x]) + 1))
	   }
	fi;
find:
	if
	:: d_step {
		true ->
		pred = HEAD(k);
		pl = link[HEAD(k)];
		cur = IDX(pl);
		nxt = 0; out = 0
	   }
	fi;
find_hop:
	if
	:: d_step {
		cur != 0 ->
		nxt = link[cur];
		out = ticket[cur] < ticket[x] && !MARK(nxt)
	   }
	:: d_step { cur == 0 && ret == TO_HOLD -> forget() }
	   goto hold
	:: d_step { cur == 0 && ret == TO_END -> forget() }
	   goto unqueued
	:: d_step { cur == 0 && ret == TO_BURY -> forget() }
	   goto buried
	:: d_step {
		cur == 0 && ret == TO_INSERT ->
		link[me] = LINK(0, 0, TAG(link[me]) + 1)
	   }
	   goto insert
	fi;
	if
	:: link[pred] != pl -> goto find
	:: d_step {
		link[pred] == pl && MARK(nxt) ->
		pl = LINK(0, IDX(nxt), TAG(pl) + 1);
		link[pred] = pl;
		cur = IDX(pl);
		nxt = 0; out = 0;
		sound(k)
	   }
	   goto find_hop
	:: d_step {
		link[pred] == pl && !MARK(nxt) && out ->
		pred = cur;
		pl = nxt;
		cur = IDX(nxt);
		nxt = 0; out = 0
	   }
	   goto find_hop
	:: d_step { FOUND && ret == TO_HOLD -> forget() }
	   goto hold
	:: d_step { FOUND && ret == TO_END -> forget() }
	   goto unqueued
	:: d_step { FOUND && ret == TO_BURY -> forget() }
	   goto buried
	:: d_step { FOUND && ret == TO_INSERT && cur == me -> forget() }
	   goto look
	:: d_step { FOUND && ret == TO_INSERT && cur != me -> nxt = 0 }
	fi;
	link[me] = LINK(0, cur, TAG(link[me]) + 1);
insert:
	if
	:: d_step {
		link[pred] == pl ->
		link[pred] = LINK(0, me, TAG(pl) + 1);
		queued = queued | BIT(me);
		sound(k);
		forget()
	   }
	   goto look
	:: link[pred] != pl -> goto find
	fi;

hold:
	if
	:: d_step {
		true ->
		CLAIMED(2, CLAIM(word[k]) == me && holder[k] == me);
		holder[k] = 0;
		word[k] = WORD(0, VER(word[k]))
	   }
	fi;
unqueued:
	if
	:: d_step {
		true ->
		CLAIMED(5, CLAIM(word[0]) != me && CLAIM(word[1]) != me);
		state[me] = FREE;
		reset()
	   }
	   goto end_idle
	fi;

bury:
	if
	:: state[x] == FREE -> goto resurrect
	:: state[x] != FREE
	fi;
	if
	:: d_step { CLAIM(word[k]) == x -> w = word[k] }
	:: d_step { CLAIM(word[k]) != x -> ret = TO_BURY }
	   goto leave
	fi;
	if
	:: d_step {
		true ->
		SWAP(word[k], w, WORD(0, VER(w)));
		w = 0;
		ret = TO_BURY
	   }
	   goto leave
	fi;
buried:
	if
	:: d_step {
		true ->
		CLAIMED(5, CLAIM(word[0]) != x && CLAIM(word[1]) != x);
		state[x] = FREE
	   }
	fi;
resurrect:
	if
	:: d_step {
		true -> dead[x] = false; recycler[x] = 0; reset()
	   }
	   goto end_idle
	fi
	} unless {
	d_step {
		victim == me ->
		fall();
		not_queued(me);
		ahead[me] = 0;
		SWAP(holder[0], me, 0);
		SWAP(holder[1], me, 0);
		reset()
	} };
end_dead:
	!dead[me];
	goto end_alive
}

active proctype world()
{
	atomic { run user(1); run user(2); run user(3) }
end_world:
	do
	:: atomic { CAN_KILL -> kill_one() }
	od
}
