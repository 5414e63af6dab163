/* SPDX-License-Identifier: MIT */
/* The parts of subjects: see subject.h. */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "crash/subject.h"

struct subject sub = { .cancel = LH_CANCEL_INIT };

void
sub_must(struct trial *p, int error, const char *what)
{
	if (error == 0)
		return;
	blame(p, "staging: %s: %s: %s", what, lh_strerror(error),
	    lh_error_detail());
	_exit(1);
}

/* Attached, and nothing more. */
void
prep_attach(struct trial *p)
{
	sub.lh = participant_open(p);
	sub.opts = participant_opts(p->ttl_ms, 1000);
	memset(sub.long_key, 'k', sizeof(sub.long_key) - 1);
}

/* The same, and surely without any claims. */
void
prep_bare(struct trial *p)
{
	sub_must(p, lh_open(&sub.lh, p->table, &p->opts), "open");
	sub.opts = participant_opts(p->ttl_ms, 1000);
}

/* Attached, KEY opened, claim cache filled, tick seen. */
void
prep_warm(struct trial *p)
{
	struct lh_lease lease;

	prep_attach(p);
	sub_must(p, lh_key_open(sub.lh, KEY, 0, &sub.key), "open the key");
	sub_must(p, lh_acquire(sub.lh, THIRD, NULL, &lease), "warm up");
	sub_must(p, lh_release(sub.lh, &lease), "warm up");
}

void
prep_warm_try(struct trial *p)
{
	prep_warm(p);
	sub.opts.max_wait_ms = 0;
}

void
prep_warm_brief(struct trial *p)
{
	prep_warm(p);
	sub.opts.max_wait_ms = p->wait_ms;
}

void
prep_warm_long(struct trial *p)
{
	prep_warm(p);
	sub.opts.max_wait_ms = SUB_WAIT_MS;
}

void
sub_hold(struct trial *p, int64_t ttl_ms)
{
	struct lh_acquire_opts o = participant_opts(ttl_ms, 0);

	o.mode = sub.opts.mode;
	sub_must(p, lh_key_acquire(sub.key, &o, &p->lease), "hold the key");
	p->has_lease = true;
	trial_saw_token(p, p->lease.token);
}

void
prep_holding(struct trial *p)
{
	prep_warm(p);
	sub_hold(p, p->ttl_ms);
}

static int
count_waiters(const struct lh_key_info *info, void *arg)
{
	*(uint32_t *)arg = info->n_waiters;
	return 0;
}

void
sub_await_waiters(struct trial *p, uint32_t want)
{
	uint32_t n = 0;

	while (n < want) {
		sub_must(p, lh_status(sub.lh, KEY, NULL, count_waiters, &n),
		    "status");
		trial_nap_us(50);
	}
}

void
sub_cue(struct trial *p, int i, uint32_t state)
{
	flag_set(&p->cue, (uint32_t)i + 1);
	if (!flag_wait(&p->part[i].state, state, 2000))
		blame(p, "staging: part %d did not react to its cue", i);
}

/* Holding, and part 0 queued behind. */
void
prep_holding_followed(struct trial *p)
{
	prep_warm(p);
	/* the lease begins when everybody is in place */
	sub_hold(p, SUB_LONG_MS);
	flag_set(&p->cue, 1);
	sub_await_waiters(p, 1);
	sub_must(p, lh_extend(sub.lh, &p->lease, p->ttl_ms), "extend");
}

/* A lease that is over, unnoticed by anyone. */
void
prep_lapsed(struct trial *p)
{
	prep_warm(p);
	sub_hold(p, 2);
	while (lh_clock_ns(sub.lh) < p->lease.expires_ns)
		trial_nap_us(100);
}

/* A lease that is over, and part 0 has the key. */
void
prep_overtaken(struct trial *p)
{
	prep_lapsed(p);
	flag_set(&p->cue, 1);
	if (!flag_wait(&p->part[0].state, PART_HOLDS, 2000))
		blame(p, "staging: an expired lease blocks the key");
}

/* The operations. */

void
sub_granted(struct trial *p)
{
	if (p->result == 0) {
		p->has_lease = true;
		trial_saw_token(p, p->lease.token);
	}
}

void
act_open(struct trial *p)
{
	p->result = lh_open(&sub.lh, p->table, &p->opts);
}

void
act_acquire(struct trial *p)
{
	p->result = lh_key_acquire(sub.key, &sub.opts, &p->lease);
	sub_granted(p);
}

void
act_acquire_name(struct trial *p)
{
	p->result = lh_acquire(sub.lh, KEY, &sub.opts, &p->lease);
	sub_granted(p);
}

void
act_acquire_new(struct trial *p)
{
	p->result = lh_acquire(sub.lh, "brand-new", &sub.opts, &p->lease);
	p->has_lease = p->result == 0;
}

void
act_acquire_long(struct trial *p)
{
	p->result = lh_acquire(sub.lh, sub.long_key, &sub.opts, &p->lease);
	p->has_lease = p->result == 0;
}

