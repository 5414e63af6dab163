/* SPDX-License-Identifier: MIT */
/*
 * Keys: answers "what is to be done about that key next?".
 *
 * What the host has no right to, the shim has (local_hold.c); so who wants it
 * stands behind the shim.  A key's state is what is so: locally (none, waits,
 * held), in the cluster (nothing, asked, granted), in the table (its right),
 * and what is wanted: by processes, by hosts behind us.  Whatever happens
 * changes one of these, and then the key is stepped: from the state alone
 * follows what to do.
 *
 *	right	claim	  wanted here?	then
 *	none	nothing	  no		let go of it, forget it
 *	none	nothing	  yes		hold it, and ask the cluster	   ask
 *	none	asked	  no		leave the claim
 *	none	asked	  yes		hold it, and wait
 *	none	granted	  yes		hold it; base, right, let go	   take
 *	none	granted	  no		hold it; leave the claim
 *	set	granted	  		others want it: hold it; right := none;
 *					is it still held?  (else again from the
 *					first row but one)		 return
 *	set	granted	  newer base	hold it; raise the base, let go
 *	set	gone			void: right := none, leases broken
 *
 * "Hold it" comes first in each row, and is waited for.
 *
 * Why a claim is left only while it is held, and after the right was cleared
 * and the hold looked at once more: a lease under the right was granted before
 * that, and would be in the way of ours.  One that is granted after it sees no
 * right. So when we leave, nobody here has the key (I1).
 *
 * A right is set only while it is held, so none of those who were granted the
 * key before it has it still (I2); but see below.
 *
 * Stopped in the midst.  Our lease may run out between a look and what follows.
 * Then somebody here may have the key when the right is set: it is his host's,
 * and he checks it after the grant: he sees the right, or none, and goes by
 * that.  When the right is cleared, and the hold turns out to be lost, I1 is
 * made true again before anything else is done.
 *
 * A try of a key that another host has: that host may have it only because
 * nobody else wanted it since.  So the try stands in the queue for INSIST_NS,
 * which is told to that host as any wait is, and then is busy.
 *
 * Fairness.  A host behind us: the key goes back when it is free here.  If
 * processes wait here, they have it for hold_min at least, since the cluster
 * gave it; then we stand in the queue among them, and after LINGER_NS, or when
 * too many are before us, in front of all.  If it was asked for by somebody who
 * has not come for it yet, it waits a moment for him.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "daemon/daemon_log.h"
#include "shim.h"

#define FRESH_NS (2 * NS_PER_MS)
#define LINGER_NS (20 * NS_PER_MS)
#define LINGER_GRANTS 64
#define INSIST_NS (50 * NS_PER_MS)
#define TROUBLE_NS (250 * NS_PER_MS)

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	key_step(arg);
}

/* Step it again then. */
static void
step_at(struct key *k, int64_t ns)
{
	int64_t left_us = (ns - shim_now_ns()) / 1000 + 1;
	struct timeval tv = { left_us / 1000000, left_us % 1000000 };

	if (left_us < 0)
		tv.tv_sec = tv.tv_usec = 0;
	if (k->timer == NULL)
		k->timer = evtimer_new(k->s->o.base, on_timer, k);
	if (k->timer != NULL)
		(void)evtimer_add(k->timer, &tv);
}

/* Do others want what the host has a right to, or we more of it? */
static bool
must_go(const struct key *k)
{
	return k->back || k->s->ending ||
	    (k->recalled == RIGHT_EXCLUSIVE ||
	    (k->recalled == RIGHT_SHARED && k->right == RIGHT_EXCLUSIVE)) ||
	    (k->right == RIGHT_SHARED && k->n_exclusive > 0);
}

bool
key_covers(const struct key *k, unsigned mode)
{
	return k->right >= mode && k->hold.state == HOLD_NONE && table_has(k);
}

/* What goes wrong locally: nobody gets it. */
static void
local_trouble(struct key *k, int e)
{
	const char *why = lh_error_detail();

	if (e == -ESTALE) {
		k->s->over = true;
		k->s->o.over("the table was removed", k->s->o.arg);
		return;
	}
	log_line(LOG_ERR, "key %s: %s", k->name, why);
	wish_fail(k, false, FRAME_FAILED, -e, why);
	k->crowd = RIGHT_NONE;
	step_at(k, shim_now_ns() + TROUBLE_NS);
}

