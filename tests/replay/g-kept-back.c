/* SPDX-License-Identifier: MIT */
/*
 * Lock-delay: who hands over a lease of a named session is stopped behind the
 * swap, and the session ends meanwhile: its key is kept back, also if nothing
 * is left of the session when he goes on.
 */
#include <errno.h>
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

/* A lease of session "d", which ends when that is over, on its way to "u". */
static void
begin(struct call *c, uint32_t mode)
{
	c->to = session("u", REPLAY_LONG_MS);
	c->from = session("d", TTL_MS);
	is(acquire(c->from, mode, &c->lease), 0, "a lease");
	replay_hold("presenter", "handoff.swapped");
	replay_go("presenter", hand_over, c);
	replay_wait_held("presenter");
}

static void
come_too_late(struct call *c)
{
	replay_release("presenter");
	is(replay_result("presenter"), -ESTALE, "its session has ended");
	lh_session_close(c->from);
	end_session(c->to);
}

static void
is_kept_back(void)
{
	struct lh_lease n;

	is(replay_try(other, "k", &n), -EAGAIN, "the key is kept back");
	t_sleep_ms(DELAY_MS + 100);
	is(replay_try(other, "k", &n), 0, "for a time");
	is(lh_release(other, &n), 0, "release");
}

/* All records of sessions but "d"'s are in use: the next one gets that. */
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

/* There is a record of it still. */
static void
ended(void)
{
	struct call c;

	begin(&c, LH_EXCLUSIVE);
	t_sleep_ms(TTL_MS + 50);
	come_too_late(&c);
	is_kept_back();
}

/* It did not end by itself: then nobody is kept from the key. */
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

int
main(void)
{
	const char *table = replay_begin();

	lh = replay_open(table, SESSIONS);
	other = replay_open(table, SESSIONS);
	destroyed();
	ended();
	forgotten();
	is(t_findings(lh), 0, "nothing is wrong");
	t_close(other);
	t_close(lh);
	return done();
}
