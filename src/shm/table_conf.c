/* SPDX-License-Identifier: MIT */
/*
 * Root's configuration of the machine's tables: whether a table that is not
 * root's may be trusted, and how it is made.
 *
 *	[table NAME]
 *	owner = USER		a name in /etc/passwd, or a number (root)
 *	group = GROUP		a name in /etc/group, or a number (the owner's)
 *	mode = OCTAL		of the object (600)
 *	durable = yes		a fence file in the usual place (no)
 *
 * Only root can put files into the directory of the machine's tables, but such
 * a file may have been given to a user since, or come from an archive.  A
 * table's owner can change every word of it.  So a table that is not root's is
 * used only if root has named its owner here.
 *
 * The file is trusted if it belongs to root, is no link, and neither group nor
 * others can write to it, according to its descriptor.  Its place is fixed: no
 * variable and no option names another one, so that a set-uid program reads the
 * same file as any other.  It is accepted as a whole or not at all: a mistake
 * in one section invalidates all of them.  Then no process uses a table that is
 * not root's, and root makes none.
 *
 * A worker reads it without libinih, and so there is one reader, here, for the
 * library, the command and the daemons.  It is called when a table is made, and
 * when one that is not root's is opened.  Names are looked up in the files
 * themselves, because a directory service could give another answer, or never
 * answer.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <bsd/string.h>
#include "base/error.h"
#include "prim/descriptor.h"
#include "prim/file_owner.h"
#include "shm/table_conf.h"
#include "shm/table_dir.h"

#define LINES_MAX 10000
#define LINE_MAX_BYTES 512
#define SECTIONS_MAX 1000
#define GROUP_KEY 1		/* its place in set_key() */
#define NONE UINT32_MAX		/* no user and no group has that number */
#define BLANK " \t\r\n\v\f"

struct reader {
	const char *wanted;	/* the table's name */
	struct lhi_table_conf *conf;
	struct lhi_table_conf section;	/* the one that is being read */
	char (*names)[TABLE_LEAF_MAX];	/* of all sections; the last is its */
	int sections;
	unsigned seen;		/* its keys, by their places in set_key() */
	uint32_t login_group;	/* of its owner; NONE: not known */
	int line;
};

static int __attribute__((format(printf, 2, 3)))
refuse_line(const struct reader *r, const char *fmt, ...)
{
	char why[256];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	return lhi_fail(-EACCES, TABLE_CONF ":%d: %s; until root has repaired "
	    "that, none of the machine's tables is made, and only root's are "
	    "used", r->line, why);
}

/* Returns the number that a text is; NONE: it is not one. */
static uint32_t
parse_id(const char *text)
{
	unsigned long n;
	size_t len = strlen(text);

	if (len == 0 || len > 10 || strspn(text, "0123456789") != len)
		return NONE;
	n = strtoul(text, NULL, 10);
	return n < NONE ? (uint32_t)n : NONE;
}

/* Cuts the next field of a line of /etc/passwd or /etc/group. */
static const char *
cut_field(char **rest)
{
	char *field = strsep(rest, ":\n");

	return field == NULL ? "" : field;
}

/* Looks up a user or group by name or number: *id, and *next, which is the
 * field after it, a user's group.  NONE: there is no such line. */
static void
look_up_id(const char *file, const char *text, uint32_t *id, uint32_t *next)
{
	int fd = lhi_fd_open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	uint32_t number = parse_id(text);
	char *line = NULL;
	size_t room = 0;

	*id = number;
	*next = NONE;
	if (f == NULL && fd >= 0)
		(void)close(fd);
	while (f != NULL && getline(&line, &room, f) > 0) {
		char *rest = line;
		const char *name = cut_field(&rest);
		uint32_t n;

		(void)cut_field(&rest);
		n = parse_id(cut_field(&rest));
		if (n == NONE || (number == NONE ? strcmp(name, text) != 0 :
		    n != number))
			continue;
		*id = n;
		*next = parse_id(cut_field(&rest));
		break;
	}
	free(line);
	if (f != NULL)
		(void)fclose(f);
}

static int
set_owner(struct reader *r, const char *value)
{
	uint32_t id;

	look_up_id("/etc/passwd", value, &id, &r->login_group);
	if (id == NONE)
		return refuse_line(r, "owner: there is no user '%s' in "
		    "/etc/passwd (a user of a directory service is named by "
		    "its number)", value);
	r->section.owner = id;
	return 0;
}

