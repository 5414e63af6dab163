/* SPDX-License-Identifier: MIT */
/*
 * The scenarios of leasehold: see scenario.h.
 *
 * Everything here runs in the subject's process.  Its handles are this file's
 * statics (a process is one subject and nothing else); what others must see is
 * in struct play.  (Above 500 lines, because the functions share these
 * handles and the table at the end names them all.)
 *
 * Opened keys and a lease taken and released beforehand make the fast path
 * fast: magazine filled, clock's tick known.  A fresh process taking its first
 * lease by name is acquire-first.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "crash/scenario.h"

static struct lh *lh;
static struct lh_key *key;
static struct lh_acquire_opts opts;
static struct lh_lease third;
static struct lh_cancel cancel = LH_CANCEL_INIT;
static char long_key[256];

static void
must(struct play *p, int error, const char *what)
{
	if (error == 0)
		return;
	blame(p, "staging: %s: %s: %s", what, lh_strerror(error),
	    lh_error_detail());
	_exit(1);
}

/* Attached, and nothing more. */
static void
attach(struct play *p)
{
	lh = cast_open(p);
	opts = cast_opts(p->ttl_ms, 1000);
	memset(long_key, 'k', sizeof(long_key) - 1);
}

/* The same, and surely without any claims. */
static void
bare(struct play *p)
{
	must(p, lh_open(&lh, p->table, &p->opts), "open");
	opts = cast_opts(p->ttl_ms, 1000);
}

/* Attached, KEY opened, magazine filled, tick seen. */
static void
warm(struct play *p)
{
	struct lh_lease lease;

	attach(p);
	must(p, lh_key_open(lh, KEY, 0, &key), "open the key");
	must(p, lh_acquire(lh, THIRD, NULL, &lease), "warm up");
	must(p, lh_release(lh, &lease), "warm up");
}

/* The key that act_acquire_new makes has been, and is not in use. */
static void
warm_idle(struct play *p)
{
	struct lh_lease lease;

	warm(p);
	must(p, lh_acquire(lh, "brand-new", NULL, &lease), "an idle key");
	must(p, lh_release(lh, &lease), "an idle key");
}

/* There is room for no more keys, and but a few of them are to stay. */
static void
warm_full(struct play *p)
{
	struct lh_stats st = { .size = sizeof(st) };
	struct lh_lease lease;
	char name[32];

	warm(p);
	must(p, lh_key_create(lh, KEY), "keep a key");
	must(p, lh_key_create(lh, OTHER), "keep another");
	do {
		(void)snprintf(name, sizeof(name), "idle-%u", st.keys);
		must(p, lh_acquire(lh, name, NULL, &lease), "an idle key");
		must(p, lh_release(lh, &lease), "an idle key");
		must(p, lh_stats(lh, &st), "statistics");
	} while (st.keys < st.max_keys);
}

static void
warm_try(struct play *p)
{
	warm(p);
	opts.max_wait_ms = 0;
}

static void
warm_brief(struct play *p)
{
	warm(p);
	opts.max_wait_ms = p->wait_ms;
}

static void
warm_long(struct play *p)
{
	warm(p);
	opts.max_wait_ms = 20000;
}

static void
hold_for(struct play *p, int64_t ttl_ms)
{
	struct lh_acquire_opts o = cast_opts(ttl_ms, 0);

	must(p, lh_key_acquire(key, &o, &p->lease), "hold the key");
	p->has_lease = true;
	play_saw_token(p, p->lease.token);
}

static void
holding(struct play *p)
{
	warm(p);
	hold_for(p, p->ttl_ms);
}

static int
count_waiters(const struct lh_key_info *info, void *arg)
{
	*(uint32_t *)arg = info->n_waiters;
	return 0;
}

/* Holding, and part 0 queued behind. */
static void
holding_followed(struct play *p)
{
	uint32_t n = 0;

	warm(p);
	/* the lease begins when everybody is in place */
	hold_for(p, 60000);
	flag_set(&p->cue, 1);
	while (n == 0) {
		must(p, lh_status(lh, KEY, NULL, count_waiters, &n), "status");
		play_nap_us(50);
	}
	must(p, lh_extend(lh, &p->lease, p->ttl_ms), "extend");
}

static void
holding_two_followed(struct play *p)
{
	struct lh_acquire_opts o = cast_opts(60000, 0);

	holding_followed(p);
	must(p, lh_acquire(lh, THIRD, &o, &third), "hold a third key");
}

/* A lease that is over, unnoticed by anyone. */
static void
lapsed(struct play *p)
{
	warm(p);
	hold_for(p, 2);
	while (lh_clock_ns(lh) < p->lease.expires_ns)
		play_nap_us(100);
}

