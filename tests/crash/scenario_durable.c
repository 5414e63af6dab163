/* SPDX-License-Identifier: MIT */
/*
 * The scenarios of scope local: see scenario.h.  Tables have a fence file, in a
 * directory beside the object, empty at first.
 *
 * After a kill there is more to look at: a key's tokens in scope local lie in
 * ranges whose files exist and carry the table's uuid, and grow also over the
 * loss of the object.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "crash/subject.h"
#include "op/token_ceiling.h"
#include "proc/attachment.h"

#define RANGE(token) ((token) >> 32)

/* Others have claimed so many ranges, the highest of which is there. */
static void
others_claimed(struct trial *p, unsigned n)
{
	char path[RANGE_PATH_MAX + 32];
	uint64_t highest;
	int fd;

	sub_must(p, lhi_range_highest(sub.lh->v.ranges, &highest), "scan");
	(void)snprintf(path, sizeof(path), "%s/%llu", sub.lh->v.ranges,
	    (unsigned long long)highest + n);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	if (fd < 0)
		blame(p, "staging: %s", path);
	(void)close(fd);
}

/* A table that was used, and whose object is gone. */
static void
prep_lost(struct trial *p)
{
	struct lh_acquire_opts o = participant_opts(60000, 0);
	struct lh_lease lease;
	struct lh *lh;

	o.scope = LH_LOCAL;
	sub_must(p, lh_open(&lh, p->table, &p->opts), "open");
	sub_must(p, lh_acquire(lh, KEY, &o, &lease), "acquire");
	trial_saw_token(p, lease.token);
	sub_must(p, lh_close(lh), "close");
	(void)unlink(trial_object(p));
}

/* A table, and others have claimed since. */
static void
prep_behind(struct trial *p)
{
	struct shm_header *h;

	prep_warm(p);
	others_claimed(p, 2);
	sub.opts.scope = LH_LOCAL;
	/* half of the range is used, and nobody has tried to raise it */
	h = sub.lh->v.hdr;
	sh64_store(&h->token_seen, sh64_load(&h->durable_ceiling) - 1);
	sh64_store(&h->raised_ms, 0);
}

/* KEY has one token left in its range, and the next range is far. */
static void
at_the_end(struct trial *p, unsigned far)
{
	struct shm_slot *s = NULL;
	uint64_t w, d;

	prep_behind(p);
	for (uint32_t i = 1; i < lhi_slots_ready(&sub.lh->v); i++)
		if (memcmp(sub.lh->v.slots[i].key, KEY, sizeof(KEY)) == 0)
			s = &sub.lh->v.slots[i];
	if (s == NULL) {
		blame(p, "staging: where is the key?");
		return;
	}
	others_claimed(p, far);
	w = sh64_load(&s->word);
	d = sh64_load(&sub.lh->v.hdr->durable_ceiling);
	(void)sh64_cas(&s->hint, sh64_load(&s->hint), d - 1);
	(void)sh64_cas(&s->word, w, word_make(WORD_FREE, word_idx(w), d - 1));
	trial_saw_token(p, d - 1);
}

static void
prep_end(struct trial *p)
{
	at_the_end(p, 1);
}

/* Further than a grant can jump, 2^38 tokens. */
static void
prep_far_end(struct trial *p)
{
	at_the_end(p, 200);
}

static void
act_raise(struct trial *p)
{
	p->result = lhi_token_ceiling_keep_ahead(&sub.lh->v);
}

/*
 * KEY has been read since before there was another range: a reader in scope
 * local is barred, and waits as a writer.
 */
static void
prep_barred(struct trial *p)
{
	uint64_t d;

	prep_behind(p);
	d = sh64_load(&sub.lh->v.hdr->durable_ceiling);
	act_raise(p);
	if (p->result != 0 || sh64_load(&sub.lh->v.hdr->durable_ceiling) <= d)
		blame(p, "staging: no other range");
	sub.opts.mode = LH_SHARED;
	sub.opts.max_wait_ms = SUB_WAIT_MS;
}

static void
prep_barred_brief(struct trial *p)
{
	prep_barred(p);
	sub.opts.max_wait_ms = p->wait_ms;
}

static void
prep_barred_try(struct trial *p)
{
	prep_barred(p);
	sub.opts.max_wait_ms = 0;
}

/* Its token is in the new range. */
static void
finish_barred(struct trial *p)
{
	if (p->result == 0 && RANGE(p->lease.token) !=
	    RANGE(sh64_load(&sub.lh->v.hdr->durable_ceiling) - 1))
		blame(p, "a barred reader's token %llu is of an old range",
		    (unsigned long long)p->lease.token);
	finish_acquire(p);
}

