/* SPDX-License-Identifier: MIT */
/*
 * Deadlocks by job (src/inspect/waits_for_thread.c): a lease of a `run` is
 * released when its job has ended.  Is a process told of a circle only if it
 * stood whole at one moment, and does no circle stay?
 *
 * Each of RUNS runs holds a key.  Processes come and go in session records,
 * which are used again.  A record says which run's job its process is
 * (`outer`), or that it is none's.  A process that is none's may take the free
 * key first.  Each waits for one more key, releases all, and ends.  A run
 * releases its key when no process of its job is left.  GIVEUPS waits end by
 * themselves.
 *
 * A process that waits looks LOOKS times at any time.  It goes from its wait to
 * the key's holder: to what that process waits for, or, if a run has it, to each
 * wait of a record whose `outer` is that run.  It reads a record's `outer` first
 * and its wait after it, as lhi_waits_for_sake() does.  Then it reads all again
 * (lhi_waits_for_is_proved()).  It looks only along waits that it has to give
 * way to, as in op/deadlock.c.  When nobody can do anything else, all that wait
 * look once more.
 *
 * Left out: sessions that are acquired into (a wait's `grant` in place of a
 * record's `outer`), readers, queues, deadlines, deaths.
 *
 * Properties.
 *  P1	A circle that is reported stood in the moment between the two readings.
 *  P3	Nobody waits for ever.
 *
 * Mutants: ONCE (what is found once counts), SAKE (`outer` is not read again),
 * BLIND (a run does not wait for its job).
 */
#ifndef ONLY
#define ONLY 0
#endif
#define CLAIMED(n, x)	assert((ONLY != 0 && ONLY != n) || (x))
#ifndef RUNS
#define RUNS 2
#endif
#ifndef NP
#define NP 3			/* records */
#endif
#ifndef LIVES
#define LIVES 1			/* processes of a record, one after another */
#endif
#ifndef LOOKS
#define LOOKS 1
#endif
#ifndef GIVEUPS
#define GIVEUPS 0
#endif
#define KEYS (RUNS + 1)		/* the last one is free at first */
#define IS_RUN(h)	((h) > 0 && (h) <= RUNS)

byte outer[NP];			/* 0: no job; else run + 1 */
bool there[NP];			/* the record is a process's */
byte wait[NP], use[NP];		/* 0: none; else key + 1; and which use */
byte holder[KEYS];		/* 0: nobody; run + 1; RUNS + process + 1 */
byte ver[KEYS];
byte giveups = GIVEUPS;
byte lasts;			/* that have looked for the last time */
byte ready;			/* runs that hold their keys */

#define WAITS_FOR(h, j)	\
    ((IS_RUN(h) && there[j] && outer[j] == (h)) || (h) == RUNS + (j) + 1)

#if NP == 2
#define WAITING	((wait[0] != 0) + (wait[1] != 0))
#else
#define WAITING	((wait[0] != 0) + (wait[1] != 0) + (wait[2] != 0))
#endif
#define IS_JOB(j, r)	(there[j] && outer[j] == (r) + 1)
#define HAS_JOB(r)	\
    (IS_JOB(0, r) || IS_JOB(NP - 1, r) || IS_JOB(NP / 2, r))

/* In one moment: does each wait's key have a holder that waits for the next? */
inline real_circle()
{
	d_step {
		real = true;
		i = 0;
		do
		:: i < n ->
			j = (i + 1 < n -> who[i + 1] : who[0]);
			if
			:: wait[who[i]] != what[i] || wait[j] == 0 ->
				real = false
			:: else ->
				h = holder[what[i] - 1];
				real = real && WAITS_FOR(h, j)
			fi;
			i++
		:: else -> break
		od;
		i = 0; j = 0; h = 0
	}
}

/* From wait t; found: who[0 .. n) is a circle of those that it gives way to. */
inline find_circle(t)
{
	d_step {
		n = 1;
		who[0] = t; what[0] = wait[t]; uses[0] = use[t];
		fresh = true;
		found = false
	};
	do
	:: n == 0 || found -> break
	:: n > 0 && !found && fresh ->
		d_step {
			h = what[n - 1] - 1;
			vers[n - 1] = ver[h];
			via[n - 1] = holder[h];
			at[n - 1] = 0;
			fresh = false;
			h = 0
		}
	:: n > 0 && !found && !fresh && at[n - 1] > t ->
		d_step {
			n--;
			who[n] = 0; what[n] = 0; uses[n] = 0;
			vers[n] = 0; via[n] = 0; at[n] = 0
		}
	:: n > 0 && !found && !fresh && at[n - 1] <= t ->
		d_step {
			j = at[n - 1];
			at[n - 1] = j + 1;
			h = via[n - 1];
#ifdef MUTANT_BLIND
			behind = h == RUNS + j + 1;
#else
			behind = WAITS_FOR(h, j);
#endif
			i = 1;		/* no circle that leaves out t */
			do
			:: i < n -> behind = behind && who[i] != j; i++
			:: else -> break
			od;
			i = 0; h = 0
		};
		if
		:: behind ->
			d_step {
				if
				:: j == t -> found = true
				:: j != t && wait[j] != 0 ->
					who[n] = j; what[n] = wait[j];
					uses[n] = use[j];
					fresh = true;
					n++
				:: else
				fi;
				behind = false;
				j = 0
			}
		:: else -> j = 0
		fi
	od
}