/* A lease that is over, and part 0 has the key. */
static void
overtaken(struct play *p)
{
	lapsed(p);
	flag_set(&p->cue, 1);
	if (!flag_wait(&p->part[0].state, PART_HOLDS, 2000))
		blame(p, "staging: an expired lease is in the way");
}

static void *
throw_switch(void *arg)
{
	struct play *p = arg;

	/* only this thread's own main thread is looked at, and it sleeps
	 * nowhere but in its wait once it has begun */
	while (!flag_get(&p->begun) || !play_asleep(getpid()))
		play_nap_us(100);
	(void)lh_cancel(&cancel);
	return NULL;
}

static void
about_to_be_cancelled(struct play *p)
{
	pthread_t thread;

	warm(p);
	opts.max_wait_ms = 20000;
	opts.cancel = &cancel;
	if (pthread_create(&thread, NULL, throw_switch, p) != 0)
		blame(p, "staging: no thread");
}

/* The operations. */

static void
granted(struct play *p)
{
	if (p->result == 0) {
		p->has_lease = true;
		play_saw_token(p, p->lease.token);
	}
}

static void
act_open(struct play *p)
{
	p->result = lh_open(&lh, p->table, &p->opts);
}

static void
act_acquire(struct play *p)
{
	p->result = lh_key_acquire(key, &opts, &p->lease);
	granted(p);
}

static void
act_acquire_name(struct play *p)
{
	p->result = lh_acquire(lh, KEY, &opts, &p->lease);
	granted(p);
}

static void
act_acquire_new(struct play *p)
{
	p->result = lh_acquire(lh, "brand-new", &opts, &p->lease);
	p->has_lease = p->result == 0;
}

static void
act_acquire_long(struct play *p)
{
	p->result = lh_acquire(lh, long_key, &opts, &p->lease);
	p->has_lease = p->result == 0;
}

static void
act_evict(struct play *p)
{
	int64_t n = lh_evict(lh, "brand", 0);

	p->result = n < 0 ? (int)n : 0;
}

static void
act_release(struct play *p)
{
	p->result = lh_release(lh, &p->lease);
}

static void
act_extend(struct play *p)
{
	p->result = lh_extend(lh, &p->lease, p->ttl_ms);
}

static void
act_verify(struct play *p)
{
	p->result = lh_verify(lh, &p->lease);
}

static void
act_verify_token(struct play *p)
{
	p->result = lh_verify_token(lh, KEY, p->lease.token);
}

static int
seen(const struct lh_key_info *info, void *arg)
{
	(void)info;
	(void)arg;
	return 0;
}

static void
act_status(struct play *p)
{
	p->result = lh_status(lh, KEY, NULL, seen, NULL);
}

static void
act_list(struct play *p)
{
	p->result = lh_list(lh, NULL, seen, NULL);
}

static void
act_key_open(struct play *p)
{
	p->result = lh_key_open(lh, "brand-new", 0, &key);
}

static void
act_close(struct play *p)
{
	p->result = lh_close(lh);
	lh = NULL;
}

/* What is reported must fit what was seen. */

static bool
plausible(struct play *p)
{
	const int *a = p->sc->allowed;

	if (p->result == 0)
		return true;
	while (a != NULL && *a != 0)
		if (*a++ == p->result)
			return true;
	blame(p, "after a stop it reported %s: %s", lh_strerror(p->result),
	    lh_error_detail());
	return false;
}

static void
let_go(struct play *p)
{
	int error;

	if (lh == NULL)
		return;
	error = lh_close(lh);
	if (error != 0)
		blame(p, "close after a stop: %s", lh_strerror(error));
}

/*
 * Two leases on KEY, ours and the server's: G1 by their tokens.  The later one
 * (by token) must have begun when the earlier one was over.  The server's came
 * and was released while we were stopped; so only ours can be the earlier one
 * that had not ended.
 */
static void
no_overlap(struct play *p)
{
	if (p->rival_token > p->lease.token &&
	    p->rival_ns < p->lease.expires_ns)
		blame(p, "G1: reported held until %lld, but another had the "
		    "key at %lld (tokens %llu, %llu)",
		    (long long)p->lease.expires_ns, (long long)p->rival_ns,
		    (unsigned long long)p->lease.token,
		    (unsigned long long)p->rival_token);
	if (p->rival_token == p->lease.token)
		blame(p, "G2: token %llu was given twice",
		    (unsigned long long)p->lease.token);
}

static void
finish_acquire(struct play *p)
{
	int64_t before;
	int error;

	if (plausible(p) && p->result == 0) {
		no_overlap(p);
		before = lh_clock_ns(lh);
		error = lh_verify(lh, &p->lease);
		if (error != 0 && before < p->lease.expires_ns &&
		    lh_clock_ns(lh) < p->lease.expires_ns)
			blame(p, "G3: acquired, and %s %lld ms before its "
			    "deadline", lh_strerror(error), (long long)
			    ((p->lease.expires_ns - before) / NS_A_MS));
		error = lh_release(lh, &p->lease);
		if (error != 0 && error != -ESTALE)
			blame(p, "release after a stop: %s",
			    lh_strerror(error));
	}
	let_go(p);
}