/* A grant in scope local: its range is on disk, and this table's. */
static void
local_grant(struct trial *p, const char *when)
{
	struct lh_acquire_opts o = participant_opts(30000, 100);
	uint64_t before = atomic_load(&p->max_token);
	struct lhi_range r = { .n = 0 };
	struct lh_lease lease;
	struct lh *lh;
	int error;

	o.scope = LH_LOCAL;
	error = lh_open(&lh, p->table, &p->opts);
	if (error == 0)
		error = lh_acquire(lh, KEY, &o, &lease);
	if (error != 0) {
		blame(p, "%s, no grant in scope local: %s: %s", when,
		    lh_strerror(error), lh_error_detail());
		return;
	}
	if (lease.token <= before)
		blame(p, "G2: %s, token %llu after %llu", when,
		    (unsigned long long)lease.token,
		    (unsigned long long)before);
	trial_saw_token(p, lease.token);
	error = lhi_range_read(lh->v.ranges, RANGE(lease.token), &r);
	if (error != 0)
		blame(p, "%s, token %llu is in no range: %s", when,
		    (unsigned long long)lease.token, lh_error_detail());
	else if (r.uuid[0] != lh->v.uuid[0] || r.uuid[1] != lh->v.uuid[1])
		blame(p, "%s, token %llu is in another table's range", when,
		    (unsigned long long)lease.token);
	check_findings(p, lh, when);
	(void)lh_release(lh, &lease);
	(void)lh_close(lh);
}

static void
check_durable(struct trial *p)
{
	local_grant(p, "after the kill");
	if (!atomic_load(&p->blamed))
		checker_check(p);
	(void)unlink(trial_object(p));
	if (!atomic_load(&p->blamed))
		local_grant(p, "after the object was lost");
}

/* ... when those who read it have had their turns. */
static void
check_barred(struct trial *p)
{
	checker_check(p);
	if (!atomic_load(&p->blamed))
		local_grant(p, "after all the others");
	(void)unlink(trial_object(p));
	if (!atomic_load(&p->blamed))
		local_grant(p, "after the object was lost");
}

#define READER_DEFERRED(n) .flags = SC_DURABLE | (n), .check = check_barred, \
	.act = act_acquire, .finish = finish_barred
#define DURABLE .flags = SC_DURABLE, .check = check_durable

static const struct scenario scenarios_durable[] = {
    {.name = "fence-create",
	.what = "make a table with a fence file",
	.flags = SC_DURABLE | SC_LATE,
	.check = check_durable,
	.act = act_open,
	.finish = finish_plain},
    {.name = "fence-create-again",
	.what = "... after one was lost",
	.flags = SC_DURABLE | SC_LATE,
	.check = check_durable,
	.prepare = prep_lost,
	.act = act_open,
	.finish = finish_plain},
    {.name = "fence-raise",
	.what = "claim a range, as the reaper does",
	DURABLE,
	.prepare = prep_behind,
	.act = act_raise,
	.finish = finish_plain},
    {.name = "fence-first-local",
	.what = "a key's first grant in scope "
		"local",
	DURABLE,
	.prepare = prep_behind,
	.act = act_acquire,
	.stop_ttl_ms = 120,
	.finish = finish_acquire},
    {.name = "fence-cross",
	.what = "a grant at the end of a range",
	DURABLE,
	.prepare = prep_end,
	.act = act_acquire,
	.stop_ttl_ms = 120,
	.finish = finish_acquire},
    {.name = "fence-skip",
	.what = "... the next one being far",
	DURABLE,
	.prepare = prep_far_end,
	.act = act_acquire,
	.stop_ttl_ms = 120,
	.finish = finish_acquire},
    {.name = "barred",
	.what = "a reader waits until others have gone, to "
		"go to another range",
	.roles = {READER_YIELDER},
	.prepare = prep_barred,
	READER_DEFERRED(SC_FIFO)},
    {.name = "barred-reader",
	.what = "... with another behind it",
	.roles = {READER_CROWD, READER_BEHIND},
	.prepare = prep_barred,
	READER_DEFERRED(SC_FIFO)},
    {.name = "barred-writer",
	.what = "... with a writer behind it",
	.roles = {READER_CROWD, BEHIND},
	.min_states = QUEUED_STATES,
	.prepare = prep_barred_brief,
	READER_DEFERRED(SC_FIFO),
	.allowed = says_late},
    {.name = "barred-behind",
	.what = "... behind a writer",
	.roles = {READER_YIELDER, WAITER},
	.min_states = QUEUED_STATES,
	.prepare = prep_barred_brief,
	READER_DEFERRED(SC_FIFO),
	.allowed = says_late},
    {.name = "barred-timeout",
	.what = "... and time out",
	.roles = {READER},
	.min_states = QUEUED_STATES,
	.prepare = prep_barred_brief,
	READER_DEFERRED(SC_FIFO),
	.allowed = says_late},
    {.name = "barred-try",
	.what = "... not at all",
	.roles = {READER},
	.prepare = prep_barred_try,
	READER_DEFERRED(0),
	.allowed = says_busy},
};

SCENARIOS(scenarios_durable)
