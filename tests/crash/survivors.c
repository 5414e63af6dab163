/* SPDX-License-Identifier: MIT */
/*
 * The living around a kill or a stop: answers "does everybody keep what they
 * hold, and get what they wait for?"
 *
 * Each holder of KEY is asked to release, one after the other, after a check
 * that no process is granted KEY beside it that must not be.  Beside an
 * exclusive holder that is every process; beside a reader, every writer.
 * Readers are granted beside readers unless somebody waits.  Each holder
 * reports at its release that it had not lost its lease (participants.c).
 * Waiters must be granted when the holders have gone; two that hold together
 * must be readers.
 */
#include <errno.h>
#include "crash/scenario.h"

#define PROMPT_MS 100

/* How the parts stand.  Each is looked at once: states move on meanwhile. */
struct standing {
	struct part *holder, *waiter;	/* one of each */
	struct part *alone;		/* one that holds exclusively */
	int n_holders, n_waiters;
	bool leaving;
};

static struct standing
look(struct trial *p)
{
	struct standing s = { 0 };

	for (int i = 0; i < p->n_parts; i++) {
		struct part *part = &p->part[i];
		uint32_t state = flag_get(&part->state);

		if (part->dead)
			continue;
		if (state == PART_HOLDS) {
			s.holder = part;
			s.n_holders++;
			if (!part->shared)
				s.alone = part;
		} else if (state == PART_WAITS) {
			s.waiter = part;
			s.n_waiters++;
		} else if (state == PART_LEAVING) {
			s.leaving = true;
		}
	}
	return s;
}

/* Two looks that agree, so that nobody was on the move. */
static void
nobody_beside(struct trial *p)
{
	struct standing a = look(p), b = look(p);

	if (a.alone != NULL && a.n_holders > 1 && b.alone == a.alone &&
	    b.n_holders == a.n_holders)
		blame(p, "G1: %d living processes hold the key, one of them "
		    "exclusively (token %llu)", a.n_holders,
		    (unsigned long long)a.alone->token);
}

/* A try that must fail while the holder holds. */
static void
must_not_get(struct trial *p, struct lh *lh, struct part *holder, uint32_t mode)
{
	struct lh_acquire_opts o = participant_opts(30000, 0);
	struct lh_lease lease;
	int error;

	o.mode = mode;
	error = lh_acquire(lh, KEY, &o, &lease);
	if (error == 0) {
		/* unless it is about to release by itself */
		if (flag_get(&holder->state) == PART_HOLDS)
			blame(p, "G1: acquired (mode %u) while a living "
			    "process holds it (mode %u; tokens %llu, %llu)",
			    mode, holder->shared,
			    (unsigned long long)lease.token,
			    (unsigned long long)holder->token);
		trial_saw_token(p, lease.token);
		error = lh_release(lh, &lease);
		if (error != 0)
			blame(p, "release: %s", lh_error_detail());
	} else if (error != -EAGAIN) {
		blame(p, "a try at a held key: %s: %s", lh_strerror(error),
		    lh_error_detail());
	}
}

/* A reader beside the living ones. */
static void
join(struct trial *p, struct lh *lh)
{
	struct lh_acquire_opts o = participant_read_opts(30000, PROMPT_MS);
	struct lh_lease lease;
	int error = lh_acquire(lh, KEY, &o, &lease);

	if (error != 0) {
		blame_block(p, "no reader gets in beside living ones: %s",
		    lh_error_detail());
		return;
	}
	trial_saw_token(p, lease.token);
	error = lh_release(lh, &lease);
	if (error != 0)
		blame(p, "release: %s", lh_error_detail());
}

static void
relieve(struct trial *p, struct lh *lh, const struct standing *s)
{
	struct part *holder = s->alone != NULL ? s->alone : s->holder;

	must_not_get(p, lh, holder, LH_EXCLUSIVE);
	if (!holder->shared)
		must_not_get(p, lh, holder, LH_SHARED);
	else if (s->n_waiters == 0)
		join(p, lh);	/* past a writer that is dead or stopped */
	flag_set(&holder->order, ORDER_RELEASE);
	if (!flag_wait(&holder->state, PART_LEFT, 1000))
		blame_block(p, "a living holder cannot release");
}

void
survivors_check(struct trial *p, struct lh *lh, int64_t end_ns)
{
	int64_t since = trial_now_ns();

	while (!atomic_load(&p->blamed)) {
		struct standing s = look(p);
		int64_t late = trial_now_ns() - (end_ns != 0 ? end_ns :
		    since + PROMPT_MS * NS_A_MS);

		if (s.n_holders > 0) {
			nobody_beside(p);
			relieve(p, lh, &s);
			since = trial_now_ns();
		} else if (s.leaving) {
			trial_nap_us(100);
		} else if (s.waiter == NULL) {
			return;
		} else if (!flag_wait(&s.waiter->state, PART_HOLDS, 1) &&
		    late > 0 && look(p).n_holders == 0) {
			blame_block(p, "G6: %d living waiters, and none was "
			    "granted the key in time", s.n_waiters);
		}
	}
}
