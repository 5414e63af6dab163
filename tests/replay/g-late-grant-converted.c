/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G3 and G4: an acquire is granted its key after the deadline of its
 * lease has passed, and must give the lease back.  Before it does, another
 * thread of its process finds the lease and converts it.  The lease must end
 * all the same, whatever it has become by then.
 *
 * Otherwise the acquire would free a claim that the key's lock word or its
 * chain of readers still names.  Nobody could acquire the key any more, and the
 * table would count as damaged.
 */
#include <errno.h>
#include "behaviour/readers.h"
#include "proc/attachment.h"
#include "replay.h"

static struct lh *lh, *other;
static struct lh_lease found;	/* by the second thread */

static int
downgrade(void *l)
{
	return lh_convert(lh, l, LH_SHARED);
}

static int
upgrade(void *l)
{
	return lh_convert(lh, l, LH_EXCLUSIVE);
}

static void
free_and_sound(void)
{
	struct lh_lease l;

	is(replay_try(other, "k", &l), 0, "the key is free at the end");
	is(lh_release(other, &l), 0, "released");
	is(sh32_load(&lh->v.hdr->flags) & SHM_DAMAGED, 0u, "not damaged");
	is(t_findings(other), 0, "the table is sound");
}

/* "late" is granted the key, and stopped before it looks at the clock. */
static void
begin(struct replay_call *late)
{
	struct lh_lease l;

	*late = (struct replay_call)REPLAY_CALL(lh, "k", t_ms(60), 0);
	is(replay_try(other, "k", &l), 0, "the key exists");
	is(lh_release(other, &l), 0, "and is free");
	replay_stop("late", "acquire.granted", replay_acquire, late);
	is(replay_find(lh, "k", &found), 0,
	    "the second thread finds the lease");
}

/* The lease is a reader's when the late one looks. */
static void
converted(void)
{
	struct replay_call late;

	begin(&late);
	is(lh_convert(lh, &found, LH_SHARED), 0, "and downgrades it: %s",
	    lh_error_detail());
	replay_sleep_past(&found);
	is(replay_finish("late"), 0, "the late one acquires anew");
	is(lh_release(lh, &late.lease), 0, "released");
	free_and_sound();
}

/* It becomes a reader's between the late one's two swaps, and others join. */
static void
joined(void)
{
	struct replay_call late;
	struct lh_lease r;

	begin(&late);
	replay_stop("second", "convert.announced", downgrade, &found);
	replay_sleep_past(&found);
	replay_stop_next("late", "cas");	/* of the claim's state */
	replay_stop_next("late", "cas");	/* of the lock word */
	is(replay_finish("second"), -ESTALE, "its downgrade comes too late");
	is(t_read(other, "k", REPLAY_LONG_MS, 0, &r), 0, "a reader joins");
	is(replay_finish("late"), -EAGAIN, "the late one finds the key busy");
	is(t_findings(other), 0, "the table is sound");
	is(lh_release(other, &r), 0, "the reader leaves");
	free_and_sound();
}

static int
read_twice(void *l)
{
	int error = t_read(lh, "k", REPLAY_LONG_MS, 0, l);

	replay_hold("late", "shared.granted");
	if (error == 0)
		error = lh_release(lh, l);
	return error != 0 ? error : t_read(lh, "k", REPLAY_LONG_MS, 0, l);
}

/* A late reader, whose lease the second thread fails to upgrade. */
static void
reader(void)
{
	struct lh_lease l, r;

	replay_go("late", read_twice, &l);
	replay_wait_held("late");
	is(replay_find(lh, "k", &found), 0, "the second thread finds it");
	t_sleep_ms(30);
	replay_stop_next("late", "cas");
	replay_stop("second", "convert.announced", upgrade, &found);
	replay_stop_next("late", "shared.caught_up");
	is(t_read(other, "k", REPLAY_LONG_MS, 0, &r), 0, "a reader joins");
	is(replay_finish("late"), 0, "the late reader acquires anew");
	ok(replay_finish("second") != 0, "its first lease is not upgraded");
	is(lh_release(lh, &l), 0, "released");
	is(lh_release(other, &r), 0, "the other reader leaves");
	is(lh_verify(lh, &found), -ESTALE, "the first lease is over");
	free_and_sound();
}

static void
play(void (*part)(void))
{
	const char *table = replay_begin();

	lh = replay_open(table, 0);
	other = replay_open(table, 0);
	part();
	t_close(other);
	t_close(lh);
}

static void
play_converted(void)
{
	play(converted);
}

static void
play_joined(void)
{
	play(joined);
}

static void
play_reader(void)
{
	play(reader);
}

int
main(void)
{
	t_part(play_converted, 290, "downgraded before it is given back");
	t_part(play_joined, 290, "downgraded while it is given back");
	t_part(play_reader, 290, "a late reader, whose upgrade fails");
	return done();
}
