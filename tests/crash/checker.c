/* SPDX-License-Identifier: MIT */
/*
 * After a kill: answers "does everybody else go on as if nothing had happened?"
 *
 * A process of its own attaches and looks:
 *
 *	attach		works, at once
 *	invariants	lh_check() finds nothing, now and at the end
 *	G1, G6		who lives keeps what it holds, alone or with other
 *			readers, and gets what it waits for (survivors.c)
 *	G4		KEY, another key and a new key can be acquired within
 *			100 ms, in both modes, although no lease has run out
 *	G2		with tokens above all that were seen before
 *	capacity	nothing leaked: every session record that no living
 *			process has can be taken, after which (taking them has
 *			buried all the dead) no claims but the living ones' are
 *			given out, and every key slot can be used
 *	recorder	of each ring at most one event is empty for each who
 *			was killed in the midst of it, and none is torn
 *
 * The recoverer of double crashes does the same in short, without judging: it
 * is there to be killed at each of its instructions.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/procstat.h"
#include "crash/scenario.h"
#include "proc/attachment.h"
#include "shm/events.h"

#define PROMPT_MS 100
#define KILLS_MAX 3		/* on one session record, in a scenario */
#define FILL_MAX 100		/* keys; more take too long unless full */

static void
first_finding(const char *finding, void *arg)
{
	char *text = arg;

	if (text[0] == '\0')
		(void)snprintf(text, 256, "%s", finding);
}

void
check_findings(struct trial *p, struct lh *lh, const char *when)
{
	char text[256] = "";
	int n = lh_check(lh, first_finding, text);

	if (n > 0)
		blame(p, "%s: lh_check() finds %d: %s", when, n, text);
	else if (n < 0)
		blame(p, "%s: lh_check(): %s: %s", when, lh_strerror(n),
		    lh_error_detail());
}

static void
must_be_prompt(struct trial *p, const char *what, struct stretch s)
{
	int64_t ms = stretch_ms(s);

	if (ms > PROMPT_MS)
		blame_block(p, "'%.20s' took %lld ms", what, (long long)ms);
}

static struct lh *
attach(struct trial *p)
{
	struct stretch began = stretch_begin();
	struct lh *lh;
	int error = lh_open(&lh, p->table, &p->opts);

	if (error != 0) {
		blame(p, "lh_open(): %s: %s", lh_strerror(error),
		    lh_error_detail());
		_exit(0);
	}
	must_be_prompt(p, "lh_open()", began);
	participant_serve(p, lh);
	return lh;
}

/* Acquire within 100 ms, or blame. */
static bool
must_get(struct trial *p, struct lh *lh, const char *key, uint32_t mode,
    struct lh_lease *lease)
{
	struct lh_acquire_opts o = participant_opts(30000, PROMPT_MS);
	struct stretch began = stretch_begin();
	int error;

	o.mode = mode;
	error = lh_acquire(lh, key, &o, lease);
	if (error != 0) {
		blame_block(p, "'%.20s' cannot be acquired (mode %u): %s after "
		    "%lld ms: %s", key, mode, lh_strerror(error),
		    (long long)stretch_ms(began), lh_error_detail());
		return false;
	}
	must_be_prompt(p, key, began);
	return true;
}

static void
must_release(struct trial *p, struct lh *lh, struct lh_lease *lease)
{
	int error = lh_release(lh, lease);

	if (error != 0)
		blame(p, "release: %s: %s", lh_strerror(error),
		    lh_error_detail());
}

