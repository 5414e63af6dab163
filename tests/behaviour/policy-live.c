/* SPDX-License-Identifier: MIT */
/* test: slow 6 */
/*
 * Guarantee G3, policy live: the lease of a running holder is moved on before
 * its deadline, by a caller that wants the key or by the reaper.  That of a
 * stopped or dead holder is not, and one that nobody looks at ends.  An
 * observer that gets no processor for half of a ttl does not look in time, and
 * the lease ends rightly.  So each part is played by a process of its own,
 * again with four times the ttl if its processes were kept waiting.
 *
 * Otherwise a running holder would lose its key, or a stopped one would keep it
 * for ever.
 */
#include <errno.h>
#include <unistd.h>
#include "support/actor.h"
#include "support/reaper.h"
#include "support/support.h"
#include "tap.h"

#define HOUR_MS 3600000
#define WAIT_MS (13 * scene->ttl_ms / 4)	/* over three deadlines */

static struct lh_acquire_more live = LH_ACQUIRE_MORE_INIT;

static struct scene {
	void (*play)(const char *table, struct lh *lh);
	const char *table;
	int64_t ttl_ms;
	int64_t awake_ms;		/* of all who are in it */
} *scene;

static struct t_actor *
enter(const char *table)
{
	struct t_actor *a = t_actor(table);

	scene->awake_ms -= t_awake_ms(a->pid);
	return a;
}

static void
leave(struct t_actor *a)
{
	scene->awake_ms += t_awake_ms(a->pid);
	t_actor_end(a);
}

static struct lh_acquire_opts
live_opts(int64_t ttl_ms, uint32_t mode)
{
	struct lh_acquire_opts o = t_opts(ttl_ms, 0);

	o.more = &live;
	o.mode = mode;
	return o;
}

static int
is_live(const struct lh_key_info *info, void *arg)
{
	(void)arg;
	return info->n_holders == 1 &&
	    info->holders[0].policy == LH_POLICY_LIVE ? 1 : 2;
}

static void
hold(struct t_actor *a, int64_t ttl_ms, uint32_t mode)
{
	struct lh_acquire_opts o = live_opts(ttl_ms, mode);

	t_begin_acquire_opts(a, "k", &o);
	is(t_result(a), 0, "another process holds the key");
}

/* The others want it while its holder runs, then is stopped. */
static void
waited_for(const char *table, struct lh *lh, uint32_t mode)
{
	struct t_actor *a = enter(table), *b = enter(table);
	struct lh_lease l;
	int64_t end;

	hold(a, scene->ttl_ms, mode);
	if (mode == LH_SHARED)
		hold(b, scene->ttl_ms, mode);
	is(lh_status(lh, "k", NULL, is_live, NULL), mode == LH_SHARED ? 2 : 1,
	    "shown with its policy");
	is(t_acquire(lh, "k", HOUR_MS, WAIT_MS, &l), -ETIMEDOUT,
	    "who waits sees that it runs, and does not get it");
	is(t_do_verify(a), 0, "it is held, long after its first deadline");
	if (mode == LH_SHARED)
		is(t_do_verify(b), 0, "and so is the other reader's");
	is(t_do_extend(a, scene->ttl_ms), 0, "the holder may extend");
	if (mode == LH_SHARED) {
		is(t_do_release(b), 0, "one is released");
		is(t_do_extend(a, scene->ttl_ms), 0, "the other extended");
	}
	end = a->lease.expires_ns;
	t_stop(a->pid);
	is(t_acquire(lh, "k", HOUR_MS, T_HANG_MS, &l), 0,
	    "stopped, it loses the key");
	cmp(t_now_ns(), >=, end, "not before its deadline");
	cmp(t_since_ms(end), <, T1_MS + t_ms(250), "soon after it");
	is(l.notes, LH_NOTE_PREVIOUS_EXPIRED, "with the note");
	t_cont(a->pid);
	is(t_do_verify(a), -ESTALE, "and learns so");
	is(lh_release(lh, &l), 0, "released");
	leave(a);
	leave(b);
}

