/* SPDX-License-Identifier: MIT */
/* The director's side and the hook: see replay.h. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "replay.h"
#include "prim/shared.h"
#include "proc/attachment.h"

#ifndef LHI_HOOKS
#error "replays need a library with named points: build with F=hooks"
#endif

#define N_ROLES 20
#define ALARM_S 10
#define POINT_LEN 40

/* In memory that the children share. */
struct role {
	char name[16];
	char point[POINT_LEN];
	_Atomic bool armed;
	_Atomic int arrivals_left;
	struct t_event held, go, ended;
	uint32_t holds;		/* how often it was armed */
	uint32_t waited;	/* how often it was waited for */
	uint32_t runs;
	int result;
	int (*fn)(void *arg);
	void *arg;
	unsigned long thread;
	pid_t pid;		/* 0: a thread */
};

/* what a library with hooks calls; whoever links it has it */
void (*lhi_hook)(const char *what, const void *addr);

static struct role *roles;
static const char *the_table;
static __thread struct role *self;

static void
on_point(const char *what, const void *addr)
{
	struct role *r = self;
	int saved;

	(void)addr;
	if (r == NULL || !atomic_load(&r->armed) ||
	    strcmp(what, r->point) != 0 ||
	    atomic_fetch_sub(&r->arrivals_left, 1) != 1)
		return;
	saved = errno;
	atomic_store(&r->armed, false);
	t_post(&r->held);
	/* the director may arm it again before it continues */
	(void)t_await(&r->go, atomic_load(&r->held.count), 2 * REPLAY_MS);
	errno = saved;
}

static struct role *
role_of(const char *name)
{
	for (int i = 0; i < N_ROLES; i++) {
		if (roles[i].name[0] == '\0')
			memcpy(roles[i].name, name,
			    strnlen(name, sizeof(roles[i].name) - 1));
		if (strcmp(roles[i].name, name) == 0)
			return &roles[i];
	}
	bail_out("more than %d roles", N_ROLES);
}

/* The schedule cannot be played: nothing after this would mean anything. */
static void
give_up(const char *fmt, const char *a, const char *b)
{
	fail(fmt, a, b);
	(void)done();
	exit(1);
}

const char *
replay_begin(void)
{
	the_table = t_table();
	roles = t_shared(N_ROLES * sizeof(*roles));
	lhi_hook = on_point;
	alarm((unsigned)(ALARM_S * t_stretch()));
	return the_table;
}

struct lh_open_opts
replay_opts(uint32_t max_sessions)
{
	struct lh_open_opts o = t_open_opts();

	if (max_sessions != 0)
		o.max_sessions = max_sessions;
	return o;
}

struct lh *
replay_open(const char *table, uint32_t max_sessions)
{
	struct lh_open_opts o = replay_opts(max_sessions);
	struct lh *lh = NULL;
	int r = lh_open(&lh, table, &o);

	if (r != 0)
		bail_out("lh_open(%s): %s: %s", table, lh_strerror(r),
		    lh_error_detail());
	return lh;
}

static void *
run_thread(void *arg)
{
	struct role *r = arg;

	self = r;
	r->result = r->fn(r->arg);
	t_post(&r->ended);
	return NULL;
}

static int
run_child(void *arg)
{
	alarm((unsigned)(ALARM_S * t_stretch()));
	(void)run_thread(arg);
	return 0;
}

static struct role *
cast(const char *role, int (*fn)(void *arg), void *arg)
{
	struct role *r = role_of(role);

	r->fn = fn;
	r->arg = arg;
	r->runs++;
	return r;
}

void
replay_go(const char *role, int (*fn)(void *arg), void *arg)
{
	struct role *r = cast(role, fn, arg);

	r->pid = 0;
	r->thread = t_thread(run_thread, r);
}

pid_t
replay_fork(const char *role, int (*fn)(void *arg), void *arg)
{
	struct role *r = cast(role, fn, arg);

	return r->pid = t_fork(run_child, r);
}

void
replay_hold_nth(const char *role, const char *point, int n)
{
	struct role *r = role_of(role);

	/* or the next one to be waited for would be that one */
	if (atomic_load(&r->held.count) > r->waited)
		bail_out("%s was held at %s, and not waited for", role,
		    r->point);
	strncpy(r->point, point, sizeof(r->point) - 1);
	atomic_store(&r->arrivals_left, n);
	r->holds++;
	atomic_store(&r->armed, true);
}

void
replay_hold(const char *role, const char *point)
{
	replay_hold_nth(role, point, 1);
}

void
replay_wait_held(const char *role)
{
	struct role *r = role_of(role);

	if (!t_await(&r->held, ++r->waited, t_ms(REPLAY_MS)))
		give_up("%s comes to %s", role, r->point);
}

bool
replay_comes(const char *role)
{
	struct role *r = role_of(role);
	bool ended;

	do
		ended = !replay_running(role);
	while (!t_await(&r->held, r->waited + 1, 0) && !ended &&
	    usleep(20) == 0);
	if (!t_await(&r->held, r->waited + 1, 0)) {
		atomic_store(&r->armed, false);
		return false;
	}
	r->waited++;
	return true;
}

void
replay_release(const char *role)
{
	t_post(&role_of(role)->go);
}

bool
replay_running(const char *role)
{
	struct role *r = role_of(role);

	return atomic_load(&r->ended.count) < r->runs;
}

bool
replay_is_to_be_held(const char *role)
{
	return atomic_load(&role_of(role)->armed);
}