/* Is it held now?  If not, it is waited for. */
static bool
have(struct key *k, bool first)
{
	int e = hold_take(k, first);

	if (e == 0)
		return true;
	if (e != -EAGAIN)
		local_trouble(k, e);
	return false;
}

/* The same, of a key to be given back: see Fairness. */
static bool
have_back(struct key *k)
{
	int64_t now_ns = shim_now_ns(), from_ns = now_ns, end_ns;
	bool first;

	if (k->asked_ns == 0)
		k->asked_ns = now_ns;
	end_ns = k->asked_ns + LINGER_NS;
	/* one of our own who wants more than that is not kept waiting */
	first = k->back || k->s->ending || k->n_exclusive > 0 ||
	    now_ns >= end_ns;
	if (!first && k->hold.state == HOLD_NONE) {
		bool waited_for = table_waited_for(k);

		if (waited_for)
			from_ns = k->since_ns + k->s->o.hold_min_ms *
			    NS_PER_MS;
		else if (k->fresh)
			from_ns = k->since_ns + FRESH_NS;
		first = !waited_for;
	}
	if (!first && from_ns > now_ns) {
		step_at(k, from_ns < end_ns ? from_ns : end_ns);
		return false;
	}
	if (!first && k->hold.state == HOLD_WAITS)
		first = lh_ticket_rank(k->hold.ticket) > LINGER_GRANTS;
	if (have(k, first))
		return true;
	if (!k->hold.first && k->hold.state == HOLD_WAITS)
		step_at(k, end_ns);
	return false;
}

/* A newer base is drawn, or later. */
static void
anchor(struct key *k)
{
	if (!part_anchor(k))
		step_at(k, shim_now_ns() + TROUBLE_NS);
}

/* Return, first half; whether it is held still is looked at after that. */
static void
take_away(struct key *k)
{
	log_line(LOG_DEBUG, "key %s: taken away", k->name);
	lhi_point("shim.returning");
	table_clear(k);
	lhi_point("shim.cleared");
	key_set_right(k, RIGHT_NONE);
}

/* Its right, or the base of that, is not to be: who wants it is told. */
static void
not_set(struct key *k, int e)
{
	log_line(LOG_ERR, "key %s: its right cannot be set: %s", k->name,
	    e == -ERANGE ? "the cluster's revision is too large for a token" :
	    lh_strerror(e));
	wish_fail(k, false, FRAME_FAILED, -e, "its right cannot be set");
	k->crowd = RIGHT_NONE;
}

static bool
give(struct key *k)
{
	struct part *p = k->part;
	int e;

	lhi_point("shim.taking");
	e = table_find(k->s, k);
	if (e == 0)
		e = table_set(k, p->mode, p->revision);
	lhi_point("shim.taken");
	if (e != 0) {
		not_set(k, e);
		return false;
	}
	key_set_right(k, p->mode);
	k->base = p->revision;
	k->fresh = !TAILQ_EMPTY(&k->wishes);
	k->crowd = RIGHT_NONE;
	k->insist_ns = 0;
	k->s->count.taken++;
	log_line(LOG_DEBUG, "key %s: taken, %s, revision %lld", k->name,
	    k->right == RIGHT_SHARED ? "shared" : "exclusive",
	    (long long)p->revision);
	/* answers last: a try that is told comes once, and is not to meet us */
	hold_let_go(k);
	lhi_point("shim.let_go");
	wish_fulfil(k);
	return true;
}

/* A right is there.  True: look again. */
static bool
step_right(struct key *k)
{
	int e = 0;

	if (!table_has(k)) {	/* the slot is another key's: so are leases */
		key_set_right(k, RIGHT_NONE);
		return true;
	}
	if (must_go(k)) {
		if (!have_back(k))
			return false;
		k->part->returning = true;
		take_away(k);
		k->crowd = table_crowd(k);
		k->s->count.returned++;
		return true;
	}
	if (k->part->revision > k->base || wish_above(k)) {
		if (!have(k, true))
			return false;
		if (k->part->revision <= k->base) {
			anchor(k);
			return false;
		}
		if (!hold_sure(k))
			return true;
		e = table_set(k, k->right, k->part->revision);
		if (e == 0)
			k->base = k->part->revision;
	}
	hold_let_go(k);
	wish_fulfil(k);
	if (e != 0)		/* they want a newer base */
		not_set(k, e);
	return false;
}

