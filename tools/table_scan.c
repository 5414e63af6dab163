/* SPDX-License-Identifier: MIT */
/*
 * Finds every table of the machine, and looks at each of them.
 *
 * Tables are the files NAME.table in /dev/shm/leasehold.UID and in
 * /dev/shm/leasehold.system (shm/table_dir.c).  For each of them a process is
 * forked, which becomes the table's user if it is root's, counts what is in the
 * table, and writes one JSON object into a pipe.
 * So a table that is damaged in a way that ends or stops the process costs the
 * line of that table alone, and nothing of another user's is opened as root.
 * The user may stop that process.  Its time is limited, and then no other table
 * of that directory is looked at.
 *
 * Nothing is changed: the table is mapped for reading only (lh_dump()).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <leasehold.h>
#include "daemon/exit_status.h"
#include "daemon/paths.h"
#include "message.h"
#include "other_user.h"
#include "show.h"
#include "show_state.h"
#include "table_scan.h"

#define SHM "/dev/shm"
#define PREFIX "leasehold."
#define SUFFIX ".table"
#define ROW_MAX 16384		/* bytes of a row's JSON */
#define LOOK_MS 30000		/* one table takes no longer */
#define UNMAPPED "its owner is a user without a number in this user " \
	"namespace: look at it outside of the namespace"
#define TABLES_MAX 1000		/* of a directory; a user can make any number */

/* One directory of tables. */
struct place {
	const char *id;		/* "1000", "system" */
	int fd;
	struct stat st;
	bool system;
	bool sure;		/* the number of its owner is that user's */
	bool stopped;		/* looking at a table there took too long */
};

/* Counts of a table, from its dump. */
struct count {
	json_t *row;
	json_int_t keys, held, waiting, sessions;
};

static void
set(json_t *row, const char *name, json_t *value)
{
	/* a row that lacks a member is seen when it is printed */
	(void)json_object_set_new(row, name, value);
}

static void
set_error(json_t *row, const char *sentence)
{
	(void)show_set_bytes(row, "error", sentence);
}

/* Sets what a table has before it is opened, and null for the rest. */
static json_t *
begin_row(const struct place *p, const char *table, const struct stat *st)
{
	static const char *const counts[] = { "keys", "held", "waiting",
	    "sessions", "damaged", "fence_dir", "version" };
	json_t *row = json_object();
	char mode[8], user[USER_NAME_MAX], path[512];
	bool sure = paths_is_owner_sure(-1, st) || (!p->system && p->sure &&
	    st->st_uid == p->st.st_uid);

	if (row == NULL)
		return NULL;
	(void)snprintf(mode, sizeof(mode), "%04o",
	    (unsigned)st->st_mode & 07777);
	(void)snprintf(path, sizeof(path), SHM "/" PREFIX "%s%s%s%s", p->id,
	    table != NULL ? "/" : "", table != NULL ? table : "",
	    table != NULL ? SUFFIX : "");
	if (table != NULL)
		(void)show_set_bytes(row, "table", table);
	else
		set(row, "table", json_null());
	set(row, "system", json_boolean(p->system));
	set(row, "uid", sure ? json_integer(st->st_uid) : json_null());
	(void)show_set_bytes(row, "user", sure ?
	    other_user_name(user, st->st_uid) : "");
	set(row, "mode", json_string(mode));
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		set(row, counts[i], json_null());
	(void)show_set_bytes(row, "path", path);
	return row;
}

static int
note_table(const struct lh_dump_table *t, void *arg)
{
	struct count *n = arg;

	set(n->row, "version", json_integer(t->format));
	set(n->row, "damaged", json_boolean(t->flags & LH_DUMP_DAMAGED));
	(void)show_set_bytes(n->row, "fence_dir", t->fence_dir);
	if (t->flags & LH_DUMP_RETIRED)
		set_error(n->row, "it is being removed, and grants nothing");
	return 0;
}

static int
count_session(const struct lh_dump_session *s, void *arg)
{
	((struct count *)arg)->sessions++;
	return 0;
}

static int
count_key(const struct lh_dump_key *k, void *arg)
{
	struct count *n = arg;

	n->keys++;
	n->held += show_state_is_held_here(k->info);
	n->waiting += k->info->n_waiters;
	return 0;
}

/* The first finding is the reason that the row gives. */
static void
note_finding(const char *finding, void *arg)
{
	const struct count *n = arg;

	if (json_object_get(n->row, "error") == NULL)
		set_error(n->row, finding);
}

/*
 * Counts what is in the table.  A dump maps it for reading only, so it cannot
 * change anything.  lh_list() would free what the dead hold, and lh_open()
 * would complete a removal.
 */
