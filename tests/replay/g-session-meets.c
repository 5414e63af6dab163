/* SPDX-License-Identifier: MIT */
/* test: slow 8 */
/*
 * Guarantees G4 and G9, named sessions (crash rows V1 and SE5): a session ends,
 * or a process that presents a lease of it is killed, while the lease is handed
 * over, converted, or used to set a value.  A lease of an ended session must be
 * lost for good; a lease whose presenter was killed must still be extended and
 * released by its owners; a repeated request must find its lease.
 *
 * Otherwise a lease would go on after it was reported lost, or a key would stay
 * held by nobody.
 */
#include <errno.h>
#include <string.h>
#include "replay.h"

#define TTL_MS t_long(300)

static struct lh *lh, *other;

struct into {
	int64_t ttl_ms;
	uint32_t policy;
	const char *value;
	uint64_t request;
	uint32_t mode;
};

static int
into(struct lh *at, struct lh_session *to, const char *key,
    const struct into *how, struct lh_lease *l)
{
	struct lh_acquire_opts o = t_opts(how->ttl_ms, 0);
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;

	o.mode = how->mode;
	more.session = to;
	more.policy = how->policy;
	more.value = how->value;
	more.value_len = how->value == NULL ? 0 : strlen(how->value);
	more.request[0] = how->request;
	o.more = &more;
	return lh_acquire(at, key, &o, l);
}

static const struct into usual = { REPLAY_LONG_MS, 0, NULL, 0, 0 };
static const struct into strict = { REPLAY_LONG_MS, LH_POLICY_STRICT, NULL, 0,
	0 };
static const struct into valued = { REPLAY_LONG_MS, 0, "new", 77, 0 };

static const struct into reads = { REPLAY_LONG_MS, LH_POLICY_STRICT, NULL, 0,
	LH_SHARED };

static const struct into brief = { 5000, 0, NULL, 0, 0 };
static const struct into brief_reads = { 5000, 0, NULL, 0, LH_SHARED };

/* A call that presents a lease. */
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
upgrade(void *arg)
{
	struct call *c = arg;

	return lh_convert(c->lh, &c->lease, LH_EXCLUSIVE);
}

static int
set_value(void *arg)
{
	struct call *c = arg;

	return lh_value_set(c->lh, &c->lease, "late", 4);
}

/* The call is stopped until the lease's session has ended and another process
 * has seen that: the lease is lost for good. */
static void
session_ends(const char *what, int (*fn)(void *), const char *point)
{
	struct lh_session *s = replay_session(lh, "a", TTL_MS, 0);
	struct call c = { .lh = lh };
	struct lh_session_info info;
	struct lh_lease n, copy;
	char value[LH_VALUE_MAX];
	size_t len;

	c.to = replay_session(lh, "b", REPLAY_LONG_MS, 0);
	is(into(lh, s, "k", &usual, &c.lease), 0, "%s: a lease", what);
	copy = c.lease;
	is(lh_session_info(s, &info), 0, "info");
	replay_stop("presenter", point, fn, &c);
	t_sleep_until(info.expires_ns + 5 * T_NS_PER_MS);
	is(lh_verify(other, &copy), -ESTALE, "lost, at %s", point);
	is(replay_finish("presenter"), -ESTALE, "%s finds it lost", what);
	is(replay_try(other, "k", &n), 0, "others acquire the key");
	is(lh_value_get(other, "k", value, &len, NULL), 0, "its value");
	is((int)len, 0, "was not set");
	is(lh_release(other, &n), 0, "release");
	is(lh_session_destroy(c.to), 0, "destroy");
	lh_session_close(c.to);
	lh_session_close(s);
}

static struct lh_lease *theirs;		/* shared with the child */

static int
child_acquires(void *arg)
{
	struct lh *mine = replay_open(arg, 0);

	return into(mine, replay_session(mine, "v", 60000, 0), "v", &valued,
	    theirs);
}

/* A process is killed between its grant and the value: the repeated request has
 * both. */
