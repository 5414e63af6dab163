/* SPDX-License-Identifier: MIT */
/*
 * The sessions that hold the keys of `leasehold flock`: one for each process
 * and descriptor, bound to that process.
 *
 *	fd-PID-FD-HASH		the hash is of the file and the pid namespace
 *
 * Two containers have processes of the same number, and a script may have two
 * descriptors on one file.  The name tells those apart.  The name alone proves
 * nothing: a session is used or destroyed only if the library says that it is
 * bound to this process (number, pid namespace and start time).
 *
 * A duplicate (exec 8>&9) is the same open file, with one flock.  So it is
 * found for either number, where kcmp() is allowed.
 *
 * A script may close the descriptor, which unlocks the file, and go on with
 * another one.  Then the session is left, and its process is waiting for
 * itself.  It is given up if that file has no lock that could be the
 * descriptor's (file_lock.c).
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/kcmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "file_lock.h"
#include "flock_session.h"

#define HASH_LEN 12		/* digits */
#define PREFIX_MAX 32

/* FNV-1a, of one number more. */
static uint64_t
hash_on(uint64_t hash, uint64_t number)
{
	for (int i = 0; i < 64; i += 8)
		hash = (hash ^ (number >> i & 0xff)) *
		    UINT64_C(0x100000001b3);
	return hash;
}

int
flock_session_key(int fd, char key[FILE_KEY_MAX])
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return -errno;
	(void)snprintf(key, FILE_KEY_MAX, "file:%ju:%ju",
	    (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	return 0;
}

int
flock_session_name(struct flock_target *t)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	struct stat ns;
	int e = flock_session_key(t->fd, t->key);

	if (e != 0)
		return e;
	/* without /proc the table is not opened */
	if (stat("/proc/self/ns/pid", &ns) != 0)
		ns.st_ino = 0;
	for (const char *p = t->key; *p != '\0'; p++)
		hash = hash_on(hash, (unsigned char)*p);
	hash = hash_on(hash, ns.st_ino);
	(void)snprintf(t->session, sizeof(t->session), "fd-%d-%d-%0*" PRIx64,
	    (int)t->pid, t->fd, HASH_LEN, hash >> (64 - 4 * HASH_LEN));
	return 0;
}

/* With LH_NO_CREATE, too, only a session of our process is opened. */
static int
open_session(struct flock_target *t, const char *name, uint32_t flags,
    struct lh_session **s)
{
	struct lh_session_opts o = LH_SESSION_OPTS_INIT;

	o.pid = t->pid;
	o.flags = flags;
	return lh_session_open(t->lh, name, &o, s);
}

int
flock_session_open(struct flock_target *t, struct lh_session **s)
{
	return open_session(t, t->session, 0, s);
}

struct search {
	struct flock_target *t;
	bool same_open_file;	/* look for duplicates; else for others */
	int fd;			/* found; -1: none */
	char session[LH_SESSION_NAME_MAX + 1];
};

static bool
is_duplicate(int fd, int other)
{
	return syscall(SYS_kcmp, getpid(), getpid(), KCMP_FILE,
	    (unsigned long)fd, (unsigned long)other) == 0;
}

/* Called with each session whose name begins as ours. */
static int
judge_session(const struct lh_session_info *i, void *arg)
{
	struct search *f = arg;
	const char *ours = strrchr(f->t->session, '-');
	const char *theirs = strrchr(i->name, '-');
	struct lh_session *s;
	const char *p = i->name + strcspn(i->name, "0123456789");
	int fd;

	p += strcspn(p, "-");
	fd = (int)strtol(p + (*p == '-'), NULL, 10);
	if (theirs == NULL || strcmp(ours, theirs) != 0 || fd == f->t->fd ||
	    is_duplicate(f->t->fd, fd) != f->same_open_file ||
	    open_session(f->t, i->name, LH_NO_CREATE, &s) != 0)
		return 0;
	lh_session_close(s);
	f->fd = fd;
	memcpy(f->session, i->name, sizeof(f->session));
	return 1;
}

static void
set_prefix(char prefix[PREFIX_MAX], const struct flock_target *t)
{
	(void)snprintf(prefix, PREFIX_MAX, "fd-%d-", (int)t->pid);
}

/* Searches for another descriptor of our process on this file. */
static void
search_sessions(struct search *f)
{
	char prefix[PREFIX_MAX];

	f->fd = -1;
	set_prefix(prefix, f->t);
	(void)lh_session_list(f->t->lh, prefix, judge_session, f);
}

int
flock_session_find(struct flock_target *t, struct lh_session **s)
{
	struct search f = { .t = t, .same_open_file = true };
	int e = open_session(t, t->session, LH_NO_CREATE, s);

	if (e == -ENOENT) {
		search_sessions(&f);
		if (f.fd >= 0)
			e = open_session(t, f.session, LH_NO_CREATE, s);
	}
	if (e == 0)
		return 0;
	*s = NULL;
	/* none; or of another process, or ended by now, with our process */
	return e == -ENOENT || e == -EEXIST || e == -ESTALE || e == -ESRCH ?
	    0 : e;
}

struct holder {
	uint64_t session;
	int mode;
};

static int
find_holder(const struct lh_key_info *info, void *arg)
{
	struct holder *h = arg;

	for (uint32_t i = 0; i < info->n_holders; i++)
		if (info->holders[i].id[0] == h->session)
			h->mode = (int)info->holders[i].mode;
	return 0;
}

int
flock_session_mode(struct flock_target *t, struct lh_session *s)
{
	struct lh_session_info info = { .size = sizeof(info) };
	struct holder h = { .mode = -1 };

	if (lh_session_info(s, &info) != 0)
		return -1;
	h.session = info.id;
	(void)lh_status(t->lh, t->key, NULL, find_holder, &h);
	return h.mode;
}

/* Called with each session whose name begins as ours. */
static int
end_if_given_up(const struct lh_session_info *i, void *arg)
{
	struct search f = { .t = arg, .same_open_file = false, .fd = -1 };
	struct lh_session *s;
	int mode;

	if (judge_session(i, &f) == 0 ||
	    open_session(arg, i->name, LH_NO_CREATE, &s) != 0)
		return 0;
	mode = flock_session_mode(arg, s);
	if (mode >= 0 && file_lock_is_gone(f.t->fd, mode == LH_SHARED))
		(void)lh_session_destroy(s);
	lh_session_close(s);
	return 0;
}

void
flock_session_end_given_up(struct flock_target *t)
{
	char prefix[PREFIX_MAX];

	set_prefix(prefix, t);
	(void)lh_session_list(t->lh, prefix, end_if_given_up, t);
}

int
flock_session_other(struct flock_target *t, char name[LH_SESSION_NAME_MAX + 1])
{
	struct search f = { .t = t, .same_open_file = false };

	search_sessions(&f);
	memcpy(name, f.session, sizeof(f.session));
	return f.fd;
}
