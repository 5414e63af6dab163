/* SPDX-License-Identifier: MIT */
/* test: slow 5 */
/* test: release: ASan cannot be loaded twice */
/*
 * Guarantee G4, issue 21 A6: several copies of the library are in one process,
 * and threads use them.  No fork hangs, nor its child, and each child can use
 * all copies: one that is linked, two that are loaded beside it (a plug-in's),
 * and one in a namespace of its own with its own C library (dlmopen). The
 * program's fork() does not know that one's fork handlers.  A key that one copy
 * holds is held for the others.
 *
 * Otherwise a program with a plug-in that uses leasehold, too, would hang at a
 * fork.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define COPIES 4

struct copy {
	const char *what;
	int (*open)(struct lh **, const char *, const struct lh_open_opts *);
	int (*close)(struct lh *);
	int (*acquire)(struct lh *, const char *, const struct lh_acquire_opts
	    *, struct lh_lease *);
	int (*release)(struct lh *, struct lh_lease *);
	struct lh *lh;
	bool has_threads;
};

static struct copy copies[COPIES] = { { "linked", lh_open, lh_close, lh_acquire,
    lh_release, NULL, true } };
static int n_copies = 1;
static const char *table;
static _Atomic bool stop;
static _Atomic int wrong;

static void
add_copy(const char *what, void *so, bool has_threads)
{
	struct copy *c = &copies[n_copies];

	if (so == NULL) {
		diag("%s: %s", what, dlerror());
		return;
	}
	c->what = what;
	c->has_threads = has_threads;
	*(void **)&c->open = dlsym(so, "lh_open");
	*(void **)&c->close = dlsym(so, "lh_close");
	*(void **)&c->acquire = dlsym(so, "lh_acquire");
	*(void **)&c->release = dlsym(so, "lh_release");
	n_copies++;
}

/* The library's file under another name, or the loader gives the same. */
static const char *
second_file(const char *path)
{
	static char name[64];
	struct stat st;
	int from = open(path, O_RDONLY | O_CLOEXEC), to;

	(void)snprintf(name, sizeof(name), "/tmp/lh-copy-%d.so",
	    (int)getpid());
	t_remove_at_exit(name);
	to = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
	if (from < 0 || to < 0 || fstat(from, &st) != 0 || sendfile(to, from,
	    NULL, (size_t)st.st_size) != st.st_size)
		bail_out("cannot copy %s: %s", path, strerror(errno));
	(void)close(from);
	(void)close(to);
	return name;
}

static void *
use_copy(void *arg)
{
	const struct copy *c = arg;
	struct lh_acquire_opts o = t_opts(60000, T_HANG_MS);
	struct lh_lease l;
	struct lh *lh;

	while (!stop) {
		if (c->open(&lh, table, NULL) != 0 ||
		    c->acquire(lh, "shared", &o, &l) != 0 ||
		    c->release(lh, &l) != 0 || c->close(lh) != 0)
			wrong++;
	}
	return NULL;
}

/* Each copy in turn: what failed, or 0. */
static int
child(void *arg)
{
	struct lh_acquire_opts o = t_opts(60000, T_HANG_MS);
	struct lh_acquire_opts try = t_opts(60000, 0);
	struct lh_lease l;
	struct lh *lh;

	(void)arg;
	for (int i = 0; i < n_copies; i++) {
		const struct copy *c = &copies[i];

		if (c->acquire(c->lh, "free", &try, &l) != -EPERM)
			return 10 + i;
		if (c->open(&lh, table, NULL) != 0)
			return 20 + i;
		if (c->acquire(lh, "held", &try, &l) != -EAGAIN)
			return 30 + i;
		if (c->acquire(lh, "shared", &o, &l) != 0 ||
		    c->release(lh, &l) != 0 || c->close(lh) != 0)
			return 40 + i;
	}
	return 0;
}

int
main(void)
{
	const char *path = getenv("LEASEHOLD_LIBRARY");
	int n = getenv("LH_TEST_LONG") != NULL ? 2000 : 40, bad = 0;
	int n_threads = 0;
	int same = 0;
	struct lh_acquire_opts try = t_opts(3600000, 0);
	unsigned long threads[COPIES];
	struct lh_lease l;

	if (path == NULL)
		skip_all("LEASEHOLD_LIBRARY does not name the shared library");
	add_copy("loaded", dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND),
	    true);
	add_copy("loaded twice", dlopen(second_file(path), RTLD_NOW |
	    RTLD_LOCAL | RTLD_DEEPBIND), true);
	/* its malloc()'s locks are nobody's over fork: no threads there */
	add_copy("in another namespace", dlmopen(LM_ID_NEWLM, path, RTLD_NOW),
	    false);
	for (int i = 1; i < n_copies; i++)
		for (int j = 0; j < i; j++)
			same += copies[i].open == copies[j].open;
	ok(n_copies == COPIES && same == 0, "there are %d copies", COPIES);
	table = t_table();
	for (int i = 0; i < n_copies; i++) {
		is(copies[i].open(&copies[i].lh, table, NULL), 0, "%s: opened",
		    copies[i].what);
		is(copies[i].acquire(copies[i].lh, "held", &try, &l),
		    i == 0 ? 0 : -EAGAIN, "%s: %s", copies[i].what,
		    i == 0 ? "holds a key" : "sees that it is held");
	}
	for (int i = 0; i < n_copies; i++)
		if (copies[i].has_threads)
			threads[n_threads++] = t_thread(use_copy, &copies[i]);
	for (int i = 0; i < n && bad == 0; i++) {
		int r;

		t_watch();
		r = t_reap(t_fork(child, NULL), T_HANG_MS);
		if (r != 0)
			diag("child %d: %d", i, r);
		bad += r != 0;
	}
	is(bad, 0, "%d children used all copies, and ended", n);
	stop = true;
	for (int i = 0; i < n_threads; i++)
		t_join(threads[i]);
	is(wrong, 0, "nothing went wrong in the parent");
	for (int i = n_copies - 1; i > 0; i--)
		is(copies[i].close(copies[i].lh), 0, "%s: closed",
		    copies[i].what);
	t_close(copies[0].lh);
	return done();
}
