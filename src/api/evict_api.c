/* SPDX-License-Identifier: MIT */
/*
 * lh_evict(): see key.h.  shm/evict.c does the work; this file chooses the
 * keys.  The word is read before the key and the age, and swapped exactly.  So
 * the decision was about this key, in this life, not used since.
 */
#include <errno.h>
#include <string.h>
#include <leasehold.h>
#include "base/error.h"
#include "proc/attachment.h"
#include "shm/damaged.h"
#include "shm/evict.h"
#include "shm/value_record.h"

struct choice {
	const char *prefix;
	size_t len;
	int64_t idle_ms, now_ns;
};

/* Evicts slot s if it qualifies. Returns 1, 0, -EUCLEAN. */
static int
evict_if_chosen(struct lhi_view *v, struct shm_slot *s, const struct choice *c)
{
	uint64_t w = sh64_load(&s->word);
	uint32_t gen = sh32_load(&s->gen);
	char key[SHM_KEY_MAX + 1];
	int error;

	if (word_mode(w) == WORD_NONE) {
		error = lhi_evict_finish(v, s);
		return error < 0 ? error : 0;
	}
	if (lhi_slot_key(v, s, key) == 0 ||
	    strncmp(key, c->prefix, c->len) != 0)
		return 0;
	error = lhi_evict_revoke(v, s, &w);
	if (error != 0)
		return error;
	/* of the life whose key was read: an eviction swaps exactly its word */
	if (word_mode(w) != WORD_FREE || word_cause(w) != CAUSE_RELEASED ||
	    (sh32_load(&s->gen) != gen && !lhi_mutant_on(evicts_next_life)) ||
	    lhi_slot_valued(s))
		return 0;
	if (c->idle_ms > 0 && lhi_idle_ms(s, w, 0, c->now_ns) < c->idle_ms)
		return 0;
	return lhi_evict_slot(v, s, w);
}

int64_t
lh_evict(struct lh *lh, const char *prefix, int64_t idle_ms)
{
	struct choice c = { .prefix = prefix == NULL ? "" : prefix,
	    .idle_ms = idle_ms };
	int error = lhi_own(lh);
	int64_t n = 0;

	if (error == 0 && idle_ms < 0)
		error = lhi_fail(-EINVAL, "a key cannot be idle for %lld ms",
		    (long long)idle_ms);
	if (error != 0)
		return error;
	c.len = strlen(c.prefix);
	c.now_ns = lhi_now_ns(&lh->v);
	for (uint32_t i = 1; i < lhi_slots_ready(&lh->v); i++) {
		int gone = evict_if_chosen(&lh->v, &lh->v.slots[i], &c);

		if (gone < 0)
			return gone;
		n += gone;
	}
	error = lhi_damaged_or(&lh->v, 0);
	return error != 0 ? error : n;
}
