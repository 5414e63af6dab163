/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G1, crash row D1: a process that acquires is stopped before each of
 * its accesses.  Its table is removed by force, and another process holds the
 * key in the new table.  A process that was not granted the key before it was
 * stopped must not be granted it at all.  It acquires on the fast path, with
 * further options, as a reader that is revived, or after it held the key during
 * the removal; also where tokens rise over all keys.  The same where the
 * remover cannot read the table, because it is of another format by then, and
 * where a member has lowered the count of its slots.
 *
 * Otherwise two processes would hold one key, one in each table.
 */
#include "sweep.h"

enum kind { STRAIGHT, WISHES, READER, HELD_BEFORE, OVER_ALL, OVER_ALL_HELD,
	KINDS };

static const char *const kinds[] = { "fast path", "with options", "a reader",
	"held before", "tokens over all keys", "the same, held before" };

/* The state of the header when the table is removed. */
enum header { SOUND, OTHER_FORMAT, FEWER_SLOTS, HEADERS };

static const char *const headers[] = { "", ", another format",
	", fewer slots" };

struct subject {
	struct sweep sweep;
	struct lh *lh;
	struct lh_lease lease;
	enum kind kind;
	int n;
};

static const char *table;

static bool
is_held_before(const struct subject *x)
{
	return x->kind == HELD_BEFORE || x->kind == OVER_ALL_HELD;
}

static int
acquire(struct subject *x, struct lh_key *k, bool now)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;

	o.ttl_ms = REPLAY_LONG_MS;
	o.max_wait_ms = 0;
	if (x->kind == READER)
		o.mode = LH_SHARED;
	more.info = "replayed";
	if (x->kind == WISHES && now)
		o.more = &more;
	return lh_key_acquire(k, &o, &x->lease);
}

static int
act(void *arg)
{
	struct subject *x = arg;
	struct lh_key *k;
	int error;

	/* (not the first slot: a lowered count would still have that) */
	if (lh_key_create(x->lh, "before") != 0 ||
	    lh_key_create(x->lh, "k") != 0 ||
	    lh_key_open(x->lh, "k", 0, &k) != 0)
		bail_out("no key: %s", lh_error_detail());
	for (int i = 0; i < 4; i++) {
		if (acquire(x, k, false) != 0)
			bail_out("warming up: %s", lh_error_detail());
		if ((i < 3 || !is_held_before(x)) &&
		    lh_release(x->lh, &x->lease) != 0)
			bail_out("warming up: %s", lh_error_detail());
	}
	sweep_now(&x->sweep, NULL, x->n);
	if (is_held_before(x) && lh_release(x->lh, &x->lease) != 0)
		return -EDOM;
	error = acquire(x, k, true);
	sweep_now(&x->sweep, NULL, 0);
	return error;
}

/* True if the stopped subject has been granted the key; `was` is its lease
 * before. */
static bool
is_granted(const struct subject *x, const struct lh_lease *was)
{
	struct lhi_view *v = &x->lh->v;
	struct shm_slot *s = lhi_slot(v, (uint32_t)was->key);
	uint64_t w = sh64_load(&s->word);

	if (x->kind == READER)
		return state_kind(sh64_load(&v->claims[
		    lid_claim(was->id[1])].state)) == ST_READ;
	return word_mode(w) == WORD_X &&
	    word_ver(w) != (was->token & MASK(VER_BITS));
}

static void
spoil(struct lh *lh, enum header header)
{
	if (header == OTHER_FORMAT)
		sh32_store(&lh->v.hdr->format, SHM_FORMAT + 1);
	if (header == FEWER_SLOTS)
		sh32_store(&lh->v.hdr->ready_slots, 2);
}

/* True if the subject was stopped. */
static bool
play(enum kind kind, enum header header, int n, int *late)
{
	const int refused = header == OTHER_FORMAT ? -EUCLEAN : -ESTALE;
	struct subject x = { .kind = kind, .n = n };
	struct lh_open_opts o = replay_opts(0);
	struct lh_lease theirs;
	bool stands, granted;
	struct lh *fresh;
	int error;

	o.flags |= kind >= OVER_ALL ? LH_TOKENS_GLOBAL : 0;
	if (lh_open(&x.lh, table, &o) != 0)
		bail_out("lh_open: %s", lh_error_detail());
	sweep_go(&x.sweep, act, &x);
	stands = sweep_stands(&x.sweep);
	granted = stands && is_granted(&x, &x.lease);
	if (!stands) {
		(void)sweep_end(&x.sweep);
	} else {
		spoil(x.lh, header);
		error = lh_table_remove(table, LH_FORCE);
		if (error != 0)
			sweep_bad(kinds[kind], n, "not removed: %d", error);
		fresh = replay_open(table, 0);
		if (replay_try(fresh, "k", &theirs) != 0)
			sweep_bad(kinds[kind], n, "not held in the new one");
		error = sweep_end(&x.sweep);
		if (error == 0 && !granted)
			sweep_bad(kinds[kind], n, "granted in the old table");
		if (error != 0 && error != refused)
			sweep_bad(kinds[kind], n, "it returns %d", error);
		*late += error == refused;
		(void)lh_close(fresh);
	}
	(void)lh_close(x.lh);
	(void)lh_table_remove(table, LH_FORCE);
	return stands;
}

static void
play_each(enum kind kind, enum header header)
{
	int n = 1, late = 0;

	while (play(kind, header, n, &late))
		n++;
	cmp(n, >, 2, "%s%s: stopped before each of %d accesses", kinds[kind],
	    headers[header], n - 1);
	cmp(late, >, 1, "  refused %d times", late);
}

int
main(void)
{
	table = sweep_begin();
	for (enum header header = 0; header < HEADERS; header++)
		for (enum kind kind = 0; kind < KINDS; kind++)
			/* (a lease of what was erased is lost) */
			if (header == SOUND || kind == STRAIGHT ||
			    kind == READER || kind == OVER_ALL)
				play_each(kind, header);
	return done();
}
