/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G12: a reaper meets tables that are none, have gone, or are
 * damaged: it reports an error in words and goes on with the others.  Two
 * reapers at a time do not hinder each other.
 *
 * Otherwise one broken table would stop the reaping of all.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include "behaviour/reaping.h"
#include "support/actor.h"
#include "tap.h"

static void
not_to_be_had(void)
{
	struct lhi_reaper *r = NULL;
	const char *path = t_object(t_table());
	int fd;

	is(lhi_reap_open(&r, path), -ENOENT, "no such table");
	ok(t_has_detail(), "as is said");
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	is(close(fd), 0, "an empty file");
	is(lhi_reap_open(&r, path), -EPROTO, "is no table");
	ok(t_has_detail(), "as is said");
	is(unlink(path), 0, "removed");
	is(symlink("/dev/null", path), 0, "a symbolic link");
	is(lhi_reap_open(&r, path), -EPROTO, "is not followed");
	ok(r == NULL, "and nothing was given out");
	lhi_reap_close(NULL);
}

static void
removed(void)
{
	const char *table = t_table();
	struct lh *lh = t_open(table);
	struct lhi_reaper *r = t_reaper(table);

	is(t_pass(r, NULL), 0, "a table");
	t_close(lh);
	is(lh_table_remove(table, LH_FORCE), 0, "is removed");
	is(t_pass(r, NULL), -ESTALE, "that is the end");
	ok(t_has_detail(), "as is said");
	lhi_reap_close(r);
	lh = t_open(table);
	r = t_reaper(table);
	t_close(lh);
	is(unlink(t_object(table)), 0, "one whose name is taken away");
	t_sleep_ms(10);
	is(t_pass(r, NULL), -ESTALE, "the same");
	lhi_reap_close(r);
}

/* A lock word that names no claim, beside a lease that runs out. */
static void
damaged(void)
{
	const char *table = t_table();
	struct lh *lh = t_open(table);
	struct lhi_reaper *r = t_reaper(table);
	struct lh_lease l, due;
	shm_u64 *word;
	uint64_t was;
	int bad = 0;

	is(t_acquire(lh, "odd", 3600000, 0, &l), 0, "a key");
	is(t_acquire(lh, "due", t_ms(150), 0, &due), 0, "and another");
	word = &lhi_slot(&lh->v, (uint32_t)l.key)->word;
	was = sh64_load(word);
	sh64_store(word, word_make(WORD_X, CLAIMS_MAX - 1, word_ver(was)));
	for (int i = 0; i < 100 && reaping_mode(lh, &due) != WORD_FREE; i++) {
		int result = t_pass(r, NULL);

		bad += result == -EUCLEAN;
		if (result != 0 && result != -EUCLEAN)
			fail("a pass says %d", result);
		t_sleep_ms(t_ms(10));
	}
	cmp(bad, >, 0, "the damage is seen");
	ok(t_has_detail(), "and described");
	is(reaping_mode(lh, &due), WORD_FREE, "the other key is seen to");
	sh64_store(word, was);
	is(lh_release(lh, &l), 0, "repaired");
	/* owners of chunks that cannot be */
	was = lh_session_id(lh);
	for (uint32_t ch = 2; ch < 6; ch++)
		sh64_store(&lh->v.chunks[ch].owner, ch == 2 ? UINT64_MAX :
		    ch == 3 ? was + (UINT64_C(1) << 16) : ch == 4 ?
		    was - (UINT64_C(1) << 16) : 4095);
	for (int i = 0; i < 10; i++) {
		is(t_pass(r, NULL), 0, "a pass over odd owners");
		t_sleep_ms(t_ms(10));
	}
	for (uint32_t ch = 2; ch < 6; ch++)
		sh64_store(&lh->v.chunks[ch].owner, 0);
	lhi_reap_close(r);
	is(lh_close(lh), 0, "closed");
}

static void
two_at_once(void)
{
	const char *table = t_table();
	struct lh *lh = t_open(table);
	struct t_reaping *one = t_reaping(table), *two = t_reaping(table);
	struct t_actor *a;

	for (int i = 0; i < 5; i++) {
		a = t_actor(table);
		is(t_do_acquire(a, "k", 3600000, T_HANG_MS), 0, "held");
		t_sleep_ms(t_ms(30));
		t_actor_kill(a);
		t_actor_free(a);
	}
	is(t_reaping_end(one, NULL), 0, "one is well");
	is(t_reaping_end(two, NULL), 0, "and so is the other");
	t_close(lh);
}

int
main(void)
{
	not_to_be_had();
	removed();
	damaged();
	two_at_once();
	return done();
}
