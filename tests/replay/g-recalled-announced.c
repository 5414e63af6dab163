/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G8: a hand-off of a reader's lease is stopped when its new claim is
 * announced, and is in no chain of readers yet.  Another reader joins with the
 * version that the new claim would have had.  A call that looks for the
 * announced lease by id and token must report that there is no such lease.
 *
 * Otherwise status or recall would return a lease that nobody holds, and a
 * program would act on it.
 */
#include <errno.h>
#include "behaviour/readers.h"
#include "op/lease_check.h"
#include "op/handoff.h"
#include "proc/attachment.h"
#include "replay.h"
#include "shm/readers.h"
#include "shm/claim_record.h"

static struct lh *lh, *other;
static struct lh_session *to;
static struct lh_lease given;
static uint64_t id[2], token;	/* of the lease that is only announced */

static int
hand_over(void *l)
{
	return lh_handoff(lh, l, to);
}

static int
recall(void *unused)
{
	struct lh_lease none;

	(void)unused;
	return lh_lease_recall(lh, "k", id, token, &none);
}

static int
nothing(const struct lh_key_info *info, void *arg)
{
	(void)info;
	(void)arg;
	return 0;
}

static int
show(void *unused)
{
	(void)unused;
	return lh_status(lh, "k", id, nothing, NULL);
}

/* Notes the id and token of the lease that is announced for l's key. */
static void
find_announced(const struct lh_lease *l)
{
	struct lhi_view *v = &lh->v;
	struct lhi_ref ref = lhi_lease_ref(v, l);

	for (uint32_t ci = SHM_CHUNK; lhi_claim(v, ci) != NULL; ci++) {
		struct shm_claim *c = lhi_claim(v, ci);
		uint64_t st = sh64_load(&c->state);

		if (!state_held(st) ||
		    sh64_load(&c->slot_ref) != ref.slot_ref ||
		    ci == lid_claim(l->id[1]))
			continue;
		id[0] = lhi_view_session_id(v, lhi_claim_owner(v, ci));
		id[1] = lid_make(ci, lhi_claim_epoch(c), state_seq(st));
		token = lhi_reader_token(ref.slot, c);
		return;
	}
	bail_out("no claim is announced");
}

/* The hand-off is stopped, and another reader has the version. */
static struct lh_lease
begin(void)
{
	struct lh_lease r;

	given = t_read_hold(lh, "k");
	replay_stop("giver", "handoff.announced", hand_over, &given);
	find_announced(&given);
	r = t_read_hold(other, "k");
	is_u64(r.token, token, "another reader has the announced token");
	return r;
}

/* A reader joins while the call is at the nth reader on its way. */
static struct lh_lease
overtaken(int (*call)(void *arg), int nth)
{
	struct lh_lease r;

	replay_stop_nth("looker", "chain.walking", nth, call, NULL);
	r = t_read_hold(other, "k");
	is(replay_finish("looker"), -ESTALE, "there is no such lease");
	return r;
}

static void
while_announced(void)
{
	struct lh_lease r[3];

	r[0] = begin();
	r[1] = overtaken(recall, 1);
	r[2] = overtaken(show, 7);	/* its second walk, past the holders */
	is(replay_finish("giver"), 0, "the hand-off goes on");
	is(lh_verify(lh, &given), 0, "and the new lease is held");
	for (int i = 0; i < 3; i++)
		is(lh_release(other, &r[i]), 0, "released");
}

/* The claim has joined the chain, in its next use, when the call goes on. */
static void
joined_meanwhile(void)
{
	struct lh_lease r = begin();

	replay_stop("looker", "chain.walking", recall, NULL);
	is(replay_finish("giver"), 0, "the hand-off goes on");
	is(lid_claim(given.id[1]), lid_claim(id[1]), "with the same claim");
	is(replay_finish("looker"), -ESTALE, "there is no such lease");
	is(lh_verify(lh, &given), 0, "the new lease is held");
	is(lh_release(other, &r), 0, "released");
}

int
main(void)
{
	const char *table = replay_begin();

	lh = replay_open(table, 0);
	other = replay_open(table, 0);
	to = replay_session(lh, "s", REPLAY_LONG_MS, 0);
	joined_meanwhile();
	is(lh_release(lh, &given), 0, "released");
	while_announced();
	replay_session_end(to);
	t_close(other);
	t_close(lh);
	return done();
}