void
act_key_open(struct trial *p)
{
	p->result = lh_key_open(sub.lh, "brand-new", 0, &sub.key);
}

void
act_release(struct trial *p)
{
	p->result = lh_release(sub.lh, &p->lease);
}

/* One's own lease: the steps are those of any other's. */
void
act_break(struct trial *p)
{
	int n = lh_break(sub.lh, KEY, p->lease.id, 0);

	p->result = n == 1 ? 0 : n;
}

void
act_extend(struct trial *p)
{
	p->result = lh_extend(sub.lh, &p->lease, p->ttl_ms);
}

void
act_verify(struct trial *p)
{
	p->result = lh_verify(sub.lh, &p->lease);
}

void
act_verify_token(struct trial *p)
{
	p->result = lh_verify_token(sub.lh, KEY, p->lease.token);
}

static int
seen(const struct lh_key_info *info, void *arg)
{
	(void)info;
	(void)arg;
	return 0;
}

void
act_status(struct trial *p)
{
	p->result = lh_status(sub.lh, KEY, NULL, seen, NULL);
}

void
act_list(struct trial *p)
{
	p->result = lh_list(sub.lh, NULL, seen, NULL);
}

void
act_close(struct trial *p)
{
	p->result = lh_close(sub.lh);
	sub.lh = NULL;
}

/* Reports must match the facts. */

bool
sub_plausible(struct trial *p)
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

void
sub_let_go(struct trial *p)
{
	int error;

	if (sub.lh == NULL)
		return;
	error = lh_close(sub.lh);
	if (error != 0)
		blame(p, "close after a stop: %s", lh_strerror(error));
}

/*
 * A lease of ours on KEY and one of the server's: G1 by their tokens.  The
 * later one (by token) must have begun when the earlier one was over.  The
 * server's came and were released while we were stopped; so only ours can be
 * the earlier one that had not ended.
 */
static void
not_before_ours_ended(struct trial *p, const char *mode, uint64_t token,
    int64_t at_ns)
{
	if (token > p->lease.token && at_ns < p->lease.expires_ns)
		blame(p, "G1: reported held until %lld, but another had the "
		    "key %s at %lld (tokens %llu, %llu)",
		    (long long)p->lease.expires_ns, mode, (long long)at_ns,
		    (unsigned long long)p->lease.token,
		    (unsigned long long)token);
	if (token == p->lease.token)
		blame(p, "G2: token %llu was given twice",
		    (unsigned long long)token);
}

void
sub_no_overlap(struct trial *p)
{
	not_before_ours_ended(p, "exclusively", p->rival_token, p->rival_ns);
	if (p->lease.mode == LH_EXCLUSIVE)
		not_before_ours_ended(p, "in shared mode", p->reader_token,
		    p->reader_ns);
}

void
finish_acquire(struct trial *p)
{
	int64_t before;
	int error;

	if (sub_plausible(p) && p->result == 0) {
		sub_no_overlap(p);
		before = lh_clock_ns(sub.lh);
		error = lh_verify(sub.lh, &p->lease);
		if (error != 0 && before < p->lease.expires_ns &&
		    lh_clock_ns(sub.lh) < p->lease.expires_ns)
			blame(p, "G3: acquired, and %s %lld ms before its "
			    "deadline", lh_strerror(error), (long long)
			    ((p->lease.expires_ns - before) / NS_A_MS));
		error = lh_release(sub.lh, &p->lease);
		if (error != 0 && error != -ESTALE)
			blame(p, "release after a stop: %s",
			    lh_strerror(error));
	}
	sub_let_go(p);
}

/* Acquired a key that no one else asks for. */
void
finish_alone(struct trial *p)
{
	int error = 0;

	if (sub_plausible(p) && p->result == 0 && p->has_lease)
		error = lh_release(sub.lh, &p->lease);
	if (error != 0 && error != -ESTALE)
		blame(p, "release after a stop: %s", lh_strerror(error));
	sub_let_go(p);
}

void
finish_extend(struct trial *p)
{
	if (sub_plausible(p) && p->result == 0)
		sub_no_overlap(p);
	sub_let_go(p);
}

/* Not held any more when it began: 0 would be wrong whatever happened. */
void
finish_lost(struct trial *p)
{
	if (sub_plausible(p) && p->result == 0)
		blame(p, "G3: a lost lease was reported as held");
	sub_let_go(p);
}

/* Verified at some moment of the call; stopped before it, that is after. */
void
finish_verify(struct trial *p)
{
	if (sub_plausible(p) && p->result == 0 && p->from_begin &&
	    p->rival_token > p->lease.token)
		blame(p, "G3: token %llu verified after %llu was granted",
		    (unsigned long long)p->lease.token,
		    (unsigned long long)p->rival_token);
	sub_let_go(p);
}

void
finish_plain(struct trial *p)
{
	(void)sub_plausible(p);
	sub_let_go(p);
}

