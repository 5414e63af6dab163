/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G12: a damaged list of keys is recognised.  A lookup or a new key
 * there fails with -EUCLEAN or works, but soon, and nobody crashes.  Keys that
 * were opened before still work, and the check finds the damage.
 *
 * Slots are damaged: one that leads to itself, two in a circle, one out of
 * order, one that is linked and not in use, a key that is there twice.  Links
 * are damaged: to a slot or bucket that does not exist.  Heads are damaged: one
 * that belongs to no bucket, one that says that it is not made.  So are sizes.
 * Otherwise one wrong link would make every process hang or crash.
 */
#include <errno.h>
#include "base/bits.h"
#include "support/actor.h"
#include "support/object.h"
#include "support/support.h"
#include "tap.h"

#define SOON_MS t_ms(8000)
#define KEYS 40

/* The first two slots in the list, and the bucket word that leads to them. */
static void
first_two(struct t_object *o, uint32_t *a, uint32_t *b)
{
	uint64_t l = sh64_load(&o->buckets[0]);

	for (*a = 0; slink_idx(l) != 0;) {
		uint32_t idx = slink_idx(l);

		if (idx & SLINK_BUCKET) {
			l = sh64_load(&o->buckets[idx & ~SLINK_BUCKET]);
			continue;
		}
		if (*a != 0) {
			*b = idx;
			return;
		}
		*a = idx;
		l = sh64_load(&o->slots[idx].next);
	}
	bail_out("the list has no two keys");
}

enum damage {
	SELF, CIRCLE, NO_SLOT, NO_BUCKET, ORDER, NOT_IN_USE, TWICE, HEAD,
	UNMADE, SIZES, N_KINDS
};

static const char *const names[N_KINDS] = {
	"a slot that leads to itself", "two in a circle", "no such slot",
	"no such bucket", "out of order", "linked and not in use",
	"a key twice", "a head that leads nowhere", "a head that is not made",
	"sizes without sense",
};

static void
do_damage(struct t_object *o, enum damage what)
{
	uint32_t a, b;
	struct shm_slot *s, *t;

	first_two(o, &a, &b);
	s = &o->slots[a];
	t = &o->slots[b];
	switch (what) {
	case SELF:
		sh64_store(&s->next, slink_make(a, 1));
		break;
	case CIRCLE:
		sh64_store(&t->next, slink_make(a, 1));
		break;
	case NO_SLOT:
		sh64_store(&s->next, slink_make(SLINK_BUCKET - 1, 1));
		break;
	case NO_BUCKET:
		sh64_store(&s->next, slink_make(2 * SLINK_BUCKET - 1, 1));
		break;
	case ORDER:
		sh64_store(&s->hash, UINT64_MAX);
		break;
	case NOT_IN_USE:
		sh64_store(&s->word, 0);
		break;
	case TWICE:
		sh64_store(&t->hash, sh64_load(&s->hash));
		sh32_store(&t->key_info, sh32_load(&s->key_info));
		for (int i = 0; i < 5; i++)
			sh64_store(&t->key[i], sh64_load(&s->key[i]));
		break;
	case HEAD:
		sh64_store(&o->buckets[0], UINT64_MAX & ~SLINK_MARK);
		break;
	case UNMADE:
		sh64_store(&o->buckets[0], sh64_load(&o->buckets[0]) |
		    SLINK_MARK);
		break;
	case SIZES:
		sh32_store(&o->h->ready_slots, UINT32_MAX);
		sh32_store(&o->h->ready_longs, 0);
		sh32_store(&o->h->bucket_level, UINT32_MAX);
		sh32_store(&o->h->slot_next, UINT32_MAX);
		sh32_store(&o->h->slot_hand, UINT32_MAX);
		sh32_store(&o->h->slot_freed, UINT32_MAX);
		sh32_store(&o->h->long_next, UINT32_MAX);
		break;
	case N_KINDS:
		break;
	}
}

static int
use(struct t_actor *a, void *arg)
{
	int unclean = 0, odd = 0;

	(void)arg;
	for (int i = 0; i < 2 * KEYS; i++) {
		struct lh_lease l;
		char name[200];
		int r;

		snprintf(name, sizeof(name), i % 3 == 0 ? "k%0100d" : "k%d",
		    i);
		r = t_acquire(a->lh, name, 1000, 0, &l);
		if (r == 0)
			r = lh_release(a->lh, &l);
		unclean += r == -EUCLEAN;
		odd += r != 0 && r != -EUCLEAN && r != -ESTALE &&
		    r != -ENOSPC && r != -EAGAIN;
	}
	(void)lh_evict(a->lh, NULL, 0);
	return odd != 0 ? -odd : unclean;
}

static int
check(struct t_actor *a, void *arg)
{
	(void)arg;
	return lh_check(a->lh, NULL, NULL);
}

static void
play(enum damage what)
{
	const char *table = t_table();
	struct t_actor *holder = t_actor(table), *a = t_actor(table);
	struct t_object o = t_map_object(table);
	int r;

	for (int i = 0; i < KEYS; i++) {
		char name[200];

		snprintf(name, sizeof(name), i % 3 == 0 ? "k%0100d" : "k%d",
		    i);
		r = t_do_acquire(holder, name, 3600000, 0);
		if (r == 0 && i < KEYS - 1)
			r = t_do_release(holder);
		if (r != 0)
			fail("key %d: %d", i, r);
	}
	do_damage(&o, what);
	t_begin(a, use, NULL);
	r = t_result_within(a, SOON_MS);
	cmp(r, >=, 0, "%s: who uses it gets on, soon", names[what]);
	diag("%d of %d calls returned -EUCLEAN", r, 2 * KEYS);
	t_begin(a, check, NULL);
	r = t_result_within(a, SOON_MS);
	if (what != SIZES && what != UNMADE)
		cmp(r, >, 0, "the check finds it");
	else
		cmp(r, >=, 0, "the check comes to an end");
	is(t_do_release(holder), 0, "who holds a key can release it");
	t_actor_kill(a);
	t_actor_kill(holder);
	t_actor_free(a);
	t_actor_free(holder);
	t_unmap_object(&o);
}

int
main(void)
{
	for (int i = 0; i < N_KINDS; i++)
		play((enum damage)i);
	return done();
}
