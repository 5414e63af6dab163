/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G3, G8, G9 and G11: a lease past its deadline is not converted, in
 * either direction, whether nobody wanted the key or somebody has it.  Nor one
 * that was released, is somebody else's, or is no lease; nor to a mode that
 * does not exist.  Nothing is changed, and the error says why.
 *
 * Otherwise a late conversion would acquire the key beside its next holder.
 */
#include <errno.h>
#include "readers.h"

static struct lh *lh;
static struct t_actor *b;

static void
not_converted(struct lh *by, const struct lh_lease *l, uint32_t mode,
    int want, const char *what)
{
	struct lh_lease copy = *l;

	is(lh_convert(by, &copy, mode), want, "%s", what);
	ok(t_has_detail(), "with a reason");
	ok(memcmp(&copy, l, sizeof(copy)) == 0, "the struct is unchanged");
}

static struct lh_lease
expired(uint32_t mode)
{
	struct lh_acquire_opts o = t_opts(t_ms(25), T_HANG_MS);
	struct lh_lease l;

	o.mode = mode;
	is(lh_acquire(lh, "k", &o, &l), 0, "a short lease, mode %u", mode);
	t_sleep_until(l.expires_ns + T_NS_PER_MS);
	return l;
}

static void
past_its_deadline(uint32_t mode, uint32_t to)
{
	struct lh_lease l = expired(mode);

	not_converted(lh, &l, to, -ESTALE, "past its deadline: lost");
	is(lh_verify(lh, &l), -ESTALE, "and not held");
	is(lh_extend(lh, &l, HOUR_MS), -ESTALE, "and not extended");
	is(t_holders(lh, "k"), 0, "the key is free");
	is(t_do_acquire(b, "k", HOUR_MS, 0), 0, "another has it at once");
	is(b->lease.notes, LH_NOTE_PREVIOUS_EXPIRED, "with the note");
	not_converted(lh, &l, to, -ESTALE, "with another inside: lost");
	not_converted(lh, &l, mode, -ESTALE, "to the mode it had: lost");
	is(t_do_verify(b), 0, "the other's is as it was");
	is(t_do_release(b), 0, "it releases");
	not_converted(lh, &l, to, -ESTALE, "free again: lost");

	l = expired(mode);
	is(t_do_read(b, "k", HOUR_MS, 0), 0, "a reader has it");
	not_converted(lh, &l, to, -ESTALE, "with a reader inside: lost");
	is(t_do_verify(b), 0, "the reader's is as it was");
	is(t_do_release(b), 0, "it releases");
	is(t_do_acquire(b, "k", HOUR_MS, 0), 0, "a writer has it");
	is(t_do_release(b), 0, "and releases");
}

static void
not_a_lease(uint32_t mode)
{
	struct lh_lease l = mode == LH_SHARED ? t_read_hold(lh, "k") :
	    t_hold(lh, "k"), good = l, zero;
	struct lh *twin = t_open(lh_table_name(lh));

	memset(&zero, 0, sizeof(zero));
	not_converted(lh, &zero, LH_SHARED, -EINVAL, "zeroes");
	not_converted(lh, &l, 2, -EINVAL, "to mode 2");
	not_converted(lh, &l, 3, -EINVAL, "to mode 3");
	not_converted(lh, &l, 0x10000, -EINVAL, "to mode 0x10000");
	not_converted(lh, &l, UINT32_MAX, -EINVAL, "to the largest");
	is(lh_convert(lh, NULL, LH_SHARED), -EINVAL, "no lease");
	ok(t_has_detail(), "with a reason");
	is(lh_convert(NULL, &l, LH_SHARED), -EINVAL, "no table");
	ok(t_has_detail(), "with a reason");
	not_converted(twin, &l, LH_SHARED, -EPERM, "another attachment, down");
	not_converted(twin, &l, LH_EXCLUSIVE, -EPERM, "and up");
	is(lh_close(twin), 0, "closed");
	ok(memcmp(&l, &good, sizeof(l)) == 0, "it is as it was");
	is(lh_convert(lh, &l, mode), 0, "to the mode it has: 0");
	ok(memcmp(&l, &good, sizeof(l)) == 0, "and as it was");
	is(lh_verify(lh, &l), 0, "held");
	is(lh_release(lh, &l), 0, "released");
	not_converted(lh, &l, LH_SHARED, -ESTALE, "released: down");
	not_converted(lh, &l, LH_EXCLUSIVE, -ESTALE, "up");
	is(t_holders(lh, "k"), 0, "the key is free");
}

/* Converted and then expired, in its new mode. */
static void
converted_first(void)
{
	struct lh_lease l;

	is(t_read(lh, "k", t_ms(60), 0, &l), 0, "a short shared lease");
	if (lh_convert(lh, &l, LH_EXCLUSIVE) == 0) {
		t_sleep_until(l.expires_ns + T_NS_PER_MS);
		not_converted(lh, &l, LH_SHARED, -ESTALE, "up, and too late");
	}
	is(t_acquire(lh, "k", t_ms(60), 0, &l), 0, "a short exclusive one");
	if (lh_convert(lh, &l, LH_SHARED) == 0) {
		t_sleep_until(l.expires_ns + T_NS_PER_MS);
		not_converted(lh, &l, LH_EXCLUSIVE, -ESTALE,
		    "down, and too late");
	}
	is(t_try(lh, "k", LH_EXCLUSIVE, 0), 0, "the key can be acquired");
}

int
main(void)
{
	const char *table = t_table();

	b = t_actor(table);
	lh = t_open(table);
	past_its_deadline(LH_SHARED, LH_EXCLUSIVE);
	past_its_deadline(LH_EXCLUSIVE, LH_SHARED);
	not_a_lease(LH_SHARED);
	not_a_lease(LH_EXCLUSIVE);
	converted_first();
	t_actor_end(b);
	t_close(lh);
	return done();
}
