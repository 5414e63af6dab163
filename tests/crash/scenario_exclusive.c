/* SPDX-License-Identifier: MIT */
/*
 * The scenarios of exclusive leases, and of the table: see scenario.h.
 *
 * Opened keys and a lease taken and released beforehand make the fast path
 * fast: claim cache filled, clock's tick known.  A fresh process taking its
 * first lease by name is acquire-first.
 */
#include <errno.h>
#include <pthread.h>
#include <unistd.h>
#include "crash/subject.h"
#include "shm/layout.h"

static void
prep_holding_two_followed(struct trial *p)
{
	struct lh_acquire_opts o = participant_opts(60000, 0);

	prep_holding_followed(p);
	sub_must(p, lh_acquire(sub.lh, THIRD, &o, &sub.third), "hold a third");
}

static void *
throw_switch(void *arg)
{
	struct trial *p = arg;

	/* only this thread's own main thread is looked at, and it sleeps
	 * nowhere but in its wait once it has begun */
	while (!flag_get(&p->begun) || !trial_asleep(getpid()))
		trial_nap_us(100);
	(void)lh_cancel(&sub.cancel);
	return NULL;
}

static void
prep_cancelled(struct trial *p)
{
	pthread_t thread;

	prep_warm(p);
	sub.opts.max_wait_ms = SUB_WAIT_MS;
	sub.opts.cancel = &sub.cancel;
	if (pthread_create(&thread, NULL, throw_switch, p) != 0)
		blame(p, "staging: no thread");
}

/* Every lease is recorded, and all go the slow way; the ring has been full. */
static void
log_grants(struct trial *p)
{
	struct lh_acquire_opts o = participant_opts(p->ttl_ms, 0);
	struct lh_lease lease;

	sub_must(p, lh_log_grants(sub.lh, 1), "record leases");
	trial_nap_us(10000);	/* another tick of the clock */
	for (unsigned i = 0; i < SHM_EVENTS; i++) {
		sub_must(p, lh_acquire(sub.lh, THIRD, &o, &lease), "see that");
		sub_must(p, lh_release(sub.lh, &lease), "see that");
	}
}

static void
prep_logged(struct trial *p)
{
	prep_warm(p);
	log_grants(p);
}

static void
prep_holding_logged(struct trial *p)
{
	prep_logged(p);
	sub_hold(p, p->ttl_ms);
}

