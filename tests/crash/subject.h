/* SPDX-License-Identifier: MIT */
/*
 * The parts of subjects: handles, and the preparations, operations and
 * verdicts that several scenarios share.
 *
 * All of it runs in the subject's process.  A process is one subject and
 * nothing else, so there is one set of handles; what others must see is in
 * struct trial.
 */
#ifndef CRASH_SUBJECT_H
#define CRASH_SUBJECT_H

#include "crash/scenario.h"

#define SUB_LONG_MS 60000
/* of a wait that somebody ends; one that goes on too long is ended by the time
 * that is used (tracee_watch()), whatever else the machine does */
#define SUB_WAIT_MS 600000

struct subject {
	struct lh *lh;
	struct lh_key *key;		/* KEY, opened */
	struct lh_acquire_opts opts;	/* of the acquire that it is about */
	struct lh_lease third;
	struct lh_cancel cancel;
	char long_key[256];		/* 255 bytes, or what is put there */
};

extern struct subject sub;

/* Staging may not fail. */
void sub_must(struct trial *p, int error, const char *what);

/* Hold KEY, in the mode of sub.opts. */
void sub_hold(struct trial *p, int64_t ttl_ms);

/* Until so many wait for KEY. */
void sub_await_waiters(struct trial *p, uint32_t want);

/* Let part i do what it does when cued, and wait for what comes of it. */
void sub_cue(struct trial *p, int i, uint32_t state);

/* The result of an acquire or conversion: what the others are to know. */
void sub_granted(struct trial *p);

/* The result is 0 or one that the scenario allows. */
bool sub_plausible(struct trial *p);
void sub_no_overlap(struct trial *p);
void sub_let_go(struct trial *p);

trial_fn prep_attach;		/* and nothing more */
trial_fn prep_bare;		/* ... surely without any claims */
trial_fn prep_warm;		/* KEY opened, claim cache filled, tick seen */
trial_fn prep_warm_try, prep_warm_brief, prep_warm_long; /* how to wait */
trial_fn prep_holding;		/* KEY */
trial_fn prep_holding_followed;	/* ... and part 0 queued behind */
trial_fn prep_lapsed;		/* a lease that is over, unnoticed */
trial_fn prep_overtaken;		/* ... and part 0 has the key */

trial_fn act_open, act_close, act_acquire, act_acquire_name, act_release,
    act_break, act_extend, act_verify, act_verify_token, act_status, act_list;
trial_fn act_acquire_new, act_key_open;	/* "brand-new" */
trial_fn act_acquire_long;		/* sub.long_key */

trial_fn finish_acquire;		/* KEY */
trial_fn finish_alone;		/* a key that no one else asks for */
trial_fn finish_extend, finish_verify, finish_plain;
trial_fn finish_convert;		/* refused: what it was before */
trial_fn finish_lost;		/* 0 is wrong: it was not held any more */

#endif
