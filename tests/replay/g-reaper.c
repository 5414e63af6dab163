/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1, G3 and G4, crash row RE3: a reaper's pass is stopped between
 * what it reads and what it changes, while the owner uses the claim again; and
 * owners are stopped, or killed, while a reaper passes.
 *
 * The reaper must end only the use of a claim that it saw past its deadline.  A
 * caller that extends or revives too late must be refused, whoever noticed the
 * expiry.  A step that a killed process left undone must be completed.
 *
 * Otherwise a reaper would end a lease that is held, or keys of killed
 * processes would stay half made.
 */
#include "reaper/reap_ops.h"
#include "proc/attachment.h"
#include "replay.h"

#define TTL_MS t_long(120)
#define OTHERS 7		/* the rest of a thread's claims */

static struct lh *lh, *other;
static struct lhi_reaper *r;

static int
reap(void *arg)
{
	int64_t next;

	(void)arg;
	r->walk_ns = 0;
	return lhi_reap_pass(r, t_now_ns(), &next);
}

static uint64_t
word(const struct lh_lease *l)
{
	return sh64_load(&lhi_slot(&lh->v, (uint32_t)l->key)->word);
}

/* Uses the thread's other claims, so that its next lease uses the expired
 * one. */
static void
take_others(struct lh_lease *more)
{
	char key[8] = "m0";

	for (int i = 0; i < OTHERS; i++, key[1]++)
		more[i] = t_hold(lh, key);
}

static int
acquire_as(uint32_t mode, const char *key, int64_t ttl_ms, struct lh_lease *l)
{
	struct lh_acquire_opts o = t_opts(ttl_ms, 0);

	o.mode = mode;
	return lh_acquire(lh, key, &o, l);
}

/* Stops the reaper at that point; the claim that it looks at is used again. */
static void
used_again(const char *point, uint32_t mode)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);
	struct lh_lease old, beside, again, more[OTHERS];

	diag("at %s, %s", point, mode == LH_SHARED ? "shared" : "exclusive");
	is(acquire_as(mode, "k", TTL_MS, &old), 0, "k is held");
	if (mode == LH_SHARED) {
		o.mode = LH_SHARED;
		is(lh_acquire(other, "k", &o, &beside), 0,
		    "and by another reader");
	}
	take_others(more);
	replay_sleep_past(&old);
	replay_stop("reaper", point, reap, NULL);
	is(lh_verify(lh, &old), -ESTALE, "its holder notices");
	if (mode == LH_EXCLUSIVE)
		is(replay_try(lh, "k", &again), 0,
		    "and acquires the key again");
	else
		is(acquire_as(mode, "k2", REPLAY_LONG_MS, &again), 0,
		    "and reads another key");
	is(lid_claim(again.id[1]), lid_claim(old.id[1]), "with that claim");
	is(replay_finish("reaper"), 0, "the reaper goes on");
	is(lh_verify(lh, &again), 0, "the new lease is held");
	is(lh_verify(lh, &old), -ESTALE, "the old one is not");
	is(lh_release(lh, &again), 0, "release");
	if (mode == LH_SHARED)
		is(lh_release(other, &beside), 0, "release");
	for (int i = 0; i < OTHERS; i++)
		is(lh_release(lh, &more[i]), 0, "release");
	is(t_findings(lh), 0, "the table is sound");
}

/* An extension is stopped at that point until the old deadline has passed. */
static void
late_extension(const char *point)
{
	struct replay_call c = REPLAY_CALL(lh, "k", REPLAY_LONG_MS, 0);

	is(t_acquire(lh, "k", TTL_MS, 0, &c.lease), 0, "k is held");
	replay_stop("extender", point, replay_extend, &c);
	replay_sleep_past(&c.lease);
	is(reap(NULL), 0, "the reaper passes");
	is(replay_finish("extender"), -ESTALE, "%s: the extension is too late",
	    point);
	is(reap(NULL), 0, "the reaper passes again");
	is(word_mode(word(&c.lease)), WORD_FREE, "the key is free");
}

struct reader {
	struct lh_key *k;
	struct lh_acquire_opts o;
	struct lh_lease l;
	int verified;
};