static void
killed_before_value(const char *table)
{
	struct lh_session *s = replay_session(lh, "v", 60000, 0);
	char value[LH_VALUE_MAX] = "";
	uint64_t token = 0;
	struct lh_lease l;
	size_t len = 0;

	replay_hold("child", "acquire.valued");
	(void)replay_fork("child", child_acquires, (void *)table);
	replay_wait_held("child");
	replay_kill("child");
	is(into(lh, s, "v", &valued, &l), 0, "the request is repeated");
	is(lh_value_get(lh, "v", value, &len, &token), 0, "its value");
	ok(len == 3 && memcmp(value, "new", 3) == 0, "was set with it");
	ok(token == l.token, "under that lease");
	is(lh_value_set(lh, &l, "newer", 5), 0, "it is set anew");
	is(into(lh, s, "v", &valued, &l), 0, "and the request repeated");
	is(lh_value_get(lh, "v", value, &len, &token), 0, "its value");
	is((int)len, 5, "is the newer one");
	is(lh_value_set(lh, &l, NULL, 0), 0, "it is cleared");
	is(into(lh, s, "v", &valued, &l), 0, "and the request repeated");
	is(lh_value_get(lh, "v", value, &len, &token), 0, "its value");
	is((int)len, 0, "stays cleared");
	is(lh_session_destroy(s), 0, "destroy");
	lh_session_close(s);
}

struct child {
	struct call c;
	int (*fn)(void *);
	char table[64];
};

static int
child_presents(void *arg)
{
	struct child *x = arg;

	x->c.lh = replay_open(x->table, 0);
	x->c.to = replay_session(x->c.lh, "t", 60000, 0);
	return x->fn(&x->c);
}

/* A process that presents a lease is killed in that call: the owners release
 * the lease all the same. */
static void
killed_presenter(const char *table, const char *what, int (*fn)(void *),
    const char *point, const struct into *how)
{
	struct lh_session *s = replay_session(lh, "s", 60000, 0);
	struct child *x = t_shared(sizeof(*x));
	struct lh_session_info info;
	struct lh_lease l, n;

	is(into(lh, s, "k", how, &l), 0, "%s: a lease", what);
	is(lh_lease_recall(lh, "k", l.id, l.token, &n), 0, "recalled");
	ok((n.expires_ns == INT64_MAX) == (how->policy == LH_POLICY_STRICT),
	    "a strict one has no deadline");
	x->c.lease = l;
	x->fn = fn;
	(void)snprintf(x->table, sizeof(x->table), "%s", table);
	replay_hold("child", point);
	(void)replay_fork("child", child_presents, x);
	replay_wait_held("child");
	replay_kill("child");
	is(lh_verify(lh, &l), 0, "killed at %s: the lease is unchanged", point);
	is(lh_extend(lh, &l, REPLAY_LONG_MS), 0, "it can be extended");
	ok(l.expires_ns >= n.expires_ns, "to a later deadline");
	is(lh_verify(lh, &l), 0, "and is held until then");
	if (how->mode == LH_EXCLUSIVE) {
		is(lh_value_set(lh, &l, "set", 3), 0, "and has a value set");
		is(lh_value_set(lh, &l, NULL, 0), 0, "and cleared");
	}
	is(lh_release(lh, &l), 0, "and released");
	is(replay_try(lh, "k", &n), 0, "the key is free");
	is(lh_release(lh, &n), 0, "release");
	is(lh_session_info(s, &info), 0, "info");
	is((int)info.leases, 0, "the session holds nothing");
	is(lh_session_destroy(s), 0, "destroy");
	lh_session_close(s);
}

/* Another process releases the lease during its conversion or hand-off. */
static void
released_meanwhile(const char *what, int (*fn)(void *), const char *point,
    bool reader)
{
	struct lh_session *s = replay_session(lh, "s", 60000, 0);
	struct call c = { .lh = lh };
	struct lh_session_info info;
	struct lh_lease l;

	c.to = replay_session(lh, "b", REPLAY_LONG_MS, 0);
	is(into(lh, s, "k", reader ? &reads : &strict, &c.lease), 0,
	    "%s: a lease", what);
	l = c.lease;
	replay_stop("presenter", point, fn, &c);
	is(lh_release(other, &l), 0, "released at %s", point);
	is(replay_finish("presenter"), -ESTALE, "%s finds it lost", what);
	is(lh_session_info(s, &info), 0, "info");
	is((int)info.leases, 0, "the session holds nothing");
	is(replay_try(other, "k", &l), 0, "the key is free");
	is(lh_release(other, &l), 0, "release");
	is(lh_session_destroy(c.to), 0, "destroy");
	is(lh_session_destroy(s), 0, "destroy");
	lh_session_close(c.to);
	lh_session_close(s);
}

/* A request is repeated while another thread's upgrade fails: its lease is
 * held. */
