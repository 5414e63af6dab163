/* SPDX-License-Identifier: MIT */
/*
 * G12: a key's own fields are damaged; who asks for what cannot be done any
 * more is told so, soon.
 *
 * Found by the fuzzer: each was a call that did not come to an end.
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

int
main(void)
{
	flags_of_no_life();
	return done();
}
