/* SPDX-License-Identifier: MIT */
/*
 * Two bystanders, who are neither killed nor stopped.
 *
 * The census asks the table, as an operator would, who waits for what, a few
 * hundred times a second, and notes when it saw whom: nothing else can tell
 * from outside that a waiter is in the queue (history/order.c).  Beside that it
 * checks the whole table now and then (there may be no findings, whatever the
 * others are in the middle of), lists it, and asks for its statistics.
 *
 * The metronome sleeps a few milliseconds at a time and notes when it overslept
 * by far: then the machine ran nobody, or at least not everybody, and nothing
 * that took long in that time is the library's fault.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "round.h"

#define LOOK_NS		2000000
#define CHECK_EVERY	100	/* looks */
#define BEAT_NS		4000000
#define LATE_NS		25000000

struct observer {
	struct round *r;
	int64_t from_ns;
	uint32_t key;
	/* what was noted last, by session slot: not again each time */
	uint64_t last[256][2];
};

/* Read by others after the end only, or while it grows: count last. */
static void
note(struct observer *c, const struct lh_party *p,
    const struct lh_party *before)
{
	uint32_t n = atomic_load_explicit(&c->r->n_sights,
	    memory_order_relaxed);
	uint64_t *last = c->last[p->id[0] % 256];

	if (n == MAX_SIGHTS || (last[0] == p->id[0] && last[1] == p->id[1]))
		return;
	last[0] = p->id[0];
	last[1] = p->id[1];
	c->r->sights[n] = (struct sighting){ p->id[0],
	    before ? before->id[0] : 0, c->from_ns, now_ns(), c->key };
	atomic_store_explicit(&c->r->n_sights, n + 1, memory_order_release);
}

/* Two who hold a key are readers, both of them. */
static bool
compatible(const struct lh_key_info *info)
{
	uint32_t i;

	for (i = 0; i < info->n_holders && info->n_holders > 1; i++)
		if (info->holders[i].mode != LH_SHARED)
			return false;
	return true;
}

static void
found(const char *text, void *arg)
{
	struct round *r = arg;

	if (!r->finding[0])
		snprintf(r->finding, sizeof(r->finding), "%s", text);
}

static void
see_holders(struct round *r, const struct lh_key_info *info)
{
	uint32_t most = atomic_load_explicit(&r->readers_most,
	    memory_order_relaxed);

	if (info->n_holders > most)
		atomic_store_explicit(&r->readers_most, info->n_holders,
		    memory_order_relaxed);
	if (compatible(info))
		return;
	atomic_fetch_add(&r->findings, 1);
	found("lh_status: two hold a key, and one of them is a writer", r);
}

static int
see_key(const struct lh_key_info *info, void *arg)
{
	struct observer *c = arg;
	uint32_t i;

	see_holders(c->r, info);
	for (i = 0; i < info->n_waiters; i++) {
		const struct lh_party *w = &info->waiters[i];

		if (i && w->priority > info->waiters[i - 1].priority)
			atomic_fetch_add(&c->r->misordered, 1);
		if (w->rank != i + 1)
			atomic_fetch_add(&c->r->misordered, 1);
		note(c, w, i ? w - 1 : NULL);
	}
	return 0;
}

static int
see_any(const struct lh_key_info *info, void *arg)
{
	see_holders(arg, info);
	return 0;
}

/* A call that has no business to fail did. */
static void
expect(struct round *r, const char *what, int rc)
{
	if (rc >= 0)
		return;
	if (atomic_fetch_add(&r->failures, 1) == 0 && !r->finding[0])
		snprintf(r->finding, sizeof(r->finding), "%s: %s, %s", what,
		    lh_strerror(rc), lh_error_detail());
}

static void
check_table(struct round *r, struct lh *lh)
{
	struct lh_stats st = { .size = sizeof(st) };
	int n = lh_check(lh, found, r);

	expect(r, "lh_check", n);
	if (n > 0)
		atomic_fetch_add(&r->findings, (uint32_t)n);
	atomic_fetch_add(&r->checks, 1);
	expect(r, "lh_list", lh_list(lh, NULL, see_any, r));
	expect(r, "lh_stats", lh_stats(lh, &st));
	r->keys_most = st.keys > r->keys_most ? st.keys : r->keys_most;
	if (st.damaged)
		atomic_fetch_add(&r->findings, 1);
}

void
observers_run(struct round *r, struct lh *lh)
{
	struct observer c = { .r = r };
	uint32_t looks = 0;

	while (!atomic_load_explicit(&r->j->quit, memory_order_relaxed)) {
		for (c.key = 0; c.key < N_KEYS; c.key++) {
			int rc;

			c.from_ns = now_ns();
			rc = lh_status(lh, round_keys[c.key], NULL, see_key,
			    &c);
			if (rc != -ENOENT)	/* not yet, or evicted */
				expect(r, "lh_status", rc);
		}
		if (++looks % CHECK_EVERY == 0)
			check_table(r, lh);
		atomic_fetch_add(&r->looks, 1);
		sleep_until_ns(now_ns() + LOOK_NS);
	}
}

void
metronome_run(struct round *r)
{
	int64_t last = now_ns();

	while (!atomic_load_explicit(&r->j->quit, memory_order_relaxed)) {
		uint32_t n = atomic_load_explicit(&r->n_gaps,
		    memory_order_relaxed);
		int64_t now;

		sleep_until_ns(last + BEAT_NS);
		now = now_ns();
		if (now - last > BEAT_NS + LATE_NS && n < MAX_GAPS) {
			r->gaps[n] = (struct gap){ last, now };
			atomic_store_explicit(&r->n_gaps, n + 1,
			    memory_order_release);
		}
		last = now;
	}
}
