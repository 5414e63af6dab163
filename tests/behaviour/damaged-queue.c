/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G12: a damaged wait queue is recognised.  A caller that walks it
 * returns -EUCLEAN soon and does not walk for ever, whatever its time to wait;
 * nobody crashes; the holder can still release.
 *
 * The damage: two claims that lead to each other, one that leads to itself, a
 * link to a claim that does not exist, and a head that does.  Otherwise one
 * wrong link would make every waiter hang in the library.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/bits.h"
#include "prim/shared.h"
#include "shm/view.h"
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

#define SOON_MS t_ms(5000)
#define PRIORITY 9	/* before every newcomer: it has to pass them */

enum damage { CIRCLE, SELF, BAD_NEXT, BAD_HEAD };

/* The object, as anybody may map it. */
struct object {
	char *base;
	struct lhi_geometry g;
};

static struct object
map(const char *table)
{
	int fd = open(t_object(table), O_RDWR | O_CLOEXEC);
	struct shm_header *h;
	struct object o;

	h = mmap(NULL, sizeof(*h), PROT_READ, MAP_SHARED, fd, 0);
	if (fd < 0 || h == MAP_FAILED)
		bail_out("cannot map %s", table);
	memset(&o, 0, sizeof(o));
	o.g.max_sessions = sh32_load(&h->max_sessions);
	o.g.n_chunks = sh32_load(&h->n_chunks);
	o.g.n_buckets = sh32_load(&h->n_buckets);
	o.g.n_slots = sh32_load(&h->n_slots);
	o.g.n_long = sh32_load(&h->n_long);
	munmap(h, sizeof(*h));
	if (lhi_geometry_place(&o.g) != 0)
		bail_out("%s is no table", table);
	o.base = mmap(NULL, o.g.object_len, PROT_READ | PROT_WRITE, MAP_SHARED,
	    fd, 0);
	close(fd);
	if (o.base == MAP_FAILED)
		bail_out("cannot map %s", table);
	return o;
}

/* A claim of the holder's that looks like a waiter of the key. */
static void
fake_waiter(struct shm_claim *c, uint64_t slot_ref, uint32_t next)
{
	sh32_store(&c->priority, PRIORITY);
	/* walkers pass over it */
	sh32_store(&c->wflags, WAITER_SUSPECT);
	sh64_store(&c->wnext, link_make(false, next, 5));
	sh64_store(&c->slot_ref, slot_ref);
	sh64_store(&c->state, state_make(ST_WAIT, 1, 0));
}

static void
do_damage(struct object *o, const struct lh_lease *l, enum damage what)
{
	struct shm_claim *claims = (struct shm_claim *)(o->base +
	    o->g.claims_off);
	struct shm_slot *slot = (struct shm_slot *)(o->base + o->g.slots_off) +
	    l->key;
	/* of the holder's chunk, and not in use */
	uint32_t ci = lid_claim(l->id[1]) / SHM_CHUNK * SHM_CHUNK + 40;
	uint64_t ref = lhi_slot_ref(l->key, sh32_load(&slot->gen));
	uint32_t head = ci;

	switch (what) {
	case CIRCLE:
		fake_waiter(&claims[ci], ref, ci + 1);
		fake_waiter(&claims[ci + 1], ref, ci);
		break;
	case SELF:
		fake_waiter(&claims[ci], ref, ci);
		break;
	case BAD_NEXT:
		fake_waiter(&claims[ci], ref, o->g.n_claims + 7);
		break;
	case BAD_HEAD:
		head = o->g.n_claims + 7;
		break;
	}
	sh64_store(&slot->waitq, link_make(false, head, 7));
}

static int
ask_status(struct t_actor *a, void *arg)
{
	(void)arg;
	return t_waiters(a->lh, "k");
}

static int
check(struct t_actor *a, void *arg)
{
	(void)arg;
	return lh_check(a->lh, NULL, NULL);
}

static int
is_marked(struct t_actor *a, void *arg)
{
	struct lh_stats st = { .size = sizeof(st) };
	int r = lh_stats(a->lh, &st);

	(void)arg;
	return r != 0 ? r : (int)st.damaged;
}

/* Returns the result of fn within its time; an actor that hangs is killed. */
static bool
soon(struct t_actor *a, int want, const char *what)
{
	int r = t_result_within(a, SOON_MS);

	is(r, want, "%s: told soon", what);
	return r != T_HUNG;
}

static void
play(enum damage what, const char *name)
{
	const char *table = t_table();
	struct t_actor *holder = t_actor(table), *a = t_actor(table);
	struct object o = map(table);
	bool went;
	int r;

	is(t_do_acquire(holder, "k", 3600000, 0), 0, "%s: held", name);
	do_damage(&o, &holder->lease, what);

	t_begin_acquire(a, "k", 1000, t_ms(50));
	went = soon(a, -EUCLEAN, "who waits");
	if (went) {
		ok(strchr(a->detail, ' ') != NULL, "with a reason");
		t_begin(a, ask_status, NULL);
		went = soon(a, -EUCLEAN, "who asks for the status");
	}
	if (went) {
		t_begin(a, check, NULL);
		r = t_result_within(a, SOON_MS);
		cmp(r, >, 0, "the check finds it");
		is(t_do(a, is_marked, NULL), 1, "and it is remembered");
		/* whether it wakes anybody, nobody can say */
		t_begin_acquire(holder, "other", 1000, 0);
		is(t_result_within(holder, SOON_MS), 0, "other keys work");
		r = t_do_release(holder);
		is(r, 0, "and the holder releases that");
	}
	t_actor_kill(a);
	t_actor_kill(holder);
	t_actor_free(a);
	t_actor_free(holder);
	munmap(o.base, o.g.object_len);
}

int
main(void)
{
	play(CIRCLE, "two in a circle");
	play(SELF, "one that leads to itself");
	play(BAD_NEXT, "a link to nowhere");
	play(BAD_HEAD, "a head that is nobody");
	return done();
}
