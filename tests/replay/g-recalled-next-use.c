/* SPDX-License-Identifier: MIT */
/*
 * Who hands a reader's lease over is stopped when the new one is announced, and
 * in no chain.  Another reader comes, whose push has the version that this one
 * would have had: so it is announced anew, with the same claim, and joins.  Who
 * looks for the lease that nobody has meanwhile does not take the one for the
 * other.
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

int
main(void)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);
	const char *table = replay_begin();
	struct lh_lease l, none, r;

	lh = replay_open(table, 0);
	other = replay_open(table, 0);
	to = replay_session(lh, "s", REPLAY_LONG_MS, 0);
	o.mode = LH_SHARED;
	is(lh_acquire(lh, "k", &o, &l), 0, "a lease");
	replay_stop("A", "handoff.announced", hand, &l);
	find(&l);
	is(lh_acquire(other, "k", &o, &r), 0, "another reader");
	is_u64(r.token, token, "in the place of that one");
	replay_stop("B", "chain.walking", recall, &none);
	is(replay_finish("A"), 0, "it is handed over, after all");
	is(lid_claim(l.id[1]), lid_claim(id[1]), "to that claim");
	is(replay_finish("B"), -ESTALE, "the other lease is nobody's");
	is(lh_verify(lh, &l), 0, "and that one is held");
	is(lh_release(other, &r), 0, "release");
	replay_session_end(to);
	t_close(other);
	t_close(lh);
	return done();
}
