/* SPDX-License-Identifier: MIT */
/*
 * Acquires a cluster key: locally in the table, and for this host in the
 * cluster.  acquire_options.c and src/live call it.
 *
 * 1. If this host has no right to the key in that mode, it asks the shim
 * (op/shim_request.c). The shim answers that it requests the right (QUEUED),
 * that the right is set (GRANTED), or why it cannot be acquired.
 *
 * 2. It acquires the key in the table, like any key.  While this host has no
 * right, the shim holds the key there.  So processes queue behind it, each with
 * its priority, deadline and cancellation switch.
 *
 * 3. If the right is set and covers the token, the key is held.  Otherwise it
 * is given back at once, and step 1 follows again.
 *
 * Step 3 alone makes it safe (op/cluster_check.c); step 1 only makes step 3
 * succeed.  When the shim dies or loses its session, a process that waits in
 * step 2 is granted the key, finds no right in step 3, and fails in step 1. The
 * error is -EHOSTUNREACH, because no shim has said "busy".
 *
 * A crash or stop in step 1 leaves a question, which the shim may still answer
 * (unused rights do no harm). In step 2 it leaves the state of any wait.
 * Between steps 2 and 3 it leaves a lease in the table that was not reported,
 * which its death or deadline frees.
 *
 * A try may meet the shim in step 2 although the right is set: the shim holds
 * the key for a moment, to raise its base or to return it.  The try asks the
 * shim, which answers when it has released the key; that is not "busy". A try
 * is bounded: the shim answers within two of its timeouts (requests.c), and a
 * silent shim is given TRY_NS.
 *
 * The shim may report more than is true (it has lost the key again, or is
 * faulty). From the second repetition on there is a pause, so that no caller
 * spins.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "base/error.h"
#include "op/cluster_acquire.h"
#include "op/cluster_holders.h"
#include "op/release.h"
#include "shm/counters.h"

#define TRY_NS NS_PER_SEC		/* how long the shim has for a try */
#define ASIDE_NS (50 * NS_PER_MS)	/* to learn which host has it */
#define NAP_NS NS_PER_MS
#define NAP_MAX_NS (50 * NS_PER_MS)
#define TRIES_MAX 8			/* rounds of a try */
#define ANCHOR_EVERY 1024u		/* tokens */

int
lhi_cluster_acquire_check_opts(struct lh *lh,
    const struct lhi_acquire_request *ask, const struct lhi_key_name *n)
{
	bool cluster = lhi_right_wanted(&lh->v, n);

	if (ask->quorum && !cluster)
		return lhi_fail(-EOPNOTSUPP, "scope quorum is for the keys of "
		    "a cluster, and '%.64s' is this host's alone: their names "
		    "begin with '%.31s'", n->key, lh->v.hdr->cluster_prefix);
	if (ask->local && cluster)
		return lhi_fail(-EOPNOTSUPP, "'%.64s' is a key of a cluster, "
		    "which its tokens come from: use scope quorum or "
		    "ephemeral", n->key);
	return cluster && ask->more->value != NULL ?
	    lhi_right_refuse_value(n->key) : 0;
}

/* Returns the milliseconds that are left, for the shim. */
static uint32_t
time_left_ms(struct lh *lh, const struct lhi_acquire_request *ask)
{
	int64_t left;

	if (ask->try_only)
		return (uint32_t)(TRY_NS / NS_PER_MS);
	if (ask->until_ns == INT64_MAX)
		return FRAME_NO_END;
	left = (ask->until_ns - lhi_now_ns(&lh->v)) / NS_PER_MS + 1;
	return left < 1 ? 1 : left < (int64_t)FRAME_NO_END ? (uint32_t)left :
	    FRAME_NO_END - 1;
}

