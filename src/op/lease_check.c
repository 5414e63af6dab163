/* SPDX-License-Identifier: MIT */
/*
 * Finds and checks a presented lease, and finds out how a lost lease has
 * ended.  Every call that takes a lease uses it.
 *
 * A lease belongs to whoever has its id and token.  A lease of an attachment
 * must be presented through that attachment (-EPERM), because only its threads
 * may touch its claims without exact swaps, and to keep mistakes apart.  A
 * lease of a named session may be presented through any attachment.  Only the
 * keeper of its chunk stores into these claims, and only into free ones
 * (session_claim.c).
 */
#include <errno.h>
#include <stdio.h>
#include "base/error.h"
#include "shm/damaged.h"
#include "shm/session_liveness.h"
#include "op/lease_check.h"
#include "shm/events.h"
#include "shm/lock_word.h"
#include "shm/session_named.h"
#include "shm/counters.h"

/* True if the lease belongs to this attachment or to a named session. */
static bool
is_presentable(struct lh *lh, uint64_t sid)
{
	return sid == lh->sid || lhi_named_is(&lh->v, sid);
}

bool
lhi_lease_is_orphaned(struct lh *lh, const struct lh_lease *l)
{
	uint64_t sid = lhi_lease_sid(lh, l);

	return sid != lh->sid && lhi_session_dead(&lh->v, sid, false);
}

int
lhi_lease_check_table(struct lh *lh, const uint64_t id[2])
{
	uint64_t sid = lhi_view_session_of(&lh->v, id[0]);

	if (sid == 0 || sid == lh->sid || lhi_view_had_session(&lh->v, sid))
		return 0;
	return lhi_damaged_or(&lh->v, lhi_fail(-ESTALE, "the lease is lost: it "
	    "is of another table, or of one of this name that was removed or "
	    "ended with a restart of the machine"));
}

struct lhi_ref
lhi_lease_ref(struct lhi_view *v, const struct lh_lease *l)
{
	struct shm_slot *s = lhi_slot(v, l->key);
	uint32_t gen = s == NULL ? 0 : sh32_load(&s->gen);

	return (struct lhi_ref){ s, lhi_slot_ref(l->key, gen -
	    ((gen - l->opaque) & (uint32_t)MASK(LEASE_STATE_SHIFT))) };
}

int
lhi_lease_find(struct lh *lh, const struct lh_lease *l, struct lhi_held *h)
{
	int error = lhi_own(lh);
	struct lhi_ref ref;

	if (error != 0)
		return error;
	if (l == NULL)
		return lhi_fail(-EINVAL, "no lease was given (NULL)");
	h->lh = lh;
	h->sid = lhi_lease_sid(lh, l);
	h->id = l->id[1];
	h->ci = lid_claim(h->id);
	h->claim = lhi_claim(&lh->v, h->ci);
	if (h->sid != lh->sid && l->token != 0 &&
	    (lhi_lease_is_live(l) || l->opaque == LEASE_RELEASED) &&
	    (error = lhi_lease_check_table(lh, l->id)) != 0)
		return error;
	if (l->opaque == LEASE_RELEASED && (is_presentable(lh, h->sid) ||
	    lhi_lease_is_orphaned(lh, l)))
		return -EALREADY;
	if (h->sid == 0 || h->claim == NULL || !lhi_lease_is_live(l) ||
	    l->token == 0 || l->token > (uint64_t)TOKEN_MAX ||
	    l->mode > LH_SHARED)
		return lhi_damaged_or(&lh->v, lhi_fail(-EINVAL, "this is not a "
		    "lease: it was never acquired, or was changed"));
	h->since = sh64_load(&h->claim->since);
	h->shared = l->mode == LH_SHARED;
	ref = lhi_lease_ref(&lh->v, l);
	h->slot = ref.slot;
	h->slot_ref = ref.slot_ref;
	h->word = word_make(WORD_X, h->ci, l->token);
	if (h->slot == NULL)
		return lhi_damaged_or(&lh->v, lhi_fail(-EINVAL, "this is not a "
		    "lease: its key was changed"));
	return h->sid == lh->sid || !lhi_lease_is_orphaned(lh, l) ? 0 :
	    lhi_damaged_or(&lh->v, lhi_fail(-ESTALE, "the lease is lost: its "
	    "session has ended"));
}

int
lhi_lease_check(struct lh *lh, const struct lh_lease *l, struct lhi_held *h)
{
	int error = lhi_lease_find(lh, l, h);

	if (error != 0 || is_presentable(lh, h->sid))
		return error;
	return lhi_damaged_or(&lh->v, lhi_fail(-EPERM, "this lease belongs to "
	    "another session: present it through the attachment that acquired "
	    "it"));
}

enum lhi_cause
lhi_lease_cause(const struct lhi_held *h)
{
	uint64_t st = sh64_load(&h->claim->state);
	uint64_t w = sh64_load(&h->slot->word);

	if (state_seq(st) == lid_seq(h->id) && state_st(st) == ST_BROKEN)
		return CAUSE_BROKEN;
	if (state_seq(st) == lid_seq(h->id) && state_st(st) == ST_EXPIRED)
		return CAUSE_EXPIRED;
	/* the claim is in another use, but this was the key's last grant */
	if (!h->shared && word_mode(w) == WORD_FREE &&
	    word_ver(w) == word_ver(h->word))
		return word_cause(w);
	return CAUSE_RELEASED;
}

const char *
lhi_lease_key_name(const struct lhi_held *h, char buf[LEASE_NAME_MAX])
{
	char key[SHM_KEY_MAX + 1];

	/* the slot still belongs to that key, whatever its claim is used for */
	if (lhi_slot_key(&h->lh->v, h->slot, key) != 0 &&
	    sh32_load(&h->slot->gen) == h->slot_ref >> 32)
		(void)snprintf(buf, LEASE_NAME_MAX, "'%.64s'", key);
	else
		(void)snprintf(buf, LEASE_NAME_MAX, "a key that was forgotten "
		    "since");
	return buf;
}

int
lhi_lease_fail_lost(struct lh *lh, const struct lhi_held *h)
{
	static const char *const how[] = {
		("has ended, how is not known any more (released, run out or "
		    "broken)"),
		[CAUSE_DIED] = "was taken away, as if this process had died",
		[CAUSE_EXPIRED] = "ran out",
		[CAUSE_BROKEN] = "was broken by an operator",
	};
	enum lhi_cause cause = lhi_lease_cause(h);
	char name[LEASE_NAME_MAX];

	lhi_counters_add(&lh->v, STAT_TOLD_LOST, 1);
	lhi_event_lease(&lh->v, LH_LOG_TOLD_LOST, h->shared, h->slot, h->ci,
	    lhi_lock_token(h->slot, h->word), cause);
	return lhi_damaged_or(&lh->v, lhi_fail(-ESTALE, "the lease on %s is "
	    "lost: it %s, and the key may be somebody else's; stop using what "
	    "it guards, and acquire again", lhi_lease_key_name(h, name),
	    how[cause]));
}
