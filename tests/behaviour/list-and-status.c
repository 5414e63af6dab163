/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G3, lh_status() and lh_list(): they report who holds and who waits,
 * in the order in which waiters are due, with everything that identifies them,
 * and never a holder that has expired or died.  The order is compared with the
 * order of the grants that follow.
 *
 * Otherwise an operator would see holders that do not exist, or a wrong queue.
 */
#include <errno.h>
#include <unistd.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

#define WAITERS 4

struct report {
	struct lh_key_info info;
	char key[256];
	struct lh_party holder, waiters[WAITERS + 2];
	int calls;
};

static int
keep(const struct lh_key_info *info, void *arg)
{
	struct report *r = arg;

	r->calls++;
	r->info = *info;
	snprintf(r->key, sizeof(r->key), "%s", info->key);
	if (info->n_holders > 0)
		r->holder = info->holders[0];
	for (uint32_t i = 0; i < info->n_waiters && i < WAITERS + 2; i++)
		r->waiters[i] = info->waiters[i];
	return 0;
}

static int
stop_at_three(const struct lh_key_info *info, void *arg)
{
	(void)info;
	return ++*(int *)arg == 3 ? 33 : 0;
}

static int
count_prefix(const struct lh_key_info *info, void *arg)
{
	if (strncmp(info->key, "group/", 6) == 0)
		++*(int *)arg;
	else
		*(int *)arg += 1000;
	return 0;
}

/* A callback may use the table. */
static int
nested(const struct lh_key_info *info, void *arg)
{
	struct lh_lease l;
	int n = 0;

	if (t_acquire(arg, "from inside", 1000, 0, &l) != 0 ||
	    lh_release(arg, &l) != 0 ||
	    lh_status(arg, info->key, NULL, stop_at_three, &n) != 0)
		return 1;
	return 0;
}

static int
open_named(struct t_actor *a, void *arg)
{
	struct lh_open_opts o = t_open_opts();

	o.application = "a-program-with-a-name-that-is-too-long-to-show";
	lh_close(a->lh);
	return lh_open(&a->lh, arg, &o);
}

static bool
holder_and_waiters(void *arg)
{
	static const uint32_t priority[WAITERS] = { 0, 7, 0, 7 };
	static const int due[WAITERS] = { 1, 3, 0, 2 };
	struct lh_acquire_opts o = t_opts(3600000, 3600000);
	struct t_actor *h, *w[WAITERS];
	bool had[WAITERS] = { false }, in_order = true;
	const char *table = lh_table_name(arg);
	struct report r = { .calls = 0 };
	struct lh *lh = arg;
	struct t_actor *last;
	int64_t now;

	h = t_actor(table);
	is(t_do(h, open_named, (void *)(uintptr_t)table), 0, "a named holder");
	is(t_do_acquire(h, "k", 600000, 0), 0, "holds");
	for (int i = 0; i < WAITERS; i++) {
		w[i] = t_actor(table);
		o.priority = priority[i];
		t_begin_acquire_opts(w[i], "k", &o);
		ok(t_await_waiters(lh, "k", i + 1), "waiter %d", i + 1);
	}
	is(lh_status(lh, "k", NULL, keep, &r), 0, "status");
	now = lh_clock_ns(lh);
	is(r.calls, 1, "tells the key once");
	is(r.info.size, sizeof(r.info), "with its size");
	is_str(r.key, "k", "its name");
	is_u64(r.info.token, h->lease.token, "its token");
	is(r.info.mode, LH_EXCLUSIVE, "its mode");
	is(r.info.n_holders, 1, "one holder");
	is(r.info.n_waiters, WAITERS, "and who waits");
	is_u64(r.holder.id[0], h->lease.id[0], "the holder's session");
	is_u64(r.holder.id[1], h->lease.id[1], "and lease");
	is(r.holder.pid, h->pid, "process");
	is(r.holder.tid, h->pid, "thread");
	is(r.holder.uid, getuid(), "user");
	is(r.holder.rank, 0, "rank");
	is(r.holder.expires_ns, h->lease.expires_ns, "deadline");
	cmp(r.holder.since_ns, >, now - t_ms(60000) * T_NS_PER_MS,
	    "since when");
	cmp(r.holder.since_ns, <=, now, "not the future");
	is(strlen(r.holder.application), LH_APPLICATION_MAX,
	    "its name is cut to size");
	ok(strncmp(r.holder.application, "a-program-with-a-name", 21) == 0,
	    "and is its name");
	for (int i = 0; i < WAITERS; i++) {
		struct lh_party *p = &r.waiters[i];
		struct t_actor *a = w[due[i]];

		is(p->pid, a->pid, "due as number %d", i + 1);
		is(p->rank, i + 1, "rank");
		is(p->priority, priority[due[i]], "priority");
		is(p->expires_ns, 0, "no deadline");
		cmp(p->since_ns, >=, a->began_ns - 20 * T_NS_PER_MS,
		    "waiting since it began");
		cmp(p->since_ns, <=, now, "not the future");
	}
	last = h;
	is(t_do_release(h), 0, "released");
	for (int i = 0; i < WAITERS; i++) {
		int who = t_who(w, WAITERS, had);
		struct t_actor *a = w[who < 0 ? 0 : who];

		if (who < 0)
			bail_out("nobody is granted");
		had[who] = true;
		is(a->result, 0, "number %d is granted", i + 1);
		if (who != due[i] || a->lease.id[0] != r.waiters[0].id[0]) {
			diag("it is not who was due");
			in_order = false;
		}
		is(lh_status(lh, "k", a->lease.id, keep, &r), 0,
		    "it holds, asked for by its id");
		is(lh_status(lh, "k", last->lease.id, keep, &r), -ESTALE,
		    "the one before no more");
		is(lh_status(lh, "k", NULL, keep, &r), 0, "status");
		is(r.holder.pid, a->pid, "tells the holder");
		is(r.info.n_waiters, WAITERS - 1 - i, "and the others");
		for (int j = i + 1; in_order && j < WAITERS; j++) {
			struct lh_party *p = &r.waiters[j - i - 1];

			if (p->pid != (uint32_t)w[due[j]]->pid ||
			    p->rank != (uint32_t)(j - i))
				fail("they move up in order");
		}
		last = a;
		is(t_do_release(a), 0, "it releases");
	}
	is(lh_status(lh, "k", NULL, keep, &r), 0, "the key is still there");
	is(r.info.n_holders, 0, "free");
	is_u64(r.info.token, last->lease.token, "with the last token");
	t_actor_end(h);
	for (int i = 0; i < WAITERS; i++)
		t_actor_end(w[i]);
	return in_order;
}

