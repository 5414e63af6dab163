/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G2 and G12: a damaged table is repaired: each kind of damage is
 * found, and after the repair the table is sound, its keys can be acquired, and
 * tokens are larger than all that were given before.  The damaged table is one
 * that killed processes have left: with a held key, one with a waiter, one with
 * readers, long keys, and a kept key.
 *
 * Otherwise an operator would have to remove the table, and all its users to
 * start again.
 */
#include <errno.h>
#include <string.h>
#include "support/actor.h"
#include "support/object.h"
#include "support/support.h"
#include "tap.h"

#define HOUR_MS 3600000
#define LONG_KEY "a key that goes on in a record of its own, and has 60 bytes"
#define KEYS 20

enum damage {
	NOTHING, HOLDER_FREE, HOLDER_ELSEWHERE, NO_HOLDER, NO_CAUSE, RESERVED,
	CHAIN_CIRCLE, CHAIN_AWAY, QUEUE_CIRCLE, QUEUE_AWAY, QUEUE_OF_NONE,
	LIST_CIRCLE,
	LIST_CUT, LIST_ORDER, BUCKET_AWAY, KEY_TWICE, KEY_LOST, KEY_HASH,
	KEY_PADDED, KEY_LENGTH, KEY_FLAGS, REST_LOST, REST_STOLEN, CLAIM_STATE,
	CLAIM_NOBODYS, CHUNK_AWAY, CHUNK_FUTURE, SESSION_STATE, TOKEN_HIGH,
	TOKEN_LOW, FLOOR_LOW, FLOOR_HIGH, CEILING_LOW, CEILING_HIGH, READY_LOW,
	READY_HIGH, FLAGS, MET, CUT_SHORT, N_KINDS
};

static const char *const names[N_KINDS] = {
	"nothing", "a holder that is free", "a holder announced elsewhere",
	"a holder that is none", "freed for no cause", "reserved by nobody",
	"readers in a circle", "a reader that is none", "waiters in a circle",
	"a waiter that is none", "a waiter where no key is",
	"a list in a circle",
	"a list that leads nowhere", "a list out of order",
	"a bucket that leads nowhere", "a key twice",
	"a key that no list leads to", "a wrong hash",
	"bytes behind a key", "a key of no length", "another life's flags",
	"a long key without its rest", "a rest that is another's",
	"a claim in no state", "a claim of nobody", "a chunk of no session",
	"a chunk of a session to come", "a session in no state",
	"a token above the range", "a token below the range",
	"a floor below the range", "a floor above the range", "a low ceiling",
	"a ceiling that is none", "nothing ready", "too much ready",
	"unknown flags", "damage that was met", "a repair cut short",
};

static struct t_object o;
static struct shm_slot *held, *waited, *read_, *longer;

static uint32_t
holder_of(struct shm_slot *s)
{
	return word_idx(sh64_load(&s->word));
}

static void
put_idx(shm_u64 *link, uint32_t idx)
{
	uint64_t l = sh64_load(link);

	sh64_store(link, link_make(false, idx, link_tag(l) + 1));
}

static void
copy_key(struct shm_slot *to, const struct shm_slot *from)
{
	sh64_store(&to->hash, sh64_load(&from->hash));
	sh32_store(&to->key_info, sh32_load(&from->key_info));
	for (int i = 0; i < 5; i++)
		sh64_store(&to->key[i], sh64_load(&from->key[i]));
}

/* Makes the link that leads to s lead past it. */
static void
pass_over(struct shm_slot *s)
{
	uint64_t past = slink_make(slink_idx(sh64_load(&s->next)), 9);
	uint32_t idx = (uint32_t)(s - o.slots);

	for (uint32_t i = 0; i < 1u << sh32_load(&o.h->bucket_level); i++)
		if (slink_idx(sh64_load(&o.buckets[i])) == idx)
			sh64_store(&o.buckets[i], past);
	for (uint32_t i = 1; i < sh32_load(&o.h->ready_slots); i++)
		if (slink_idx(sh64_load(&o.slots[i].next)) == idx)
			sh64_store(&o.slots[i].next, past);
}

static void
damage_keys(enum damage what)
{
	struct shm_slot *s = held, *t = waited;

	switch (what) {
	case LIST_CIRCLE:
		sh64_store(&s->next, slink_make((uint32_t)(s - o.slots), 9));
		break;
	case LIST_CUT:
		sh64_store(&s->next, slink_make(SLINK_BUCKET - 1, 9));
		break;
	case LIST_ORDER:
		sh64_store(&s->hash, UINT64_MAX);
		break;
	case BUCKET_AWAY:
		sh64_store(&o.buckets[0], slink_make(SLINK_BUCKET - 1, 9));
		break;
	case KEY_TWICE:
		copy_key(t, s);
		break;
	case KEY_LOST:
		pass_over(s);
		break;
	case KEY_HASH:
		sh64_store(&s->hash, sh64_load(&s->hash) + 1);
		break;
	case KEY_PADDED:
		sh64_store(&s->key[0], sh64_load(&s->key[0]) |
		    UINT64_C(1) << 56);
		break;
	case KEY_LENGTH:
		sh32_store(&s->key_info, sh32_load(&s->key_info) & ~KEY_LEN);
		break;
	case KEY_FLAGS:
		sh32_store(&s->key_info, sh32_load(&s->key_info) ^
		    KEY_LIFE(1u));
		break;
	case REST_LOST:
		sh32_store(&longer->long_idx, 0);
		break;
	case REST_STOLEN:
		sh64_store(&o.longs[sh32_load(&longer->long_idx)].owner, 1);
		break;
	default:
		break;
	}
}