/* KEY is nobody's now: a writer gets it, alone. */
static uint64_t
for_a_writer(struct trial *p, struct lh *lh)
{
	struct lh_acquire_opts o = participant_opts(30000, 0);
	struct lh_acquire_opts shared = participant_read_opts(30000, 0);
	struct lh_lease lease, second;
	uint64_t before = atomic_load(&p->max_token);
	int error;

	if (!must_get(p, lh, KEY, LH_EXCLUSIVE, &lease))
		return 0;
	if (lease.token <= before)
		blame(p, "G2: token %llu after %llu",
		    (unsigned long long)lease.token,
		    (unsigned long long)before);
	trial_saw_token(p, lease.token);
	error = lh_verify(lh, &lease);
	if (error == 0)
		error = lh_verify_token(lh, KEY, lease.token);
	if (error != 0)
		blame(p, "a fresh lease does not verify: %s: %s",
		    lh_strerror(error), lh_error_detail());
	error = lh_acquire(lh, KEY, &o, &second);
	if (error == -EAGAIN)
		error = lh_acquire(lh, KEY, &shared, &second);
	if (error != -EAGAIN)
		blame(p, "G1: a second acquire says %s", lh_strerror(error));
	must_release(p, lh, &lease);
	return lease.token;
}

/* Two readers together; a writer when both have gone. */
static void
for_readers(struct trial *p, struct lh *lh, uint64_t writer_token)
{
	struct lh_acquire_opts o = participant_opts(30000, 0);
	struct lh_lease lease[2], writer;

	for (int i = 0; i < 2; i++) {
		if (!must_get(p, lh, KEY, LH_SHARED, &lease[i]))
			return;
		if (lease[i].token <= writer_token)
			blame(p, "G2: a reader's token %llu after %llu",
			    (unsigned long long)lease[i].token,
			    (unsigned long long)writer_token);
		trial_saw_token(p, lease[i].token);
	}
	for (int i = 0; i < 2; i++) {
		if (lh_verify(lh, &lease[i]) != 0)
			blame(p, "a fresh reader does not verify: %s",
			    lh_error_detail());
		if (lh_acquire(lh, KEY, &o, &writer) != -EAGAIN)
			blame(p, "G1: a writer beside a reader");
		must_release(p, lh, &lease[i]);
	}
	(void)for_a_writer(p, lh);
}

static int
count_keys(const struct lh_key_info *info, void *arg)
{
	(void)info;
	++*(unsigned *)arg;
	return 0;
}

/* In a large table: is every slot a key or unused? */
static void
no_slot_leaked(struct trial *p, struct lh *lh)
{
	for (uint32_t i = 1; i < lhi_slots_ready(&lh->v); i++) {
		uint64_t w = sh64_load(&lh->v.slots[i].word);

		if (word_mode(w) == WORD_NONE && word_idx(w) != NONE_UNUSED) {
			blame(p, "slot %u is neither a key nor unused: "
			    "0x%llx", i, (unsigned long long)w);
			return;
		}
	}
}

/* Every slot can be a key. */
static void
fill_up(struct trial *p, struct lh *lh)
{
	unsigned keys = 0;
	char name[32];
	int error = 0;

	for (unsigned n = 0; error == 0 && n <= p->opts.max_keys; n++) {
		(void)snprintf(name, sizeof(name), "fill-%u", n);
		error = lh_key_create(lh, name);
	}
	if (lh_list(lh, NULL, count_keys, &keys) != 0 || error != -ENOSPC ||
	    keys != p->opts.max_keys)
		blame(p, "of %u key slots only %u can be used (%s)",
		    p->opts.max_keys, keys, lh_strerror(error));
}

/* Until the kernel has dropped the locks of a part that is dying: then its
 * record can be used again. */
static void
await_end(const struct part *part)
{
	int64_t end_ns = trial_now_ns() + 1000 * NS_A_MS;
	struct lhi_procstat ps;

	while (lhi_procstat_read(part->pid, 0, &ps) && ps.state != 'Z' &&
	    trial_now_ns() < end_ns)
		trial_nap_us(100);
}

