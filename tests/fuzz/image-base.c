/* SPDX-License-Identifier: MIT */
/*
 * A valid table with everything in it that can be in one.
 *
 * It is made by the library: one process after another attaches, does its part,
 * and stays; in the end all are killed.  Some are killed earlier, by the hook,
 * at a named point in the midst of a thing:
 *
 *	held	by a writer; a writer, a reader and a writer of a higher
 *		priority wait
 *	read	by two readers, between them an idle one; one who has left; a
 *		writer waits
 *	over	by a writer whose lease has run out
 *	keys	short, long, kept, free; made halfway (reserved; complete and
 *		not linked); evicted halfway (dying, committed, marked)
 *	session	closed; dead and buried halfway
 *	request	held, released, failed; killed while it was written down
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <leasehold.h>
#include "fuzz/fuzz.h"
#include "live_files.h"
#include "fuzz/image-base.h"
#include "prim/shared.h"

#define PARTS_MAX 24
#define HOUR_MS INT64_C(3600000)
#define TRIES 2000		/* of 1 ms */

static char table[64];
static const char *last_point;	/* where this process is to be killed */
static pid_t parts[PARTS_MAX];
static int n_parts;

/* Of a part: it has done what it is for. */
static _Atomic uint32_t *in_place;

static void
must(int result, const char *what)
{
	if (result < 0)
		fuzz_finding("%s: %s: %s", what, lh_strerror(result),
		    lh_error_detail());
}

static struct lh *
attach(void)
{
	struct lh_open_opts o = LH_OPEN_OPTS_INIT;
	struct lh *lh;

	o.max_keys = 60;
	o.max_sessions = 24;
	o.max_leases = 24 * 64;
	must(lh_open(&lh, table, &o), "open");
	return lh;
}

static struct lh_lease
get(struct lh *lh, const char *key, uint32_t mode, int64_t ttl_ms)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	struct lh_lease lease;

	o.mode = mode;
	o.ttl_ms = ttl_ms;
	o.max_wait_ms = 0;
	must(lh_acquire(lh, key, &o, &lease), key);
	return lease;
}

static void
await(struct lh *lh, const char *key, uint32_t mode, uint32_t priority)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	struct lh_lease lease;

	o.mode = mode;
	o.priority = priority;
	*in_place = 1;
	must(lh_acquire(lh, key, &o, &lease), "it was not to be granted");
}

static void
kill_at(const char *what, const void *addr)
{
	if (addr == NULL && strcmp(what, last_point) == 0)
		(void)kill(getpid(), SIGKILL);
}

static void
writer(void)
{
	struct lh *lh = attach();
	struct lh_lease lease;

	lease = get(lh, THE_X, LH_EXCLUSIVE, HOUR_MS);
	must(lh_value_set(lh, &lease, "another", 7), "a value");
	(void)get(lh, THE_LONG, LH_EXCLUSIVE, HOUR_MS);
	(void)get(lh, "over", LH_EXCLUSIVE, 1);
	lease = get(lh, THE_FREE, LH_EXCLUSIVE, HOUR_MS);
	must(lh_release_value(lh, &lease, "its value", 9), "release");
}

static void
reader(void)
{
	(void)get(attach(), THE_S, LH_SHARED, HOUR_MS);
}

static void
idler(void)
{
	struct lh *lh = attach();
	struct lh_lease lease = get(lh, THE_S, LH_SHARED, HOUR_MS);

	must(lh_release(lh, &lease), "release");
}

static void
waits_x(void)
{
	await(attach(), THE_X, LH_EXCLUSIVE, 0);
}

static void
waits_x_shared(void)
{
	await(attach(), THE_X, LH_SHARED, 0);
}

static void
waits_x_first(void)
{
	await(attach(), THE_X, LH_EXCLUSIVE, 7);
}

static void
waits_s(void)
{
	await(attach(), THE_S, LH_EXCLUSIVE, 0);
}

static void
keeper(void)
{
	struct lh *lh = attach();
	char name[200];

	must(lh_key_create(lh, THE_KEPT), THE_KEPT);
	for (int i = 0; i < 12; i++) {
		struct lh_key *k;

		(void)snprintf(name, sizeof(name), i % 4 == 0 ? "k%0120d" :
		    "k%d", i);
		must(lh_key_open(lh, name, 0, &k), name);
		must(lh_key_close(k), name);
	}
	must(lh_key_create(lh, "cluster:k"), "a cluster key");
}

static void
closer(void)
{
	struct lh *lh = attach();

	(void)get(lh, "closed", LH_EXCLUSIVE, HOUR_MS);
	must(lh_close(lh), "close");
}

static void
makes_halfway(void)
{
	struct lh *lh = attach();

	lhi_hook = kill_at;
	(void)lh_key_create(lh, last_point);
}

static void
evicts_halfway(void)
{
	struct lh *lh = attach();
	struct lh_key *k;

	must(lh_key_open(lh, last_point, 0, &k), last_point);
	must(lh_key_close(k), last_point);
	lhi_hook = kill_at;
	(void)lh_evict(lh, last_point, 0);
}

