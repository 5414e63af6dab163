/* SPDX-License-Identifier: MIT */
/*
 * lh_dump(): see dump.h.
 *
 * A key of a table in use is read again until its word is the same before and
 * after, and its queue and readers could be walked.  If it never stays the
 * same, the last reading is reported.  A walk that fails every time is a
 * finding.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <leasehold.h>
#include "offline/check.h"
#include "offline/image.h"
#include "inspect/describe_claim.h"
#include "base/clock.h"
#include "base/error.h"
#include "shm/consistency.h"
#include "shm/readers.h"
#include "shm/key_bytes.h"
#include "shm/lock_word.h"
#include "shm/table_object.h"
#include "shm/wait_queue.h"
#include "shm/value_record.h"

#define TRIES 50		/* 10 ms for a key that keeps changing */

struct dump {
	struct lhi_image im;
	const struct lh_dump_to *to;
	void *arg;
	int findings;
	struct shm_slot *slot;
	struct lhi_crowd holders, waiters;
	bool strayed;		/* a walk met another key's claim */
	char key[SHM_KEY_MAX + 1];
};

static void
report_finding(const char *finding, void *arg)
{
	struct dump *d = arg;

	if (d->to->finding != NULL)
		d->to->finding(finding, d->arg);
}

static int
report_table(struct dump *d)
{
	struct lhi_view *v = &d->im.v;
	const struct shm_header *h = v->hdr;
	char fence_dir[FENCE_DIR_MAX] = "";
	struct lh_dump_table t = {
		.size = sizeof(t),
		.path = v->path,
		.uuid = { sh64_load(&h->uuid[0]), sh64_load(&h->uuid[1]) },
		.format = sh32_load(&h->format),
		.flags = sh32_load(&h->flags) &
		    (LH_DUMP_DAMAGED | LH_DUMP_RETIRED),
		.order = v->order,
		.clock = v->clock == CLOCK_BOOTTIME ? LH_CLOCK_BOOTTIME :
		    LH_CLOCK_MONOTONIC,
		.creator_pid = sh32_load(&h->creator_pid),
		.created_epoch_ms = (int64_t)sh64_load(&h->created_epoch_ms),
		.max_keys = v->geo.n_slots - 1,
		.ready_keys = lhi_slots_ready(v) - 1,
		.max_leases = v->geo.n_claims - SHM_CHUNK,
		.ready_leases = (lhi_chunks_ready(v) - 1) * SHM_CHUNK,
		.max_sessions = v->geo.max_sessions,
		.bytes = v->geo.object_len,
		.token_base = sh64_load(&h->token_base),
		.token_ceiling = sh64_load(&h->ceiling),
		.token_durable = sh64_load(&h->durable_ceiling),
		.fence_dir = fence_dir,
		.token_last = sh64_load(&h->last_token),
	};

	static_assert(LH_DUMP_DAMAGED == SHM_DAMAGED &&
	    LH_DUMP_RETIRED == SHM_RETIRED, "flags");
	memcpy(fence_dir, h->fence_dir, sizeof(fence_dir) - 1);
	t.zero_epoch_ms = (int64_t)((uint64_t)t.created_epoch_ms -
	    (uint64_t)(v->t0_ns / NS_PER_MS));
	if (lhi_image_has_our_clock(&d->im))
		t.clock_ns = lhi_now_ns(v);
	else if (d->im.live)
		t.flags |= LH_DUMP_OTHER_CLOCK;
	if (v->foreign_clock)
		t.flags |= LH_DUMP_OTHER_BOOT;
	return d->to->table == NULL ? 0 : d->to->table(&t, d->arg);
}