static int
set_group(struct reader *r, const char *value)
{
	uint32_t id, next;

	look_up_id("/etc/group", value, &id, &next);
	if (id == NONE)
		return refuse_line(r, "group: there is no group '%s' in "
		    "/etc/group (a group of a directory service is named by "
		    "its number)", value);
	r->section.group = id;
	return 0;
}

static int
set_mode(struct reader *r, const char *value)
{
	size_t len = strlen(value);
	unsigned long mode = strtoul(value, NULL, 8);

	if (len == 0 || len > 4 || strspn(value, "01234567") != len ||
	    mode > 0777)
		return refuse_line(r, "mode: '%s' is not three octal digits, "
		    "as in 660", value);
	if ((mode & 0600) != 0600)
		return refuse_line(r, "mode: %s would lock its owner out: it "
		    "begins with 6 or 7", value);
	r->section.mode = (mode_t)mode;
	return 0;
}

static int
set_durable(struct reader *r, const char *value)
{
	if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
		return refuse_line(r, "durable: '%s' is neither yes nor no",
		    value);
	r->section.durable = value[0] == 'y';
	return 0;
}

static int
set_key(struct reader *r, const char *key, const char *value)
{
	static const struct {
		const char *name;
		int (*set)(struct reader *r, const char *value);
	} keys[] = {
		{ "owner", set_owner }, { "group", set_group },
		{ "mode", set_mode }, { "durable", set_durable },
	};

	if (r->sections == 0)
		return refuse_line(r, "'%s' stands in no section: write "
		    "[table NAME] above it", key);
	for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (strcmp(key, keys[i].name) != 0)
			continue;
		if (r->seen & 1u << i)
			return refuse_line(r, "%s: given before: keep one of "
			    "them", key);
		r->seen |= 1u << i;
		return keys[i].set(r, value);
	}
	return refuse_line(r, "there is no key '%s'; there are owner, group, "
	    "mode, durable", key);
}

/* Checks a section as a whole. */
static int
end_section(struct reader *r)
{
	struct lhi_table_conf *c = &r->section;
	bool has_group = r->seen & 1u << GROUP_KEY;
	const char *name;

	if (r->sections == 0)
		return 0;
	name = r->names[r->sections - 1];
	if (!has_group && c->owner != 0 && r->login_group == NONE)
		return refuse_line(r, "[table %s]: user %u is not in "
		    "/etc/passwd: say which group the table has", name,
		    (unsigned)c->owner);
	if (!has_group)
		c->group = c->owner == 0 ? 0 : r->login_group;
	/* ranges are claimed in a directory of root's that the group writes */
	if (c->durable && c->owner != 0 && !(c->mode & S_IWGRP))
		return refuse_line(r, "[table %s]: durable needs a mode that "
		    "lets the group write (660), because the fence directory "
		    "is root's and the group's", name);
	c->found = true;
	if (strcmp(name, r->wanted) == 0)
		*r->conf = *c;
	return 0;
}

/* Remembers the name of a section; no table has two. */
static int
add_name(struct reader *r, const char *name, size_t len)
{
	char (*all)[TABLE_LEAF_MAX] = r->names;

	for (int i = 0; i < r->sections; i++) {
		if (strncmp(all[i], name, len) == 0 && all[i][len] == '\0')
			return refuse_line(r, "[table %s]: given before: keep "
			    "one of them", all[i]);
	}
	if (r->sections == SECTIONS_MAX)
		return refuse_line(r, "there are more than %d sections",
		    SECTIONS_MAX);
	all = realloc(all, sizeof(*all) * (size_t)(r->sections + 1));
	if (all == NULL)
		return lhi_fail(-ENOMEM, "out of memory");
	r->names = all;
	memcpy(all[r->sections], name, len);
	all[r->sections++][len] = '\0';
	return 0;
}

static int
begin_section(struct reader *r, const char *title)
{
	static const char word[] = "[table";
	size_t n = sizeof(word) - 1, len = strlen(title), blanks;
	int error = end_section(r);

	if (error != 0)
		return error;
	blanks = strncmp(title, word, n) == 0 ? strspn(title + n, BLANK) : 0;
	if (blanks == 0 || title[len - 1] != ']')
		return refuse_line(r, "'%s' is no section: write [table NAME]",
		    title);
	title += n + blanks;
	len = strcspn(title, "]" BLANK);
	if (len == 0 || strspn(title + len, BLANK) + 1 != strlen(title + len) ||
	    len >= TABLE_LEAF_MAX)
		return refuse_line(r, "one name of a table goes between "
		    "[table and ]");
	r->seen = 0;
	r->login_group = NONE;
	r->section = (struct lhi_table_conf){ .mode = 0600 };
	return add_name(r, title, len);
}

