/* SPDX-License-Identifier: MIT */
/* test: slow 8 */
/*
 * Policy live: a holder whose control group is frozen (docker pause) looks as
 * if it slept (version 2) or waited for a disk (version 1), and its lease must
 * end at its deadline all the same.  A holder that only sleeps, or waits in the
 * kernel for long, keeps it.  Where the groups cannot be seen, the kernel's
 * word for its wait decides, and an unknown state ends at the deadline.
 *
 * Otherwise a frozen container would keep its keys for ever.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

#define TRIES 4

static const struct freezer {
	const char *name, *root, *file, *freeze, *thaw;
} freezers[] = {
	{ "version 2", "/sys/fs/cgroup/unified", "cgroup.freeze", "1", "0" },
	{ "version 2 alone", "/sys/fs/cgroup", "cgroup.freeze", "1", "0" },
	{ "version 1", "/sys/fs/cgroup/freezer", "freezer.state", "FROZEN",
	    "THAWED" },
};

static struct {
	const struct freezer *kind;
	char path[100];
	int dir;
	pid_t maker;
} group = { .dir = -1 };

static struct lh_acquire_more live = LH_ACQUIRE_MORE_INIT;
static int64_t ttl_ms;

static bool
put_text(const char *file, const char *text)
{
	int fd = openat(group.dir, file, O_WRONLY | O_CLOEXEC);
	bool put = fd >= 0 && write(fd, text, strlen(text)) ==
	    (ssize_t)strlen(text);

	if (fd >= 0)
		(void)close(fd);
	return put;
}

/* A frozen process would outlive the test. */
__attribute__((destructor)) static void
remove_group(void)
{
	if (group.dir < 0 || group.maker != getpid())
		return;
	(void)put_text(group.kind->file, group.kind->thaw);
	(void)close(group.dir);
	group.dir = -1;
	for (int i = 0; i < 100 && rmdir(group.path) != 0 && errno == EBUSY;
	    i++)
		t_sleep_ms(10);
}

/* A control group that can be frozen; false: it cannot be made here. */
static bool
make_group(const struct freezer *f)
{
	group.kind = f;
	group.maker = getpid();
	snprintf(group.path, sizeof(group.path), "%s/lh-test-%d", f->root,
	    (int)getpid());
	if (mkdir(group.path, 0755) != 0)
		return false;
	group.dir = open(group.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (faccessat(group.dir, f->file, W_OK, 0) == 0)
		return true;
	remove_group();
	return false;
}

static void
enter_group(pid_t pid)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", (int)pid);
	if (!put_text("cgroup.procs", text))
		bail_out("no process can enter %s: %s", group.path,
		    strerror(errno));
}

static bool
is_text_in(int dir, const char *path, const char *text)
{
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	char all[512];
	ssize_t n = fd < 0 ? -1 : read(fd, all, sizeof(all) - 1);

	if (fd >= 0)
		(void)close(fd);
	all[n > 0 ? n : 0] = '\0';
	return strstr(all, text) != NULL;
}

/* In state D. */
static bool
in_kernel(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	return is_text_in(AT_FDCWD, path, ") D ");
}

static bool
is_frozen(pid_t pid)
{
	return group.kind->freeze[0] == '1' ?
	    is_text_in(group.dir, "cgroup.events", "frozen 1") :
	    in_kernel(pid);
}

static void
hold(struct t_actor *a)
{
	struct lh_acquire_opts o = t_opts(ttl_ms, 0);

	o.more = &live;
	t_begin_acquire_opts(a, "k", &o);
	is(t_result(a), 0, "another process holds the key");
}

/* The lease ends at its deadline, and its holder can see that. */
static void
lost(struct lh *lh, struct t_actor *a)
{
	struct lh_lease l;

	is(t_acquire(lh, "k", 1000, T_HANG_MS, &l), 0,
	    "frozen, it loses the key");
	is(l.notes, LH_NOTE_PREVIOUS_EXPIRED, "at its deadline");
	(void)put_text(group.kind->file, group.kind->thaw);
	is(t_do_verify(a), -ESTALE, "thawed, it finds the lease lost");
	is(lh_release(lh, &l), 0, "released");
}