static int
report_session(struct dump *d, uint32_t i)
{
	static const char *const states[] = { "unused", "reserved", "alive",
		"closing", "dead", "named" };
	struct lhi_view *v = &d->im.v;
	struct shm_session *se = &v->sessions[i];
	uint64_t s = sh64_load(&se->state), sid = sid_make(sess_inc(s), i);
	struct lh_dump_session t = {
		.size = sizeof(t),
		.id = lhi_view_session_id(v, sid),
		.state = sess_st(s) <= SESS_NAMED ? states[sess_st(s)] :
		    "unknown",
		.index = i,
		.pid = sh32_load_rlx(&se->pid),
		.uid = sh32_load_rlx(&se->uid),
		.attached_ns = (int64_t)sh64_load_rlx(&se->attached_ns),
	};

	if (sess_st(s) == SESS_UNUSED || d->to->session == NULL)
		return 0;
	memcpy(t.application, se->application, LH_APPLICATION_MAX);
	for (uint32_t ch = 1; ch < lhi_chunks_ready(v); ch++)
		t.leases_reserved += sh64_load(&v->chunks[ch].owner) == sid ?
		    SHM_CHUNK : 0;
	return d->to->session(&t, d->arg);
}

/* True if the claim was announced for another key; its other fields are then
 * not about this one. */
static bool
is_elsewhere(struct dump *d, const struct shm_claim *c)
{
	if (lhi_claim_slot(c) == lhi_slot_idx(&d->im.v, d->slot))
		return false;
	d->strayed = true;
	return true;
}

static bool
add_reader(struct lhi_view *v, uint32_t ci, void *arg)
{
	struct shm_claim *c = &v->claims[ci];
	uint64_t st = sh64_load(&c->state);
	struct dump *d = arg;
	struct lh_party *p;

	if (is_elsewhere(d, c))
		return false;
	if (!state_held(st))
		return true;	/* idle, or about to leave */
	p = lhi_describe_claim_add(v, &d->holders, ci);
	if (p == NULL)
		return false;
	p->mode = LH_SHARED;
	p->token = lhi_reader_token(d->slot, c);
	lhi_describe_claim_ends(v, p, st);
	return true;
}

static bool
add_waiter(struct lhi_view *v, uint32_t ci, void *arg)
{
	struct shm_claim *c = &v->claims[ci];
	struct dump *d = arg;
	struct lh_party *p;

	if (is_elsewhere(d, c))
		return false;
	p = lhi_describe_claim_add(v, &d->waiters, ci);
	if (p == NULL)
		return false;
	p->mode = sh32_load(&c->wflags) & WAITER_SHARED ? LH_SHARED :
	    LH_EXCLUSIVE;
	p->priority = sh32_load_rlx(&c->priority);
	p->rank = d->waiters.n;
	return true;
}

/* Adds the holders, by the key's word w. Returns 0; -EAGAIN; -EUCLEAN. */
static int
add_holders(struct dump *d, uint64_t w)
{
	struct lhi_view *v = &d->im.v;
	struct shm_claim *c;
	struct lh_party *p;

	if (word_mode(w) == WORD_S)
		return lhi_readers_walk(v, d->slot, add_reader, d);
	if (word_mode(w) != WORD_X)
		return 0;
	c = lhi_claim(v, word_idx(w));
	if (c == NULL)
		return -EUCLEAN;
	p = lhi_describe_claim_add(v, &d->holders, word_idx(w));
	if (p == NULL)
		return 0;
	p->token = lhi_lock_token(d->slot, w);
	lhi_describe_claim_ends(v, p, sh64_load(&c->state));
	return 0;
}

/* Reads the key once. Returns 0; -EAGAIN: it changed; -EUCLEAN. */
static int
read_key(struct dump *d, uint64_t *w)
{
	int error, queue;

	d->holders.n = d->waiters.n = 0;
	d->strayed = false;
	*w = sh64_load(&d->slot->word);
	error = add_holders(d, *w);
	queue = lhi_queue_walk(&d->im.v, d->slot, add_waiter, d);
	if (sh64_load(&d->slot->word) != *w)
		return -EAGAIN;
	if (error == 0)
		error = queue;
	return error == 0 && d->strayed ? -EUCLEAN : error;
}