static void
tried(const char *table, struct lh *lh)
{
	struct t_actor *a = enter(table);
	struct lh_lease l;
	int64_t until = t_now_ns() + WAIT_MS * T_NS_PER_MS;
	int got = -EAGAIN;

	hold(a, scene->ttl_ms, LH_EXCLUSIVE);
	while (got == -EAGAIN && t_now_ns() < until) {
		got = t_acquire(lh, "k", HOUR_MS, 0, &l);
		t_sleep_ms(20);
	}
	is(got, -EAGAIN, "tries see that it runs, too");
	is(t_do_verify(a), 0, "it is held");
	scene->awake_ms += t_awake_ms(a->pid);
	t_actor_kill(a);
	ok(t_until(T2_MS, t_acquire(lh, "k", HOUR_MS, 0, &l) == 0),
	    "killed, it loses the key at once");
	is(l.notes, LH_NOTE_PREVIOUS_DIED, "with the note");
	is(lh_release(lh, &l), 0, "released");
	t_actor_free(a);
}

static void
unobserved(const char *table, struct lh *lh)
{
	struct t_actor *a = enter(table);
	struct lh_lease l;

	hold(a, t_ms(50), LH_EXCLUSIVE);
	t_sleep_ms(t_ms(60));
	is(t_acquire(lh, "k", HOUR_MS, 0, &l), 0,
	    "nobody looked: who comes after its deadline gets it");
	is(t_do_verify(a), -ESTALE, "the holder learns so");
	is(lh_release(lh, &l), 0, "released");
	leave(a);
}

static void
reaped(const char *table, struct lh *lh)
{
	struct lhi_reaper *r = t_reaper(table);
	struct t_actor *a = enter(table);

	hold(a, scene->ttl_ms, LH_EXCLUSIVE);
	t_reap_for(r, WAIT_MS);
	is(t_do_verify(a), 0, "a reaper keeps it while its process runs");
	t_stop(a->pid);
	t_reap_for(r, 7 * scene->ttl_ms / 4);
	t_cont(a->pid);
	is(t_do_verify(a), -ESTALE, "and ends it when that is stopped");
	is(t_holders(lh, "k"), 0, "nobody holds it");
	lhi_reap_close(r);
	leave(a);
}

static void
converted(const char *table, struct lh *lh)
{
	struct lh_acquire_opts o = live_opts(scene->ttl_ms, LH_EXCLUSIVE);
	struct t_actor *b = enter(table);
	struct lh_lease l;

	is(lh_acquire(lh, "k", &o, &l), 0, "mine");
	is(lh_convert(lh, &l, LH_SHARED), 0, "down");
	is(lh_status(lh, "k", NULL, is_live, NULL), 1, "its policy stays");
	is(lh_convert(lh, &l, LH_EXCLUSIVE), 0, "and up");
	is(lh_status(lh, "k", NULL, is_live, NULL), 1, "it stays");
	t_begin_acquire(b, "k", HOUR_MS, WAIT_MS);
	is(t_result(b), -ETIMEDOUT, "another's wait for it times out");
	is(lh_verify(lh, &l), 0, "it is held");
	is(lh_break(lh, "k", NULL, 0), 1, "an operator ends it");
	is(lh_verify(lh, &l), -ESTALE, "lost");
	leave(b);
}

