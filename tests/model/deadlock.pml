/* SPDX-License-Identifier: MIT */
/*
 * Deadlocks (src/inspect/waits_for.c, src/op/deadlock.c): is whoever is told of a
 * circle of waits on one that stood whole at one moment, is one told of each
 * and not more, and does none stay?
 *
 * Threads take two keys, one after another in any order, and then release both,
 * ROUNDS times.  A wait is one word (which key, number of the use), a
 * key's another (holder, version); the two are written at different steps.  Who
 * waits may look at any time, LOOKS times: it goes from wait to holder to wait,
 * one read a step, until it comes back to itself, then reads all again; the
 * thread with the highest number on the circle gives way.  GIVEUPS waits end by
 * themselves.  When nobody can do anything else, all who wait look once more.
 *
 * Left out: readers, queues (a circle through a queue's order has the same
 * kind of steps), deadlines, deaths, priorities.
 *
 * Properties.
 *  P1	Who finds a circle twice was right in the moment between the two: each
 *	on it waited for a key that the next one held.
 *  P2	Who gives way is the only one on its circle that does (unless other
 *	waits end by themselves meanwhile).
 *  P3	Nobody waits for ever.
 *
 * Mutants: ONCE (what is found once counts), SEQ (a wait's number is not
 * compared), RULE (whoever finds a circle gives way).
 */
#ifndef ONLY
#define ONLY 0
#endif
#define CLAIMED(n, x)	assert((ONLY != 0 && ONLY != n) || (x))
#ifndef LOOKS
#define LOOKS 1
#endif
#ifndef GIVEUPS
#define GIVEUPS 0
#endif
#define TAKES 2
#ifndef ROUNDS
#define ROUNDS 1
#endif
#ifndef NT
#define NT 3
#endif

/* 0: does not wait; else key + 1; and which use */
byte wait[NT], use[NT];
byte holder[2], ver[2];	/* holder: thread + 1 */
#define WORD(k)	(ver[k] * 4 + holder[k])
byte ended;
byte giveups = GIVEUPS;
bool leaving[NT];	/* told, and still waiting */

/* In one moment: does a waits-for path of n steps lead from t to t? */
inline real_circle(t)
{
	d_step {
		x = t;
		real = true;
		i = 0;
		do
		:: i < n ->
			if
			:: wait[x] == 0 || x != who[i] -> real = false
			:: else ->
				y = holder[wait[x] - 1];
				if
				:: y == 0 -> real = false
				:: else -> x = y - 1
				fi
			fi;
			if
			:: !real -> break
			:: else
			fi;
			i++
		:: else -> break
		od;
		real = real && x == t;
		x = 0; y = 0; i = 0
	}
}

#ifdef MUTANT_SEQ
#define CHANGED(j)	(wait[who[j]] != what[j])
#else
#define CHANGED(j)	(wait[who[j]] != what[j] || use[who[j]] != uses[j])
#endif

/* told: on a circle, and the one to give way */
inline look(t)
{
	told = false;
	n = 0;
	cur = t;
	max = t;
	do
	:: n < NT ->
		d_step { who[n] = cur; what[n] = wait[cur]; uses[n] = use[cur] };
		if
		:: what[n] == 0 -> cur = NT; break
		:: else
		fi;
		d_step {
			k = what[n] - 1;
			vers[n] = WORD(k);
			cur = (holder[k] == 0 -> NT : holder[k] - 1);
			if
			:: cur != NT && cur > max -> max = cur
			:: else
			fi;
			n++
		};
		if
		:: cur == t || cur == NT -> break
		:: else
		fi
	:: else -> cur = NT; break
	od;
	if
	:: cur == t ->
		real_circle(t);
		told = true;
		j = 0;
#ifndef MUTANT_ONCE
		do
		:: j < n ->
			d_step {
				k = what[j] - 1;
				if
				:: CHANGED(j) -> told = false
				:: else
				fi
			};
			d_step {
				if
				:: WORD(k) != vers[j] -> told = false
				:: else
				fi
			};
			j++
		:: else -> break
		od;
#endif
		CLAIMED(1, !told || real);
#ifndef MUTANT_RULE
		told = told && max == t
#endif
	:: else
	fi
}

inline forget()
{
	d_step {
		j = 0;
		do
		:: j < NT ->
			who[j] = 0; what[j] = 0; uses[j] = 0; vers[j] = 0; j++
		:: else -> break
		od;
		j = 0; k = 0; cur = 0; max = 0
	}
}

active [NT] proctype thread()
{
	byte me = _pid, taken, round, looks, key, w;
	byte who[NT], what[NT], uses[NT], vers[NT];
	byte n, cur, max, i, j, k, x, y;
	bool told, real, last;

next:	if
	:: round == ROUNDS -> goto done
	:: round < ROUNDS && taken < TAKES
	:: round < ROUNDS && taken == TAKES -> goto let_go
	fi;
	if
	:: holder[0] != me + 1 -> key = 0
	:: holder[1] != me + 1 -> key = 1
	fi;
	d_step { wait[me] = key + 1; use[me]++ };
	last = false;
again:	if
	:: holder[key] == 0 ->
		d_step { wait[me] = 0; use[me]++ };
		d_step {
			w = 0;
			if
			:: holder[key] == 0 ->
				holder[key] = me + 1;
				ver[key]++;
				w = 1
			:: else
			fi
		};
		if
		:: w == 1 -> taken++; goto next
		:: else
		fi;
		d_step { wait[me] = key + 1; use[me]++ };
		goto again
	:: looks < LOOKS -> looks++; goto look_now
	:: giveups > 0 -> giveups--; goto leave
	:: timeout -> last = true
	fi;
look_now:
	look(me);
	if
	:: told ->
		d_step {
			leaving[me] = true;
			j = 0;
			do
			:: j < n ->
				CLAIMED(2, GIVEUPS > 0 || who[j] == me ||
				    !leaving[who[j]]);
				j++
			:: else -> break
			od
		};
		goto leave
	:: else
	fi;
	forget();
	if
	:: last ->
		/* whoever gives way is another: then somebody is granted
		 * something, before we can be on a new circle */
		last = false;
		w = ver[0] + ver[1];
		atomic { holder[key] == 0 || ver[0] + ver[1] != w -> goto again }
	:: else -> goto again
	fi;

leave:	skip;
	d_step {
		leaving[me] = false;
		wait[me] = 0;
		use[me]++;
		told = false;
		n = 0;
		real = false
	};
	forget();
	taken = TAKES;
	goto next;

let_go:	if
	:: holder[0] == me + 1 -> holder[0] = 0
	:: else
	fi;
	if
	:: holder[1] == me + 1 -> holder[1] = 0
	:: else
	fi;
	taken = 0;
	round++;
	goto next;
done:	ended++
}
