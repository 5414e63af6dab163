/* SPDX-License-Identifier: MIT */
/*
 * Participants: what the other processes of a scenario do.
 *
 * Each takes its place, says so in its state, and then obeys: ORDER_RELEASE
 * gives up what it holds (a waiter's order to release waits until it holds),
 * ORDER_QUIT ends it.  A part does to KEY only what it was ordered to do,
 * so the checker knows at each moment which part may hold it.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "crash/scenario.h"
#include "op/cluster_check.h"

#define LONG_MS 600000

struct lh_acquire_opts
participant_opts(int64_t ttl_ms, int64_t wait_ms)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;

	o.ttl_ms = ttl_ms;
	o.max_wait_ms = wait_ms;
	return o;
}

static int
make_key(struct trial *p, struct lh *lh, const char *name)
{
	struct lh_key *key;
	int error;

	if (!(p->sc->flags & SC_LOOSE))
		return lh_key_create(lh, name);	/* for good */
	error = lh_key_open(lh, name, 0, &key);
	return error != 0 ? error : lh_key_close(key);
}

struct lh *
participant_open(struct trial *p)
{
	static const char *const keys[] = { KEY, OTHER, THIRD };
	struct lh *lh;
	int error = lh_open(&lh, p->table, &p->opts);

	for (int i = 0; error == 0 && i < 3 &&
	    !(p->sc->flags & (SC_LATE | SC_EMPTY)); i++)
		error = make_key(p, lh, keys[i]);
	if (error != 0) {
		blame(p, "staging: %s: %s", lh_strerror(error),
		    lh_error_detail());
		_exit(1);
	}
	participant_serve(p, lh);
	return lh;
}

void
participant_serve(struct trial *p, struct lh *lh)
{
	if (p->sc->flags & SC_CLUSTER)
		lhi_cluster_check_serve(lh);
}

struct lh_acquire_opts
participant_read_opts(int64_t ttl_ms, int64_t wait_ms)
{
	struct lh_acquire_opts o = participant_opts(ttl_ms, wait_ms);

	o.mode = LH_SHARED;
	return o;
}

/* THIRD is held exclusively by all who hold it. */
static void
take(struct trial *p, struct part *me, struct lh *lh, const char *key,
    int64_t ttl_ms, int64_t wait_ms, struct lh_lease *lease)
{
	struct lh_acquire_opts o = participant_opts(ttl_ms, wait_ms);
	int error;

	if (me->shared && strcmp(key, KEY) == 0)
		o.mode = LH_SHARED;
	error = lh_acquire(lh, key, &o, lease);
	if (error != 0) {
		blame(p, "a part could not acquire '%s': %s: %s", key,
		    lh_strerror(error), lh_error_detail());
		_exit(1);
	}
	if (strcmp(key, KEY) != 0)
		return;
	me->since_ns = lh_clock_ns(lh);
	me->token = lease->token;
	trial_saw_token(p, lease->token);
}

/* Attached, and holding that key. */
static struct lh *
come_with(struct trial *p, struct part *me, const char *key,
    struct lh_lease *lease)
{
	struct lh *lh = participant_open(p);

	take(p, me, lh, key, LONG_MS, 0, lease);
	return lh;
}

/* Holds until the order to release, then stays until the order to quit. */
static void
obey(struct trial *p, struct part *me, struct lh *lh, struct lh_lease *lease)
{
	int error;

	if (!flag_wait(&me->order, ORDER_RELEASE, LONG_MS))
		_exit(1);
	if (lease != NULL && flag_get(&me->order) == ORDER_RELEASE) {
		flag_set(&me->state, PART_LEAVING);
		error = lh_verify(lh, lease);
		if (error != 0)
			blame(p, "a living holder (token %llu) was robbed: %s",
			    (unsigned long long)lease->token,
			    lh_error_detail());
		error = lh_release(lh, lease);
		if (error != 0)
			blame(p, "a living holder could not release: %s: %s",
			    lh_strerror(error), lh_error_detail());
		flag_set(&me->state, PART_LEFT);
	}
	(void)flag_wait(&me->order, ORDER_QUIT, LONG_MS);
	(void)lh_close(lh);
	_exit(0);
}

void
part_founder(struct trial *p, void *part)
{
	struct part *me = part;
	struct lh *lh = participant_open(p);

	flag_set(&me->state, PART_ATTACHED);
	obey(p, me, lh, NULL);
}

void
part_holder(struct trial *p, void *part)
{
	struct part *me = part;
	struct lh_lease lease;
	struct lh *lh = come_with(p, me, KEY, &lease);

	flag_set(&me->state, PART_HOLDS);
	obey(p, me, lh, &lease);
}

static int
count_waiters(const struct lh_key_info *info, void *arg)
{
	*(uint32_t *)arg = info->n_waiters;
	return 0;
}

/* After `begun` the subject sleeps nowhere but in its wait. */
static bool
subject_waits(struct trial *p)
{
	return flag_get(&p->begun) && trial_asleep(p->subject);
}