/* A claim that was granted, and no right.  True: look again. */
static bool
step_granted(struct key *k, unsigned least)
{
	if (!have(k, true))
		return false;
	if (!hold_sure(k))
		return true;
	if (least != RIGHT_NONE && least <= k->part->mode &&
	    !k->part->returning && host_reaches(k->s)) {
		if (wish_above(k) && k->part->revision <= k->base) {
			anchor(k);
			return false;
		}
		return give(k);
	}
	part_leave(k);
	return true;
}

/* Nothing of it is ours.  True: look again. */
static bool
step_new(struct key *k, unsigned most)
{
	bool try = wish_only_tries(k) && k->crowd == RIGHT_NONE &&
	    k->insist_ns == 0;
	int e;

	if (!have(k, true) || !k->s->settled)
		return false;
	e = part_ask(k->s, &k, &most, 1, try);
	if (e != 0) {
		wish_fail(k, false, FRAME_FAILED, -e, "the cluster cannot be "
		    "asked");
		k->crowd = RIGHT_NONE;
	}
	return e != 0;
}

static unsigned
more_of(unsigned a, unsigned b)
{
	return a > b ? a : b;
}

void
key_insist(struct key *k, const char *who)
{
	k->insist_ns = shim_now_ns() + INSIST_NS;
	free(k->who);
	k->who = strdup(who);
	step_at(k, k->insist_ns);
}

/* Is their moment over?  A timer is early by what was done in the loop's round
 * before it was set, and there is but one of a key. */
static void
end_insisting(struct key *k)
{
	if (k->insist_ns == 0)
		return;
	if (shim_now_ns() < k->insist_ns) {
		step_at(k, k->insist_ns);
		return;
	}
	k->insist_ns = 0;
	wish_fail(k, true, FRAME_BUSY, 0, k->who != NULL ? k->who :
	    "another host");
}

/* Who was told to wait is let through here, finds no right, and asks again: he
 * is told then.  So that is remembered for a while. */
void
key_deny(struct key *k, unsigned mode, const char *why)
{
	wish_deny(k, mode, why);
	if (mode != DENY_NEWER) {
		k->crowd = RIGHT_NONE;
		k->insist_ns = 0;
	}
	k->denied = mode;
	k->denied_ns = shim_now_ns() + TROUBLE_NS;
	free(k->who);
	k->who = strdup(why);
	step_at(k, k->denied_ns);
}

const char *
key_denied(struct key *k, unsigned mode)
{
	if (k->denied != RIGHT_NONE && shim_now_ns() >= k->denied_ns)
		k->denied = RIGHT_NONE;
	return k->denied == RIGHT_NONE || mode < k->denied ? NULL :
	    k->who != NULL ? k->who : "permission denied";
}

static bool
step_once(struct key *k)
{
	unsigned most = more_of(wish_most(k), k->crowd);
	unsigned least = wish_least(k);

	if (least == RIGHT_NONE || (k->crowd != RIGHT_NONE && k->crowd < least))
		least = k->crowd;
	if (k->right != RIGHT_NONE)
		return step_right(k);
	if (k->part != NULL && k->part->granted)
		return step_granted(k, least);
	if (most != RIGHT_NONE && host_reaches(k->s)) {
		if (k->part == NULL)
			return step_new(k, most);
		(void)have(k, true);
		return false;
	}
	if (k->part != NULL)
		part_leave(k);
	hold_let_go(k);
	return false;
}

void
key_step(struct key *k)
{
	if (k->s->over)
		return;
	end_insisting(k);
	while (step_once(k))
		;
	if (k->right == RIGHT_NONE && k->part == NULL &&
	    k->hold.state == HOLD_NONE && TAILQ_EMPTY(&k->wishes) &&
	    k->crowd == RIGHT_NONE && key_denied(k, DENY_NEWER) == NULL)
		key_free(k);
	else
		key_file(k);
}

bool
keys_ask(struct shim *s, struct key *const *k, const unsigned *mode, size_t n,
    bool try)
{
	for (size_t i = 0; i < n; i++) {
		if (k[i]->right != RIGHT_NONE || k[i]->part != NULL ||
		    !have(k[i], true))
			return false;
	}
	return s->settled && part_ask(s, k, mode, n, try) == 0;
}