int
lhi_cluster_acquire_send_request(struct lh *lh, struct lhi_shim_request *p,
    const struct lhi_cluster_acquire_item *w, uint32_t n,
    const struct lhi_acquire_request *ask, unsigned flags)
{
	struct lhi_frame *f = &p->question;

	p->lh = lh;
	f->type = FRAME_WANT;
	f->flags = (uint8_t)(flags | (ask->try_only ? FRAME_TRY : 0));
	f->wait_ms = time_left_ms(lh, ask);
	f->n = (uint8_t)n;
	for (uint32_t i = 0; i < n; i++)
		f->key[i] = (struct lhi_frame_key){
			.mode = w[i].shared ? LH_SHARED : LH_EXCLUSIVE,
			.len = (uint8_t)strlen(w[i].key),
			.key = w[i].key,
		};
	return lhi_shim_request_begin(p);
}

/* Maps an error of the shim to ours: none that means something else. */
static int
map_shim_error(int error)
{
	switch (error) {
	case EACCES:
	case EPERM:
	case ENOSPC:
	case ENOMEM:
	case EINVAL:
	case EIO:
	case EPROTO:
	case EOPNOTSUPP:
		return -error;
	default:
		return -EHOSTUNREACH;
	}
}

int
lhi_cluster_acquire_read_answer(const struct lhi_shim_request *p)
{
	const struct lhi_frame *f = &p->answer;
	char buf[400];

	switch (f->type) {
	case FRAME_QUEUED:
	case FRAME_GRANTED:
		return 0;
	case FRAME_BUSY:
		(void)lhi_cluster_holders_printable(f, buf, sizeof(buf));
		if (p->question.n != 1)
			return lhi_fail(-EAGAIN, "busy: %s", buf);
		return lhi_fail(-EAGAIN, "key '%.*s' is busy: %s",
		    p->question.key[0].len > 64 ? 64 : p->question.key[0].len,
		    p->question.key[0].key, buf);
	case FRAME_AWAY:
		return lhi_fail(-EHOSTUNREACH, "the cluster cannot be "
		    "used: %s", lhi_cluster_holders_printable(f, buf,
		    sizeof(buf)));
	case FRAME_DENIED:
		(void)lhi_cluster_holders_printable(f, buf, sizeof(buf));
		if (p->question.n != 1)
			return lhi_fail(-EACCES, "the cluster refuses: %s",
			    buf);
		return lhi_fail(-EACCES, "the cluster refuses key '%.*s': %s",
		    p->question.key[0].len > 64 ? 64 : p->question.key[0].len,
		    p->question.key[0].key, buf);
	case FRAME_FAILED:
		return lhi_fail(map_shim_error(f->error),
		    "the shim cannot get the "
		    "key from the cluster: %s (%s)",
		    lhi_cluster_holders_printable(f, buf, sizeof(buf)),
		    strerror(f->error));
	default:
		return lhi_fail(-EHOSTUNREACH, "the shim answers something "
		    "else: is it of another version?");
	}
}

int
lhi_cluster_acquire_fail_late(const struct lhi_shim_request *p, const struct
    lhi_acquire_request *ask)
{
	bool away = (uint64_t)lhi_clock_ns(CLOCK_BOOTTIME) >=
	    lhi_cluster_until(&p->lh->v);

	if (away || ask->try_only)
		return lhi_fail(-EHOSTUNREACH, "the shim has not answered in "
		    "time%s", away ? ", and this host has no session with the "
		    "cluster" : ": it is not known whether the key is free");
	return lhi_fail(-ETIMEDOUT, "timed out waiting for the shim to get "
	    "the key from the cluster");
}

int
lhi_cluster_acquire_ask_shim(struct lh *lh, struct lhi_shim_request *p,
    const struct lhi_cluster_acquire_item *w, uint32_t n,
    const struct lhi_acquire_request *ask, unsigned flags)
{
	const struct lhi_shim_request_wait wait = {
		.until_ns = ask->try_only ? lhi_now_ns(&lh->v) + TRY_NS :
		    ask->until_ns,
		.cancel = ask->cancel,
		.callback = ask->callback,
	};
	int error = lhi_cluster_acquire_send_request(lh, p, w, n, ask, flags);

	if (error == 0)
		error = lhi_shim_request_await(p, &wait);
	lhi_point("cluster.answered");
	error = error == -ETIMEDOUT ? lhi_cluster_acquire_fail_late(p, ask) :
	    error != 0 ? error : lhi_cluster_acquire_read_answer(p);
	lhi_cluster_acquire_count_error(lh, error);
	return error;
}