static void
request_in_motion(void)
{
	struct lh_session *s = replay_session(lh, "r", 60000, 0);
	const struct into asked = { REPLAY_LONG_MS, 0, NULL, 78,
	    LH_SHARED };
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 0);
	struct call c = { .lh = lh };
	struct lh_lease l, r;

	is(into(lh, s, "r", &asked, &c.lease), 0, "a reader, by a request");
	replay_stop("presenter", "convert.announced", upgrade, &c);
	is(into(lh, s, "r", &asked, &l), 0, "it is repeated meanwhile");
	ok(l.id[1] == c.lease.id[1] && l.mode == LH_SHARED, "the same lease");
	o.mode = LH_SHARED;
	is(lh_acquire(other, "r", &o, &r), 0, "another reader comes");
	is(replay_finish("presenter"), -EAGAIN, "the upgrade fails");
	is(lh_verify(lh, &l), 0, "the lease is unchanged");
	is(into(lh, s, "r", &asked, &l), 0, "the request is repeated again");
	is(lh_release(other, &r), 0, "release");
	is(lh_release(lh, &l), 0, "release");
	is(lh_session_destroy(s), 0, "destroy");
	lh_session_close(s);
}

static void
free_after(int64_t ms, const char *key)
{
	struct lh_lease n;

	t_sleep_ms(ms);
	is(replay_try(other, key, &n), 0, "until the lock-delay is over");
	is(lh_release(other, &n), 0, "release");
}

/* Both the session and the lease have ended when somebody looks. */
static void
delay_after_both(void)
{
	const struct into briefer = { t_long(500), 0, NULL, 0, 0 };
	struct lh_session *s = replay_session(lh, "d", t_long(200),
	    t_long(1500));
	struct lh_lease l, n;

	is(into(lh, s, "d", &briefer, &l), 0, "a lease");
	t_sleep_ms(t_long(700));
	is(replay_try(other, "d", &n), -EAGAIN,
	    "the key is reserved for the lock-delay");
	free_after(t_long(1600), "d");
	lh_session_close(s);
}

/* A caller that is about to reserve the key for one session is stopped until
 * the next session has ended: the next one's delay counts. */
static void
delay_stale(void)
{
	struct replay_call c = REPLAY_CALL(lh, "e", REPLAY_LONG_MS, 0);
	struct lh_session *s = replay_session(lh, "e", t_long(150),
	    t_long(100));
	struct lh_lease l, n;

	is(into(lh, s, "e", &usual, &l), 0, "a lease");
	t_sleep_ms(t_long(200));
	replay_stop("settler", "named.delaying", replay_acquire, &c);
	is(replay_try(other, "e", &n), -EAGAIN, "the key is reserved");
	t_sleep_ms(t_long(150));
	lh_session_close(s);
	s = replay_session(other, "e2", t_long(150),
	    t_long(1500));
	is(into(other, s, "e", &usual, &l), 0, "the next session acquires it");
	t_sleep_ms(t_long(200));
	is(replay_try(other, "e", &n), -EAGAIN, "the key is reserved again");
	is(replay_finish("settler"), -EAGAIN, "the first caller is too late");
	t_sleep_ms(t_long(300));
	is(replay_try(other, "e", &n), -EAGAIN, "the key is still reserved");
	free_after(t_long(1300), "e");
	lh_session_close(s);
}

static void
play_all(void)
{
	const char *table = replay_begin();

	theirs = t_shared(sizeof(*theirs));
	lh = replay_open(table, 0);
	killed_before_value(table);
	killed_presenter(table, "downgrade", downgrade, "convert.announced",
	    &strict);
	killed_presenter(table, "hand-off", hand_over, "handoff.taken",
	    &strict);
	killed_presenter(table, "upgrade", upgrade, "convert.announced",
	    &reads);
	killed_presenter(table, "downgrade", downgrade, "convert.announced",
	    &brief);
	killed_presenter(table, "hand-off", hand_over, "handoff.taken",
	    &brief);
	killed_presenter(table, "upgrade", upgrade, "convert.announced",
	    &brief_reads);
	other = replay_open(table, 0);
	released_meanwhile("downgrade", downgrade, "convert.announced",
	    false);
	released_meanwhile("hand-off", hand_over, "handoff.taken", false);
	released_meanwhile("upgrade", upgrade, "convert.announced", true);
	released_meanwhile("reader's hand-off", hand_over, "handoff.taken",
	    true);
	released_meanwhile("reader's hand-off", hand_over, "handoff.swapped",
	    true);
	session_ends("hand-off", hand_over, "handoff.announced");
	session_ends("hand-off", hand_over, "handoff.taken");
	session_ends("downgrade", downgrade, "convert.prepared");
	session_ends("downgrade", downgrade, "convert.announced");
	session_ends("value", set_value, "value.held");
	request_in_motion();
	delay_after_both();
	delay_stale();
	is(t_findings(lh), 0, "the table is sound");
	t_close(other);
	t_close(lh);
}

int
main(void)
{
	t_part(play_all, 140, "session meets");
	return done();
}