int
replay_result(const char *role)
{
	struct role *r = role_of(role);
	int ended;

	if (!t_await(&r->ended, r->runs, t_ms(REPLAY_MS)))
		give_up("%s comes to an end%s", role, "");
	if (r->pid == 0) {
		(void)t_join(r->thread);
	} else {
		ended = t_reap(r->pid, REPLAY_MS);
		if (ended != 0)
			fail("process %s ends well (%d)", role, ended);
	}
	return r->result;
}

void
replay_stop_nth(const char *role, const char *point, int n,
    int (*fn)(void *arg), void *arg)
{
	replay_hold_nth(role, point, n);
	replay_go(role, fn, arg);
	replay_wait_held(role);
}

void
replay_stop(const char *role, const char *point, int (*fn)(void *arg),
    void *arg)
{
	replay_stop_nth(role, point, 1, fn, arg);
}

void
replay_stop_next(const char *role, const char *point)
{
	replay_hold(role, point);
	replay_release(role);
	replay_wait_held(role);
}

int
replay_finish(const char *role)
{
	replay_release(role);
	return replay_result(role);
}

void
replay_kill(const char *role)
{
	struct role *r = role_of(role);

	t_kill(r->pid);
	/* neither ends this run, nor does it go on from where it stood */
	r->runs = atomic_load(&r->ended.count);
	atomic_store(&r->go.count, atomic_load(&r->held.count));
}

void
replay_hide_dead(struct lh *lh)
{
	struct shm_session *se = lh->v.sessions;

	for (uint32_t i = 0; i < lh->v.geo.max_sessions; i++)
		if (sh32_load_rlx(&se[i].pid) != (uint32_t)getpid())
			sh64_store(&se[i].pidns_ino, 1);
}

void
replay_killed_at(const char *role, const char *point, int (*fn)(void *arg),
    void *arg)
{
	replay_hold(role, point);
	(void)replay_fork(role, fn, arg);
	replay_wait_held(role);
	replay_kill(role);
}

int
replay_acquire(void *arg)
{
	struct replay_call *c = arg;
	struct lh_acquire_opts o = t_opts(c->ttl_ms, c->wait_ms);
	int r;

	o.cancel = c->cancel;
	r = lh_acquire(c->lh, c->key, &o, &c->lease);
	c->ended_ns = t_now_ns();
	return r;
}

int
replay_release_lease(void *arg)
{
	struct replay_call *c = arg;
	int r = lh_release(c->lh, &c->lease);

	c->ended_ns = t_now_ns();
	return r;
}

int
replay_extend(void *arg)
{
	struct replay_call *c = arg;
	int r = lh_extend(c->lh, &c->lease, c->ttl_ms);

	c->ended_ns = t_now_ns();
	return r;
}

int
replay_read_local(void *arg)
{
	struct replay_call *c = arg;
	struct lh_acquire_opts o = t_opts(c->ttl_ms, c->wait_ms);

	o.scope = LH_LOCAL;
	o.mode = LH_SHARED;
	return lh_acquire(c->lh, c->key, &o, &c->lease);
}

int
replay_repair(void *unused)
{
	(void)unused;
	return lh_table_repair(the_table, 0, NULL, NULL);
}

int
replay_try(struct lh *lh, const char *key, struct lh_lease *lease)
{
	return t_acquire(lh, key, REPLAY_LONG_MS, 0, lease);
}

static struct lh_session *
session(struct lh *at, const char *name, const struct lh_session_opts *o)
{
	struct lh_session *s = NULL;

	is(lh_session_open(at, name, o, &s), 0, "session '%s'", name);
	return s;
}

struct lh_session *
replay_session(struct lh *at, const char *name, int64_t ttl_ms,
    int64_t delay_ms)
{
	struct lh_session_opts o = LH_SESSION_OPTS_INIT;

	o.ttl_ms = ttl_ms;
	o.lock_delay_ms = delay_ms;
	return session(at, name, &o);
}

struct lh_session *
replay_session_deletes(struct lh *at, const char *name)
{
	struct lh_session_opts o = LH_SESSION_OPTS_INIT;

	o.ttl_ms = REPLAY_LONG_MS;
	o.on_end = LH_ON_END_DELETE;
	return session(at, name, &o);
}

void
replay_session_end(struct lh_session *s)
{
	is(lh_session_destroy(s), 0, "destroy");
	lh_session_close(s);
}

int
replay_leases_in(struct lh_session *s)
{
	struct lh_session_info info = { 0 };

	is(lh_session_info(s, &info), 0, "info");
	return (int)info.leases;
}

int
replay_into(struct lh *at, const char *key, struct lh_session *to,
    uint32_t policy, uint32_t mode, struct lh_lease *lease)
{
	struct lh_acquire_opts o = t_opts(REPLAY_LONG_MS, 2000);
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;

	more.session = to;
	more.policy = policy;
	o.more = &more;
	o.mode = mode;
	return lh_acquire(at, key, &o, lease);
}

struct finding {
	struct lh *lh;
	const char *key;
	struct lh_lease *lease;
};

static int
find(const struct lh_key_info *info, void *arg)
{
	const struct finding *f = arg;
	const struct lh_party *h = &info->holders[0];

	return info->n_holders != 1 ? -ENOENT :
	    lh_lease_recall(f->lh, f->key, h->id, h->token, f->lease);
}

int
replay_find(struct lh *lh, const char *key, struct lh_lease *lease)
{
	struct finding f = { lh, key, lease };

	return lh_status(lh, key, NULL, find, &f);
}

void
replay_sleep_past(const struct lh_lease *lease)
{
	t_sleep_until(lease->expires_ns + T_NS_PER_MS);
}
