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
 * judge_session.c has the signs that are judged.
 *
 * The step is the swap of a proof of death, exactly ALIVE(inc) to DEAD(inc). So
 * it may be made while others use the table, and a crash or stop before or
 * after it leaves the same states as a proof does.
 *
 * Order.  A byte is seen locked, the state loaded, and then all processes are
 * looked at.  A session that begins after the look has another incarnation, so
 * the swap fails.
 *
 * Signs are looked for before the table is locked, because anybody can make
 * that slow, with many descriptors, and nobody can attach meanwhile.  If no
 * process had the second sign of a session that lived before the look, none can
 * have it later.  If a session, or its sign, began after that and is not proved
 * dead nor seen alive, the look is repeated with the table locked.  Nothing is
 * looked for that no record needs.
 *
 * Again.  Another repair copies each descriptor of every process for a moment.
 * So a process that was just killed may seem to live: its second sign is open,
 * and no process shows it.  Then the look is repeated, for AGAIN_MS at most.
 *
 * Locks.  For a repair every record's bytes are locked one by one.  Bytes that
 * another process already has cannot be taken by a new session either.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <bsd/string.h>
#include <leasehold.h>
#include "base/clock.h"
#include "base/error.h"
#include "offline/declare_dead.h"
#include "offline/judge_session.h"
#include "offline/live_users.h"
#include "offline/lockers.h"
#include "offline/sign_holder.h"
#include "prim/bytelock.h"
#include "shm/session_bytes.h"
#include "shm/session_liveness.h"
#include "shm/session_sign.h"

#define BEGIN_TRIES 100		/* a session that is just beginning finishes */
#define NAMES_MAX 400
#define LINE_MAX 240
#define SIGNS_MS 120000		/* of a look for signs: others go on */
#define SIGNS_LOCKED_MS 20000	/* nobody can attach meanwhile */
#define AGAIN_MS 1000		/* of looks for what holds a second sign */
#define AGAIN_PAUSE_NS (10 * NS_PER_MS)

/* Names the process of record i, and who has its second sign of life open. */
static void
name_session(char to[LINE_MAX], const struct lhi_exclusive_use *a, uint32_t i,
    const struct lhi_seen *seen)
{
	const struct lhi_live_pids holder = { 1, { seen->holder } };
	const struct shm_session *se = &a->v.sessions[i];
	char application[LH_APPLICATION_MAX + 1] = "", name[40];
	size_t n;

	memcpy(application, se->application, LH_APPLICATION_MAX);
	(void)snprintf(to, LINE_MAX, "%s[%u]", application,
	    sh32_load_rlx(&se->pid));
	if (seen->holder == 0)
		return;
	n = strlen(to);
	lhi_live_users_name(&holder, name, sizeof(name));
	(void)snprintf(to + n, LINE_MAX - n, " (its sign of life is open in "
	    "%s)", name);
}

/* Locks the bytes of record i. Returns false if another process has them.
 * *waits is how often this may wait yet, for all records together: sessions
 * that are just beginning all finish meanwhile. */
static bool
lock_record(struct lhi_exclusive_use *a, uint32_t i, int *waits)
{
	const struct timespec a_moment = { 0, 2 * NS_PER_MS };

	for (int n = 0; n <= BEGIN_TRIES; n++) {
		if (lhi_bytes_lock(a->live_fd, lhi_session_live_byte(i), 2) ==
		    0)
			return true;
		/* a session that is just beginning is not ALIVE yet */
		if (sess_st(sh64_load(&a->v.sessions[i].state)) !=
		    SESS_RESERVED || *waits == 0)
			return false;
		--*waits;
		(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &a_moment, NULL);
	}
	return false;
}

/* The results for the message. */
struct tally {
	char who[NAMES_MAX];	/* users whose records name them */
	uint32_t users;		/* and others, whose records do not */
	uint32_t others;
	uint32_t unknown;
	uint32_t signs;		/* held by what cannot be found */
	uint32_t unknown_signs;
	uint32_t foreign;	/* bytes locked where no session lives */
};

