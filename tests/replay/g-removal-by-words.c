/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1, G12, issue 21: nothing that cannot be undone rests on words
 * that a member of the table can write.
 *
 * The words of a removal are written while a key is held, and no removal was
 * begun.  Nobody removes the table; it is refused as damaged, can be looked at,
 * and can be repaired once its users have ended.  The same for a table whose
 * words say that it begins below the floor and was never used, and for the
 * words behind a mark that a killed remover left.  A removal by force of a
 * table whose ceiling is nonsense also ends all granting in it.
 *
 * Otherwise a member could have root remove a table in use, and its keys would
 * be granted twice.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "replay.h"
#include "shm/table_object.h"
#include "support/object.h"

static const char *table;

static ino_t
inode(void)
{
	struct stat st;

	return stat(t_object(table), &st) == 0 ? st.st_ino : 0;
}

static mode_t
mode(void)
{
	struct stat st;

	return stat(t_object(table), &st) == 0 ? st.st_mode & 07777 : 0;
}

static void
write_words(struct t_object *o)
{
	sh64_store(&o->h->removal, SHM_REMOVAL_NOTE);
	(void)sh32_fetch_or(&o->h->flags, SHM_RETIRED);
}

/* The table is refused, and stays. */
static void
check_refused(const char *what, const char *words)
{
	struct lh_open_opts look = LH_OPEN_OPTS_INIT;
	ino_t was = inode();
	struct lh *lh;

	is(lh_open(&lh, table, NULL), -EUCLEAN, "%s: it is refused", what);
	ok(strstr(lh_error_detail(), words) != NULL, "  and says why: %s",
	    lh_error_detail());
	is(lh_table_remove(table, 0), -EUCLEAN, "  so is a removal");
	look.flags = LH_LOOK;
	is(lh_open(&lh, table, &look), 0, "  it can be looked at");
	(void)lh_close(lh);
	ok(inode() == was, "  it stays");
}

/* Words alone, while a process holds a key. */
static void
words_alone(void)
{
	struct lh *lh = replay_open(table, 0), *look;
	struct lh_open_opts opts = LH_OPEN_OPTS_INIT;
	struct t_object o = t_map_object(table);
	struct lh_lease l = t_hold(lh, "k"), m;

	write_words(&o);
	check_refused("words alone", "neither its owner nor root has begun");
	opts.flags = LH_LOOK;
	is(lh_open(&look, table, &opts), 0, "looked at");
	ok(lh_check(look, NULL, NULL) > 0, "  which finds the damage");
	(void)lh_close(look);
	is(lh_table_repair(table, 0, NULL, NULL), -EBUSY,
	    "a repair waits for its user");
	is(lh_verify(lh, &l), 0, "its holder's lease is held");
	is(lh_release(lh, &l), 0, "released");
	(void)lh_close(lh);
	ok(lh_table_repair(table, 0, NULL, NULL) > 0, "then it is repaired");
	lh = replay_open(table, 0);
	ok(replay_try(lh, "k", &m) == 0 && m.token > l.token,
	    "and the key goes on, with a larger token");
	t_close(lh);
	t_unmap_object(&o);
}

/* The mark is left by a remover that was killed before it wrote words. */
static void
left_mark(void)
{
	struct lh *lh = replay_open(table, 0);
	struct t_object o = t_map_object(table);
	mode_t was = mode();

	t_close(lh);
	is(chmod(t_object(table), was | S_ISVTX), 0, "a mark that was left");
	lh = replay_open(table, 0);
	is((int)mode(), (int)was, "the next user clears it");
	write_words(&o);
	check_refused("words behind it", "neither its owner nor root");
	(void)lh_close(lh);
	ok(lh_table_repair(table, 0, NULL, NULL) > 0, "repaired");
	t_unmap_object(&o);
}

/* A member writes that the table begins below the floor and is new. */
static void
below_the_floor(void)
{
	struct lh *lh;
	struct t_object o;
	struct lh_lease l;
	uint64_t base, states[64] = { 0 };

	is(lh_table_remove(table, LH_FORCE), 0, "there is a floor");
	lh = replay_open(table, 0);
	l = t_hold(lh, "k");
	o = t_map_object(table);
	base = sh64_load(&o.h->token_base);
	sh64_store(&o.h->token_base, base - 1);
	sh64_store(&o.h->header_sum, lhi_object_sum(o.h));
	for (uint32_t i = 0; i < o.geo.max_sessions && i < 64; i++) {
		states[i] = sh64_load(&o.sessions[i].state);
		sh64_store(&o.sessions[i].state, 0);
	}
	check_refused("below the floor", "begin below what tables of that");
	for (uint32_t i = 0; i < o.geo.max_sessions && i < 64; i++)
		sh64_store(&o.sessions[i].state, states[i]);
	sh64_store(&o.h->token_base, base);
	sh64_store(&o.h->header_sum, lhi_object_sum(o.h));
	is(lh_verify(lh, &l), 0, "its holder's lease is held");
	is(lh_release(lh, &l), 0, "released");
	t_close(lh);
	t_unmap_object(&o);
}

/* The ceiling is nonsense. */
static void
nonsense_ceiling(void)
{
	struct lh *lh = replay_open(table, 0), *fresh;
	struct t_object o = t_map_object(table);
	struct lh_lease l, m;
	struct lh_key *k;

	is(lh_key_create(lh, "s"), 0, "a key");
	is(lh_key_open(lh, "s", 0, &k), 0, "opened");
	for (int i = 0; i < 4; i++) {
		is(lh_key_acquire(k, NULL, &l), 0, "acquired");
		is(lh_release(lh, &l), 0, "released");
	}
	is(lh_key_acquire(k, NULL, &l), 0, "held while the table is removed");
	sh64_store(&o.h->ceiling, 0);
	is(lh_table_remove(table, LH_FORCE), 0, "removed by force");
	is(lh_release(lh, &l), 0, "then released");
	fresh = replay_open(table, 0);
	is(replay_try(fresh, "s", &m), 0, "held in the next table");
	ok(m.token > l.token, "  with a larger token");
	is(lh_key_acquire(k, NULL, &l), -ESTALE, "not granted in the old one");
	is(lh_release(fresh, &m), 0, "released");
	t_close(fresh);
	(void)lh_close(lh);
	t_unmap_object(&o);
}

int
main(void)
{
	table = replay_begin();
	words_alone();
	left_mark();
	below_the_floor();
	nonsense_ceiling();
	return done();
}