static void
look_at_table(json_t *row, const char *table, bool system)
{
	const struct lh_dump_to to = { sizeof(to), note_table, count_session,
	    count_key, note_finding };
	struct count n = { .row = row };
	int findings = lh_dump(table, NULL, system ? LH_SYSTEM : 0, &to, &n);

	if (findings == -EUCLEAN || findings > 0)
		set(row, "damaged", json_true());
	if (findings < 0) {
		set_error(row, lh_error_detail());
		return;
	}
	set(row, "keys", json_integer(n.keys));
	set(row, "held", json_integer(n.held));
	set(row, "waiting", json_integer(n.waiting));
	set(row, "sessions", json_integer(n.sessions));
}

/* Fills the row, as a process of the table's user. */
static void
fill_row(const struct place *p, const char *table, json_t *row)
{
	char why[256];
	bool sure = p->system || p->sure;
	int e = p->system ? 0 : !sure ? -EPERM :
	    other_user_switch(p->st.st_uid);

	if (!sure)
		(void)snprintf(why, sizeof(why), UNMAPPED);
	else if (e != 0 && geteuid() != 0)
		(void)snprintf(why, sizeof(why), "it is user %u's: only that "
		    "user and root may look at it (sudo leasehold tables)",
		    (unsigned)p->st.st_uid);
	else if (e != 0)
		(void)snprintf(why, sizeof(why), "cannot become user %u to "
		    "look at it: %s", (unsigned)p->st.st_uid, strerror(-e));
	else if (!p->system && strtoul(p->id, NULL, 10) !=
	    paths_own_number())
		(void)snprintf(why, sizeof(why), "the directory belongs to "
		    "user %u, who does not use it: that user's tables are in "
		    SHM "/" PREFIX "%u", (unsigned)p->st.st_uid,
		    paths_own_number());
	else {
		look_at_table(row, table, p->system);
		return;
	}
	set_error(row, why);
}

/* Reads what the child writes, up to its end or the limit of time. */
static size_t
read_child(int fd, char buf[ROW_MAX])
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	size_t len = 0;
	ssize_t n;

	while (len < ROW_MAX && poll(&pfd, 1, LOOK_MS) > 0) {
		n = read(fd, buf + len, ROW_MAX - len);
		if (n <= 0)
			return n == 0 ? len : 0;
		len += (size_t)n;
	}
	return 0;
}

static void
explain_end(json_t *row, int status)
{
	char why[128];

	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		(void)snprintf(why, sizeof(why), "looking at it took more than "
		    "%d s, and was ended", LOOK_MS / 1000);
	else if (WIFSIGNALED(status))
		(void)snprintf(why, sizeof(why), "looking at it was ended by "
		    "signal %d: it is damaged, or no table", WTERMSIG(status));
	else
		(void)snprintf(why, sizeof(why), "looking at it failed");
	set_error(row, why);
}

/* Looks at a table in a process of its own.  Returns the row; NULL: out of
 * memory. */
static json_t *
look(struct place *p, const char *table, const struct stat *st)
{
	json_t *row = begin_row(p, table, st), *got;
	char buf[ROW_MAX], *text;
	int fds[2], status = 0;
	size_t len;
	pid_t pid;

	if (row == NULL)
		return NULL;
	if (p->stopped) {
		set_error(row, "not looked at, because looking at another "
		    "table of this directory took too long");
		return row;
	}
	if (pipe2(fds, O_CLOEXEC) != 0 || (pid = fork()) < 0) {
		set_error(row, strerror(errno));
		return row;
	}
	if (pid == 0) {
		fill_row(p, table, row);
		text = json_dumps(row, JSON_COMPACT);
		len = text == NULL ? 0 : strlen(text);
		_exit(len > 0 && write(fds[1], text, len) == (ssize_t)len ?
		    EX_YES : EX_SYSTEM);
	}
	(void)close(fds[1]);
	len = read_child(fds[0], buf);
	(void)close(fds[0]);
	if (len == 0)
		(void)kill(pid, SIGKILL);	/* ours, and not reaped yet */
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	p->stopped = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
	got = len > 0 ? json_loadb(buf, len, 0, NULL) : NULL;
	if (got == NULL) {
		explain_end(row, status);
		return row;
	}
	json_decref(row);
	return got;
}

static int
is_table(const struct dirent *d)
{
	size_t len = strlen(d->d_name), end = sizeof(SUFFIX) - 1;

	return len > end && strcmp(d->d_name + len - end, SUFFIX) == 0;
}

