/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G12: a key's own fields are damaged.  A call that needs them fails
 * with an error, and soon.  (The fuzzer found each of these: they were calls
 * that did not end.)
 *
 * Otherwise damage would make a process hang in the library.
 */
#include <errno.h>
#include "support/actor.h"
#include "support/object.h"
#include "support/support.h"
#include "tap.h"

#define SOON_MS t_ms(5000)

static int
create(struct t_actor *a, void *arg)
{
	(void)arg;
	return lh_key_create(a->lh, "k");
}

/* The flags of a key say which life they are of. */
static void
flags_of_no_life(void)
{
	const char *table = t_table();
	struct t_actor *a = t_actor(table);
	struct t_object o = t_map_object(table);
	struct shm_slot *s;
	int r;

	is(t_do_acquire(a, "k", 60000, 0), 0, "there is a key");
	s = &o.slots[t_slot_of(&o, "k")];
	sh32_store(&s->key_info, sh32_load(&s->key_info) ^ KEY_LIFE(5u));
	t_begin(a, create, NULL);
	r = t_result_within(a, SOON_MS);
	is(r, -EUCLEAN, "flags of another life: a key cannot be kept");
	if (r == T_HUNG) {
		t_actor_kill(a);
	} else {
		is(t_do_release(a), 0, "but it can be released");
		t_actor_end(a);
	}
	t_actor_free(a);
	t_unmap_object(&o);
}

static int
take(struct t_actor *a, void *arg)
{
	const char *key = arg;
	struct lh_lease l;
	int error = t_acquire(a->lh, key, 60000, 0, &l);

	return error != 0 ? error : lh_release(a->lh, &l);
}

/* Keys begin above the floor; it is so far away that a way there in steps takes
 * a minute. */
static void
floors(uint64_t to, int want)
{
	const char *table = t_table();
	struct t_actor *a = t_actor(table);
	struct t_object o = t_map_object(table);

	for (unsigned i = 0; i < SHM_SHARDS; i++)
		sh64_store(&o.h->floor[i], to);
	sh64_store(&o.h->ceiling, to);
	t_begin(a, take, (void *)(uintptr_t)"new");
	is(t_result_within(a, SOON_MS), want, "a floor of 2^%d: a new key",
	    63 - __builtin_clzll(to));
	t_actor_kill(a);
	t_actor_free(a);
	t_unmap_object(&o);
}

int
main(void)
{
	floors(UINT64_C(1) << 61, 0);
	floors(UINT64_MAX, -EUCLEAN);
	flags_of_no_life();
	return done();
}