static void
damage_holds(enum damage what)
{
	struct shm_claim *c = &o.claims[holder_of(held)];
	struct shm_claim *r = &o.claims[holder_of(read_)];
	uint64_t w = sh64_load(&held->word);
	uint32_t first = link_idx(sh64_load(&waited->waitq));

	switch (what) {
	case HOLDER_FREE:
		sh64_store(&c->state, 0);
		break;
	case HOLDER_ELSEWHERE:
		sh64_store(&c->slot_ref, 3);
		break;
	case NO_HOLDER:
		sh64_store(&held->word, w | MASK(CLAIM_BITS));
		break;
	case NO_CAUSE:
		sh64_store(&held->word, word_make(WORD_FREE, 77, word_ver(w)));
		break;
	case RESERVED:
		sh64_store(&held->word, word_make(WORD_NONE, CLAIMS_MAX - 1,
		    word_ver(w)));
		break;
	case CHAIN_CIRCLE:
		put_idx(&r->rnext, holder_of(read_));
		break;
	case CHAIN_AWAY:
		put_idx(&r->rnext, CLAIMS_MAX);
		break;
	case QUEUE_CIRCLE:
		put_idx(&o.claims[first].wnext, first);
		break;
	case QUEUE_AWAY:
		put_idx(&o.claims[first].wnext, CLAIMS_MAX);
		break;
	case QUEUE_OF_NONE:
		put_idx(&o.slots[sh32_load(&o.h->slot_next)].waitq,
		    CLAIMS_MAX);
		break;
	case CLAIM_STATE:
		sh64_store(&c->state, state_make(14, 1, 0));
		break;
	case CLAIM_NOBODYS:
		sh64_store(&o.chunks[holder_of(held) / SHM_CHUNK].owner, 0);
		break;
	case CHUNK_AWAY:
		sh64_store(&o.chunks[2].owner, sid_make(1, 9999));
		break;
	case CHUNK_FUTURE:
		sh64_store(&o.chunks[2].owner, sid_make(77, 3));
		break;
	case SESSION_STATE:
		sh64_store(&o.sessions[3].state, UINT64_C(99) << 56 | 5);
		break;
	default:
		break;
	}
}

static void
damage_header(enum damage what)
{
	struct shm_header *h = o.h;
	uint64_t base = sh64_load(&h->token_base);

	switch (what) {
	case TOKEN_HIGH:
		sh64_store(&held->hint, sh64_load(&held->hint) +
		    (UINT64_C(1) << 50));
		break;
	case TOKEN_LOW:
		sh64_store(&held->hint, 5);
		sh64_store(&held->word, word_make(WORD_FREE, 0, 5));
		break;
	case FLOOR_LOW:
		sh64_store(&h->floor[7], 0);
		break;
	case FLOOR_HIGH:
		sh64_store(&h->floor[7], UINT64_MAX);
		break;
	case CEILING_LOW:
		sh64_store(&h->ceiling, base + 1);
		break;
	case CEILING_HIGH:
		sh64_store(&h->ceiling, UINT64_MAX);
		break;
	case READY_LOW:
		sh32_store(&h->ready_slots, 0);
		sh32_store(&h->ready_chunks, 0);
		break;
	case READY_HIGH:
		sh32_store(&h->ready_slots, UINT32_MAX);
		sh32_store(&h->ready_longs, UINT32_MAX);
		sh32_store(&h->bucket_level, UINT32_MAX);
		break;
	case FLAGS:
		sh32_store(&h->flags, 0x100);
		break;
	case MET:
		sh32_store(&h->flags, SHM_DAMAGED);
		break;
	case CUT_SHORT:
		sh64_store(&h->repair, SHM_REPAIR_NOTE);
		sh32_store(&h->flags, SHM_REPAIRING);
		break;
	default:
		break;
	}
}

struct telling {
	int n;
	char first[256];
};

static void
tell(const char *what, void *arg)
{
	struct telling *t = arg;

	if (t->n++ == 0)
		snprintf(t->first, sizeof(t->first), "%s", what);
}