/* Until told, or the subject waits, and so many in all. */
static void
yield_when(struct trial *p, struct part *me, struct lh *lh, uint32_t waiters)
{
	while (flag_get(&me->order) == 0) {
		uint32_t n = 0;

		if (subject_waits(p) && (waiters == 0 || (lh_status(lh, KEY,
		    NULL, count_waiters, &n) == 0 && n >= waiters))) {
			me->dead = p->sc->roles[me - p->part].mortal;
			if (me->dead)
				(void)kill(getpid(), SIGKILL);
			flag_set(&me->order, ORDER_RELEASE);
			break;
		}
		trial_nap_us(100);
	}
}

void
part_yielder(struct trial *p, void *part)
{
	struct part *me = part;
	struct lh_lease lease;
	struct lh *lh = come_with(p, me, KEY, &lease);

	flag_set(&me->state, PART_HOLDS);
	yield_when(p, me, lh, 0);
	obey(p, me, lh, &lease);
}

void
part_crowd(struct trial *p, void *part)
{
	struct part *me = part;
	struct lh_lease lease;
	struct lh *lh = come_with(p, me, KEY, &lease);

	flag_set(&me->state, PART_HOLDS);
	yield_when(p, me, lh, (uint32_t)p->n_parts);
	obey(p, me, lh, &lease);
}

static void
await_cue(struct trial *p, struct part *me)
{
	if (!flag_wait(&p->cue, (uint32_t)(me - p->part) + 1, LONG_MS))
		_exit(1);
}

static void
wait_for_key(struct trial *p, struct part *me, struct lh *lh)
{
	struct lh_lease lease;

	flag_set(&me->state, PART_WAITS);
	take(p, me, lh, KEY, LONG_MS, LONG_MS, &lease);
	flag_set(&me->state, PART_HOLDS);
	obey(p, me, lh, &lease);
}

void
part_waiter(struct trial *p, void *part)
{
	wait_for_key(p, part, participant_open(p));
}

void
part_follower(struct trial *p, void *part)
{
	struct part *me = part;
	struct lh *lh = participant_open(p);

	flag_set(&me->state, PART_ATTACHED);
	await_cue(p, me);
	wait_for_key(p, me, lh);
}

/* At once if it is to die, else when cued. */
void
part_ticket(struct trial *p, void *part)
{
	struct part *me = part;
	struct lh *lh = participant_open(p);
	struct lh_acquire_opts o = participant_opts(LONG_MS, LONG_MS);
	struct pollfd pfd = { .events = POLLIN };
	struct lh_ticket *t;
	struct lh_lease lease;

	if (!p->sc->roles[me - p->part].dies) {
		flag_set(&me->state, PART_ATTACHED);
		await_cue(p, me);
	}
	flag_set(&me->state, PART_WAITS);
	if (lh_acquire_start(lh, KEY, &o, &t) != 0)
		_exit(1);
	pfd.fd = lh_ticket_fd(t);
	(void)poll(&pfd, 1, LONG_MS);
	if (lh_ticket_finish(t, &lease) != 0) {
		blame(p, "a ticket: %s", lh_error_detail());
		_exit(1);
	}
	me->since_ns = lh_clock_ns(lh);
	me->token = lease.token;
	trial_saw_token(p, lease.token);
	flag_set(&me->state, PART_HOLDS);
	obey(p, me, lh, &lease);
}

void
part_behind(struct trial *p, void *part)
{
	struct part *me = part;
	struct lh *lh = participant_open(p);

	flag_set(&me->state, PART_ATTACHED);
	while (!subject_waits(p)) {
		if (flag_get(&me->order) != 0)
			obey(p, me, lh, NULL);
		trial_nap_us(100);
	}
	wait_for_key(p, me, lh);
}

/* When it is granted, it holds KEY exclusively, with nobody before it. */
void
part_upgrader(struct trial *p, void *part)
{
	struct part *me = part;
	struct lh *lh = participant_open(p);
	struct lh_acquire_opts o = participant_read_opts(LONG_MS, LONG_MS);
	struct lh_lease lease;
	int error = lh_acquire(lh, KEY, &o, &lease);

	if (error == 0) {
		trial_saw_token(p, lease.token);
		flag_set(&me->state, PART_ATTACHED);
		await_cue(p, me);
		flag_set(&me->state, PART_WAITS);
		error = lh_convert_wait(lh, &lease, LH_EXCLUSIVE, &o);
	}
	if (error != 0) {
		blame(p, "a part could not upgrade: %s: %s",
		    lh_strerror(error), lh_error_detail());
		_exit(1);
	}
	me->since_ns = lh_clock_ns(lh);
	me->token = lease.token;
	trial_saw_token(p, lease.token);
	flag_set(&me->state, PART_HOLDS);
	obey(p, me, lh, &lease);
}

void
part_left(struct trial *p, void *part)
{
	struct part *me = part;
	struct lh *lh = participant_open(p);
	struct lh_acquire_opts o = participant_opts(LONG_MS, 5);
	struct lh_lease lease;

	if (lh_acquire(lh, KEY, &o, &lease) != -ETIMEDOUT)
		blame(p, "staging: a wait that was to fail: %s",
		    lh_error_detail());
	flag_set(&me->state, PART_ATTACHED);
	obey(p, me, lh, NULL);
}

