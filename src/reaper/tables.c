/* SPDX-License-Identifier: MIT */
/*
 * The tables that the daemon serves: those named in the configuration, or all
 * tables of the user or the machine that are in their directory
 * (shm/table_dir.c).
 *
 * A table is an object with that name.  If another object gets the name, it is
 * another table.  Each is in one of three states:
 *
 *	absent	There is no such object.  Only tables named in the configuration
 *		are kept in this state
 *	served	There is a reaper for it (reap.h): see table_pass.c
 *	left	There is an object that cannot be served: not a table, of
 *		another version, damaged, truncated, or not permitted.  This is
 *		logged once.  It is tried again without logging now and then
 *		(tables_scan(true)), and when the name gets another object
 *
 * The daemon is not attached to tables.  It has no session in them, does not
 * block `leasehold rm`, and keeps no table in existence.  Its memory of a
 * removed table is freed at the next scan, or when a pass finds out.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <bsd/string.h>
#include <leasehold/error.h>
#include "daemon/daemon_log.h"
#include "guard.h"
#include "shm/table_dir.h"
#include "shm/table_object.h"
#include "tables.h"

#define SUFFIX ".table"

static struct table tables[TABLES_MAX];
static struct conf wanted;
static int epoll_fd = -1;
static uint32_t epoll_kind;
static bool want_look, told_full;

/* Arguments and results of a guarded call. */
struct job {
	struct table *t;
	const char *path;
	int error;
};

static uint64_t
event_tag_of(const struct table *t)
{
	return (uint64_t)epoll_kind << 32 | (uint32_t)(t - tables);
}

int
tables_arm(const struct table *t, int op)
{
	/* for one event: the descriptor stays readable until the next pass,
	 * which may come later */
	struct epoll_event ev = { .events = EPOLLIN | EPOLLONESHOT,
	    .data.u64 = event_tag_of(t) };

	if (epoll_fd < 0)
		return 0;
	return epoll_ctl(epoll_fd, op, lhi_reap_fd(t->reaper), &ev) == 0 ? 0 :
	    -errno;
}

static void
do_close(void *arg)
{
	lhi_reap_close(arg);
}

void
tables_close(struct table *t, enum table_state state, int error)
{
	if (t->reaper != NULL)
		(void)guard_run(do_close, t->reaper);
	t->reaper = NULL;
	t->state = state;
	t->error = error;
}

static void
free_table(struct table *t)
{
	tables_close(t, TABLE_ABSENT, 0);
	memset(t, 0, sizeof(*t));
}

static void
apply_options(const struct table *t)
{
	struct lhi_reap_opts o = { .evict_idle_ms = wanted.evict_idle_ms,
	    .evict_above = wanted.evict_above };

	lhi_reap_set(t->reaper, &o);
}

static void
do_open(void *arg)
{
	struct job *job = arg;

	job->error = lhi_reap_open(&job->t->reaper, job->path);
}

/* Starts to serve the object at `path`, if possible. */
static void
open_table(struct table *t, const char *path, const struct stat *st)
{
	bool again = t->state == TABLE_LEFT && t->dev == st->st_dev &&
	    t->ino == st->st_ino;
	struct job job = { .t = t, .path = path };
	int was = t->error;
	const char *why;

	t->dev = st->st_dev;
	t->ino = st->st_ino;
	t->damaged = t->rangeless = t->woken = false;
	if (!guard_run(do_open, &job)) {
		job.error = -EPROTO;
		why = "it was truncated";
	} else if (job.error == 0) {
		job.error = tables_arm(t, EPOLL_CTL_ADD);
		why = strerror(-job.error);
	} else {
		why = lh_error_detail();
	}
	if (job.error == 0) {
		apply_options(t);
		t->state = TABLE_SERVED;
		t->next_ns = t->keep_ns = 0;
		t->spent_ns = t->longest_ns = 0;
		log_line(LOG_INFO, "table %s is served", t->name);
		return;
	}
	tables_close(t, TABLE_LEFT, job.error);
	if (job.error == -ENOENT || job.error == -EAGAIN)
		want_look = true;	/* it is being removed */
	else if (!again || was != job.error)
		log_line(LOG_WARNING, "table %s is not served: %s", t->name,
		    why);
}

/* Returns the entry of that name, or an unused one.  NULL: all are in use. */
static struct table *
find_place(const char *name)
{
	struct table *unused = NULL;

	for (struct table *t = tables; t < tables + TABLES_MAX; t++) {
		if (strcmp(t->name, name) == 0)
			return t;
		if (unused == NULL && t->name[0] == '\0')
			unused = t;
	}
	if (unused == NULL) {
		if (!told_full)
			log_line(LOG_WARNING, "there are more than %d tables, "
			    "and the others are not served; name the tables to "
			    "serve (key 'tables')", TABLES_MAX);
		told_full = true;
		return NULL;
	}
	(void)strlcpy(unused->name, name, sizeof(unused->name));
	return unused;
}