static uint64_t
most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Leaves what killed processes leave: the largest token. */
static uint64_t
make_table(const char *table, struct t_actor **holder)
{
	struct t_actor *h = t_actor(table), *w = t_actor(table);
	struct lh_acquire_opts shared = t_opts(HOUR_MS, 0);
	struct lh *lh = t_open(table);
	uint64_t token = 0;

	is(lh_key_create(lh, "kept"), 0, "a table");
	shared.mode = LH_SHARED;
	for (int i = 0; i < KEYS; i++) {
		char name[80];

		snprintf(name, sizeof(name), i % 5 == 0 ? "k%070d" : "k%d", i);
		if (t_do_acquire(h, name, HOUR_MS, 0) != 0 ||
		    t_do_release(h) != 0)
			fail("cannot use %s", name);
	}
	if (t_do_acquire(h, LONG_KEY, HOUR_MS, 0) != 0 ||
	    t_do_acquire(h, "waited", HOUR_MS, 0) != 0)
		fail("cannot take keys");
	for (int i = 0; i < 5; i++) {
		if (i > 0 && t_do_release(h) != 0)
			fail("cannot release");
		if (t_do_acquire(h, "held", HOUR_MS, 0) != 0)
			fail("cannot acquire");
		token = most(token, h->lease.token);
	}
	for (int i = 0; i < 2; i++) {
		t_begin_acquire_opts(i == 0 ? h : w, "read", &shared);
		if (t_result(i == 0 ? h : w) != 0)
			fail("cannot read");
		token = most(token, (i == 0 ? h : w)->lease.token);
	}
	t_begin_acquire(w, "waited", HOUR_MS, HOUR_MS);
	if (!t_await_waiters(lh, "waited", 1))
		fail("nobody waits");
	t_close(lh);
	t_actor_kill(w);
	t_actor_free(w);
	*holder = h;
	return token;
}

/* One key, and the token that its next holder has. */
static uint64_t
take(struct lh *lh, const char *key, uint32_t *notes)
{
	struct lh_lease l;
	int error = t_acquire(lh, key, HOUR_MS, 0, &l);

	if (error != 0) {
		fail("%s cannot be acquired: %s: %s", key, lh_strerror(error),
		    lh_error_detail());
		return 0;
	}
	if (notes != NULL)
		*notes = l.notes;
	is(lh_release(lh, &l), 0, "  %.10s can be acquired", key);
	return l.token;
}

static bool
keeps_notes(enum damage what)
{
	return what != HOLDER_FREE && what != HOLDER_ELSEWHERE &&
	    what != RESERVED && (what < LIST_CIRCLE || what > KEY_LENGTH ||
	    what == KEY_TWICE) && what != TOKEN_LOW && what != CLAIM_STATE;
}

static void
look_at(const char *table, enum damage what, uint64_t before)
{
	static const char *const keys[] = { "held", "read", "waited", LONG_KEY,
		"k1", "new" };
	uint32_t notes = 0;
	uint64_t token;
	struct lh *lh;

	if (lh_open(&lh, table, NULL) != 0) {
		fail("  it cannot be opened: %s", lh_error_detail());
		return;
	}
	is(lh_check(lh, NULL, NULL), 0, "  it is sound");
	for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		token = take(lh, keys[i], i == 0 ? &notes : NULL);
		if (what != NOTHING || i == 0)
			cmp(token, >, before, "  with a larger token");
	}
	if (keeps_notes(what))
		is(notes, LH_NOTE_PREVIOUS_DIED, "  its holder died");
	cmp(lh_evict(lh, NULL, 0), >=, 5, "  what is idle can go");
	is(t_holders(lh, "kept"), 0, "  what is to stay stays");
	t_close(lh);
}

static void
play(enum damage what)
{
	const char *table = t_table();
	struct telling told = { 0 };
	struct t_actor *holder;
	uint64_t token = make_table(table, &holder);
	int n;

	o = t_map_object(table);
	held = &o.slots[t_slot_of(&o, "held")];
	waited = &o.slots[t_slot_of(&o, "waited")];
	read_ = &o.slots[t_slot_of(&o, "read")];
	longer = &o.slots[t_slot_of(&o, LONG_KEY)];
	is(lh_table_repair(table, 0, tell, &told), -EBUSY,
	    "%s: not while it is in use", names[what]);
	ok(strstr(lh_error_detail(), "in use by") != NULL, "  it says so");
	t_actor_kill(holder);
	t_actor_free(holder);
	damage_keys(what);
	damage_holds(what);
	damage_header(what);
	n = lh_table_repair(table, LH_DRY_RUN, tell, &told);
	if (what == NOTHING)
		is(n, 0, "  nothing is found");
	else
		cmp(n, >, 0, "  a dry run finds it: %s", told.first);
	is(lh_table_repair(table, LH_DRY_RUN, NULL, NULL), n,
	    "  and changes nothing");
	is(lh_table_repair(table, 0, NULL, NULL), n, "  a repair finds it");
	is(lh_table_repair(table, 0, NULL, NULL), 0, "  and mends it");
	look_at(table, what, token);
	t_unmap_object(&o);
}

int
main(void)
{
	for (int i = 0; i < N_KINDS; i++)
		play((enum damage)i);
	return done();
}
