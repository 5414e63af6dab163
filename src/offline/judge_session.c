/* SPDX-License-Identifier: MIT */
/*
 * Judges whether the session of a record lives, for a repair by force.
 *
 * The words of the record are not believed: a member can write any pid into it,
 * or that it is free, or has no second sign.  These signs count, which only the
 * process itself can cause (live_users.c):
 *
 *	a file of its second sign is held	alive: its descendants live
 *	(sign_files.c), or a socket without
 *	its file (sign_holder.c)
 *	that cannot be found out		not known: it stays
 *	its byte is free			dead
 *	a process without a mapping has the	dead: a session's byte is
 *	byte locked, and others with it		locked through a mapping
 *	the byte is locked otherwise, or
 *	NOPROOF, so that locks say nothing:
 *		its process maps the live file	alive
 *		another process maps it		alive: that may be the one
 *		nobody does			dead; the locker cannot be named
 *		not all can be seen		not known: it stays
 *
 * The same is asked of a record that says it is free and whose byte is locked.
 */
#include "offline/judge_session.h"
#include "offline/sign_files.h"
#include "prim/bytelock.h"
#include "shm/session_bytes.h"
#include "shm/session_sign.h"

/* Judges by those who map the file, whatever any record says. */
static enum lhi_judged
judge_mappers(const struct lhi_live_users *users)
{
	return users->mappers.n > 0 ? FOUND_OTHER :
	    lhi_live_users_none_maps(users) ? FOUND_DEAD : FOUND_UNKNOWN;
}

enum lhi_judged
lhi_judge_locker(const struct lhi_exclusive_use *a, uint32_t i,
    const struct lhi_seen *seen, const struct lhi_live_users *users)
{
	const struct shm_session *se = &a->v.sessions[i];
	uint64_t sid = sid_make(sess_inc(seen->state), i);
	pid_t pid = lhi_session_pid(&a->v, sid);

	if (pid > 0 && lhi_live_users_has(users, pid,
	    sh64_load_rlx(&se->start_ticks)))
		return FOUND_ALIVE;
	return judge_mappers(users);
}

/*
 * Judges the second sign of record i.  FOUND_DEAD: it is not held.  Every file
 * that may be the sign's is asked, and every socket: the record's words, that
 * it has no sign or whose it is, count only where a look was not possible, and
 * then only for a doubt.
 */
static enum lhi_judged
judge_sign(const struct lhi_exclusive_use *a, uint32_t i,
    const struct lhi_sign_holders *signs, pid_t *holder)
{
	int by_file = lhi_sign_files_held(&a->v, i);

	switch (lhi_sign_holders_find(signs, i, holder)) {
	case SIGN_HELD:
		return *holder != 0 ? FOUND_ALIVE : FOUND_SIGN;
	case SIGN_NOT_HELD:
		return by_file == 1 ? FOUND_ALIVE : FOUND_DEAD;
	case SIGN_DOUBTFUL:
		return by_file == 1 ? FOUND_ALIVE : FOUND_SIGN_UNKNOWN;
	default:
		if (by_file == 1)
			return FOUND_ALIVE;
		return by_file < 0 || (lhi_sign_is_promised(&a->v, i) &&
		    lhi_sign_held(&a->v, i) != 0) ? FOUND_SIGN_UNKNOWN :
		    FOUND_DEAD;
	}
}

/* Judges record i, which is ALIVE or CLOSING. */
static enum lhi_judged
judge_used(const struct lhi_exclusive_use *a, uint32_t i,
    struct lhi_seen *seen, const struct lhi_live_users *users,
    const struct lhi_sign_holders *signs)
{
	enum lhi_judged by_sign;

	if (lhi_mutant_on(declares_living))
		return FOUND_DEAD;
	by_sign = judge_sign(a, i, signs, &seen->holder);
	if (by_sign != FOUND_DEAD)
		return by_sign;
	if (!seen->live_locked && !sess_marked(seen->state))
		return FOUND_DEAD;
	if (!sess_marked(seen->state) &&
	    lhi_live_users_explain(users, lhi_session_live_byte(i)))
		return FOUND_DEAD;
	return lhi_judge_locker(a, i, seen, users);
}

/* Judges record i, which says that no session has it. */
static enum lhi_judged
judge_free(const struct lhi_exclusive_use *a, uint32_t i,
    const struct lhi_seen *seen, const struct lhi_live_users *users)
{
	if (lhi_mutant_on(believes_free) || !seen->live_locked ||
	    lhi_live_users_explain(users, lhi_session_live_byte(i)))
		return FOUND_DEAD;
	return judge_mappers(users);
}

void
lhi_judge_session(const struct lhi_exclusive_use *a, uint32_t i,
    struct lhi_seen *seen, const struct lhi_live_users *users,
    const struct lhi_sign_holders *signs)
{
	seen->holder = 0;
	seen->found = lhi_is_in_use(seen->state) ?
	    judge_used(a, i, seen, users, signs) :
	    judge_free(a, i, seen, users);
}

bool
lhi_is_proved_dead(const struct lhi_exclusive_use *a, uint32_t i,
    const struct lhi_seen *seen)
{
	return seen->ours && !sess_marked(seen->state) &&
	    (!lhi_sign_is_promised(&a->v, i) || lhi_sign_held(&a->v, i) == 0);
}