static const struct scenario scenarios_exclusive[] = {
	{ .name = "open-create", .what = "the first to open makes the table",
	  .flags = SC_LATE, .act = act_open, .finish = finish_plain },
	{ .name = "open-attach", .what = "open a table that exists",
	  .roles = { FOUNDER }, .act = act_open, .finish = finish_plain },
	{ .name = "open-recycle", .what = "open when only dead sessions' "
	  "records are left: one that held and waited, one halfway",
	  .roles = { HOLDER, DEAD_TANGLED, DEAD_HALFWAY }, .flags = SC_TIGHT,
	  .act = act_open, .finish = finish_plain },
	{ .name = "acquire-free", .what = "acquire an opened, free key",
	  .stop_ttl_ms = 120, .prepare = prep_warm, .act = act_acquire,
	  .finish = finish_acquire },
	{ .name = "acquire-name", .what = "the same by its name",
	  .stop_ttl_ms = 120, .prepare = prep_warm, .act = act_acquire_name,
	  .finish = finish_acquire },
	{ .name = "acquire-first", .what = "a process's first lease",
	  .roles = { FOUNDER }, .prepare = prep_bare, .act = act_acquire_name,
	  .finish = finish_acquire },
	{ .name = "acquire-logged", .what = "while every lease is recorded",
	  .stop_ttl_ms = 120, .prepare = prep_logged, .act = act_acquire,
	  .finish = finish_acquire },
	{ .name = "acquire-new", .what = "by a name that is not there yet",
	  .prepare = prep_warm, .act = act_acquire_new,
	  .finish = finish_alone },
	{ .name = "acquire-long", .what = "a new name of 255 bytes",
	  .prepare = prep_warm, .act = act_acquire_long,
	  .finish = finish_alone },
	{ .name = "acquire-sweep", .what = "when dead sessions have all the "
	  "claims", .roles = { DEAD_CHUNK, DEAD_CHUNK, DEAD_CHUNK,
	  DEAD_CHUNK }, .max_leases = 256, .prepare = prep_bare,
	  .act = act_acquire_name, .finish = finish_acquire },
	{ .name = "acquire-expired", .what = "the holder's lease is over",
	  .roles = { LAPSED }, .prepare = prep_warm, .act = act_acquire,
	  .finish = finish_acquire },
	{ .name = "acquire-dead", .what = "the holder was killed",
	  .roles = { DEAD_HOLDER }, .prepare = prep_warm, .act = act_acquire,
	  .finish = finish_acquire },
	{ .name = "acquire-try-busy", .what = "try, while somebody holds it",
	  .roles = { HOLDER }, .prepare = prep_warm_try, .act = act_acquire,
	  .finish = finish_acquire, .allowed = says_busy },
	{ .name = "acquire-wait-timeout", .what = "wait and time out",
	  .roles = { HOLDER }, .prepare = prep_warm_brief,
	  .min_states = QUEUED_STATES, .act = act_acquire,
	  .finish = finish_acquire, .allowed = says_late },
	{ .name = "acquire-wait-granted", .what = "wait until it is released",
	  .roles = { YIELDER }, .flags = SC_FIFO, .prepare = prep_warm_long,
	  .act = act_acquire, .finish = finish_acquire },
	{ .name = "acquire-wait-told", .what = "wait until the holder is "
	  "killed", .roles = { MORTAL }, .flags = SC_FIFO,
	  .prepare = prep_warm_long, .act = act_acquire,
	  .finish = finish_acquire },
	{ .name = "acquire-wait-starving", .what = "... in bounded order",
	  .roles = { YIELDER }, .prepare = prep_warm_long, .act = act_acquire,
	  .finish = finish_acquire },
	{ .name = "acquire-wait-cancelled", .what = "wait until cancelled",
	  .roles = { HOLDER }, .flags = SC_FIFO, .prepare = prep_cancelled,
	  .act = act_acquire, .finish = finish_acquire,
	  .allowed = says_cancelled },
	{ .name = "acquire-wait-second", .what = "wait behind a living waiter",
	  .roles = { YIELDER, WAITER }, .flags = SC_FIFO,
	  .prepare = prep_warm_brief, .min_states = QUEUED_STATES,
	  .act = act_acquire, .finish = finish_acquire,
	  .allowed = says_late },
	{ .name = "acquire-wait-last", .what = "leave as the last of three, of "
	  "which the first is dead", .roles = { HOLDER, DEAD_WAITER, WAITER },
	  .flags = SC_FIFO, .prepare = prep_warm_brief,
	  .min_states = QUEUED_STATES, .act = act_acquire,
	  .finish = finish_acquire, .allowed = says_late },
	{ .name = "acquire-behind-dead", .what = "wait behind a killed waiter",
	  .roles = { YIELDER, DEAD_WAITER }, .flags = SC_FIFO,
	  .prepare = prep_warm_long, .act = act_acquire,
	  .finish = finish_acquire },
	{ .name = "release", .what = "nobody waits", .stop_ttl_ms = 120,
	  .prepare = prep_holding, .act = act_release, .finish = finish_plain,
	  .allowed = says_stale },
	{ .name = "release-logged", .what = "while every lease is recorded",
	  .stop_ttl_ms = 120, .prepare = prep_holding_logged,
	  .act = act_release, .finish = finish_plain, .allowed = says_stale },
	{ .name = "release-waiter", .what = "somebody waits",
	  .roles = { FOLLOWER }, .prepare = prep_holding_followed,
	  .act = act_release, .finish = finish_plain, .allowed = says_stale },
	{ .name = "release-stale", .what = "after it was lost to another",
	  .roles = { TAKER }, .prepare = prep_overtaken, .act = act_release,
	  .finish = finish_lost, .allowed = says_stale },
	{ .name = "release-lapsed", .what = "after its deadline, unnoticed",
	  .prepare = prep_lapsed, .act = act_release, .finish = finish_plain,
	  .allowed = says_stale },
	{ .name = "break", .what = "a lease that is held", .stop_ttl_ms = 120,
	  .prepare = prep_holding, .act = act_break, .finish = finish_plain,
	  .allowed = says_stale },
	{ .name = "break-waiter", .what = "and waited for",
	  .roles = { FOLLOWER }, .prepare = prep_holding_followed,
	  .act = act_break, .finish = finish_plain, .allowed = says_stale },
	{ .name = "extend", .what = "a lease that is held",
	  .stop_ttl_ms = 120, .prepare = prep_holding, .act = act_extend,
	  .finish = finish_extend, .allowed = says_stale },
	{ .name = "extend-lapsed", .what = "after its deadline, unnoticed",
	  .prepare = prep_lapsed, .act = act_extend, .finish = finish_lost,
	  .allowed = says_stale },
	{ .name = "extend-stale", .what = "after it was lost to another",
	  .roles = { TAKER }, .prepare = prep_overtaken, .act = act_extend,
	  .finish = finish_lost, .allowed = says_stale },
	{ .name = "verify", .what = "a lease that is held",
	  .prepare = prep_holding, .act = act_verify, .finish = finish_verify,
	  .allowed = says_stale },
	{ .name = "verify-lapsed", .what = "after its deadline, unnoticed",
	  .prepare = prep_lapsed, .act = act_verify, .finish = finish_lost,
	  .allowed = says_stale },
	{ .name = "verify-token", .what = "by key and token",
	  .prepare = prep_holding, .act = act_verify_token,
	  .finish = finish_verify, .allowed = says_stale },
	{ .name = "status", .what = "of a key whose holder was killed",
	  .roles = { DEAD_HOLDER }, .prepare = prep_warm, .act = act_status,
	  .finish = finish_plain },
	{ .name = "list", .what = "with a lease that is over",
	  .roles = { LAPSED }, .prepare = prep_warm, .act = act_list,
	  .finish = finish_plain },
	{ .name = "key-open", .what = "a key that is not there yet",
	  .prepare = prep_attach, .act = act_key_open, .finish = finish_plain },
	{ .name = "close", .what = "holding nothing", .prepare = prep_warm,
	  .act = act_close, .finish = finish_plain },
	{ .name = "close-holding", .what = "holding two, somebody waits",
	  .roles = { FOLLOWER }, .prepare = prep_holding_two_followed,
	  .act = act_close, .finish = finish_plain },
};

SCENARIOS(scenarios_exclusive)