/* Every record, claim and slot that the living do not use can be used. */
static void
nothing_leaked(struct trial *p, struct lh *lh)
{
	struct lh_stats st = { .size = sizeof(st) };
	struct lh *more[64];
	unsigned n = 0, living = 1;
	int error;

	for (int i = 0; i < p->n_parts; i++) {
		living += !p->part[i].dead;
		if (p->part[i].dead)
			await_end(&p->part[i]);
	}
	while (n < 64 && (error = lh_open(&more[n], p->table, &p->opts)) == 0)
		n++;
	if (error != -ENOSPC || living + n != p->opts.max_sessions)
		blame(p, "of %u sessions %u are alive, but only %u more could "
		    "be opened (%s)", p->opts.max_sessions, living, n,
		    lh_strerror(error));
	while (n > 0)
		(void)lh_close(more[--n]);
	if (lh_stats(lh, &st) == 0 && (st.sessions != living ||
	    st.leases_reserved > 64 * living))
		blame(p, "%u sessions with %u claims are left, %u are alive",
		    st.sessions, st.leases_reserved, living);
	if (p->opts.max_keys > FILL_MAX)
		no_slot_leaked(p, lh);
	if (p->opts.max_keys <= FILL_MAX || p->full)
		fill_up(p, lh);
}

/* Event i was never written, or its writer was killed: nothing else. */
static void
ring_is_sound(struct trial *p, const struct shm_ring *r, uint32_t record)
{
	uint64_t next = sh64_load(&r->next), number;
	struct lhi_event e;
	int64_t ns;
	int empty = 0;

	for (uint32_t i = 0; i < SHM_EVENTS; i++) {
		uint64_t what = sh64_load(&r->event[i].what);

		if (what != 0 && !lhi_event_read(r, i, &e, &ns, &number))
			blame(p, "event %u of ring %u is torn", i, record);
		empty += what == 0 && i < next;
	}
	if (empty > KILLS_MAX)
		blame(p, "%d events of ring %u are empty", empty, record);
}

static void
recorder_is_sound(struct trial *p, struct lh *lh)
{
	struct shm_ring r;

	for (uint32_t i = 0; i < lh->v.geo.max_sessions; i++) {
		if (pread(lhi_view_fd(&lh->v), &r, sizeof(r),
		    (off_t)(lh->v.geo.rings_off + i * sizeof(r))) !=
		    (ssize_t)sizeof(r))
			blame(p, "ring %u cannot be read", i);
		else
			ring_is_sound(p, &r, i);
	}
}

static void
get_and_release(struct trial *p, struct lh *lh, const char *key)
{
	struct lh_lease lease;

	for (uint32_t mode = LH_EXCLUSIVE; mode <= LH_SHARED; mode++)
		if (must_get(p, lh, key, mode, &lease))
			must_release(p, lh, &lease);
}

void
checker_check(struct trial *p)
{
	struct lh *lh = attach(p);
	uint64_t token;

	check_findings(p, lh, "after the kill");
	recorder_is_sound(p, lh);
	get_and_release(p, lh, OTHER);
	survivors_check(p, lh, 0);
	if (atomic_load(&p->blamed))
		return;
	token = for_a_writer(p, lh);
	for_readers(p, lh, token);
	if (atomic_load(&p->blamed))
		return;
	get_and_release(p, lh, "brand-new");
	check_findings(p, lh, "after going on");
	nothing_leaked(p, lh);
	check_findings(p, lh, "after the burial");
	(void)lh_close(lh);
}

void
checker_recover(struct trial *p)
{
	struct lh_acquire_opts o = participant_opts(30000, 0);
	struct lh_acquire_opts shared = participant_read_opts(30000, 0);
	struct lh *lh, *more;
	struct lh_lease lease;
	unsigned keys = 0;

	p->result = lh_open(&lh, p->table, &p->opts);
	if (p->result != 0)
		return;
	if (lh_acquire(lh, KEY, &shared, &lease) == 0)
		(void)lh_release(lh, &lease);
	if (lh_acquire(lh, KEY, &o, &lease) == 0) {
		trial_saw_token(p, lease.token);
		(void)lh_release(lh, &lease);
	}
	(void)lh_list(lh, NULL, count_keys, &keys);
	/* no record is left but the dead one's: this buries it */
	if (lh_open(&more, p->table, &p->opts) == 0)
		(void)lh_close(more);
	(void)lh_close(lh);
}
