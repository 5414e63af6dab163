/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G9, the lock-delay of named sessions (crash row SE6): a hand-over
 * of a session's lease is stopped after its swap, and the session ends
 * meanwhile. The key must be reserved for the lock-delay, also if the session's
 * record is in use again.  It must not be reserved if the lease was a reader's,
 * was released before, or if the session was destroyed.
 *
 * Otherwise the next holder would begin while work of the ended session may
 * still be under way; or a key would be refused without a reason.
 */
#include <errno.h>
#include <stdio.h>
#include "replay.h"

#define SESSIONS 7		/* that the table has room for */
#define TTL_MS 400
#define DELAY_MS 1500

static struct lh *lh, *other;

static struct lh_session *
session(const char *name, int64_t ttl_ms)
{
	struct lh_session_opts o = LH_SESSION_OPTS_INIT;
	struct lh_session *s = NULL;

	o.ttl_ms = ttl_ms;
	o.lock_delay_ms = ttl_ms < REPLAY_LONG_MS ? DELAY_MS : 0;
	is(lh_session_open(lh, name, &o, &s), 0, "session '%s'", name);
	return s;
}

static void
end_session(struct lh_session *s)
{
	is(lh_session_destroy(s), 0, "destroy");
	lh_session_close(s);
}

static int
acquire(struct lh_session *to, uint32_t mode, struct lh_lease *l)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;

	more.session = to;
	o.more = &more;
	o.mode = mode;
	return lh_acquire(lh, "k", &o, l);
}

struct call {
	struct lh_session *from, *to;
	struct lh_lease lease;
};

static int
hand_over(void *arg)
{
	struct call *c = arg;

	return lh_handoff(lh, &c->lease, c->to);
}

/* Stops a hand-over from session "d", which will end, to session "u". */
static void
begin(struct call *c, uint32_t mode)
{
	c->to = session("u", REPLAY_LONG_MS);
	c->from = session("d", TTL_MS);
	is(acquire(c->from, mode, &c->lease), 0, "a lease");
	replay_stop("presenter", "handoff.swapped", hand_over, c);
}

static void
come_too_late(struct call *c)
{
	is(replay_finish("presenter"), -ESTALE, "its session has ended");
	lh_session_close(c->from);
	end_session(c->to);
}

static void
is_kept_back(void)
{
	struct lh_lease n;

	is(replay_try(other, "k", &n), -EAGAIN,
	    "the key is reserved for the lock-delay");
	t_sleep_ms(DELAY_MS + 100);
	is(replay_try(other, "k", &n), 0, "until the lock-delay is over");
	is(lh_release(other, &n), 0, "release");
}

/* All session records but that of "d" are in use: the next session gets it. */
static void
forgotten(void)
{
	struct lh_session *fill[SESSIONS];
	char name[] = "0";
	struct call c;

	for (int i = 4; i < SESSIONS; i++, name[0]++)
		fill[i] = session(name, REPLAY_LONG_MS);
	begin(&c, LH_EXCLUSIVE);
	t_sleep_ms(TTL_MS + 50);
	end_session(session("next", REPLAY_LONG_MS));
	come_too_late(&c);
	is_kept_back();
	for (int i = 4; i < SESSIONS; i++)
		end_session(fill[i]);
}

/* The record of the ended session still exists. */
static void
ended(void)
{
	struct call c;

	begin(&c, LH_EXCLUSIVE);
	t_sleep_ms(TTL_MS + 50);
	come_too_late(&c);
	is_kept_back();
}

/* The session is destroyed, and does not end by itself: there is no delay. */
static void
destroyed(void)
{
	struct lh_lease n;
	struct call c;

	begin(&c, LH_EXCLUSIVE);
	is(lh_session_destroy(c.from), 0, "it is destroyed");
	come_too_late(&c);
	is(replay_try(other, "k", &n), 0, "the key is free");
	is(lh_release(other, &n), 0, "release");
}

/* Checks that the key is free, also after another's lease on it has ended. */
static void
is_free(void)
{
	struct lh_lease n;

	is(replay_try(other, "k", &n), 0, "the key is free");
	is(lh_break(lh, "k", NULL, 0), 1, "another's lease is broken");
	is(lh_release(other, &n), -ESTALE, "and its release says so");
	is(replay_try(other, "k", &n), 0, "it is free again");
	is(lh_release(other, &n), 0, "release");
}

/* The end of a reader's session causes no delay. */
static void
reader(void)
{
	struct call c;

	begin(&c, LH_SHARED);
	t_sleep_ms(TTL_MS + 50);
	come_too_late(&c);
	is_free();
}

/* Finds the holder's lease, as status reports it. */
static int
find(const struct lh_key_info *info, void *arg)
{
	const struct lh_party *h = &info->holders[0];

	return info->n_holders != 1 ? -ENOENT :
	    lh_lease_recall(other, "k", h->id, h->token, arg);
}

/* The lease that was handed over is released, and others use the key. */
static void
released(void)
{
	struct lh_lease n;
	struct call c;

	begin(&c, LH_EXCLUSIVE);
	is(lh_status(other, "k", NULL, find, &n), 0,
	    "another process finds the lease");
	is(lh_release(other, &n), 0, "and releases it");
	t_sleep_ms(TTL_MS + 50);
	come_too_late(&c);
	is_free();
}

struct child {
	char table[64];
	struct lh_lease lease;
};

static int
child_downgrades(void *arg)
{
	struct child *x = arg;

	return lh_convert(replay_open(x->table, SESSIONS), &x->lease,
	    LH_SHARED);
}

static int
child_releases(void *arg)
{
	struct child *x = arg;

	return lh_release(replay_open(x->table, SESSIONS), &x->lease);
}

static void
killed_at(const char *point, int (*fn)(void *), struct child *x)
{
	replay_hold("child", point);
	(void)replay_fork("child", fn, x);
	replay_wait_held("child");
	replay_kill("child");
}

/* A process is killed while it downgrades the lease, another while it releases
 * it; others read the key when the session ends. */
static void
released_and_killed(const char *table)
{
	struct child *x = t_shared(sizeof(*x));
	struct lh_session *d, *fill[SESSIONS];
	struct lh_lease r, n;
	char name[] = "0";

	(void)snprintf(x->table, sizeof(x->table), "%s", table);
	lh = replay_open(table, SESSIONS);
	d = session("d", 2 * TTL_MS);
	is(acquire(d, LH_EXCLUSIVE, &x->lease), 0, "a lease");
	killed_at("lease.moving", child_downgrades, x);
	killed_at("release.word_freed", child_releases, x);
	other = replay_open(table, SESSIONS);
	is(acquire(NULL, LH_SHARED, &r), 0, "the key is free to read");
	for (int i = 3; i < SESSIONS; i++, name[0]++)
		fill[i] = session(name, REPLAY_LONG_MS);
	t_sleep_ms(2 * TTL_MS + 50);
	end_session(session("next", REPLAY_LONG_MS));
	is(lh_break(lh, "k", NULL, 0), 1, "the reader's lease is broken");
	is(replay_try(other, "k", &n), 0, "the key is free");
	is(lh_release(other, &n), 0, "release");
	lh_session_close(d);
	for (int i = 3; i < SESSIONS; i++)
		end_session(fill[i]);
}

int
main(void)
{
	const char *table = replay_begin();

	released_and_killed(table);
	destroyed();
	reader();
	released();
	ended();
	forgotten();
	is(t_findings(lh), 0, "the table is sound");
	t_close(other);
	t_close(lh);
	return done();
}
