/* SPDX-License-Identifier: MIT */
/*
 * lh_stats(): acquisitions are counted exactly, whichever path they took and
 * whatever failed beside them; the other counters count the events that
 * happened.
 *
 * Otherwise operators and the metrics page would see figures that do not fit
 * together.
 */
#include <errno.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

#define HOUR_MS (3600 * 1000)

static struct lh *lh;
static struct lh_counters was;

static struct lh_counters
now(void)
{
	struct lh_stats st = { .size = sizeof(st) };

	is(lh_stats(lh, &st), 0, "statistics");
	return st.counters;
}

static void begin(void) { was = now(); }

/* How much more of that there is than when it began. */
#define MORE(what) ((long)(now().what - was.what))

static void
pairs(struct lh_key *key, const struct lh_acquire_opts *o, int n)
{
	struct lh_lease l;

	for (int i = 0; i < n; i++) {
		if ((key != NULL ? lh_key_acquire(key, o, &l) :
		    lh_acquire(lh, "by name", o, &l)) != 0 ||
		    lh_release(lh, &l) != 0)
			bail_out("no pair: %s", lh_error_detail());
	}
}

static void
every_path(void)
{
	struct lh_acquire_opts shared = LH_ACQUIRE_OPTS_INIT;
	struct lh_acquire_opts brief = t_opts(t_ms(500), 0);
	struct lh_lease many[20];
	struct lh_key *key;

	shared.mode = LH_SHARED;
	is(lh_key_open(lh, "opened", 0, &key), 0, "a key");
	begin();
	pairs(key, NULL, 1000);
	is(MORE(acquired), 1000, "of an opened key");
	pairs(NULL, NULL, 100);
	is(MORE(acquired), 1100, "by name, which makes it");
	is(MORE(keys_made), 1, "one key");
	pairs(key, &brief, 10);
	pairs(key, NULL, 10);
	is(MORE(acquired), 1120, "with options");
	is(MORE(shared), 0, "none shared");
	pairs(key, &shared, 100);
	is(MORE(acquired), 1220, "as a reader alone");
	is(MORE(shared), 100, "all of those shared");
	for (int i = 0; i < 20; i++)
		is(lh_key_acquire(key, &shared, &many[i]), 0, "a reader");
	for (int i = 1; i < 20; i++)
		is(lh_release(lh, &many[i]), 0, "goes");
	pairs(key, &shared, 100);
	is(lh_release(lh, &many[0]), 0, "the last");
	is(MORE(acquired), 1340, "as readers beside others");
	is(MORE(shared), 220, "all of those shared, too");
	is(lh_key_close(key), 0, "closed");
}

static void
own_leases(void)
{
	struct lh_lease l = t_hold(lh, "mine"), other;
	struct lh_acquire_opts brief = t_opts(1000, t_ms(50));

	brief.flags = LH_NO_DEADLOCK;
	begin();
	is(lh_convert(lh, &l, LH_SHARED), 0, "downgraded");
	is(lh_convert(lh, &l, LH_EXCLUSIVE), 0, "upgraded");
	is(MORE(converts), 2, "two conversions");
	is(MORE(acquired), 0, "which are no acquisitions");
	for (int i = 0; i < 10; i++)
		is(lh_extend(lh, &l, HOUR_MS), 0, "extended");
	is(MORE(extends), 10, "ten extensions");
	is(t_acquire(lh, "mine", 1000, 0, &other), -EAGAIN, "tried");
	is(MORE(busy), 1, "one failed");
	is(lh_acquire(lh, "mine", &brief, &other), -ETIMEDOUT, "waited");
	is(MORE(timeouts), 1, "a timeout is counted");
	is(MORE(waits), 1, "one wait");
	is(MORE(waited), 0, "not granted");
	is(MORE(acquired), 0, "and nothing acquired");
	is(lh_release(lh, &l), 0, "released");
	is(t_acquire(lh, "mine", t_ms(200), 0, &l), 0, "for 200 ms");
	t_sleep_until(l.expires_ns + T_NS_PER_MS);
	is(lh_extend(lh, &l, 1000), -ESTALE, "which are over");
	is(MORE(expired_own), 1, "so it has expired");
	is(MORE(told_lost), 1, "and the report of a loss is counted");
	is(MORE(acquired), 1, "one acquisition");
}

