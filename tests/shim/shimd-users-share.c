/* SPDX-License-Identifier: MIT */
/*
 * Issue 21 A12: a user's share of the shim: equal questions are one call to the
 * store.  Different ones go there a few at a time, after requests for keys.
 * Connections and keys have a limit, above which another user still has its
 * own; a small table sets a lower one.  Keys that nobody uses are dropped.
 *
 * Otherwise one user could keep the shim from all others.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "support/asked.h"
#include "support/hosts.h"

#define OTHER_UID 65534
#define FDS 60
#define AT_A_TIME SHIM_QUERIES_MAX
#define MAX_CLIENTS 100
#define MAX_KEYS 128

static struct host *a = &hosts[0];
static _Atomic unsigned looks;
static int from_child[2], to_child[2];

/* A look at one queue compares nothing and writes nothing; it is slow. */
static enum fake_mishap
count_looks(unsigned host, uint64_t call, void *arg)
{
	if (host != 0 || asked->n_compares != 0 || asked->n_then != 1 ||
	    asked->then[0].what != KV_GET)
		return FAKE_NONE;
	looks++;
	return FAKE_SLOW;
}

static void
do_watch(void *arg)
{
	fake_store_mishaps(hosts_store, count_looks, NULL, NULL);
	asked_watch(a->engine);
}

/* As another user: through the open directory. */
static int
dial_as_other(int dir_fd)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct lhi_frame f = { .type = FRAME_HELLO, .id = 1 };
	static struct lhi_frame r;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	(void)snprintf(at.sun_path, sizeof(at.sun_path), "/proc/self/fd/%d",
	    dir_fd);
	f.uuid[0] = sh64_load(&a->lh->v.hdr->uuid[0]);
	f.uuid[1] = sh64_load(&a->lh->v.hdr->uuid[1]);
	if (connect(fd, (struct sockaddr *)&at, sizeof(at)) != 0)
		return -1;
	say(fd, &f);
	if (hear(fd, &r, T_HANG_MS) == FRAME_WELCOME)
		return fd;
	(void)close(fd);
	return -1;
}

static void
tell(unsigned n)
{
	(void)!write(from_child[1], &n, sizeof(n));
}

static void
await_parent(void)
{
	char c;

	(void)!read(to_child[0], &c, 1);
}

static void
ask_all(const int *fd, unsigned n, bool same)
{
	char key[32];

	for (unsigned i = 0; i < n; i++) {
		for (unsigned j = 0; j < AT_A_TIME; j++) {
			struct lhi_frame f = { .type = FRAME_STATUS, .n = 1,
			    .id = j };

			(void)snprintf(key, sizeof(key), "cluster:q%u",
			    same ? 0 : i * AT_A_TIME + j);
			f.key[0].key = key;
			f.key[0].len = (uint8_t)strlen(key);
			say(fd[i], &f);
		}
	}
}

static unsigned
answered(const int *fd, unsigned n, int type)
{
	static struct lhi_frame f;
	unsigned count = 0;

	for (unsigned i = 0; i < n; i++)
		for (unsigned j = 0; j < AT_A_TIME; j++)
			count += hear(fd[i], &f, T_HANG_MS) == type;
	return count;
}

static int
other(void *arg)
{
	int at = open(a->socket, O_PATH), fd[FDS];
	unsigned n = 0;
	char key[32];

	if (setuid(OTHER_UID) != 0 || prctl(PR_SET_DUMPABLE, 1) != 0)
		return 1;
	for (unsigned i = 0; i < FDS; i++) {
		fd[n] = dial_as_other(at);
		n += fd[n] >= 0;
	}
	tell(n);
	await_parent();
	ask_all(fd, n, true);
	tell(answered(fd, n, FRAME_HOLDERS));
	await_parent();
	ask_all(fd, 30, false);
	tell(0);
	tell(answered(fd, 30, FRAME_HOLDERS));
	await_parent();
	for (unsigned i = 0; i < MAX_KEYS * 2; i++) {
		(void)snprintf(key, sizeof(key), "cluster:w%u", i);
		(void)ask(fd[0], key, RIGHT_EXCLUSIVE, 0);
	}
	tell(0);
	await_parent();
	return 0;
}

static unsigned
heard(void)
{
	unsigned n = 0;

	(void)!read(from_child[0], &n, sizeof(n));
	return n;
}

static void
go_on(void)
{
	(void)!write(to_child[1], "", 1);
}

static void
do_users(void *arg)
{
	const struct user *u;

	*(unsigned *)arg = 0;
	TAILQ_FOREACH(u, &a->shim->users, all)
		if (u->uid == OTHER_UID)
			*(unsigned *)arg = u->n_keys;
}

static unsigned
others_keys(void)
{
	unsigned n;

	hosts_do(do_users, &n);
	return n;
}

static void
do_limit(void *arg)
{
	*(unsigned *)arg = hosts[1].shim->o.max_keys;
}

static void
want_beside(const char *key)
{
	int64_t then_ns = t_now_ns();
	struct lh_lease l;

	is(take(a, key, RIGHT_EXCLUSIVE, T_HANG_MS, &l), 0,
	    "%s: another user has it", key);
	cmp(t_since_ms(then_ns), <, t_ms(1000), "  within a second");
	is(lh_release(a->lh, &l), 0, "  released");
}

int
main(void)
{
	unsigned n;
	pid_t pid;

	if (geteuid() != 0)
		skip_all("needs a second user");
	a->opts.max_clients = MAX_CLIENTS;
	a->opts.max_keys = MAX_KEYS;
	a->opts.socket_mode = 0666;
	a->opts.idle_ms = t_ms(1000);
	if (pipe(from_child) != 0 || pipe(to_child) != 0)
		bail_out("no pipe");
	hosts[1].opts.max_keys = 100000;
	hosts_begin(2);
	hosts_do(do_limit, &n);
	cmp(n, <=, hosts[1].lh->v.geo.n_slots - 2 * FRAME_KEYS,
	    "a shim leaves some of its table's keys to others (%u)", n);
	hosts_do(do_watch, NULL);
	pid = t_fork(other, NULL);
	n = heard();
	is((int)n, MAX_CLIENTS / 2, "a user has half of the connections");
	go_on();
	is((int)heard(), (int)n * AT_A_TIME, "all its questions are answered");
	cmp(looks, <=, n, "equal ones by few calls (%u)", looks);
	looks = 0;
	go_on();
	(void)heard();
	want_beside("cluster:honest");
	cmp(looks, <, 200, "questions go a few at a time (%u)", looks);
	is((int)heard(), 30 * AT_A_TIME, "and all are answered");
	go_on();
	(void)heard();
	cmp(others_keys(), <=, MAX_KEYS / 2 + FRAME_KEYS,
	    "it has half of them (%u)", others_keys());
	want_beside("cluster:honest2");
	ok(t_until(T_HANG_MS, host_keys(a) == 0),
	    "keys that nobody uses leave");
	go_on();
	is(t_reap(pid, T_HANG_MS), 0, "the other user ends");
	hosts_end();
	return done();
}