/* All that was met is as it was. */
inline prove_circle()
{
	i = 0;
	do
	:: i < n && found ->
		d_step { found = found && ver[what[i] - 1] == vers[i] };
		d_step { found = found && wait[who[i]] == what[i] &&
			    use[who[i]] == uses[i] };
#ifndef MUTANT_SAKE
		d_step {
			j = (i + 1 < n -> who[i + 1] : who[0]);
			found = found && (!IS_RUN(via[i]) ||
			    (there[j] && outer[j] == via[i]));
			j = 0
		};
#endif
		i++
	:: else -> break
	od;
	i = 0
}

inline forget()
{
	d_step {
		i = 0;
		do
		:: i < NP ->
			who[i] = 0; what[i] = 0; uses[i] = 0;
			vers[i] = 0; via[i] = 0; at[i] = 0;
			i++
		:: else -> break
		od;
		i = 0; n = 0; found = false; real = false
	}
}

inline begin_process()
{
	atomic {
		if
		:: outer[me] = 0
		:: holder[0] == 1 -> outer[me] = 1
#if RUNS > 1
		:: holder[1] == 2 -> outer[me] = 2
#endif
		fi;
		there[me] = true
	}
}

active [NP] proctype process()
{
	byte me = _pid, lives, looks, key, w;
	byte who[NP], what[NP], uses[NP], vers[NP], via[NP], at[NP];
	byte n, i, j, h;
	bool fresh, found, behind, real, last;

	ready == RUNS;
next:	if
	:: lives == LIVES -> goto done
	:: else -> lives++
	fi;
	begin_process();
	if
	:: atomic { outer[me] == 0 && holder[KEYS - 1] == 0 ->
		holder[KEYS - 1] = RUNS + me + 1; ver[KEYS - 1]++ }
	:: skip
	fi;
	if	/* a job does not want what its run has */
	:: outer[me] != 1 -> key = 0
#if RUNS > 1
	:: outer[me] != 2 -> key = 1
#endif
	:: holder[KEYS - 1] != RUNS + me + 1 -> key = KEYS - 1
	fi;
	d_step { wait[me] = key + 1; use[me]++ };
	last = false;
again:	if
	:: atomic { holder[key] == 0 ->
		wait[me] = 0; use[me]++;
		holder[key] = RUNS + me + 1; ver[key]++ };
		goto ends
	:: looks < LOOKS -> looks++
	:: giveups > 0 -> giveups--; goto leave
	:: timeout -> last = true
	fi;
	find_circle(me);
	if
	:: found ->
		real_circle();
#ifndef MUTANT_ONCE
		prove_circle();
#endif
		CLAIMED(1, !found || real)
	:: else
	fi;
	if
	:: found -> forget(); goto leave
	:: else -> forget()
	fi;
	if
	:: last ->
		/* another gives way: then a key's word changes */
		d_step {
			last = false;
			lasts++;
			w = ver[0] + ver[1] + ver[KEYS - 1]
		};
		atomic { holder[key] == 0 ||
		    ver[0] + ver[1] + ver[KEYS - 1] != w ->
			lasts--; goto again }
	:: else -> goto again
	fi;

leave:	skip;
	d_step { wait[me] = 0; use[me]++ };
ends:	skip;
	d_step {
		i = 0;
		do
		:: i < KEYS ->
			if
			:: holder[i] == RUNS + me + 1 ->
				holder[i] = 0; ver[i]++
			:: else
			fi;
			i++
		:: else -> break
		od;
		i = 0; key = 0; looks = 0; w = 0
	};
	d_step { there[me] = false; outer[me] = 0 };
	goto next;
done:	skip
}

active [RUNS] proctype keeper()		/* a run */
{
	byte r = _pid - NP;

	d_step { holder[r] = r + 1; ready++ };
	atomic { ready == RUNS && !HAS_JOB(r) -> holder[r] = 0; ver[r]++ }
}

/* When nobody goes on, not all that wait have looked for the last time. */
active proctype watcher()
{
	do
	:: timeout -> CLAIMED(3, lasts == 0 || lasts < WAITING)
	od
}
