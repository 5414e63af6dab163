/* SPDX-License-Identifier: MIT */
/* Liveness of sessions, of processes and named ones: see session_liveness.c. */
#ifndef LHI_SESSION_LIVENESS_H
#define LHI_SESSION_LIVENESS_H

#include <sys/types.h>
#include "prim/process_end.h"
#include "shm/view.h"

/*
 * True if that session is gone for ever.  With `probe`, asks the kernel when
 * the record does not know yet, and makes the answer sticky.  False means alive
 * or not known: only a deadline ends such a session's leases.
 */
bool lhi_session_dead(struct lhi_view *v, uint64_t sid, bool probe);

/*
 * Returns the death word of that session of a process (proc/death_word.c), or
 * NULL: it has none.  Its value is a hint.
 */
shm_u32 *lhi_session_death_word(struct lhi_view *v, uint64_t sid);

/* Begins to watch the process of that session, so that the proof of its death
 * is fast when the death word is marked.  Changes nothing shared. */
void lhi_session_watch(struct lhi_view *v, uint64_t sid,
    struct lhi_process_watch *w);

/* As lhi_session_dead(), of a session that is watched, and asks for that proof
 * alone.  False also in doubt. */
bool lhi_session_watched_dead(struct lhi_view *v, uint64_t sid,
    const struct lhi_process_watch *w);

/* Swaps that state, whose death was proved, to DEAD. Returns false if it has
 * changed. */
bool lhi_session_declare_dead(struct lhi_view *v, uint32_t idx, uint64_t s);

/* True if the kernel says that no process lives behind that record; false in
 * doubt. */
bool lhi_session_gone(struct lhi_view *v, uint32_t idx);

/* True if the kernel says that the sign of life of that record is held: by its
 * process, or one that it was passed on to.  False in doubt. */
bool lhi_session_kept(struct lhi_view *v, uint32_t idx);

/* Returns the sum that stands in the word `maker` of a process's session. */
uint64_t lhi_session_process_sum(const struct shm_session *se);

/* Returns the process that holds the session, as numbered here; 0: it cannot be
 * seen from here.  For diagnostics, and for hints. */
pid_t lhi_session_pid(const struct lhi_view *v, uint64_t sid);

/* The word `until`: incarnation and deadline, or how it ended. */
static inline uint64_t
lhi_until_make(uint64_t inc, uint64_t deadline)
{
	return (inc & MASK(UNTIL_INC_BITS)) << DEADLINE_BITS |
	    (deadline & DEADLINE_MAX);
}

static inline bool
lhi_until_is_of(uint64_t u, uint64_t inc)
{
	return u >> DEADLINE_BITS == (inc & MASK(UNTIL_INC_BITS));
}

static inline bool
lhi_until_has_ended(uint64_t u)
{
	return state_deadline(u) < UNTIL_FIRST;
}

/* True if s is the state of a named session that is being made, or is made. */
static inline bool
lhi_named_is_pending(uint64_t s)
{
	return sess_st(s) == SESS_NAMED && sess_marked(s);
}

static inline bool
lhi_named_is_made(uint64_t s)
{
	return sess_st(s) == SESS_NAMED && !sess_marked(s);
}

/* True if that is, or was, a named session, according to its record.  (False if
 * the record is another's by now.) */
bool lhi_named_is(const struct lhi_view *v, uint64_t sid);

/* True if its process has its number in another pid namespace than ours. */
bool lhi_session_is_foreign(const struct lhi_view *v, uint64_t sid);

/* True if it is a named session that has ended. */
bool lhi_named_ended(struct lhi_view *v, uint64_t sid);

/* Makes DEAD the state of record idx, which was s and whose `until` says that
 * it has ended. */
void lhi_named_declare_dead(struct lhi_view *v, uint32_t idx, uint64_t s);

#endif