static int
report_key(struct dump *d, uint32_t i)
{
	const struct timespec apart = { 0, 200000 };
	struct lh_key_info info = { .size = sizeof(info), .key = d->key };
	struct lh_dump_key t = { .size = sizeof(t), .slot = i, .info = &info };
	int error;

	d->slot = &d->im.v.slots[i];
	error = read_key(d, &t.word);
	for (int n = 1; d->im.live && error != 0 && n < TRIES; n++) {
		(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &apart, NULL);
		error = read_key(d, &t.word);
	}
	if (d->holders.no_memory || d->waiters.no_memory)
		return lhi_fail(-ENOMEM, "out of memory");
	if (lhi_slot_key(&d->im.v, d->slot, d->key) == 0)
		return 0;	/* none, or it has just gone */
	if (error == -EUCLEAN && d->im.live) {
		char text[128];

		/* the checker of an image has reported more */
		(void)snprintf(text, sizeof(text), "the holders or waiters of "
		    "slot %u cannot be walked", i);
		d->findings++;
		report_finding(text, d);
	}
	/* what is not our clock cannot be compared with the end of a right */
	if (lhi_image_has_our_clock(&d->im))
		lhi_describe_claim_rights(&d->im.v, d->slot, &d->holders);
	info.token = lhi_lock_token(d->slot, t.word);
	info.scope = sh32_load(&d->slot->key_info) & KEY_LOCAL ? LH_LOCAL :
	    lhi_right_has(d->slot) ? LH_QUORUM : LH_EPHEMERAL;
	info.mode = word_mode(t.word) == WORD_S ? LH_SHARED : LH_EXCLUSIVE;
	info.inconsistent = lhi_consistency_lost(d->slot, t.word);
	info.value_len = (uint32_t)lhi_value_len(&d->im.v, d->slot);
	info.n_holders = d->holders.n;
	info.holders = d->holders.p;
	info.n_waiters = d->waiters.n;
	info.waiters = d->waiters.p;
	return d->to->key(&t, d->arg);
}

/* A slot without a key (being made, or evicted) is left out. */
static bool
is_key(const struct shm_slot *s)
{
	return word_mode(sh64_load(&s->word)) != WORD_NONE;
}

static int
report_all(struct dump *d)
{
	struct lhi_view *v = &d->im.v;
	int error = report_table(d);

	for (uint32_t i = 0; error == 0 && i < v->geo.max_sessions; i++)
		error = report_session(d, i);
	for (uint32_t i = 1; error == 0 && d->to->key != NULL &&
	    i < lhi_slots_ready(v); i++)
		if (is_key(&v->slots[i]))
			error = report_key(d, i);
	/* last, because it may finish half-done changes, in our copy */
	if (error == 0 && !d->im.live)
		d->findings += lhi_check_view(v, 1, report_finding, d);
	if (error == 0 && d->im.lost[0] != '\0') {
		d->findings++;
		report_finding(d->im.lost, d);
	}
	return error;
}

int
lh_dump(const char *name, const char *file, uint32_t flags,
    const struct lh_dump_to *to, void *arg)
{
	struct dump d = { .to = to, .arg = arg };
	char path[sizeof(d.im.v.path)];
	int error = 0;

	if (to == NULL || to->size != sizeof(*to))
		return lhi_fail(-EINVAL, "set to->size to sizeof(struct "
		    "lh_dump_to)");
	if (flags & ~LH_SYSTEM)
		return lhi_fail(-EINVAL, "unknown flag in 0x%x", flags);
	if (file == NULL)
		error = lhi_object_path(path, sizeof(path),
		    lhi_object_name(name), lhi_object_is_system(name, flags));
	if (error == 0)
		error = lhi_image_open(&d.im, file == NULL ? path : file,
		    file == NULL);
	if (error != 0)
		return error;
	error = report_all(&d);
	lhi_image_close(&d.im);
	free(d.holders.p);
	free(d.waiters.p);
	return error != 0 ? error : d.findings;
}