static void
closes_halfway(void)
{
	struct lh *lh = attach();

	(void)get(lh, "closing", LH_EXCLUSIVE, HOUR_MS);
	lhi_hook = kill_at;
	(void)lh_close(lh);
}

/* Requests: one that holds its lease, a released one and a failed one; and, if
 * there is a point, one on its way. */
static void
asks(void)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	struct lh *lh = attach();
	struct lh_lease lease;

	more.info = "who asks";
	o.more = &more;
	o.max_wait_ms = 0;
	for (uint64_t i = 1; i <= 3; i++) {
		more.request[0] = i;
		if (i == 2 && last_point != NULL)
			lhi_hook = kill_at;
		if (lh_acquire(lh, i < 3 ? "asked" : "asked too", &o,
		    &lease) == 0 && i != 1)
			must(lh_release(lh, &lease), "release");
	}
}

/* A named session that outlives it, with leases; killed while it keeps one. */
static void
hands_over(void)
{
	struct lh *lh = attach();
	struct lh_session_opts o = LH_SESSION_OPTS_INIT;
	struct lh_lease x = get(lh, "k5", LH_EXCLUSIVE, HOUR_MS);
	struct lh_lease s = get(lh, "shared", LH_SHARED, HOUR_MS);
	struct lh_session *to;

	o.ttl_ms = HOUR_MS;
	must(lh_session_open(lh, "named", &o, &to), "session");
	must(lh_handoff(lh, &x, to), "hand-off");
	if (last_point != NULL)
		lhi_hook = kill_at;
	must(lh_handoff(lh, &s, to), "hand-off");
}

static void
begins_halfway(void)
{
	lhi_hook = kill_at;
	(void)attach();
}

/* A process that does its part and stays, or is killed at that point. */
static void
play(void (*part)(void), const char *point)
{
	pid_t parent = getpid(), pid;
	int status;

	*in_place = 0;
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		last_point = point;
		part();
		*in_place = 1;
		for (;;)
			(void)pause();
	}
	if (pid < 0 || n_parts == PARTS_MAX)
		fuzz_finding("no process can be made");
	if (point != NULL) {
		if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status))
			fuzz_finding("nobody reaches %s", point);
		return;
	}
	parts[n_parts++] = pid;
	for (int i = 0; *in_place == 0; i++) {
		if (i == TRIES || waitpid(pid, &status, WNOHANG) != 0)
			fuzz_finding("a part fell out");
		(void)usleep(1000);
	}
}

static int
waiters(const struct lh_key_info *info, void *arg)
{
	*(uint32_t *)arg = info->n_waiters;
	return 0;
}

/* Those who said that they would wait are in the queue. */
static void
see_waiters(void)
{
	struct lh *lh = attach();
	uint32_t x = 0, s = 0;

	for (int i = 0; x < 3 || s < 1; i++) {
		if (i == TRIES)
			fuzz_finding("%u and %u wait", x, s);
		must(lh_status(lh, THE_X, NULL, waiters, &x), "status");
		must(lh_status(lh, THE_S, NULL, waiters, &s), "status");
		(void)usleep(1000);
	}
}

static char *
read_object(const char *path, size_t *len)
{
	char *bytes;
	struct stat st;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) != 0)
		fuzz_finding("cannot open %s", path);
	*len = (size_t)st.st_size;
	bytes = malloc(*len);
	if (bytes == NULL || pread(fd, bytes, *len, 0) != st.st_size)
		fuzz_finding("cannot read %s", path);
	(void)close(fd);
	return bytes;
}

char *
image_base(size_t *len)
{
	char path[128], *bytes;

	(void)snprintf(table, sizeof(table), "fuzz-base-%d", (int)getpid());
	in_place = mmap(NULL, sizeof(*in_place), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (in_place == MAP_FAILED)
		fuzz_finding("out of memory");
	play(keeper, NULL);
	play(writer, NULL);
	play(closer, NULL);
	for (int i = 0; i < 3; i++)
		play(i == 1 ? idler : reader, NULL);
	play(waits_x, NULL);
	play(waits_x_shared, NULL);
	play(waits_x_first, NULL);
	play(waits_s, NULL);
	play(see_waiters, NULL);
	play(hands_over, "handoff.swapped");
	play(makes_halfway, "slot.filled");
	play(makes_halfway, "slot.linking");
	play(evicts_halfway, "evict.dying");
	play(evicts_halfway, "evict.committed");
	play(evicts_halfway, "evict.marked");
	play(closes_halfway, "claim.buried");
	play(begins_halfway, "session.reserved");
	play(asks, NULL);
	play(asks, "request.half");
	(void)snprintf(path, sizeof(path), "/dev/shm/leasehold.%u/%s.table",
	    (unsigned)geteuid(), table);
	bytes = read_object(path, len);
	while (n_parts > 0) {
		(void)kill(parts[--n_parts], SIGKILL);
		(void)waitpid(parts[n_parts], NULL, 0);
	}
	(void)unlink(path);
	remove_live_files(path);
	return bytes;
}
