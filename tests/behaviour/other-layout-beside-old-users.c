/* SPDX-License-Identifier: MIT */
/*
 * An upgrade while old processes run (doc/operations.md): a program of another
 * build, with another layout, is refused with a reason, and the old ones go on.
 * When the table is removed by force, they notice, lose what they hold, and the
 * new programs' table has larger tokens.  The test plays the other build by
 * changing, and sealing, what the table says of its layout.
 *
 * Otherwise a new build would read old memory wrongly and break every lease.
 */
#include <errno.h>
#include <string.h>
#include "shm/table_object.h"
#include "support/actor.h"
#include "support/object.h"
#include "support/support.h"
#include "tap.h"

static bool
says(const char *word)
{
	return strstr(lh_error_detail(), word) != NULL;
}

static void
refused(const char *table)
{
	const struct lh_dump_to to = { .size = sizeof(to) };
	struct lh *lh;

	is(lh_open(&lh, table, NULL), -EPROTO, "another build is refused");
	ok(says("another layout"), "  with a reason: %s", lh_error_detail());
	is(lh_dump(table, NULL, 0, &to, NULL), -EPROTO, "nor may it look");
	is(lh_table_repair(table, 0, NULL, NULL), -EPROTO, "or repair");
	is(lh_table_remove(table, 0), -EPROTO, "or remove it");
}

static void
go_on(struct t_actor *a, struct t_actor *b, struct lh_lease *first)
{
	is(t_do_extend(a, 60000), 0, "an old one extends its lease");
	is(t_do_verify(a), 0, "verifies it");
	is(t_do_acquire(b, "k", 60000, 0), -EAGAIN, "others find it held");
	is(t_do_release(a), 0, "it releases it");
	is(t_do_acquire(b, "k", 60000, t_ms(1000)), 0, "another takes it");
	cmp(b->lease.token, >, first->token, "with a larger token");
	t_actor_kill(b);
	is(t_do_acquire(a, "k", 60000, t_ms(5000)), 0, "and its death is seen");
}

int
main(void)
{
	const char *table = t_table();
	struct t_actor *a = t_actor(table), *b = t_actor(table);
	struct t_object o = t_map_object(table);
	struct lh_lease lease;
	struct lh *lh;
	char floor[128];

	snprintf(floor, sizeof(floor), "/dev/shm/leasehold.%u/%s.floor",
	    (unsigned)geteuid(), table);
	t_remove_at_exit(floor);
	is(t_do_acquire(a, "k", 60000, 0), 0, "an old process holds a key");
	lease = a->lease;
	sh64_store(&o.h->fingerprint, sh64_load(&o.h->fingerprint) + 1);
	sh64_store(&o.h->header_sum, lhi_object_sum(o.h));
	refused(table);
	go_on(a, b, &lease);
	is(lh_table_remove(table, LH_FORCE), 0, "it is removed by force");
	is(lh_open(&lh, table, NULL), 0, "the new ones make theirs");
	lease = t_hold(lh, "k");
	cmp(lease.token, >, a->lease.token, "its tokens are larger");
	is(t_do_acquire(a, "new", 1000, 0), -EUCLEAN, "the old ones learn it");
	is(t_do_release(a), -EUCLEAN, "and have lost what they held");
	t_actor_end(a);
	t_actor_free(a);
	t_actor_free(b);
	is(lh_release(lh, &lease), 0, "release");
	t_close(lh);
	t_unmap_object(&o);
	return done();
}
