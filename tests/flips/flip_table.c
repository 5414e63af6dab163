/* SPDX-License-Identifier: MIT */
/*
 * The table whose bits are flipped: everything in it was left by processes that
 * were killed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "behaviour/fence.h"
#include "flips/flip_table.h"
#include "support/support.h"
#include "tap.h"

#define SESSION_TTL_MS 100
#define PAGE 4096

struct lh_open_opts
flip_table_opts(enum kind kind)
{
	struct lh_open_opts o = kind == DURABLE ? fence_opts() : t_open_opts();

	o.max_keys = 8;
	o.max_sessions = 4;
	o.max_leases = 256;
	return o;
}

struct party {
	struct table *t;
	int n;
	struct t_event ready;
};

static bool durable;

static void
acquire(struct lh *lh, const char *key, uint32_t mode, int64_t wait_ms,
    const struct lh_acquire_more *more)
{
	struct lh_acquire_opts a = t_opts(HOUR_MS, wait_ms);
	struct lh_lease l;
	int error;

	a.mode = mode;
	a.more = more;
	a.scope = durable ? LH_LOCAL : 0;
	error = lh_acquire(lh, key, &a, &l);
	if (error != 0 && wait_ms == 0)
		bail_out("%s: %s", key, lh_error_detail());
}

static void
fill_first(struct lh *lh)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_session_opts so = LH_SESSION_OPTS_INIT;
	struct lh_lease l;

	more.request[0] = 77;
	more.info = "what for";
	acquire(lh, "x", 0, 0, &more);
	acquire(lh, LONG_KEY, 0, 0, NULL);
	if (t_acquire(lh, "free", HOUR_MS, 0, &l) != 0 ||
	    lh_value_set(lh, &l, "value", 5) != 0 || lh_release(lh, &l) != 0 ||
	    lh_key_create(lh, "kept") != 0)
		bail_out("free, kept: %s", lh_error_detail());
	so.ttl_ms = SESSION_TTL_MS;
	more = (struct lh_acquire_more)LH_ACQUIRE_MORE_INIT;
	if (lh_session_open(lh, "named", &so, &more.session) != 0)
		bail_out("named: %s", lh_error_detail());
	acquire(lh, "n", 0, 0, &more);
}

/* A process that leaves all that it has when it is killed. */
static int
take_part(void *arg)
{
	struct party *p = arg;
	struct lh_open_opts o = flip_table_opts(p->t->kind);
	struct lh_lease l;
	struct lh *lh;

	if (lh_open(&lh, p->t->name, &o) != 0)
		bail_out("lh_open: %s", lh_error_detail());
	if (p->n == 0)
		fill_first(lh);
	if (p->n == 1)
		acquire(lh, "s", LH_SHARED, 0, NULL);
	if (p->n == 2) {
		acquire(lh, "s", LH_SHARED, 0, NULL);
		if (p->t->kind == CLUSTER)
			(void)lh_key_create(lh, "cluster:c");
		else if (t_acquire(lh, "y", HOUR_MS, 0, &l) == 0)
			(void)lh_release(lh, &l);
	}
	t_post(&p->ready);
	acquire(lh, "x", p->n == 1 ? LH_SHARED : 0, HOUR_MS, NULL);
	pause();
	return 0;
}

static void
fill_table(struct table *t)
{
	struct party *p = t_shared(3 * sizeof(*p));
	pid_t pid[3];

	for (int i = 0; i < 3; i++) {
		p[i].t = t;
		p[i].n = i;
		pid[i] = t_fork(take_part, &p[i]);
		if (!t_await(&p[i].ready, 1, T_HANG_MS))
			bail_out("process %d does not begin", i);
		t_sleep_ms(30);		/* until it waits */
	}
	for (int i = 2; i >= 0; i--)
		t_kill(pid[i]);
	t_sleep_ms(SESSION_TTL_MS);
}

/* In memory: a disk would take longer for each repair than all else does. */
static void
make_fence_dir(void)
{
	(void)snprintf(fence_path, sizeof(fence_path),
	    "/dev/shm/lh-flips-fence.%d", (int)getpid());
	if (mkdir(fence_path, 0700) != 0)
		bail_out("%s: %s", fence_path, strerror(errno));
	fence_maker = getpid();
}

void
flip_table_make(struct table *t, enum kind kind)
{
	make_fence_dir();	/* before there are children: theirs, too */
	memset(t, 0, sizeof(*t));
	t->kind = kind;
	durable = kind == DURABLE;
	t->name = t_table();
	t->answer = t_shared(sizeof(*t->answer));
	fill_table(t);
	t->o = t_map_object(t->name);
	(void)snprintf(t->kept, sizeof(t->kept), "%s.kept", t_object(t->name));
	t_remove_at_exit(t->kept);
	if (link(t_object(t->name), t->kept) != 0)
		bail_out("link: %s", strerror(errno));
	t->golden = malloc(t->o.geo.object_len);
	if (t->golden == NULL)
		bail_out("no memory");
	memcpy(t->golden, t->o.h, t->o.geo.object_len);
}

void
flip_table_restore(struct table *t)
{
	unsigned char *m = (unsigned char *)t->o.h;
	char floor[300];
	struct stat st;

	for (uint64_t at = 0; at < t->o.geo.object_len; at += PAGE) {
		if (memcmp(m + at, t->golden + at, PAGE) != 0)
			memcpy(m + at, t->golden + at, PAGE);
	}
	(void)snprintf(floor, sizeof(floor), "%.*s.floor",
	    (int)(strlen(t_object(t->name)) - strlen(".table")),
	    t_object(t->name));
	(void)unlink(floor);
	if (stat(t_object(t->name), &st) != 0 || st.st_nlink != 2) {
		(void)unlink(t_object(t->name));
		if (link(t->kept, t_object(t->name)) != 0)
			bail_out("the table cannot be put back: %s",
			    strerror(errno));
	}
}