/* Removes the blanks around it. */
static char *
trim(char *text)
{
	size_t n;

	text += strspn(text, BLANK);
	n = strlen(text);
	while (n > 0 && strchr(BLANK, text[n - 1]) != NULL)
		text[--n] = '\0';
	return text;
}

static int
read_line(struct reader *r, char *line)
{
	char *text = trim(line), *equals;

	if (text[0] == '\0' || text[0] == '#' || text[0] == ';')
		return 0;
	if (text[0] == '[')
		return begin_section(r, text);
	equals = strchr(text, '=');
	if (equals == NULL || equals == text)
		return refuse_line(r, "not understood: write KEY = VALUE, or "
		    "# before a remark");
	*equals = '\0';
	return set_key(r, trim(text), trim(equals + 1));
}

static int
read_lines(struct reader *r, FILE *f)
{
	char line[LINE_MAX_BYTES];
	int error = 0;

	while (error == 0 && fgets(line, sizeof(line), f) != NULL) {
		size_t n = strlen(line);

		r->line++;
		if (n == 0 || (line[n - 1] != '\n' && !feof(f)) ||
		    r->line > LINES_MAX)
			error = refuse_line(r, "the line has more than %d "
			    "bytes or a NUL in it, or there are more than %d "
			    "lines", LINE_MAX_BYTES - 2, LINES_MAX);
		else
			error = read_line(r, line);
	}
	if (error == 0 && ferror(f))
		error = lhi_fail(-EACCES, "cannot read " TABLE_CONF ": %s",
		    strerror(errno));
	return error != 0 ? error : end_section(r);
}

/* Returns a descriptor; -ENOENT, without a sentence; -EACCES. */
static int
open_conf(void)
{
	int fd = lhi_fd_open(TABLE_CONF, O_RDONLY | O_CLOEXEC | O_NOFOLLOW |
	    O_NONBLOCK | O_NOCTTY);
	struct stat st = { .st_mode = S_IFREG };

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return -ENOENT;
	if (fd < 0)
		return lhi_fail(errno == ENOMEM || errno == EMFILE ||
		    errno == ENFILE ? -errno : -EACCES, "cannot read "
		    TABLE_CONF ", which says whose the machine's tables are: "
		    "%s", errno == ELOOP ? "it is a link; put the file itself "
		    "there" : strerror(errno));
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == 0 &&
	    !(st.st_mode & 022) && lhi_owner_is_sure(fd, &st))
		return fd;
	(void)close(fd);
	if (!S_ISREG(st.st_mode))
		return lhi_fail(-EACCES, TABLE_CONF " is %s and no file: "
		    "remove it, or put the file there; until then only root's "
		    "tables are used, and none is made", S_ISDIR(st.st_mode) ?
		    "a directory" : S_ISFIFO(st.st_mode) ? "a FIFO" :
		    "a device");
	return lhi_fail(-EACCES, TABLE_CONF " belongs to user %u, with mode "
	    "%03o: nothing in it counts unless it is a file of root's that "
	    "nobody else can write to (chown root " TABLE_CONF "; chmod go-w "
	    TABLE_CONF ")", (unsigned)st.st_uid, (unsigned)st.st_mode & 0777);
}

int
lhi_table_conf_find(const char *path, struct lhi_table_conf *c)
{
	char name[TABLE_LEAF_MAX];
	struct reader r = { .wanted = name, .conf = c };
	int saved = errno, fd, error;
	FILE *f;

	memset(c, 0, sizeof(*c));
	lhi_table_dir_beside(name, path, "");
	fd = open_conf();
	if (fd < 0) {
		errno = saved;
		return fd == -ENOENT ? 0 : fd;
	}
	f = fdopen(fd, "r");
	if (f == NULL) {
		(void)close(fd);
		errno = saved;
		return lhi_fail(-ENOMEM, "out of memory");
	}
	error = read_lines(&r, f);
	(void)fclose(f);
	free(r.names);
	if (error != 0)
		memset(c, 0, sizeof(*c));
	errno = saved;
	return error;
}
