/* SPDX-License-Identifier: MIT */
/*
 * The flight recorder: recent events, readable afterwards, from memory that
 * survives all its writers.
 *
 * Layout.  Each session record has a ring of 126 events and a number of how
 * many there have been; event n is in slot n % 126, until event n + 126 comes.
 * An event is four words: time, hash of the key, token, and
 *
 * what    63 .. 46 | 45 .. 24 | 23 .. 11 | 9 8   | 7     | 6    | 5 .. 0
 *	check    | claim    | other    | cause | visit | mode | kind
 *
 * where "other" is the record of a session that the event is about.  Records
 * are used again, so in place of the claim such an event has low bits of that
 * session's incarnation, and whether it is a named one (lhi_event_tag()). The
 * check is a sum over the rest of the event and its number.
 *
 * Writing.  Any thread of the session:
 *	1 next: one more, and that number is ours
 *	2 what = 0: the slot holds nothing
 *	3 time, hash, token
 *	4 what
 * There is nothing to wait for and nothing to undo.  A crash or stop after step
 * 1 leaves the event of 126 before in the slot, after step 2 or 3 none.  A
 * thread that is stopped until the others have come round again writes into a
 * slot that has a new owner, perhaps at the same time.  Then the words of two
 * events are mixed, and the check detects that (except one in 2^17).
 *
 * Reading.  A reader copies the ring twice, through the file and not through a
 * mapping, so that a ring without memory reads as zeroes.  An event is valid if
 * it was the same both times and fits its check, for the latest number that can
 * be there, or that of a round before.
 *
 * Memory.  The page of a ring belongs to the table from the first use of its
 * session record on; fallocate() first, as all growth (backing_grow.c). Without
 * memory the session works, and nothing is recorded of it.
 *
 * Identity.  A ring outlives its sessions.  A session that begins writes its
 * identity (its id, process and user, and in a second event the beginning of
 * its name), and the events up to the next such one are its own.  A process
 * that ends a lease or reclaims a session, and has no session itself (the
 * reaper; a process about to attach), is a visitor, and writes to the ring of
 * the session concerned.
 */
#include <string.h>
#include "base/clock.h"
#include "base/hash.h"
#include "shm/readers.h"
#include "shm/events.h"
#include "shm/session_liveness.h"
#include "shm/backing_grow.h"
#include "shm/lock_word.h"

#define OTHER_MASK 0xfffu	/* the highest record */

static uint64_t
what_with_check(uint64_t time, uint64_t hash, uint64_t token, uint64_t what,
    uint64_t number)
{
	const uint64_t said = what & MASK(EVENT_CHECK_SHIFT);
	const uint64_t all[] = { time, hash, token, said,
	    lhi_mutant_on(number_unchecked) ? 0 : number };

	return said | lhi_hash(all, sizeof(all)) << EVENT_CHECK_SHIFT;
}

void
lhi_event_open(struct lhi_view *v, int fd)
{
	uint64_t idx = (uint64_t)(v->me - v->sessions);

	if (lhi_grow_back(fd, (char *)v->hdr, v->geo.rings_off +
	    idx * sizeof(struct shm_ring), sizeof(struct shm_ring)) == 0)
		v->ring = &v->rings[idx];
	if (v->ring != NULL)
		sh64_store(&v->me->ring, SHM_RING_READY);
}

/* Returns the ring to write to.  A visitor, which has no session, writes to the
 * ring of the session that the event is about.  A named session's record may
 * never have had a ring; then to that of the nearest record below it that has
 * one.  NULL: none. */
static struct shm_ring *
ring_of_event(struct lhi_view *v, const struct lhi_event *e)
{
	uint32_t n = v->geo.max_sessions;

	if (v->ring != NULL || v->me != NULL)
		return v->ring;
	if (e->other == 0 || e->other > n)
		return NULL;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t r = (e->other - 1 + n - i) % n;

		if (sh64_load(&v->sessions[r].ring) == SHM_RING_READY)
			return &v->rings[r];
	}
	return NULL;
}

/* Write an event, now. */
static void
add_event(struct lhi_view *v, const struct lhi_event *e)
{
	uint64_t time = (uint64_t)lhi_now_ns(v), n;
	struct shm_ring *ring = ring_of_event(v, e);
	struct shm_event *to;

	if (ring == NULL)
		return;
	n = sh64_fetch_add(&ring->next, 1);
	to = &ring->event[n % SHM_EVENTS];
	lhi_point("event.numbered");
	sh64_store(&to->what, 0);
	lhi_point("event.emptied");
	sh64_store(&to->time, time);
	sh64_store(&to->hash, e->hash);
	sh64_store(&to->token, e->token);
	lhi_point("event.filled");
	sh64_store(&to->what, what_with_check(time, e->hash, e->token, e->kind |
	    e->mode << EVENT_MODE_SHIFT |
	    (v->me == NULL) << EVENT_VISITOR_SHIFT |
	    e->cause << EVENT_CAUSE_SHIFT |
	    (uint64_t)e->other << EVENT_OTHER_SHIFT |
	    (uint64_t)e->claim << EVENT_CLAIM_SHIFT, n));
}