static void
handed_over(const char *table, struct lh *lh)
{
	struct lh_acquire_opts o = live_opts(scene->ttl_ms, LH_EXCLUSIVE);
	struct lh_session_opts for_long = LH_SESSION_OPTS_INIT;
	struct lh_acquire_more into = live;
	struct t_actor *b = enter(table);
	struct lh_session *s;
	struct lh_lease l, m;

	for_long.ttl_ms = HOUR_MS;
	is(lh_session_open(lh, NULL, &for_long, &s), 0, "a session");
	is(lh_acquire(lh, "k", &o, &l), 0, "mine");
	is(lh_handoff(lh, &l, NULL), 0, "mine, by another claim");
	is(lh_status(lh, "k", NULL, is_live, NULL), 1, "its policy stays");
	t_begin_acquire(b, "k", HOUR_MS, WAIT_MS);
	is(t_result(b), -ETIMEDOUT, "another's wait for it times out");
	is(lh_verify(lh, &l), 0, "it is held");
	is(lh_handoff(lh, &l, s), -EINVAL, "no session's, for which no "
	    "process could be seen to run");
	ok(t_has_detail(), "and that is said");
	is(lh_status(lh, "k", NULL, is_live, NULL), 1, "it is as it was");
	t_begin_acquire(b, "k", HOUR_MS, WAIT_MS);
	is(t_result(b), -ETIMEDOUT, "and a wait for it times out");
	o.more = &into;
	into.session = s;
	is(lh_acquire(lh, "j", &o, &m), -EINVAL, "nor is one acquired so");
	is(lh_release(lh, &l), 0, "released");
	is(lh_session_destroy(s), 0, "the session ends");
	lh_session_close(s);
	leave(b);
}

static void
queued(const char *table, struct lh *lh)
{
	struct lh_acquire_opts o = live_opts(scene->ttl_ms, LH_EXCLUSIVE);
	struct t_actor *a = enter(table);
	struct lh_lease l = t_hold(lh, "k");

	o.max_wait_ms = T_HANG_MS;
	t_begin_acquire_opts(a, "k", &o);
	ok(t_await_waiters(lh, "k", 1), "one waits");
	is(lh_release(lh, &l), 0, "and gets it");
	is(t_result(a), 0, "from the queue");
	is(lh_status(lh, "k", NULL, is_live, NULL), 1, "with its policy");
	is(t_acquire(lh, "k", HOUR_MS, WAIT_MS, &l), -ETIMEDOUT,
	    "which holds");
	is(t_do_release(a), 0, "released");
	leave(a);
}

static void
exclusive(const char *table, struct lh *lh)
{
	waited_for(table, lh, LH_EXCLUSIVE);
}

static void
shared(const char *table, struct lh *lh)
{
	waited_for(table, lh, LH_SHARED);
}

static int
play(void *arg)
{
	struct lh *lh = t_open(scene->table);

	(void)arg;
	scene->awake_ms = -t_awake_ms(getpid());
	scene->play(scene->table, lh);
	scene->awake_ms += t_awake_ms(getpid());
	t_close(lh);
	return 0;
}

/* One that does not come to its end was not held up. */
static bool
played(void)
{
	scene->awake_ms = 0;
	scene->table = t_table();
	return t_reap(t_fork(play, NULL), 5 * T_HANG_MS) == 0;
}

static void
part(void (*fn)(const char *table, struct lh *lh), const char *name)
{
	bool held;

	scene->play = fn;
	scene->ttl_ms = 200;
	while (!(held = played()) && scene->ttl_ms < 3200 &&
	    scene->awake_ms >= scene->ttl_ms / 4) {
		diag("awake for %jd ms, with a ttl of %jd: again",
		    (intmax_t)scene->awake_ms, (intmax_t)scene->ttl_ms);
		scene->ttl_ms *= 4;
	}
	ok(held, "%s", name);
}

int
main(void)
{
	live.policy = LH_POLICY_LIVE;
	scene = t_shared(sizeof(*scene));
	part(exclusive, "one that is waited for");
	part(shared, "two readers that are waited for");
	part(tried, "one that is tried");
	part(unobserved, "one that nobody looks at");
	part(reaped, "one that a reaper sees");
	part(converted, "one that is converted");
	part(handed_over, "one that is handed over");
	part(queued, "one from the queue");
	return done();
}