static void
add_user(struct tally *t, const char *one)
{
	size_t n = strlen(t->who);

	(void)snprintf(t->who + n, sizeof(t->who) - n, "%s%s", n > 0 ? ", " :
	    "", one);
	t->users++;
}

/* Adds who may have bytes locked, because not every process could be seen. */
static void
add_unknown(struct tally *t, const struct lhi_live_users *users)
{
	char names[LINE_MAX], one[2 * LINE_MAX];

	lhi_live_users_name(&users->unread, names, sizeof(names));
	if (!users->sees_all)
		(void)snprintf(one, sizeof(one), "a process that you may not "
		    "see, which has the bytes of %u records locked (root of "
		    "the first pid namespace sees every process: "
		    "leasehold-fsck(1))", t->unknown);
	else
		(void)snprintf(one, sizeof(one), "a process that was not "
		    "found and has the bytes of %u records locked, perhaps "
		    "%s, which could not be examined", t->unknown,
		    users->unread.n > 0 ? names : users->error != 0 ?
		    "any process" : "one of too many processes");
	add_user(t, one);
}

/* Adds who may have second signs open, because not all could be seen. */
static void
add_unknown_signs(struct tally *t, const struct lhi_sign_holders *signs)
{
	char names[LINE_MAX], one[2 * LINE_MAX];

	lhi_live_users_name(&signs->unread, names, sizeof(names));
	(void)strlcat(names, ", which could not be examined", sizeof(names));
	if (!signs->sees_all)
		(void)snprintf(one, sizeof(one), "perhaps a process that you "
		    "may not see, because the second signs of life of %u "
		    "sessions are lost (root of the first pid namespace sees "
		    "every process: leasehold-fsck(1))", t->unknown_signs);
	else
		(void)snprintf(one, sizeof(one), "perhaps %s, because the "
		    "second signs of life of %u sessions are lost",
		    signs->unread.n == 0 ? "a process that cannot be found" :
		    names, t->unknown_signs);
	add_user(t, one);
}

/* Fails with -EBUSY, naming the users of the table. */
static int
fail_in_use(const struct lhi_exclusive_use *a, struct tally *t,
    const struct lhi_live_users *users, const struct lhi_sign_holders *signs,
    const char *remedy)
{
	char names[LINE_MAX], one[2 * LINE_MAX];

	if (t->others > 0) {
		lhi_live_users_name(&users->mappers, names, sizeof(names));
		(void)snprintf(one, sizeof(one), "a process that has the bytes "
		    "of %u sessions locked whose records do not name it: one "
		    "of %s", t->others, names);
		add_user(t, one);
	}
	if (t->unknown > 0)
		add_unknown(t, users);
	(void)snprintf(one, sizeof(one), "a process that cannot be found, "
	    "which has the second signs of life of %u sessions open", t->signs);
	if (t->signs > 0)
		add_user(t, one);
	if (t->unknown_signs > 0)
		add_unknown_signs(t, signs);
	return lhi_fail(-EBUSY, "%s is in use by %s: %s", a->v.path, t->who,
	    remedy);
}

/* Locks the bytes of all records that it can; notes what is seen of each. */
static void
lock_records(struct lhi_exclusive_use *a, struct lhi_seen *seen)
{
	int waits = BEGIN_TRIES;

	for (uint32_t i = 0; i < a->v.geo.max_sessions; i++) {
		seen[i].ours = lock_record(a, i, &waits);
		seen[i].live_locked = !seen[i].ours &&
		    lhi_byte_held(a->live_fd, lhi_session_live_byte(i)) != 0;
		seen[i].state = sh64_load(&a->v.sessions[i].state);
	}
}

/* Looks for second signs, if a session may have one.  Notes in seen[] which
 * sessions there were before.  Returns -ENOMEM; 0. */
