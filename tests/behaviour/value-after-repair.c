/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G12: a damaged value is found, is read by nobody, and is gone after
 * the repair; the other values are unchanged, and all can be set again.  Values
 * of keys whose holders were killed stay.
 *
 * Otherwise a program would read bytes that nobody has set.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "support/actor.h"
#include "support/object.h"
#include "support/support.h"
#include "tap.h"

#define KEYS 12

enum damage { BYTE, LENGTH, TOKEN, AWAY, FAR, SHARED, OWNER, KIND, READY_HIGH,
	READY_LOW, N_KINDS };

static const char *const names[N_KINDS] = { "a byte", "a length", "a token",
	"a record that is none", "a record far away", "another's record",
	"an owner", "no kind of owner", "too many records", "no records" };

/* How many values each may cost: that of k0, all, or none. */
static const int lost[N_KINDS] = { 1, 1, 1, 1, 1, 1, 1, 1, 0, 0 };

static struct t_object o;

static void
harm(enum damage what)
{
	struct shm_slot *s = &o.slots[t_slot_of(&o, "k0")];
	struct shm_slot *other = &o.slots[t_slot_of(&o, "k1")];
	uint64_t l = sh64_load(&s->value);
	struct shm_value *r = &o.values[vlink_idx(l)];

	switch (what) {
	case BYTE:
		sh64_store(&r->byte[1], sh64_load(&r->byte[1]) ^ 0x100);
		break;
	case LENGTH:
		sh64_store(&r->size, sh64_load(&r->size) + 9000);
		break;
	case TOKEN:
		sh64_store(&r->token, sh64_load(&r->token) + 1);
		break;
	case AWAY:
		sh64_store(&s->value, vlink_make(1000, vlink_tag(l)));
		break;
	case FAR:
		sh64_store(&s->value, vlink_make(VALUES_MAX - 1, 0));
		break;
	case SHARED:
		sh64_store(&s->value, sh64_load(&other->value));
		break;
	case OWNER:
		sh64_store(&r->owner, vown_make(VALUE_OWNED, 7777, 3));
		break;
	case KIND:
		sh64_store(&r->owner, UINT64_MAX);
		break;
	case READY_HIGH:
		sh32_store(&o.h->ready_values, UINT32_MAX);
		break;
	case READY_LOW:
		sh32_store(&o.h->ready_values, 0);
		break;
	default:
		break;
	}
}

static void
name(char buf[64], int i)
{
	(void)snprintf(buf, 64, i < KEYS / 2 ? "k%d" :
	    "k%d-that goes on and on, in a record of its own", i);
}

static int
values_left(struct lh *lh)
{
	char key[64], want[96], buf[LH_VALUE_MAX];
	int n = 0;
	size_t len;

	for (int i = 0; i < KEYS; i++) {
		name(key, i);
		(void)snprintf(want, sizeof(want), "the value of %s", key);
		if (lh_value_get(lh, key, buf, &len, NULL) == 0 && len > 0)
			n += len == strlen(want) &&
			    memcmp(buf, want, len) == 0 ? 1 : 1000;
	}
	return n;
}

static void
try(enum damage what)
{
	const char *table = t_table();
	struct t_actor *a = t_actor(table);
	struct lh *lh = t_open(table);
	char key[64], value[96], buf[LH_VALUE_MAX];
	int error;
	size_t len;

	for (int i = 0; i < KEYS; i++) {
		struct lh_lease l;

		name(key, i);
		(void)snprintf(value, sizeof(value), "the value of %s", key);
		l = t_hold(lh, key);
		is(lh_release_value(lh, &l, value, strlen(value)), 0, "set");
	}
	is(t_do_acquire(a, "k1", 60000, 0), 0, "one is held");
	t_actor_kill(a);
	o = t_map_object(table);
	harm(what);
	error = lh_value_get(lh, "k0", buf, &len, NULL);
	if (what != OWNER && what != KIND && what != READY_HIGH)
		is(error, -EUCLEAN, "%s: not read", names[what]);
	is(lh_close(lh), 0, "closed");
	t_unmap_object(&o);
	cmp(lh_table_repair(table, 0, NULL, NULL), >, 0, "%s: found",
	    names[what]);
	lh = t_open(table);
	is(values_left(lh), KEYS - lost[what], "%s: the others stay",
	    names[what]);
	for (int i = 0; i < KEYS; i++) {
		struct lh_lease l;

		name(key, i);
		l = t_hold(lh, key);
		(void)snprintf(value, sizeof(value), "the value of %s", key);
		is(lh_value_set(lh, &l, "x", 1), 0, "set anew");
		is(lh_release_value(lh, &l, value, strlen(value)), 0, "again");
	}
	is(values_left(lh), KEYS, "%s: all are there again", names[what]);
	t_close(lh);
	t_actor_free(a);
}

int
main(void)
{
	for (int what = 0; what < N_KINDS; what++)
		try((enum damage)what);
	return done();
}
