/* SPDX-License-Identifier: MIT */
/*
 * Parts that the models share: how a lock word is written, how processes die.
 *
 * Death.  `kill_one` chooses a victim among the processes that have done
 * anything; the victim, whose body stands under `unless`, can take no further
 * step of it, and its only step is to fall down (`fall`).  So a process dies
 * before or after any step of any operation, burials included.  From then on
 * dead[p] is true and everyone may see it: this is the sticky DEAD flag and the
 * kernel's answer in one.  The kernel drops the recycle bytes it held.  Burial
 * ends with dead[p] false: a new session owns the claim; process p plays it.
 *
 * Symmetry.  Processes are alike and keys are alike: process p + 1 does nothing
 * before process p did something, and the first acquire is of key 0.
 *
 * Properties are numbered; CLAIMED(n, x) asserts x as part of property n.  With
 * -DONLY=n the others are not looked at: a mutant has to break the property
 * that users notice, not only a stricter one that implies it.
 */
#define NP 3

#ifndef ONLY
#define ONLY 0
#endif
#define CLAIMED(n, x)	assert((ONLY != 0 && ONLY != n) || (x))

#ifndef KILLS
#define KILLS 0
#endif

/* lock word {claim, ver}; claim 0 is nobody: the word is FREE */
#ifndef VER_AT
#define VER_AT	2
#endif
#define WORD(c, v)	(((v) << VER_AT) | (c))
#define CLAIM(w)	((w) & 3)
#define VER(w)		((w) >> VER_AT)

byte word[2];

byte kills = KILLS;		/* how many more may die */
byte victim;			/* who is dying */
bool dead[NP + 1];
byte recycler[NP + 1];		/* who has a session's byte */
byte started;			/* 1..started have done something */

#define MAY_START	(started + 1 >= me)
#define CAN_BURY(p)	(dead[p] && recycler[p] == 0)
#define MAY_DIE(p)	(started >= p && !dead[p])

inline start_me() { started = (started < me -> me : started) }

/* Swap, whatever comes of it. */
#define SWAP(x, from, to) x = (x == (from) -> (to) : x)

inline fall()
{
	victim = 0;
	dead[me] = true;
	SWAP(recycler[1], me, 0);
	SWAP(recycler[2], me, 0);
	SWAP(recycler[3], me, 0)
}

#define CAN_KILL	(kills > 0 && victim == 0 && \
			(MAY_DIE(1) || MAY_DIE(2) || MAY_DIE(3)))

inline kill_one()
{
	kills--;
	if
	:: MAY_DIE(1) -> victim = 1
	:: MAY_DIE(2) -> victim = 2
	:: MAY_DIE(3) -> victim = 3
	fi
}
