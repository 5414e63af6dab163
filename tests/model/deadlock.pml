/* SPDX-License-Identifier: MIT */
/*
 * Deadlocks (src/inspect/waits_for.c, src/op/deadlock.c).  Three questions:
 * does every circle of waits that is reported exist at one moment, does exactly
 * one thread of a circle give way, and is every circle broken?
 *
 * Each thread takes two keys, one after another in any order, and then releases
 * both, ROUNDS times.  A wait is one word (a key, the number of the use).  A
 * key has another (holder, version).  The two are written at different steps.
 * A waiting thread may look for a circle at any time, LOOKS times.  It goes
 * from wait to holder to wait, one read a step, until it comes back to itself.
 * Then it reads all of them again.  The thread with the highest number on the
 * circle gives way.  GIVEUPS waits end by themselves.  When no other step is
 * possible, each waiting thread looks once more.
 *
 * Numbers and versions only serve to be compared with what was read before.  So
 * the model has no counters: each thread has a bit for each word that it has
 * read, and each write sets the bits of those who have read the word.  A
 * version is never used twice, so both say the same.
 *
 * Left out: readers, queues (a circle through a queue's order has the same
 * kind of steps), deadlines, deaths, priorities.
 *
 * Properties.
 *  P1	If a thread finds a circle twice, the circle exists between the two
 *	readings: each thread on it waits for a key that the next one holds.
 *  P2	Only one thread on a circle gives way (unless other waits end by
 *	themselves meanwhile).
 *  P3	Nobody waits for ever.
 *
 * Mutants: ONCE (a circle that is found once counts), SEQ (the number of a wait
 * is not compared), RULE (each thread that finds a circle gives way).
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

byte wait[NT];		/* 0: does not wait; else key + 1 */
byte holder[2];		/* 0: free; else thread + 1 */
byte giveups = GIVEUPS;
bool leaving[NT];	/* it gives way, and still waits */

/* Of each thread: the words that it has read, and those written since. */
byte noted[NT], changed[NT];
#define OF_WAIT(t)	(1 << (t))
#define OF_KEY(k)	(8 << (k))
#define OF_GRANTS	32

inline written(bits)
{
	changed[0] = changed[0] | (noted[0] & (bits));
	changed[1] = changed[1] | (noted[1] & (bits));
	changed[NT - 1] = changed[NT - 1] | (noted[NT - 1] & (bits))
}

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
#define CHANGED(t, j)	(wait[who[j]] != what[j])
#else
#define CHANGED(t, j)	(changed[t] & OF_WAIT(who[j]))
#endif

inline forget(t)
{
	noted[t] = 0; changed[t] = 0;
	j = 0;
	do
	:: j < NT -> who[j] = 0; what[j] = 0; j++
	:: else -> break
	od;
	j = 0; n = 0; cur = 0; max = 0; real = false
}

/* told: on a circle, and the one to give way */
inline look(t)
{
	cur = t;
	max = t;
	do
	:: n < NT && cur != NT ->
		d_step {
			who[n] = cur;
			what[n] = wait[cur];
			noted[t] = noted[t] | OF_WAIT(cur);
			if
			:: what[n] == 0 -> cur = NT
			:: else
			fi
		};
		if
		:: cur == NT -> break
		:: else
		fi;
		d_step {
			noted[t] = noted[t] | OF_KEY(what[n] - 1);
			cur = (holder[what[n] - 1] == 0 -> NT :
			    holder[what[n] - 1] - 1);
			max = (cur != NT && cur > max -> cur : max);
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
#ifndef MUTANT_ONCE
		do
		:: told && j < n ->
			d_step { told = !CHANGED(t, j) };
			if
			:: told ->
				d_step {
					told = !(changed[t] &
					    OF_KEY(what[j] - 1));
					j++
				}
			:: else
			fi
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

active [NT] proctype thread()
{
	byte me = _pid, taken, round, looks, key;
	byte who[NT], what[NT];
	byte n, cur, max, i, j, x, y;
	bool told, real, last;

next:	skip;
	atomic {
		if
		:: round == ROUNDS -> goto done
		:: round < ROUNDS && taken == TAKES -> goto let_go
		:: round < ROUNDS && taken < TAKES
		fi;
		/* no other thread changes whether it is ours */
		if
		:: holder[0] != me + 1 -> key = 0
		:: holder[1] != me + 1 -> key = 1
		fi;
		wait[me] = key + 1;
		written(OF_WAIT(me))
	};
again:	if
	:: holder[key] == 0 ->
		d_step { wait[me] = 0; written(OF_WAIT(me)) };
		atomic {
			if
			:: holder[key] == 0 ->
				holder[key] = me + 1;
				written(OF_KEY(key) | OF_GRANTS);
				taken++;
				key = 0;
				goto next
			:: else
			fi
		};
		d_step { wait[me] = key + 1; written(OF_WAIT(me)) };
		goto again
	:: looks < LOOKS -> looks++; goto look_now
	:: atomic { giveups > 0 -> giveups--; goto leave }
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
			od;
			forget(me)
		};
		goto leave
	:: else -> d_step { forget(me) }
	fi;
	if
	:: last ->
		/* whoever gives way is another: then somebody is granted
		 * something, before we can be on a new circle */
		d_step { last = false; noted[me] = OF_GRANTS };
		atomic {
			holder[key] == 0 || changed[me] != 0 ->
			noted[me] = 0; changed[me] = 0;
			goto again
		}
	:: else -> goto again
	fi;

leave:	atomic {
		leaving[me] = false;
		wait[me] = 0;
		written(OF_WAIT(me));
		told = false;
		last = false;
		key = 0
	};

let_go:	skip;
	atomic {
		if
		:: holder[0] == me + 1 -> holder[0] = 0; written(OF_KEY(0))
		:: else
		fi
	};
	atomic {
		if
		:: holder[1] == me + 1 -> holder[1] = 0; written(OF_KEY(1))
		:: else
		fi;
		taken = 0;
		round++;
		goto next
	};
done:	looks = 0
}