static int
look_for_signs(const struct lhi_exclusive_use *a, struct lhi_seen *seen,
    struct lhi_sign_holders **signs, int limit_ms)
{
	bool any = false;

	for (uint32_t i = 0; i < a->v.geo.max_sessions; i++) {
		seen[i].before = sh64_load(&a->v.sessions[i].state);
		seen[i].promised = lhi_sign_is_promised(&a->v, i);
		any |= lhi_is_in_use(seen[i].before) ||
		    lhi_is_in_use(seen[i].state);
	}
	free(*signs);
	*signs = any ? lhi_sign_holders_scan(&a->v, limit_ms) : NULL;
	return any && *signs == NULL ? -ENOMEM : 0;
}

/* True if the look matters for record i, and its session or the sign of that
 * may have begun after it. */
static bool
is_look_old(const struct lhi_exclusive_use *a, uint32_t i,
    const struct lhi_seen *seen, const struct lhi_live_users *users)
{
	if (!lhi_is_in_use(seen->state) || (seen->state == seen->before &&
	    seen->promised == lhi_sign_is_promised(&a->v, i)))
		return false;
	if (lhi_is_proved_dead(a, i, seen))
		return false;
	return !seen->live_locked ||
	    lhi_live_users_explain(users, lhi_session_live_byte(i)) ||
	    lhi_judge_locker(a, i, seen, users) == FOUND_DEAD;
}

/* True if a byte's lock has to be explained by the processes that use the
 * file. */
static bool
needs_users(const struct lhi_exclusive_use *a, const struct lhi_seen *seen)
{
	for (uint32_t i = 0; i < a->v.geo.max_sessions; i++)
		if (seen[i].live_locked || (lhi_is_in_use(seen[i].state) &&
		    sess_marked(seen[i].state)))
			return true;
	return false;
}

/* Looks at everything, and locks the table and its records meanwhile.  *users
 * is NULL if nothing has to be explained by them. */
static int
look_and_lock(struct lhi_exclusive_use *a, struct lhi_seen *seen,
    struct lhi_live_users **users, struct lhi_sign_holders **signs)
{
	int error = look_for_signs(a, seen, signs, SIGNS_MS);
	bool old = false;

	if (error == 0)
		error = lhi_exclusive_use_force(a);
	else
		error = lhi_fail(error, "out of memory");
	if (error != 0)
		return error;
	lock_records(a, seen);
	lhi_point("declare.locked");
	if (needs_users(a, seen)) {
		*users = lhi_live_users_scan(a->live_fd, true);
		if (*users == NULL)
			return lhi_fail(-ENOMEM, "out of memory");
	}
	for (uint32_t i = 0; i < a->v.geo.max_sessions && !old; i++)
		old = is_look_old(a, i, &seen[i], *users);
	if (old && look_for_signs(a, seen, signs, SIGNS_LOCKED_MS) != 0)
		return lhi_fail(-ENOMEM, "out of memory");
	lhi_point("declare.looked");
	return 0;
}

/* Judges every record, and adds its session to *t if that is in use. */
static void
judge_records(const struct lhi_exclusive_use *a, struct lhi_seen *seen,
    const struct lhi_live_users *users, const struct lhi_sign_holders *signs,
    struct tally *t)
{
	char one[LINE_MAX];

	*t = (struct tally){ .users = 0 };
	for (uint32_t i = 0; i < a->v.geo.max_sessions; i++) {
		struct lhi_seen *s = &seen[i];

		lhi_judge_session(a, i, s, users, signs);
		if (s->found == FOUND_ALIVE) {
			name_session(one, a, i, s);
			add_user(t, one);
		}
		t->others += s->found == FOUND_OTHER;
		t->unknown += s->found == FOUND_UNKNOWN;
		t->signs += s->found == FOUND_SIGN;
		t->unknown_signs += s->found == FOUND_SIGN_UNKNOWN;
		t->foreign += s->found == FOUND_DEAD && !s->ours;
	}
}

/* True if second signs are open, and no process shows them, though all could be
 * looked at. */