/* Acquired a key that no one else asks for. */
static void
finish_alone(struct play *p)
{
	int error = 0;

	if (plausible(p) && p->result == 0 && p->has_lease)
		error = lh_release(lh, &p->lease);
	if (error != 0 && error != -ESTALE)
		blame(p, "release after a stop: %s", lh_strerror(error));
	let_go(p);
}

static void
finish_extend(struct play *p)
{
	if (plausible(p) && p->result == 0)
		no_overlap(p);
	let_go(p);
}

/* Not held any more when it began: 0 would be wrong whatever happened. */
static void
finish_lost(struct play *p)
{
	if (plausible(p) && p->result == 0)
		blame(p, "G3: a lost lease was reported as held");
	let_go(p);
}

/* Verified at some moment of the call; stopped before it, that is after. */
static void
finish_verify(struct play *p)
{
	if (plausible(p) && p->result == 0 && p->from_begin &&
	    p->rival_token > p->lease.token)
		blame(p, "G3: token %llu verified after %llu was granted",
		    (unsigned long long)p->lease.token,
		    (unsigned long long)p->rival_token);
	let_go(p);
}

static void
finish_plain(struct play *p)
{
	(void)plausible(p);
	let_go(p);
}

static const int stale[] = { -ESTALE, 0 };
static const int busy[] = { -EAGAIN, 0 };
static const int late[] = { -ETIMEDOUT, 0 };
static const int cancelled[] = { -ECANCELED, 0 };

#define FOUNDER { part_founder, PART_ATTACHED, false, false, false }
#define HOLDER { part_holder, PART_HOLDS, false, false, false }
#define DEAD_HOLDER { part_holder, PART_HOLDS, false, true, false }
#define YIELDER { part_yielder, PART_HOLDS, false, false, false }
#define WAITER { part_waiter, PART_WAITS, true, false, false }
#define DEAD_WAITER { part_waiter, PART_WAITS, true, true, false }
#define FOLLOWER { part_follower, PART_ATTACHED, false, false, false }
#define TAKER { part_taker, PART_ATTACHED, false, false, false }
#define LAPSED { part_lapsed, PART_ATTACHED, false, false, false }
#define DEAD_TANGLED { part_tangled, PART_WAITS, true, true, false }
#define DEAD_HALFWAY { NULL, 0, false, true, true }
#define DEAD_CHUNK { part_chunk, PART_ATTACHED, false, true, false }