void
part_taker(struct trial *p, void *part)
{
	struct part *me = part;
	struct lh *lh = participant_open(p);
	struct lh_lease lease;

	flag_set(&me->state, PART_ATTACHED);
	await_cue(p, me);
	take(p, me, lh, KEY, LONG_MS, 1000, &lease);
	flag_set(&me->state, PART_HOLDS);
	obey(p, me, lh, &lease);
}

void
part_lapsed(struct trial *p, void *part)
{
	struct part *me = part;
	struct lh *lh = participant_open(p);
	struct lh_lease lease;

	/* 1 ms is sometimes over before it is returned, which is refused */
	take(p, me, lh, KEY, 2, 1000, &lease);
	while (lh_clock_ns(lh) < lease.expires_ns)
		trial_nap_us(200);
	flag_set(&me->state, PART_ATTACHED);
	obey(p, me, lh, NULL);
}

/*
 * Two claims that are released and still among the readers: neither was the
 * only one when it went.
 */
void
part_idler(struct trial *p, void *part)
{
	struct part *me = part;
	struct lh *lh = participant_open(p);
	struct lh_lease a, b;

	take(p, me, lh, KEY, LONG_MS, 0, &a);
	take(p, me, lh, KEY, LONG_MS, 0, &b);
	if (lh_release(lh, &a) != 0 || lh_release(lh, &b) != 0)
		blame(p, "staging: no idle readers: %s", lh_error_detail());
	flag_set(&me->state, PART_ATTACHED);
	obey(p, me, lh, NULL);
}

/*
 * To be buried: in the chain of KEY a reader, an idle one, and (when cued, with
 * somebody waiting and others having come after) one that has left from the
 * middle; THIRD besides.
 */
void
part_knot(struct trial *p, void *part)
{
	struct part *me = part;
	struct lh *lh = participant_open(p);
	struct lh_lease a, b, c, d;

	take(p, me, lh, KEY, LONG_MS, 0, &a);
	take(p, me, lh, KEY, LONG_MS, 0, &b);
	take(p, me, lh, KEY, LONG_MS, 0, &c);
	take(p, me, lh, THIRD, LONG_MS, 0, &d);
	if (lh_release(lh, &b) != 0)
		blame(p, "staging: %s", lh_error_detail());
	flag_set(&me->state, PART_ATTACHED);
	await_cue(p, me);
	if (lh_release(lh, &a) != 0)
		blame(p, "staging: %s", lh_error_detail());
	flag_set(&me->state, PART_LEFT);
	obey(p, me, lh, NULL);
}

void
part_cuer(struct trial *p, void *part)
{
	struct part *me = part;
	struct lh *lh = participant_open(p);

	for (int i = 0; i < p->n_parts; i++) {
		if (p->sc->roles[i].enter != part_knot)
			continue;
		flag_set(&p->cue, (uint32_t)i + 1);
		if (!flag_wait(&p->part[i].state, PART_LEFT, 2000))
			blame(p, "staging: the knot is not tied");
	}
	flag_set(&me->state, PART_ATTACHED);
	obey(p, me, lh, NULL);
}

void
part_third(struct trial *p, void *part)
{
	struct part *me = part;
	struct lh_lease lease;
	struct lh *lh = come_with(p, me, THIRD, &lease);

	flag_set(&me->state, PART_ATTACHED);
	obey(p, me, lh, NULL);
}

static void *
hold_third(void *arg)
{
	struct lh_acquire_opts o = participant_opts(LONG_MS, 0);
	struct lh_lease lease;

	return (void *)(intptr_t)lh_acquire(arg, THIRD, &o, &lease);
}

void
part_tangled(struct trial *p, void *part)
{
	struct part *me = part;
	struct lh *lh = participant_open(p);
	pthread_t thread;
	void *error;

	/* from another thread: two groups of claims are in use */
	if (pthread_create(&thread, NULL, hold_third, lh) != 0 ||
	    pthread_join(thread, &error) != 0 || error != NULL) {
		blame(p, "staging: no second thread");
		_exit(1);
	}
	wait_for_key(p, me, lh);
}

void
part_entangled(struct trial *p, void *part)
{
	struct part *me = part;
	struct lh_lease lease;
	struct lh *lh = come_with(p, me, THIRD, &lease);

	flag_set(&me->state, PART_ATTACHED);
	await_cue(p, me);
	wait_for_key(p, me, lh);
}

void
part_chunk(struct trial *p, void *part)
{
	struct part *me = part;
	struct lh *lh = participant_open(p);
	struct lh_acquire_opts o = participant_opts(LONG_MS, 0);
	struct lh_lease lease;
	char key[32];
	int error;

	(void)snprintf(key, sizeof(key), "own-%d", (int)(me - p->part));
	error = lh_acquire(lh, key, &o, &lease);
	if (error != 0)
		blame(p, "staging: %s: %s", lh_strerror(error),
		    lh_error_detail());
	flag_set(&me->state, PART_ATTACHED);
	obey(p, me, lh, NULL);
}