static bool
are_signs_lost(const struct tally *t, const struct lhi_sign_holders *signs)
{
	return t->signs + t->unknown_signs > 0 && signs->sees_all &&
	    signs->unread.n == 0;
}

/* Judges, and looks for second signs again while that may help. */
static int
judge(const struct lhi_exclusive_use *a, struct lhi_seen *seen,
    const struct lhi_live_users *users, struct lhi_sign_holders **signs,
    struct tally *t)
{
	const struct timespec a_moment = { 0, AGAIN_PAUSE_NS };
	int64_t until_ns = lhi_clock_ns(CLOCK_MONOTONIC) +
	    AGAIN_MS * NS_PER_MS;

	judge_records(a, seen, users, *signs, t);
	/* ends: at the latest at until_ns, after the look that goes on then */
	while (are_signs_lost(t, *signs) && !lhi_mutant_on(signs_looked_once) &&
	    lhi_clock_ns(CLOCK_MONOTONIC) < until_ns) {
		lhi_point("declare.again");
		(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &a_moment, NULL);
		if (look_for_signs(a, seen, signs, SIGNS_LOCKED_MS) != 0)
			return lhi_fail(-ENOMEM, "out of memory");
		judge_records(a, seen, users, *signs, t);
	}
	return 0;
}

/* Says who has bytes locked that no session has. */
static void
describe_foreign(const struct lhi_exclusive_use *a, const struct tally *t,
    const struct lhi_live_users *users,
    void (*fn)(const char *what, void *arg), void *arg)
{
	char who[LINE_MAX], line[2 * LINE_MAX];

	if (users != NULL)
		lhi_lockers_describe(who, sizeof(who), users);
	else
		lhi_lockers_name_apart(who, sizeof(who), a->live_fd);
	(void)snprintf(line, sizeof(line), "the bytes of %u sessions that do "
	    "not live are locked by %s", t->foreign, who);
	fn(line, arg);
}

/* Declares dead the session of record i, which was judged so. */
static void
declare(struct lhi_exclusive_use *a, uint32_t i, const struct lhi_seen *seen,
    bool dry, void (*fn)(const char *what, void *arg), void *arg)
{
	char one[LINE_MAX], line[2 * LINE_MAX];

	name_session(one, a, i, seen);
	if (!lhi_is_proved_dead(a, i, seen)) {
		(void)snprintf(line, sizeof(line), "%s: the session of %s is "
		    "declared dead; its process is gone, but what it started "
		    "may still use what it held",
		    dry ? "would be done" : "done", one);
		fn(line, arg);
	}
	if (!dry)
		(void)lhi_session_declare_dead(&a->v, i, seen->state);
	lhi_point("declare.declared");
}

int
lhi_declare_dead(struct lhi_exclusive_use *a, bool dry,
    void (*fn)(const char *what, void *arg), void *arg, const char *remedy)
{
	struct lhi_seen *seen = calloc(a->v.geo.max_sessions, sizeof(*seen));
	struct lhi_sign_holders *signs = NULL;
	struct lhi_live_users *users = NULL;
	struct tally t;
	int error;

	if (seen == NULL)
		return lhi_fail(-ENOMEM, "out of memory");
	error = look_and_lock(a, seen, &users, &signs);
	if (error == 0)
		error = judge(a, seen, users, &signs, &t);
	if (error != 0)
		goto out;
	for (uint32_t i = 0; i < a->v.geo.max_sessions; i++)
		if (lhi_is_in_use(seen[i].state) && seen[i].found == FOUND_DEAD)
			declare(a, i, &seen[i], dry, fn, arg);
	if (t.foreign > 0)
		describe_foreign(a, &t, users, fn, arg);
	if (t.users + t.others + t.unknown + t.signs + t.unknown_signs != 0)
		error = fail_in_use(a, &t, users, signs, remedy);
out:
	free(seen);
	free(users);
	free(signs);
	return error;
}
