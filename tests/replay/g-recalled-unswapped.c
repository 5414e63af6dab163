/* SPDX-License-Identifier: MIT */
/*
 * Who hands a reader's lease over is stopped when the new one is announced, and
 * in no chain.  Another reader comes, whose push has the version that this one
 * would have had.  The lease that nobody has is not to be recalled, nor shown:
 * not even by one who looks for it in the chain and is overtaken there, by one
 * more reader.
 */
#include <errno.h>
#include "op/handoff.h"
#include "proc/attachment.h"
#include "replay.h"
#include "shm/readers.h"
#include "shm/claim_record.h"

static struct lh *lh, *other;
static struct lh_session *to;
static uint64_t id[2], token;

static int
hand(void *l)
{
	return lh_handoff(lh, l, to);
}

static int
recall(void *l)
{
	return lh_lease_recall(lh, "k", id, token, l);
}

static int
nothing(const struct lh_key_info *info, void *arg)
{
	(void)info;
	(void)arg;
	return 0;
}

static int
show(void *arg)
{
	(void)arg;
	return lh_status(lh, "k", id, nothing, NULL);
}

/* The one that is announced for the key of l. */
static void
find(const struct lh_lease *l)
{
	struct lhi_view *v = &lh->v;
	struct lhi_ref ref = lhi_ref_at(v, l->key);

	for (uint32_t ci = SHM_CHUNK; lhi_claim(v, ci) != NULL; ci++) {
		struct shm_claim *c = lhi_claim(v, ci);
		uint64_t st = sh64_load(&c->state);

		if (!state_held(st) || sh64_load(&c->slot_ref) != l->key ||
		    ci == lid_claim(l->id[1]))
			continue;
		id[0] = lhi_view_session_id(v, lhi_claim_owner(v, ci));
		id[1] = lid_make(ci, lhi_claim_epoch(c), state_seq(st));
		token = lhi_reader_token(ref.slot, c);
		return;
	}
	bail_out("nothing is announced");
}

/* fn looks at the nth reader on its way: another one joins. */
static void
overtaken(int (*fn)(void *arg), void *arg, int nth, struct lh_lease *by)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);

	o.mode = LH_SHARED;
	replay_stop_nth("B", "chain.walking", nth, fn, arg);
	is(lh_acquire(other, "k", &o, by), 0, "meanwhile another joins");
	is(replay_finish("B"), -ESTALE, "that lease is nobody's");
}

int
main(void)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);
	const char *table = replay_begin();
	struct lh_lease l, none, r[3];

	lh = replay_open(table, 0);
	other = replay_open(table, 0);
	to = replay_session(lh, "s", REPLAY_LONG_MS, 0);
	o.mode = LH_SHARED;
	is(lh_acquire(lh, "k", &o, &l), 0, "a lease");
	replay_stop("A", "handoff.announced", hand, &l);
	find(&l);
	is(lh_acquire(other, "k", &o, &r[0]), 0, "another reader");
	is_u64(r[0].token, token, "in the place of that one");
	overtaken(recall, &none, 1, &r[1]);
	overtaken(show, NULL, 7, &r[2]);	/* beyond the holders, twice */
	is(replay_finish("A"), 0, "it is handed over, after all");
	is(lh_verify(lh, &l), 0, "and held");
	for (int i = 0; i < 3; i++)
		is(lh_release(other, &r[i]), 0, "release");
	replay_session_end(to);
	t_close(other);
	t_close(lh);
	return done();
}