/* Updates the entry of a table from the object of that name. */
static void
look_up_table(const char *name, bool again)
{
	struct table *t;
	char path[PATH_MAX];
	struct stat st;

	if (lhi_object_path(path, sizeof(path), name, wanted.system) != 0)
		return;
	if (lstat(path, &st) != 0) {
		if (wanted.all)
			return;		/* not seen, so the entry is freed */
		st.st_ino = 0;
	}
	t = find_place(name);
	if (t == NULL)
		return;
	t->seen = true;
	if (st.st_ino == 0) {
		if (t->state == TABLE_SERVED)
			log_line(LOG_INFO, "table %s was removed", name);
		tables_close(t, TABLE_ABSENT, 0);
		return;
	}
	if (t->state == TABLE_SERVED &&
	    (t->dev != st.st_dev || t->ino != st.st_ino)) {
		log_line(LOG_INFO, "table %s was replaced by another one",
		    name);
		tables_close(t, TABLE_ABSENT, 0);
	}
	if (t->state == TABLE_ABSENT || (t->state == TABLE_LEFT &&
	    (again || t->dev != st.st_dev || t->ino != st.st_ino)))
		open_table(t, path, &st);
}

void
tables_directory(char *to, size_t len)
{
	char path[PATH_MAX];

	*to = '\0';
	if (lhi_object_path(path, sizeof(path), "x", wanted.system) == 0)
		lhi_table_dir_path(to, len, path);
}

/* Opens the tables' directory.  Returns NULL if it does not exist or cannot be
 * trusted. */
static DIR *
open_directory(void)
{
	static int told;
	char path[PATH_MAX];
	int fd = lhi_object_path(path, sizeof(path), "x", wanted.system);
	DIR *d = NULL;

	if (fd == 0)
		fd = lhi_table_dir_open(path, false);
	if (fd >= 0) {
		d = fdopendir(fd);
		if (d == NULL)
			(void)close(fd);
		fd = d == NULL ? -ENOMEM : 0;
	}
	if (fd < 0 && fd != -ENOENT && fd != told)
		log_line(LOG_ERR, "no table can be served: %s",
		    lh_error_detail());
	told = fd;
	return d;
}

static void
look_up_all_tables(bool again)
{
	char name[TABLE_NAME_MAX + 1];
	struct dirent *e;
	DIR *d = open_directory();

	if (d == NULL)
		return;
	while ((e = readdir(d)) != NULL) {
		size_t n = strlen(e->d_name), end = sizeof(SUFFIX) - 1;

		if (n <= end || n - end > TABLE_NAME_MAX ||
		    strcmp(e->d_name + n - end, SUFFIX) != 0)
			continue;
		(void)snprintf(name, sizeof(name), "%.*s", (int)(n - end),
		    e->d_name);
		look_up_table(name, again);
	}
	(void)closedir(d);
}

void
tables_scan(bool again)
{
	want_look = false;
	for (struct table *t = tables; t < tables + TABLES_MAX; t++)
		t->seen = false;
	if (wanted.all)
		look_up_all_tables(again);
	for (unsigned i = 0; !wanted.all && i < wanted.n_tables; i++)
		look_up_table(wanted.tables[i], again);
	for (struct table *t = tables; t < tables + TABLES_MAX; t++) {
		if (t->name[0] == '\0' || t->seen)
			continue;
		if (t->state == TABLE_SERVED)
			log_line(LOG_INFO, "table %s was removed, or is not "
			    "configured any more", t->name);
		free_table(t);
	}
}

void
tables_begin(int fd, uint32_t kind)
{
	epoll_fd = fd;
	epoll_kind = kind;
}

void
tables_configure(const struct conf *conf)
{
	if (conf->system != wanted.system)
		tables_end();
	wanted = *conf;
	told_full = false;
	for (struct table *t = tables; t < tables + TABLES_MAX; t++)
		if (t->state == TABLE_SERVED)
			apply_options(t);
	tables_scan(true);
	for (struct table *t = tables; t < tables + TABLES_MAX; t++)
		if (t->name[0] != '\0' && t->state == TABLE_ABSENT)
			log_line(LOG_INFO, "table %s does not exist yet",
			    t->name);
}

void
tables_scan_soon(void)
{
	want_look = true;
}

bool
tables_is_look_due(void)
{
	return want_look;
}

struct table *
tables_at(uint32_t i)
{
	return i < TABLES_MAX && tables[i].name[0] != '\0' ? &tables[i] : NULL;
}

unsigned
tables_count_served(void)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < TABLES_MAX; i++)
		n += tables[i].state == TABLE_SERVED;
	return n;
}

void
tables_log(void)
{
	for (const struct table *t = tables; t < tables + TABLES_MAX; t++) {
		const struct lhi_reap_counts *c;

		if (t->name[0] == '\0')
			continue;
		if (t->state != TABLE_SERVED) {
			log_line(LOG_NOTICE, "table %s: %s", t->name,
			    t->state == TABLE_ABSENT ? "missing" :
			    lh_strerror(t->error));
			continue;
		}
		c = lhi_reap_count(t->reaper);
		log_line(LOG_NOTICE, "table %s: %u sessions, %u of them "
		    "watched; %llu passes of %lld us, the longest %lld; %llu "
		    "expired, %llu buried, %llu finished, %llu evicted%s",
		    t->name, c->sessions, c->watched,
		    (unsigned long long)c->passes,
		    (long long)(t->spent_ns / 1000 /
		    (int64_t)(c->passes > 0 ? c->passes : 1)),
		    (long long)(t->longest_ns / 1000),
		    (unsigned long long)c->expired,
		    (unsigned long long)c->buried,
		    (unsigned long long)c->finished,
		    (unsigned long long)c->evicted,
		    t->damaged ? "; damaged" : "");
	}
}

void
tables_end(void)
{
	for (struct table *t = tables; t < tables + TABLES_MAX; t++)
		free_table(t);
}