const struct scenario scenarios[] = {
	{ .name = "open-create", .what = "the first to open makes the table",
	  .flags = SC_LATE, .act = act_open, .finish = finish_plain },
	{ .name = "open-attach", .what = "open a table that exists",
	  .roles = { FOUNDER }, .act = act_open, .finish = finish_plain },
	{ .name = "open-recycle", .what = "open when only dead sessions' "
	  "records are left: one that held and waited, one halfway",
	  .roles = { HOLDER, DEAD_TANGLED, DEAD_HALFWAY }, .flags = SC_TIGHT,
	  .act = act_open, .finish = finish_plain },
	{ .name = "acquire-free", .what = "acquire an opened, free key",
	  .stop_ttl_ms = 120, .prepare = warm, .act = act_acquire,
	  .finish = finish_acquire },
	{ .name = "acquire-name", .what = "the same by its name",
	  .stop_ttl_ms = 120, .prepare = warm, .act = act_acquire_name,
	  .finish = finish_acquire },
	{ .name = "acquire-first", .what = "a process's first lease",
	  .roles = { FOUNDER }, .prepare = bare, .act = act_acquire_name,
	  .finish = finish_acquire },
	{ .name = "acquire-new", .what = "by a name that is not there yet",
	  .prepare = warm, .act = act_acquire_new, .finish = finish_alone },
	{ .name = "acquire-long", .what = "a new name of 255 bytes",
	  .prepare = warm, .act = act_acquire_long, .finish = finish_alone },
	{ .name = "acquire-evicting", .what = "a new name in a full table",
	  .prepare = warm_full, .act = act_acquire_new,
	  .finish = finish_alone },
	{ .name = "evict", .what = "a key that is not in use",
	  .prepare = warm_idle, .act = act_evict, .finish = finish_alone },
	{ .name = "acquire-sweep", .what = "when dead sessions have all the "
	  "claims", .roles = { DEAD_CHUNK, DEAD_CHUNK, DEAD_CHUNK,
	  DEAD_CHUNK }, .max_leases = 256, .prepare = bare,
	  .act = act_acquire_name, .finish = finish_acquire },
	{ .name = "acquire-expired", .what = "the holder's lease is over",
	  .roles = { LAPSED }, .prepare = warm, .act = act_acquire,
	  .finish = finish_acquire },
	{ .name = "acquire-dead", .what = "the holder was killed",
	  .roles = { DEAD_HOLDER }, .prepare = warm, .act = act_acquire,
	  .finish = finish_acquire },
	{ .name = "acquire-try-busy", .what = "try, while somebody holds it",
	  .roles = { HOLDER }, .prepare = warm_try, .act = act_acquire,
	  .finish = finish_acquire, .allowed = busy },
	{ .name = "acquire-wait-timeout", .what = "wait in vain",
	  .roles = { HOLDER }, .prepare = warm_brief, .act = act_acquire,
	  .finish = finish_acquire, .allowed = late },
	{ .name = "acquire-wait-granted", .what = "wait until it is released",
	  .roles = { YIELDER }, .prepare = warm_long, .act = act_acquire,
	  .finish = finish_acquire },
	{ .name = "acquire-wait-cancelled", .what = "wait until cancelled",
	  .roles = { HOLDER }, .prepare = about_to_be_cancelled,
	  .act = act_acquire, .finish = finish_acquire,
	  .allowed = cancelled },
	{ .name = "acquire-wait-second", .what = "wait behind a living waiter",
	  .roles = { YIELDER, WAITER }, .prepare = warm_brief,
	  .act = act_acquire, .finish = finish_acquire, .allowed = late },
	{ .name = "acquire-behind-dead", .what = "wait behind a killed waiter",
	  .roles = { YIELDER, DEAD_WAITER }, .prepare = warm_long,
	  .act = act_acquire, .finish = finish_acquire },
	{ .name = "release", .what = "nobody waits", .stop_ttl_ms = 120,
	  .prepare = holding, .act = act_release, .finish = finish_plain,
	  .allowed = stale },
	{ .name = "release-waiter", .what = "somebody waits",
	  .roles = { FOLLOWER }, .prepare = holding_followed,
	  .act = act_release, .finish = finish_plain, .allowed = stale },
	{ .name = "release-stale", .what = "after it was lost to another",
	  .roles = { TAKER }, .prepare = overtaken, .act = act_release,
	  .finish = finish_lost, .allowed = stale },
	{ .name = "release-lapsed", .what = "after its deadline, unnoticed",
	  .prepare = lapsed, .act = act_release, .finish = finish_plain,
	  .allowed = stale },
	{ .name = "extend", .what = "a lease that is held",
	  .stop_ttl_ms = 120, .prepare = holding, .act = act_extend,
	  .finish = finish_extend, .allowed = stale },
	{ .name = "extend-lapsed", .what = "after its deadline, unnoticed",
	  .prepare = lapsed, .act = act_extend, .finish = finish_lost,
	  .allowed = stale },
	{ .name = "extend-stale", .what = "after it was lost to another",
	  .roles = { TAKER }, .prepare = overtaken, .act = act_extend,
	  .finish = finish_lost, .allowed = stale },
	{ .name = "verify", .what = "a lease that is held",
	  .prepare = holding, .act = act_verify, .finish = finish_verify,
	  .allowed = stale },
	{ .name = "verify-lapsed", .what = "after its deadline, unnoticed",
	  .prepare = lapsed, .act = act_verify, .finish = finish_lost,
	  .allowed = stale },
	{ .name = "verify-token", .what = "by key and token",
	  .prepare = holding, .act = act_verify_token,
	  .finish = finish_verify, .allowed = stale },
	{ .name = "status", .what = "of a key whose holder was killed",
	  .roles = { DEAD_HOLDER }, .prepare = warm, .act = act_status,
	  .finish = finish_plain },
	{ .name = "list", .what = "with a lease that is over",
	  .roles = { LAPSED }, .prepare = warm, .act = act_list,
	  .finish = finish_plain },
	{ .name = "key-open", .what = "a key that is not there yet",
	  .prepare = attach, .act = act_key_open, .finish = finish_plain },
	{ .name = "close", .what = "holding nothing", .prepare = warm,
	  .act = act_close, .finish = finish_plain },
	{ .name = "close-holding", .what = "holding two, somebody waits",
	  .roles = { FOLLOWER }, .prepare = holding_two_followed,
	  .act = act_close, .finish = finish_plain },
};

const int n_scenarios = sizeof(scenarios) / sizeof(scenarios[0]);

static const struct scenario halfway = {
	.name = "halfway", .what = "makes a key", .prepare = attach,
	.act = act_key_open
};

const struct scenario *const scenario_halfway = &halfway;

const struct scenario *
scenario_find(const char *name)
{
	for (int i = 0; i < n_scenarios; i++)
		if (strcmp(scenarios[i].name, name) == 0)
			return &scenarios[i];
	return NULL;
}