static void
with_others(const char *table)
{
	struct t_actor *a = t_actor(table), *b = t_actor(table);
	struct lh_lease l = t_hold(lh, "k");
	uint64_t sum = 0;

	begin();
	t_begin_acquire(a, "k", HOUR_MS, HOUR_MS);
	ok(t_await_waiters(lh, "k", 1), "another waits");
	t_sleep_ms(30);
	is(lh_release(lh, &l), 0, "released");
	is(t_result(a), 0, "granted");
	is(MORE(waits), 1, "one wait");
	is(MORE(waited), 1, "which ended in a grant");
	cmp(MORE(wait_us), >=, 25000, "after as long as it was");
	for (int i = 12; i < LH_HISTOGRAM; i++)
		sum += now().wait[i] - was.wait[i];
	is(sum, 1, "and in a class of that");
	is(MORE(acquired), 1, "one acquisition");
	t_actor_kill(a);
	t_begin_acquire(b, "k", t_ms(200), HOUR_MS);
	is(t_result(b), 0, "it dies, and another has the key");
	is(MORE(died), 1, "one lease of the dead");
	is(MORE(deaths), 1, "one death");
	is(MORE(acquired), 2, "another acquisition");
	is(t_acquire(lh, "k", HOUR_MS, HOUR_MS, &l), 0, "it runs out");
	is(MORE(expired_others), 1, "which we noticed");
	is(MORE(acquired), 3, "a third");
	is(lh_release(lh, &l), 0, "released");
	t_actor_end(b);
	t_actor_free(a);
	is(MORE(acquired), 3, "whoever ends");
}

struct crowd {
	struct lh *lh;
	int n;
};

static void *
contend(void *arg)
{
	struct crowd *c = arg;
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	struct lh_lease l;
	char own[32];

	(void)snprintf(own, sizeof(own), "own %p", (void *)&l);
	for (int i = 0; i < c->n; i++) {
		o.mode = i % 5 == 0 ? LH_SHARED : LH_EXCLUSIVE;
		if (lh_acquire(c->lh, i % 3 != 0 ? "all" : own, &o, &l) != 0 ||
		    lh_release(c->lh, &l) != 0)
			return c;
	}
	return NULL;
}

static int
contend_in_child(void *arg)
{
	struct crowd c = { NULL, *(int *)arg };

	if (lh_open(&c.lh, lh_table_name(lh), NULL) != 0 ||
	    contend(&c) != NULL)
		return 1;
	return lh_close(c.lh) != 0;
}

/* Threads of two processes, all after the same keys. */
static void
contended(void)
{
	struct crowd c = { lh, t_count(20000, 500) };
	unsigned long threads[3];
	pid_t pid;

	begin();
	pid = t_fork(contend_in_child, &c.n);
	for (int i = 0; i < 3; i++)
		threads[i] = t_thread(contend, &c);
	for (int i = 0; i < 3; i++)
		ok(t_join(threads[i]) == NULL, "a thread is through");
	is(t_reap(pid, T_HANG_MS), 0, "the other process, too");
	is(MORE(acquired), 4 * c.n, "contended, by threads and processes");
	is(MORE(shared), 4 * ((c.n + 4) / 5), "as many of them shared");
	cmp(MORE(waits), >=, MORE(waited), "none has waited twice");
}

static int
find_own(const struct lh_session_stats *s, void *arg)
{
	struct lh_counters *c = arg;

	if (s->id == lh_session_id(lh)) {
		*c = s->counters;
		return 7;
	}
	return 0;
}

static void
by_session(void)
{
	struct lh_counters before, after;

	is(lh_stats_sessions(lh, find_own, &before), 7, "our own session");
	pairs(NULL, NULL, 50);
	is(lh_stats_sessions(lh, find_own, &after), 7, "again");
	is(after.acquired - before.acquired, 50, "what it acquired");
	is(lh_stats_sessions(lh, NULL, NULL), -EINVAL, "nobody to tell");
	is(lh_stats_sessions(NULL, find_own, NULL), -EINVAL, "no table");
}

int
main(void)
{
	const char *table = t_table();

	lh = t_open(table);
	is(now().acquired, 0, "nothing yet");
	every_path();
	own_leases();
	with_others(table);
	contended();
	by_session();
	t_close(lh);
	return done();
}