void
lhi_cluster_acquire_count_error(struct lh *lh, int error)
{
	switch (error) {
	case -EHOSTUNREACH:
		lhi_counters_add(&lh->v, STAT_AWAY, 1);
		break;
	case -EAGAIN:
		lhi_counters_add(&lh->v, STAT_BUSY, 1);
		break;
	case -ETIMEDOUT:
		lhi_counters_add(&lh->v, STAT_TIMEOUTS, 1);
		break;
	case -ECANCELED:
		lhi_counters_add(&lh->v, STAT_CANCELLED, 1);
		break;
	}
}

/* Tells the shim that half of the tokens are used up. */
static void
ask_for_more(struct lh *lh, const struct lhi_held *h, uint64_t token)
{
	struct lhi_frame f = { .type = FRAME_ANCHOR, .n = 1 };
	char key[SHM_KEY_MAX + 1];
	struct lhi_shim_client *c;
	bool made;
	size_t len;

	if (token % ANCHOR_EVERY != 0 ||
	    (len = lhi_slot_key(&lh->v, h->slot, key)) == 0)
		return;
	f.key[0] = (struct lhi_frame_key){ .len = (uint8_t)len, .key = key };
	lhi_fail_mute(1);
	if (lhi_shim_client_take(lh, &c, &made) == 0) {
		if (lhi_shim_client_send(c, &f) == 0)
			lhi_shim_client_keep(lh, c);
		else
			lhi_shim_client_drop(c);
	}
	lhi_fail_mute(0);
}

int
lhi_cluster_acquire_confirm(struct lh *lh, struct lh_lease *l)
{
	enum lhi_cluster_check_place place;
	struct lhi_held h;
	bool right;

	lhi_point("cluster.granted");
	if (lhi_lease_find(lh, l, &h) != 0)
		return CLUSTER_NOT;	/* its session has ended */
	/* in this order: the base is raised before the right is set */
	right = lhi_cluster_check_lease(&h);
	place = lhi_cluster_check_place(&lh->v, h.slot, l->token);
	if (lhi_mutant_on(base_first))
		right = lhi_cluster_check_lease(&h);
	if (!right || place == PLACE_BAD) {
		lhi_fail_mute(1);
		if (lhi_lease_give_back(lh, l) == 0)
			lhi_counters_spent(&lh->v);	/* G8: not acquired */
		lhi_fail_mute(0);
		lhi_point("cluster.given_back");
		return place == PLACE_BAD ? CLUSTER_ABOVE : CLUSTER_NOT;
	}
	if (place == PLACE_HALF)
		ask_for_more(lh, &h, l->token);
	/* both at one moment: op/cluster_check.c, I1 */
	l->expires_ns = lhi_cluster_check_end_ns(&h, l->expires_ns);
	lhi_fail_mute(1);
	place = lh_verify(lh, l) == 0 ? PLACE_GOOD : PLACE_BAD;
	lhi_fail_mute(0);
	return place == PLACE_GOOD ? 0 : CLUSTER_NOT;
}