/* Reads the key, leaves it idle, and reads it again. */
static int
come_back(void *arg)
{
	struct reader *rd = arg;
	int result = lh_key_acquire(rd->k, &rd->o, &rd->l);

	if (result != 0 || lh_release(lh, &rd->l) != 0)
		return -EINVAL;
	replay_hold("reader", "shared.revived");
	result = lh_key_acquire(rd->k, &rd->o, &rd->l);
	rd->verified = lh_verify(lh, &rd->l);
	(void)lh_release(lh, &rd->l);
	return result;
}

static void
late_revival(void)
{
	struct reader rd = { .o = t_opts(TTL_MS, 0) };
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);
	struct lh_lease beside;
	uint64_t expired;

	rd.o.mode = o.mode = LH_SHARED;
	is(lh_key_open(lh, "k", 0, &rd.k), 0, "k is opened");
	is(lh_acquire(other, "k", &o, &beside), 0, "and read by another");
	replay_go("reader", come_back, &rd);
	replay_wait_held("reader");
	t_sleep_ms(TTL_MS + 20);
	expired = lhi_reap_count(r)->expired;
	is(reap(NULL), 0, "the reaper passes after the deadline");
	is(lhi_reap_count(r)->expired, expired + 1, "and counts the expiry");
	is(replay_finish("reader"), 0, "the reader acquires anew");
	is(rd.verified, 0, "and holds what it acquired");
	is(lh_release(other, &beside), 0, "release");
	is(lh_key_close(rd.k), 0, "close");
	is(t_findings(lh), 0, "the table is sound");
}

/* A process that is killed at that point of its call. */
static int
make_key(void *table)
{
	struct lh *mine = replay_open(table, 0);
	struct lh_lease l;

	return replay_try(mine, "made", &l);
}

static int
evict_key(void *table)
{
	struct lh *mine = replay_open(table, 0);

	return (int)lh_evict(mine, "gone", 0);
}

/* Counts slots that are neither keys nor unused, and chunks of dead
 * sessions. */
static int
half_done(void)
{
	int n = 0;

	for (uint32_t i = 1; i < lhi_slots_ready(&lh->v); i++) {
		uint64_t w = sh64_load(&lh->v.slots[i].word);

		n += word_mode(w) == WORD_NONE && word_idx(w) != NONE_UNUSED;
	}
	for (uint32_t ch = 1; ch < lhi_chunks_ready(&lh->v); ch++) {
		uint64_t owner = sh64_load(&lh->v.chunks[ch].owner);

		n += owner != 0 && owner != lh->sid && owner != other->sid;
	}
	return n;
}

static void
killed(const char *table, int (*fn)(void *arg), const char *point)
{
	struct lh_lease l;

	l = t_hold(lh, "gone");
	is(lh_release(lh, &l), 0, "a key exists");
	replay_hold("victim", point);
	(void)replay_fork("victim", fn, (void *)(uintptr_t)table);
	replay_wait_held("victim");
	is(reap(NULL), 0, "the reaper passes");
	replay_kill("victim");
	cmp(half_done(), >, 0, "%s: killed halfway", point);
	ok(t_until(REPLAY_MS, reap(NULL) == 0 && half_done() == 0),
	    "the reaper completes it");
	is(t_findings(lh), 0, "the table is sound");
}

static void
play_all(void)
{
	static const char *const makes[] = { "slot.announced", "slot.filled",
	    "slot.hinted" };
	static const char *const evicts[] = { "evict.dying",
	    "evict.committed", "evict.marked" };
	const char *table = replay_begin();

	lh = replay_open(table, 0);
	other = replay_open(table, 0);
	if (lhi_reap_open(&r, t_object(table)) != 0)
		bail_out("no reaper: %s", lh_error_detail());
	used_again("lock.expired", LH_EXCLUSIVE);
	used_again("due.expired", LH_SHARED);
	late_extension("extend.checked");
	late_extension("extend.swapped");
	late_revival();
	for (size_t i = 0; i < sizeof(makes) / sizeof(makes[0]); i++)
		killed(table, make_key, makes[i]);
	for (size_t i = 0; i < sizeof(evicts) / sizeof(evicts[0]); i++)
		killed(table, evict_key, evicts[i]);
	lhi_reap_close(r);
	t_close(other);
	t_close(lh);
}

int
main(void)
{
	t_part(play_all, 100, "reaper");
	return done();
}