static int
is_place(const struct dirent *d)
{
	const char *id = d->d_name + sizeof(PREFIX) - 1;

	return strncmp(d->d_name, PREFIX, sizeof(PREFIX) - 1) == 0 &&
	    *id != '\0' && (strcmp(id, "system") == 0 ||
	    strspn(id, "0123456789") == strlen(id));
}

/* Adds one row for a directory that cannot be read.  Returns 0 or -1. */
static int
add_closed_place(json_t *all, const struct place *p, int error)
{
	json_t *row = begin_row(p, NULL, &p->st);
	char why[256];

	if (row == NULL)
		return -1;
	if (error == EACCES && !p->system && !p->sure)
		(void)snprintf(why, sizeof(why), UNMAPPED);
	else if (error == EACCES && !p->system)
		(void)snprintf(why, sizeof(why), "the directory of user %u's "
		    "tables has mode %04o: only that user and root can look "
		    "(sudo leasehold tables)", (unsigned)p->st.st_uid,
		    (unsigned)p->st.st_mode & 07777);
	else
		(void)snprintf(why, sizeof(why), "cannot read the directory: "
		    "%s", strerror(error));
	set_error(row, why);
	return json_array_append_new(all, row);
}

/* Adds one row for the tables that are too many.  Returns 0 or -1. */
static int
add_rest(json_t *all, const struct place *p, int n)
{
	json_t *row = begin_row(p, NULL, &p->st);
	char why[128];

	if (row == NULL)
		return -1;
	(void)snprintf(why, sizeof(why), "%d more tables are in this "
	    "directory: name one of them (--table)", n);
	set_error(row, why);
	return json_array_append_new(all, row);
}

/* Adds a row for each table of the directory.  Returns 0 or -1. */
static int
add_tables(json_t *all, const struct table_scan *scan, struct place *p)
{
	struct dirent **name;
	struct stat st;
	int n = scandirat(p->fd, ".", &name, is_table, alphasort), bad = 0;
	int shown = 0;
	size_t len;

	if (n < 0)
		return errno == ENOMEM ? -1 : add_closed_place(all, p, errno);
	for (int i = 0; i < n; i++) {
		char *leaf = name[i]->d_name;

		if (bad == 0 && fstatat(p->fd, leaf, &st,
		    AT_SYMLINK_NOFOLLOW) == 0) {
			len = strlen(leaf) - (sizeof(SUFFIX) - 1);
			leaf[len] = '\0';
			if ((scan->name == NULL ||
			    strcmp(leaf, scan->name) == 0) &&
			    shown++ < TABLES_MAX)
				bad = json_array_append_new(all, look(p, leaf,
				    &st));
		}
		free(name[i]);
	}
	free(name);
	if (bad == 0 && shown > TABLES_MAX)
		bad = add_rest(all, p, shown - TABLES_MAX);
	return bad;
}

/* Adds the tables of one directory of /dev/shm.  Returns 0 or -1. */
static int
add_place(json_t *all, const struct table_scan *scan, int shm, const char *leaf)
{
	struct place p = { .id = leaf + sizeof(PREFIX) - 1 };
	int bad = 0, error;

	p.system = strcmp(p.id, "system") == 0;
	if (fstatat(shm, leaf, &p.st, AT_SYMLINK_NOFOLLOW) != 0 ||
	    !S_ISDIR(p.st.st_mode))
		return 0;		/* gone, or not made by a leasehold */
	if ((scan->system && !p.system) || (scan->of_user && (p.system ||
	    p.st.st_uid != scan->uid)))
		return 0;
	p.fd = openat(shm, leaf, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);
	error = errno;
	p.sure = paths_is_owner_sure(p.fd, &p.st);
	if (p.fd < 0)
		return error == ENOENT ? 0 : add_closed_place(all, &p, error);
	bad = add_tables(all, scan, &p);
	(void)close(p.fd);
	return bad;
}

json_t *
table_scan(const struct table_scan *scan, int *status)
{
	json_t *all = json_array();
	struct dirent **name;
	int shm, n, bad = all == NULL ? -1 : 0;

	*status = EX_SYSTEM;
	shm = open(SHM, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	n = shm < 0 ? -1 : scandirat(shm, ".", &name, is_place, versionsort);
	if (n < 0) {
		message("cannot list the tables: cannot read " SHM ": %s",
		    strerror(errno));
		json_decref(all);
		return NULL;
	}
	for (int i = 0; i < n; i++) {
		if (bad == 0)
			bad = add_place(all, scan, shm, name[i]->d_name);
		free(name[i]);
	}
	free(name);
	(void)close(shm);
	if (bad == 0) {
		*status = EX_YES;
		return all;
	}
	message("out of memory");
	json_decref(all);
	return NULL;
}