/* Pauses after another round without success. */
static int
sleep_between_turns(struct lh *lh, const struct lhi_acquire_request *ask,
    uint32_t turn)
{
	int64_t ns = turn < 7 ? NAP_NS << turn : NAP_MAX_NS;
	struct timespec ts = { 0, (long)(ns < NAP_MAX_NS ? ns : NAP_MAX_NS) };

	if (ask->try_only && turn >= TRIES_MAX)
		return lhi_fail(-EHOSTUNREACH, "the shim says that it has the "
		    "key, and this host has no right to it again and again");
	if (lhi_cancel_is_set(ask->cancel))
		return lhi_fail(-ECANCELED, "the wait was cancelled");
	if (!ask->try_only && lhi_now_ns(&lh->v) >= ask->until_ns)
		return lhi_fail(-ETIMEDOUT, "timed out waiting for the "
		    "cluster to grant this host the key");
	(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
	return ask->callback != NULL &&
		       lhi_now_ns(&lh->v) >= ask->callback->at_ns
		   ? ask->callback->run(ask->callback)
		   : 0;
}

/* If another host has the key, names that host in the error. */
static void
name_other_hosts(struct lh *lh, struct lhi_acquire_target *want,
    const struct lhi_acquire_request *ask, int error)
{
	enum lh_others others;
	char who[300];

	if ((error != -EAGAIN && error != -ETIMEDOUT) ||
	    lhi_right_is_valid(&lh->v, &want->ref, ask->shared, NULL))
		return;
	lhi_fail_mute(1);
	others = lhi_cluster_holders_read(lh, want->name->key, ASIDE_NS, who,
	    sizeof(who));
	lhi_fail_mute(0);
	if (others == LH_OTHERS_HOLD)
		(void)lhi_fail(error, "%skey '%.64s' belongs to another host "
		    "now: %s", error == -EAGAIN ? "" :
		    "timed out waiting: ", want->name->key, who);
}

/* Acquires in the table. A try passes the shim, unless the shim refuses. */
static int
acquire_in_table(struct lh *lh, struct lhi_shim_request *p,
    struct lhi_acquire_target *want, const struct lhi_acquire_request *ask,
    struct lh_lease *got, lhi_local_fn *fn)
{
	const struct lhi_cluster_acquire_item item = {
	    want->name->key, ask->shared};
	int error;

	/* ends: after TRIES_MAX turns at the latest */
	for (uint32_t turn = 0;; turn++) {
		*got = (struct lh_lease){ 0 };
		error = fn(lh, want, ask, got);
		if (error != -EAGAIN || !ask->try_only || turn == TRIES_MAX ||
		    !lhi_fail_busy_by_shim())
			break;
		lhi_point("cluster.met_shim");
		lhi_shim_request_end(p);
		error = lhi_cluster_acquire_ask_shim(lh, p, &item, 1, ask, 0);
		if (error != 0)
			return error;
	}
	name_other_hosts(lh, want, ask, error);
	return error;
}

int
lhi_cluster_acquire(struct lh *lh, struct lhi_acquire_target *want,
    const struct lhi_acquire_request *ask, struct lh_lease *lease,
    lhi_local_fn *fn)
{
	const struct lhi_cluster_acquire_item item = {
	    want->name->key, ask->shared};
	struct lh_lease got;
	unsigned flags = 0;
	struct lhi_shim_request p;		/* (large) */
	int error = 0;

	p.c = NULL;
	/* ends: at the caller's deadline or cancel, sleep_between_turns() */
	for (uint32_t turn = 0;; turn++) {
		if (turn > 1)
			error = sleep_between_turns(lh, ask, turn - 2);
		if (error == 0 && (flags != 0 || !lhi_right_is_valid(&lh->v,
		    &want->ref, ask->shared, NULL))) {
			lhi_shim_request_end(&p);
			error = lhi_cluster_acquire_ask_shim(lh, &p, &item, 1,
			    ask, flags);
		}
		if (error == 0)
			error = acquire_in_table(lh, &p, want, ask, &got, fn);
		if (error != 0)
			break;
		error = lhi_cluster_acquire_confirm(lh, &got);
		if (error == 0) {
			if (!ask->rare)
				lhi_cluster_check_remember_right(lh, &got,
				    ask->ttl_ns);
			*lease = got;
			break;
		}
		flags = error == CLUSTER_ABOVE ? FRAME_REANCHOR : 0;
		error = 0;
	}
	lhi_shim_request_end(&p);
	return error;
}
