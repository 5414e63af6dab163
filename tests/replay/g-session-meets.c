/* SPDX-License-Identifier: MIT */
/*
 * Named sessions that end while a lease of theirs is being handed over,
 * converted, or used to set a value.
 */
#include <errno.h>
#include <string.h>
#include "replay.h"

#define TTL_MS 300

static struct lh *lh, *other;

static struct lh_session *
session(struct lh *at, const char *name, int64_t ttl_ms, int64_t delay_ms)
{
	struct lh_session_opts o = LH_SESSION_OPTS_INIT;
	struct lh_session *s = NULL;

	o.ttl_ms = ttl_ms;
	o.lock_delay_ms = delay_ms;
	is(lh_session_open(at, name, &o, &s), 0, "session '%s'", name);
	return s;
}

struct into {
	int64_t ttl_ms;
	uint32_t policy;
	const char *value;
	uint64_t request;
};

static int
into(struct lh *at, struct lh_session *to, const char *key,
    const struct into *how, struct lh_lease *l)
{
	struct lh_acquire_opts o = t_opts(how->ttl_ms, 0);
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;

	more.session = to;
	more.policy = how->policy;
	more.value = how->value;
	more.value_len = how->value == NULL ? 0 : strlen(how->value);
	more.request[0] = how->request;
	o.more = &more;
	return lh_acquire(at, key, &o, l);
}

static const struct into usual = { REPLAY_LONG_MS, 0, NULL, 0 };

/* One call with a lease. */
struct call {
	struct lh *lh;
	struct lh_lease lease;
	struct lh_session *to;
};

static int
hand_over(void *arg)
{
	struct call *c = arg;

	return lh_handoff(c->lh, &c->lease, c->to);
}

static int
downgrade(void *arg)
{
	struct call *c = arg;

	return lh_convert(c->lh, &c->lease, LH_SHARED);
}

static int
set_value(void *arg)
{
	struct call *c = arg;

	return lh_value_set(c->lh, &c->lease, "late", 4);
}

/*
 * Stopped at that point until the lease's session has ended, and another was
 * told so: it is lost for good (G9), whatever was under way.
 */
static void
session_ends(const char *what, int (*fn)(void *), const char *point)
{
	struct lh_session *s = session(lh, "a", TTL_MS, 0);
	struct call c = { .lh = lh };
	struct lh_session_info info;
	struct lh_lease n, copy;
	char value[LH_VALUE_MAX];
	size_t len;

	c.to = session(lh, "b", REPLAY_LONG_MS, 0);
	is(into(lh, s, "k", &usual, &c.lease), 0, "%s: a lease", what);
	copy = c.lease;
	is(lh_session_info(s, &info), 0, "info");
	replay_hold("presenter", point);
	replay_go("presenter", fn, &c);
	replay_wait_held("presenter");
	t_sleep_until(info.expires_ns + 5 * T_NS_PER_MS);
	is(lh_verify(other, &copy), -ESTALE, "lost, at %s", point);
	replay_release("presenter");
	is(replay_result("presenter"), -ESTALE, "%s finds it lost", what);
	is(replay_try(other, "k", &n), 0, "others have the key");
	is(lh_value_get(other, "k", value, &len, NULL), 0, "its value");
	is((int)len, 0, "was not set");
	is(lh_release(other, &n), 0, "release");
	is(lh_session_destroy(c.to), 0, "destroy");
	lh_session_close(c.to);
	lh_session_close(s);
}

int
main(void)
{
	const char *table = replay_begin();

	lh = replay_open(table, 0);
	other = replay_open(table, 0);
	session_ends("hand-off", hand_over, "handoff.announced");
	session_ends("hand-off", hand_over, "handoff.taken");
	session_ends("downgrade", downgrade, "convert.prepared");
	session_ends("downgrade", downgrade, "convert.announced");
	session_ends("value", set_value, "value.held");
	is(t_findings(lh), 0, "nothing is wrong");
	t_close(other);
	t_close(lh);
	return done();
}
