/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G2 and G12: keys that are made and destroyed without a grant move
 * their slot's version and their shard's floor on.  The ceiling must stay above
 * them, and the slot's next key must go on from there.  Ranges have 64 tokens.
 *
 * Otherwise a sound table would be marked as damaged, because a token is above
 * the ceiling; and a slot's word would come back, so that a late swap could
 * succeed.
 */
#include "ranges.h"
#include "base/hash.h"
#include "shm/lock_word.h"

#define BITS 6
#define TURNS 200

static unsigned
shard(const char *key)
{
	return (unsigned)(lhi_hash(key, strlen(key)) % SHM_SHARDS);
}

/* Returns a key of another shard. */
static const char *
another(const char *key)
{
	static char name[16];
	unsigned i = 0;

	do
		snprintf(name, sizeof(name), "o%u", i++);
	while (shard(name) == shard(key));
	return name;
}

static void
made_and_destroyed(struct lh *lh)
{
	struct shm_slot *s = NULL;
	struct lh_lease l;
	uint64_t was, latest = 0;
	int made = 0;

	for (int i = 0; i < TURNS; i++)
		made += lh_key_create(lh, "k") == 0 && lh_destroy(lh, "k") == 0;
	is(made, TURNS, "made and destroyed");
	is(t_findings(lh), 0, "the table is sound");
	for (uint32_t i = 1; i < lhi_slots_ready(&lh->v); i++) {
		uint64_t w = sh64_load(&lh->v.slots[i].word);

		if (word_ver(w) < latest || w == 0)
			continue;
		s = &lh->v.slots[i];
		latest = word_ver(w);
	}
	if (s == NULL)
		bail_out("no slot was used");
	was = sh64_load(&s->word);
	sh32_store(&lh->v.hdr->slot_hand, lhi_slot_idx(&lh->v, s));
	sh32_store(&lh->v.hdr->slot_freed, 1);
	is(lh_key_create(lh, another("k")), 0, "another key");
	is(word_mode(sh64_load(&s->word)), WORD_FREE, "is in that slot");
	cmp(word_ver(sh64_load(&s->word)), >, word_ver(was),
	    "whose versions rise");
	is(replay_try(lh, another("k"), &l), 0, "acquired");
	cmp(l.token, <, sh64_load(&lh->v.hdr->ceiling), "below the ceiling");
	is(lh_release(lh, &l), 0, "released");
	is(replay_try(lh, "k", &l), 0, "the first key is acquired");
	cmp(l.token, >, sh64_load(&lh->v.hdr->floor[shard("k")]),
	    "above its floor");
	is(lh_release(lh, &l), 0, "released");
	is(t_findings(lh), 0, "the table is sound");
}

int
main(void)
{
	const char *table = replay_begin();
	struct lh_open_opts o;
	struct lh *lh;

	lhi_range_bits = BITS;
	lh = replay_open(table, 0);
	made_and_destroyed(lh);
	t_close(lh);
	o = fence_opts();
	is(lh_open(&lh, t_table(), &o), 0, "with a fence file");
	made_and_destroyed(lh);
	t_close(lh);
	return done();
}