void
lhi_event_key(struct lhi_view *v, unsigned kind, const struct shm_slot *s,
    uint64_t token)
{
	const struct lhi_event e = { .kind = kind,
	    .hash = sh64_load(&s->hash), .token = token };

	add_event(v, &e);
}

void
lhi_event_lease(struct lhi_view *v, unsigned kind, bool shared,
    const struct shm_slot *s, uint32_t ci, uint64_t token, unsigned cause)
{
	const struct lhi_event e = { .kind = kind, .mode = shared,
	    .cause = cause, .claim = ci, .hash = sh64_load(&s->hash),
	    .token = token };

	add_event(v, &e);
}

/* Makes the event one about that session. */
static void
set_other(const struct lhi_view *v, struct lhi_event *e, uint64_t sid)
{
	uint64_t s = sid_idx(sid) >= v->geo.max_sessions ? 0 :
	    sh64_load(&v->sessions[sid_idx(sid)].state);

	e->other = (sid_idx(sid) & OTHER_MASK) + 1;
	e->claim = lhi_event_tag(sid, sess_inc(s) == sid_inc(sid) &&
	    (lhi_named_is_made(s) || (sess_st(s) == SESS_DEAD &&
	    sess_marked(s))));
}

void
lhi_event_handed_over(struct lhi_view *v, bool shared,
    const struct shm_slot *s, uint64_t to, uint64_t token)
{
	struct lhi_event e = { .kind = LH_LOG_HANDED_OVER, .mode = shared,
	    .hash = sh64_load(&s->hash), .token = token };

	set_other(v, &e, to);
	add_event(v, &e);
}

void
lhi_event_ended(struct lhi_view *v, unsigned cause, uint32_t ci,
    uint64_t token)
{
	struct shm_slot *s = lhi_slot(v, lhi_claim_slot(&v->claims[ci]));
	struct lhi_event e = { .cause = cause, .token = token,
	    .kind = cause == CAUSE_EXPIRED ? LH_LOG_EXPIRED :
	    cause == CAUSE_BROKEN ? LH_LOG_BROKEN : LH_LOG_FREED_DEAD };

	set_other(v, &e, lhi_claim_owner(v, ci));

	if (s == NULL)
		return;
	e.hash = sh64_load(&s->hash);
	if (token == 0) {	/* a reader's: its claim has it */
		e.mode = 1;
		e.token = lhi_reader_token(s, &v->claims[ci]);
	}
	add_event(v, &e);
}

void
lhi_event_session(struct lhi_view *v, unsigned kind, uint64_t sid)
{
	uint32_t idx = sid_idx(sid);
	const struct shm_session *se = &v->sessions[
	    idx < v->geo.max_sessions ? idx : 0];
	struct lhi_event e = { .kind = kind, .token = sid,
	    .hash = (uint64_t)sh32_load_rlx(&se->uid) << 32 |
	    sh32_load_rlx(&se->pid) };

	set_other(v, &e, sid);
	add_event(v, &e);
}

void
lhi_event_begin(struct lhi_view *v, uint64_t sid)
{
	struct lhi_event e = { .kind = EVENT_NAME };

	lhi_event_session(v, LH_LOG_SESSION_BEGAN, sid);
	memcpy(&e.hash, v->me->application, sizeof(e.hash));
	memcpy(&e.token, v->me->application + sizeof(e.hash), sizeof(e.token));
	add_event(v, &e);
}

bool
lhi_event_read(const struct shm_ring *r, uint32_t i, struct lhi_event *e,
    int64_t *time_ns, uint64_t *number)
{
	const struct shm_event *from = &r->event[i];
	uint64_t what = sh64_load_rlx(&from->what);
	uint64_t time = sh64_load_rlx(&from->time);
	uint64_t next = sh64_load_rlx(&r->next);

	*e = (struct lhi_event){
		.kind = what & MASK(EVENT_KIND_BITS),
		.mode = what >> EVENT_MODE_SHIFT & 1,
		.visitor = what >> EVENT_VISITOR_SHIFT & 1,
		.cause = what >> EVENT_CAUSE_SHIFT & 3,
		.other = (uint32_t)(what >> EVENT_OTHER_SHIFT &
		    MASK(EVENT_OTHER_BITS)),
		.claim = (uint32_t)(what >> EVENT_CLAIM_SHIFT &
		    MASK(CLAIM_BITS)),
		.hash = sh64_load_rlx(&from->hash),
		.token = sh64_load_rlx(&from->token),
	};
	if (e->kind == 0 || next <= i)
		return false;
	*time_ns = (int64_t)time;
	*number = next - 1 - (next - 1 - i) % SHM_EVENTS;
	if (what == what_with_check(time, e->hash, e->token, what, *number))
		return true;
	if (*number < SHM_EVENTS)
		return false;
	*number -= SHM_EVENTS;	/* that number's writer has not written yet */
	return what == what_with_check(time, e->hash, e->token, what, *number);
}
