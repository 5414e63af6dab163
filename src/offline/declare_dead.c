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
#include "offline/live_users.h"
#include "offline/lockers.h"
#include "offline/sign_files.h"
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

enum found { FOUND_DEAD, FOUND_ALIVE, FOUND_OTHER, FOUND_UNKNOWN,
	FOUND_SIGN, FOUND_SIGN_UNKNOWN };

/* A record, as it was before its processes were looked at. */
struct seen {
	uint64_t before;	/* before signs were looked for */
	bool promised;		/* it had a sign then, it said */
	uint64_t state;
	bool ours;		/* its bytes: locked for the repair */
	bool live_locked;	/* its live byte: by another process */
	pid_t holder;		/* has its second sign, whose file is gone */
};

/* Judges by those who map the file, whatever any record says. */
static enum found
judge_mappers(const struct lhi_live_users *users)
{
	return users->mappers.n > 0 ? FOUND_OTHER :
	    lhi_live_users_none_maps(users) ? FOUND_DEAD : FOUND_UNKNOWN;
}

/* Judges who has the live byte of record i locked, if no descriptor has. */
static enum found
judge_locker(const struct lhi_exclusive_use *a, uint32_t i,
    const struct seen *seen, const struct lhi_live_users *users)
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
static enum found
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
static enum found
judge_session(const struct lhi_exclusive_use *a, uint32_t i,
    struct seen *seen, const struct lhi_live_users *users,
    const struct lhi_sign_holders *signs)
{
	enum found by_sign;

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
	return judge_locker(a, i, seen, users);
}

/* Judges record i, which says that no session has it. */
static enum found
judge_free(const struct lhi_exclusive_use *a, uint32_t i,
    const struct seen *seen, const struct lhi_live_users *users)
{
	if (lhi_mutant_on(believes_free) || !seen->live_locked ||
	    lhi_live_users_explain(users, lhi_session_live_byte(i)))
		return FOUND_DEAD;
	return judge_mappers(users);
}

static bool
is_in_use(uint64_t s)
{
	return sess_st(s) == SESS_ALIVE || sess_st(s) == SESS_CLOSING;
}

/* True if any process would find it dead: nobody has to decide that. */
static bool
is_proved(const struct lhi_exclusive_use *a, uint32_t i,
    const struct seen *seen)
{
	return seen->ours && !sess_marked(seen->state) &&
	    (!lhi_sign_is_promised(&a->v, i) || lhi_sign_held(&a->v, i) == 0);
}

static void
name_process(char to[LINE_MAX], const struct shm_session *se)
{
	char name[LH_APPLICATION_MAX + 1] = "";

	memcpy(name, se->application, LH_APPLICATION_MAX);
	(void)snprintf(to, LINE_MAX, "%s[%u]", name, sh32_load_rlx(&se->pid));
}

/* Appends who has its second sign of life open. */
static void
name_holder(char to[LINE_MAX], pid_t pid)
{
	const struct lhi_live_pids holder = { 1, { pid } };
	size_t n = strlen(to);
	char name[40];

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
lock_records(struct lhi_exclusive_use *a, struct seen *seen)
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
look_for_signs(const struct lhi_exclusive_use *a, struct seen *seen,
    struct lhi_sign_holders **signs, int limit_ms)
{
	bool any = false;

	for (uint32_t i = 0; i < a->v.geo.max_sessions; i++) {
		seen[i].before = sh64_load(&a->v.sessions[i].state);
		seen[i].promised = lhi_sign_is_promised(&a->v, i);
		any |= is_in_use(seen[i].before) || is_in_use(seen[i].state);
	}
	free(*signs);
	*signs = any ? lhi_sign_holders_scan(&a->v, limit_ms) : NULL;
	return any && *signs == NULL ? -ENOMEM : 0;
}

/* True if the look matters for record i, and its session or the sign of that
 * may have begun after it. */
static bool
is_look_old(const struct lhi_exclusive_use *a, uint32_t i,
    const struct seen *seen, const struct lhi_live_users *users)
{
	if (!is_in_use(seen->state) || (seen->state == seen->before &&
	    seen->promised == lhi_sign_is_promised(&a->v, i)))
		return false;
	if (is_proved(a, i, seen))
		return false;
	return !seen->live_locked ||
	    lhi_live_users_explain(users, lhi_session_live_byte(i)) ||
	    judge_locker(a, i, seen, users) == FOUND_DEAD;
}

/* True if a byte's lock has to be explained by the processes that use the
 * file. */
static bool
needs_users(const struct lhi_exclusive_use *a, const struct seen *seen)
{
	for (uint32_t i = 0; i < a->v.geo.max_sessions; i++)
		if (seen[i].live_locked || (is_in_use(seen[i].state) &&
		    sess_marked(seen[i].state)))
			return true;
	return false;
}

/* Looks at everything, and locks the table and its records meanwhile.  *users
 * is NULL if nothing has to be explained by them. */
static int
look_and_lock(struct lhi_exclusive_use *a, struct seen *seen,
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

int
lhi_declare_dead(struct lhi_exclusive_use *a, bool dry,
    void (*fn)(const char *what, void *arg), void *arg, const char *remedy)
{
	struct seen *seen = calloc(a->v.geo.max_sessions, sizeof(*seen));
	char one[LINE_MAX], line[2 * LINE_MAX];
	struct lhi_sign_holders *signs = NULL;
	struct lhi_live_users *users = NULL;
	struct tally t = { .users = 0 };
	int error;

	if (seen == NULL)
		return lhi_fail(-ENOMEM, "out of memory");
	error = look_and_lock(a, seen, &users, &signs);
	if (error != 0)
		goto out;
	for (uint32_t i = 0; i < a->v.geo.max_sessions; i++) {
		uint64_t s = seen[i].state;
		bool in_use = is_in_use(s);
		enum found found = in_use ?
		    judge_session(a, i, &seen[i], users, signs) :
		    judge_free(a, i, &seen[i], users);

		name_process(one, &a->v.sessions[i]);
		if (seen[i].holder != 0)
			name_holder(one, seen[i].holder);
		if (found == FOUND_ALIVE)
			add_user(&t, one);
		t.others += found == FOUND_OTHER;
		t.unknown += found == FOUND_UNKNOWN;
		t.signs += found == FOUND_SIGN;
		t.unknown_signs += found == FOUND_SIGN_UNKNOWN;
		t.foreign += found == FOUND_DEAD && !seen[i].ours;
		if (!in_use || found != FOUND_DEAD)
			continue;
		if (!is_proved(a, i, &seen[i])) {
			(void)snprintf(line, sizeof(line), "%s: the session of "
			    "%s is declared dead; its process is gone, but "
			    "what it started may still use what it held",
			    dry ? "would be done" : "done", one);
			fn(line, arg);
		}
		if (!dry)
			(void)lhi_session_declare_dead(&a->v, i, s);
		lhi_point("declare.declared");
	}
	if (t.foreign > 0) {
		if (users != NULL)
			lhi_lockers_describe(one, sizeof(one), users);
		else
			lhi_lockers_name_apart(one, sizeof(one),
			    a->live_fd);
		(void)snprintf(line, sizeof(line), "the bytes of %u sessions "
		    "that do not live are locked by %s", t.foreign, one);
		fn(line, arg);
	}
	if (t.users + t.others + t.unknown + t.signs + t.unknown_signs != 0)
		error = fail_in_use(a, &t, users, signs, remedy);
out:
	free(seen);
	free(users);
	free(signs);
	return error;
}
