/* SPDX-License-Identifier: MIT */
/*
 * Declares sessions dead by an operator's decision: sessions that still count
 * as alive, although no living process can be seen.
 *
 * A session is proved dead by its byte and its second sign
 * (shm/session_liveness.c). If these prove nothing, it counts as alive for
 * ever.  This happens if a member has removed the file of its own second sign,
 * or has locked bytes that are not its session's, or if the kernel's locks
 * failed their test (SESS_NOPROOF). No process declares it dead by itself.  The
 * owner of the table, or root, requests it (lh_table_repair() with LH_FORCE),
 * because only they can find out what the kernel does not say.
 *
 * It is done only if every remaining sign of life proves nothing:
 *
 *	the process is seen			alive
 *	its second sign is held			alive: its descendants live
 *	its pid is of our namespace, and gone	dead, whatever its byte says
 *	its pid is of another namespace:
 *		its byte is locked, or NOPROOF	not known: it stays
 *		its byte is free		dead, whatever its sign says
 *
 * The step is the swap of a proof of death, exactly ALIVE(inc) to DEAD(inc). So
 * it may be made while others use the table, and a crash or stop before or
 * after it leaves the same states as a proof does.
 *
 * Locks.  For a repair every record's bytes are locked one by one.  Bytes that
 * another process already has cannot be taken by a new session either.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <leasehold.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/procstat.h"
#include "offline/declare_dead.h"
#include "offline/lockers.h"
#include "prim/bytelock.h"
#include "shm/session_bytes.h"
#include "shm/session_liveness.h"
#include "shm/session_sign.h"

#define BEGIN_TRIES 100		/* a session that is just beginning finishes */
#define NAMES_MAX 400
#define LINE_MAX 200

enum found { FOUND_DEAD, FOUND_ALIVE, FOUND_UNKNOWN };

/* True if the process that made the record exists; or in doubt. */
static bool
is_there(pid_t pid, uint64_t start_ticks)
{
	struct lhi_procstat ps;

	if (kill(pid, 0) != 0 && errno == ESRCH)
		return false;
	if (!lhi_procstat_read(pid, 0, &ps))
		return true;
	return ps.state != 'Z' && (start_ticks == 0 ||
	    ps.start_ticks == start_ticks);
}

/* Judges record i, which is ALIVE or CLOSING in state s. */
static enum found
judge_session(struct lhi_exclusive_use *a, uint32_t i, uint64_t s)
{
	const struct shm_session *se = &a->v.sessions[i];
	pid_t pid = lhi_session_pid(&a->v, sid_make(sess_inc(s), i));

	if (lhi_mutant_on(declares_living))
		return FOUND_DEAD;
	if (pid > 0 && is_there(pid, sh64_load_rlx(&se->start_ticks)))
		return FOUND_ALIVE;
	if (lhi_sign_is_promised(&a->v, i) && lhi_sign_held(&a->v, i) == 1)
		return FOUND_ALIVE;
	if (pid > 0)
		return FOUND_DEAD;
	return sess_marked(s) || lhi_byte_held(a->live_fd,
	    lhi_session_live_byte(i)) != 0 ? FOUND_UNKNOWN : FOUND_DEAD;
}

static bool
is_in_use(uint64_t s)
{
	return sess_st(s) == SESS_ALIVE || sess_st(s) == SESS_CLOSING;
}

static void
name_process(char to[LINE_MAX], const struct shm_session *se)
{
	char name[LH_APPLICATION_MAX + 1] = "";

	memcpy(name, se->application, LH_APPLICATION_MAX);
	(void)snprintf(to, LINE_MAX, "%s[%u]", name, sh32_load_rlx(&se->pid));
}

/* Locks the bytes of record i. Returns false if another process has them. */
static bool
lock_record(struct lhi_exclusive_use *a, uint32_t i)
{
	const struct timespec a_moment = { 0, 2 * NS_PER_MS };

	for (int n = 0; n < BEGIN_TRIES; n++) {
		if (lhi_bytes_lock(a->live_fd, lhi_session_live_byte(i), 2) ==
		    0)
			return true;
		/* a session that is just beginning is not ALIVE yet */
		if (sess_st(sh64_load(&a->v.sessions[i].state)) !=
		    SESS_RESERVED)
			return false;
		(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &a_moment, NULL);
	}
	return false;
}

int
lhi_declare_dead(struct lhi_exclusive_use *a, bool dry,
    void (*fn)(const char *what, void *arg), void *arg, const char *remedy)
{
	char who[NAMES_MAX] = "", one[LINE_MAX], line[2 * LINE_MAX];
	uint32_t foreign = 0, users = 0;

	for (uint32_t i = 0; i < a->v.geo.max_sessions; i++) {
		bool locked = lock_record(a, i);
		uint64_t s = sh64_load(&a->v.sessions[i].state);
		enum found found;

		if (!is_in_use(s)) {
			foreign += !locked;
			continue;
		}
		found = judge_session(a, i, s);
		name_process(one, &a->v.sessions[i]);
		if (found != FOUND_DEAD) {
			size_t n = strlen(who);

			users++;
			(void)snprintf(who + n, sizeof(who) - n, "%s%s%s",
			    n > 0 ? ", " : "", one, found == FOUND_UNKNOWN ?
			    " of another pid namespace" : "");
			continue;
		}
		foreign += !locked;
		(void)snprintf(line, sizeof(line), "%s: the session of %s is "
		    "declared dead; its process is gone, but what it started "
		    "may still use what it held", dry ? "would be done" :
		    "done", one);
		fn(line, arg);
		if (!dry)
			(void)lhi_session_declare_dead(&a->v, i, s);
	}
	if (foreign > 0) {
		lhi_lockers_name(one, sizeof(one), a->live_fd);
		(void)snprintf(line, sizeof(line), "the bytes of %u sessions "
		    "that do not live are locked by %s", foreign, one);
		fn(line, arg);
	}
	return users == 0 ? 0 : lhi_fail(-EBUSY, "%s is in use by %s: %s",
	    a->v.path, who, remedy);
}