static int
note_run(const struct lh_key_info *info, void *arg)
{
	if (info->n_holders == 1)
		*(uint32_t *)arg = info->holders[0].run;
	return 0;
}

/* True if the sleeping holder kept it; a waiter that is late itself lets the
 * lease end rightly: a longer ttl then. */
static bool
play(const char *table, bool hidden)
{
	struct t_actor *a = t_actor(table);
	struct lh *lh;
	uint32_t run = LH_RUN_UNSEEN;
	struct lh_lease l;
	bool kept;

	enter_group(a->pid);
	if (hidden && !t_mount("/sys/fs/cgroup", ""))
		bail_out("no mount: %s", strerror(errno));
	lh = t_open(table);
	hold(a);
	kept = t_acquire(lh, "k", 1000, 5 * ttl_ms / 2, &l) == -ETIMEDOUT;
	if (kept) {
		is(put_text(group.kind->file, group.kind->freeze), true,
		    "its group is frozen");
		ok(t_until(T_HANG_MS, is_frozen(a->pid)), "and so is it");
		is(lh_explain(lh, "k", note_run, &run), 0, "explain");
		if (!hidden)
			is(run, LH_RUN_FROZEN, "calls it frozen");
		lost(lh, a);
	} else if (lh_release(lh, &l) != 0) {
		fail("released");
	}
	t_actor_end(a);
	t_close(lh);
	return kept;
}

static int
play_hidden(void *arg)
{
	return play(arg, true) ? 0 : 2;
}

static void
freeze(const struct freezer *f, bool hidden)
{
	int kept = 2;

	if (!make_group(f)) {
		diag("no group of %s can be made here", f->name);
		return;
	}
	ttl_ms = t_ms(150);
	for (int i = 0; i < TRIES && kept == 2; i++, ttl_ms *= 2) {
		const char *table = t_table();

		kept = !hidden ? play(table, false) ? 0 : 2 :
		    t_reap(t_fork(play_hidden, (void *)(uintptr_t)table),
		    10 * T_HANG_MS);
	}
	is(kept, 0, "%s%s: kept while it slept, lost when frozen", f->name,
	    hidden ? ", not to be seen" : "");
	remove_group();
}

/* A parent waits for a child of vfork() in state D. */
static int
wait_in_kernel(struct t_actor *a, void *arg)
{
	(void)a;
	(void)arg;
	if (vfork() == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			(void)pause();
	}
	return 0;
}

static bool
play_in_kernel(void)
{
	const char *table = t_table();
	struct t_actor *a = t_actor(table);
	struct lh *lh = t_open(table);
	struct lh_lease l;
	bool kept;

	hold(a);
	t_begin(a, wait_in_kernel, NULL);
	ok(t_until(T_HANG_MS, in_kernel(a->pid)), "it waits in the kernel");
	kept = t_acquire(lh, "k", 1000, 5 * ttl_ms / 2, &l) == -ETIMEDOUT;
	if (!kept && lh_release(lh, &l) != 0)
		fail("released");
	t_actor_kill(a);
	t_actor_free(a);
	t_close(lh);
	return kept;
}

int
main(void)
{
	bool kept = false;

	live.policy = LH_POLICY_LIVE;
	ttl_ms = t_ms(150);
	for (int i = 0; i < TRIES && !kept; i++, ttl_ms *= 2)
		kept = play_in_kernel();
	ok(kept, "one that waits in the kernel keeps it");
	for (size_t i = 0; i < sizeof(freezers) / sizeof(freezers[0]); i++) {
		freeze(&freezers[i], false);
		if (geteuid() == 0)
			freeze(&freezers[i], true);
	}
	return done();
}
