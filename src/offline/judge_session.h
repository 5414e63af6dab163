/* SPDX-License-Identifier: MIT */
/* Judges whether the session of a record lives, by what only its process can
 * cause (offline/judge_session.c). */
#ifndef LHI_JUDGE_SESSION_H
#define LHI_JUDGE_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "offline/exclusive_use.h"
#include "offline/live_users.h"
#include "offline/sign_holder.h"
#include "shm/session_liveness.h"

/* The result of a look at a record's session. */
enum lhi_judged { FOUND_DEAD, FOUND_ALIVE, FOUND_OTHER, FOUND_UNKNOWN,
	FOUND_SIGN, FOUND_SIGN_UNKNOWN };

/* A record, as it was before its processes were looked at. */
struct lhi_seen {
	uint64_t before;	/* before signs were looked for */
	bool promised;		/* it had a sign then, it said */
	uint64_t state;
	bool ours;		/* its bytes: locked for the repair */
	bool live_locked;	/* its live byte: by another process */
	pid_t holder;		/* has its second sign, whose file is gone */
	enum lhi_judged found;
};

static inline bool
lhi_is_in_use(uint64_t s)
{
	return sess_st(s) == SESS_ALIVE || sess_st(s) == SESS_CLOSING;
}

/* Sets found and holder of *seen, of record i.  users may be NULL if no byte
 * that is locked, and no mark, needs them; signs, if no session is in use. */
void lhi_judge_session(const struct lhi_exclusive_use *a, uint32_t i,
    struct lhi_seen *seen, const struct lhi_live_users *users,
    const struct lhi_sign_holders *signs);

/* Judges who has the live byte of record i locked, if no descriptor has. */
enum lhi_judged lhi_judge_locker(const struct lhi_exclusive_use *a, uint32_t i,
    const struct lhi_seen *seen, const struct lhi_live_users *users);

/* True if any process would find it dead: nobody has to decide that. */
bool lhi_is_proved_dead(const struct lhi_exclusive_use *a, uint32_t i,
    const struct lhi_seen *seen);

#endif