static void
gone_are_not_told(struct lh *lh, const char *table)
{
	struct t_actor *a = t_actor(table);
	struct report r = { .calls = 0 };
	struct lh_lease l;

	is(t_acquire(lh, "short", t_ms(1000), 0, &l), 0, "a short lease");
	is(t_holders(lh, "short"), 1, "is reported");
	t_sleep_until(l.expires_ns + T_NS_PER_MS);
	is(lh_status(lh, "short", l.id, keep, &r), -ESTALE,
	    "after its end it is not");
	is(t_holders(lh, "short"), 0, "the key is free");
	is(lh_release(lh, &l), -ESTALE, "and the question has ended it");

	is(t_do_acquire(a, "dead", 3600000, 0), 0, "another holds a key");
	t_actor_kill(a);
	ok(t_until(T_HANG_MS, t_holders(lh, "dead") == 0),
	    "killed, it is not reported as a holder");
	is(lh_status(lh, "dead", a->lease.id, keep, &r), -ESTALE,
	    "nor under its id");
	t_actor_free(a);
}

static void
listing(struct lh *lh)
{
	struct report r = { .calls = 0 };
	char name[32];
	int n = 0;

	for (int i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "group/%d", i);
		lh_key_create(lh, name);
		snprintf(name, sizeof(name), "groups-%d", i);
		lh_key_create(lh, name);
	}
	is(lh_list(lh, "group/", count_prefix, &n), 0, "a prefix");
	is(n, 20, "tells those that begin so");
	n = 0;
	is(lh_list(lh, "nothing", count_prefix, &n), 0, "an unknown prefix");
	is(n, 0, "tells nothing");
	is(lh_list(lh, "group/7", keep, &r), 0, "a whole key");
	is(r.calls, 1, "is a prefix");
	n = 0;
	is(lh_list(lh, "group", stop_at_three, &n), 33,
	    "the callback's result ends it");
	is(n, 3, "at once");
	r.calls = 0;
	is(lh_list(lh, "", keep, &r), 0, "an empty prefix");
	n = r.calls;
	r.calls = 0;
	is(lh_list(lh, NULL, keep, &r), 0, "and none");
	is(r.calls, n, "are the same");
	cmp(n, >=, 42, "and tell everything");
	is(lh_list(lh, "group/", nested, lh), 0, "callbacks use the table");
	is(lh_status(lh, "unheard of", NULL, keep, &r), -ENOENT,
	    "an unknown key is said to be so");
	is(lh_status(lh, "group/1", NULL, stop_at_three, &n), 0, "status");
	n = 2;
	is(lh_status(lh, "group/1", NULL, stop_at_three, &n), 33,
	    "passes the callback's result on");
}

int
main(void)
{
	const char *table = t_table();
	struct lh *lh = t_open(table);

	ok(t_tries(3, holder_and_waiters, lh),
	    "who was due by the report was granted in that order");
	gone_are_not_told(lh, table);
	listing(lh);
	t_close(lh);
	return done();
}
