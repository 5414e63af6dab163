/* SPDX-License-Identifier: MIT */
/*
 * Applies root's configuration (table_conf.c) to a table of the machine: when
 * it is opened, and when it is made.
 *
 * A table that has a section is made as the section says, by any process of
 * root's: otherwise a job that comes before `leasehold init --configured` would
 * leave a table that the daemons cannot use.  Options that ask for something
 * else are an error.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include "base/error.h"
#include "shm/table_conf.h"
#include "shm/table_dir.h"
#include "shm/table_words.h"

#define USUAL_MODE 0600

static int
fail_untrusted(const char *path, uid_t owner, const struct lhi_table_conf *c)
{
	char name[TABLE_LEAF_MAX];

	lhi_table_dir_beside(name, path, "");
	if (c->found)
		return lhi_fail(-EACCES, "%s belongs to user %u, and "
		    TABLE_CONF " says that it is user %u's, so it is not "
		    "trusted: let root remove it (leasehold rm --system "
		    "--force --table %s), or correct the owner there", path,
		    (unsigned)owner, (unsigned)c->owner, name);
	return lhi_fail(-EACCES, "%s belongs to user %u, whom " TABLE_CONF
	    " does not name, so it is not trusted: let root remove it "
	    "(leasehold rm --system --force --table %s), or write there "
	    "[table %s] and below it owner = %u", path, (unsigned)owner, name,
	    name, (unsigned)owner);
}

int
lhi_table_conf_check_owner(const char *path, uid_t owner)
{
	struct lhi_table_conf c;
	int error;

	if (owner == 0)
		return 0;
	error = lhi_table_conf_find(path, &c);
	if (error != 0)
		return error;
	return c.found && c.owner == owner ? 0 :
	    fail_untrusted(path, owner, &c);
}

static int
fail_missing(const char *path)
{
	char name[TABLE_LEAF_MAX];

	lhi_table_dir_beside(name, path, "");
	return lhi_fail(-ENOENT, TABLE_CONF " has no section [table %s], which "
	    "says for whom the table is made: write one, with owner, group and "
	    "mode", name);
}

static bool
wants_durable(const struct lh_open_opts *o)
{
	return o->fence_dir != NULL ||
	    (o->flags & (LH_DURABLE | LH_ALL_LOCAL)) != 0;
}

int
lhi_table_conf_apply(const char *path, const struct lh_open_opts *asked,
    struct lh_open_opts *opts, uid_t *owner)
{
	struct lhi_table_conf c;
	int error = lhi_table_conf_find(path, &c);

	*opts = *asked;
	*owner = 0;
	if (error != 0)
		return error;
	if (!c.found)
		return asked->flags & LH_CONFIGURED ? fail_missing(path) : 0;
	if ((asked->mode != USUAL_MODE && asked->mode != c.mode) ||
	    (asked->group != LH_GROUP_USUAL && asked->group != c.group) ||
	    (wants_durable(asked) && !c.durable))
		return lhi_fail(-EINVAL, TABLE_CONF " says that %s has group "
		    "%u, mode %03o and %s fence file, and something else was "
		    "asked for: leave that out, or change it there", path,
		    (unsigned)c.group, (unsigned)c.mode,
		    c.durable ? "a" : "no");
	opts->mode = c.mode;
	opts->group = c.group;
	if (c.durable)
		opts->flags |= LH_DURABLE;
	*owner = c.owner;
	return 0;
}

int
lhi_table_conf_check(const char *path, int fd, uint32_t flags)
{
	struct lhi_table_conf c;
	struct stat st;
	int error;

	if (!(flags & LH_CONFIGURED))
		return 0;
	error = lhi_table_conf_find(path, &c);
	if (error != 0)
		return error;
	if (!c.found)
		return fail_missing(path);
	if (fstat(fd, &st) == 0 && st.st_uid == c.owner &&
	    st.st_gid == c.group && (st.st_mode & 0777) == c.mode)
		return 0;
	return lhi_fail(-EACCES, "%s is there, and is not as " TABLE_CONF
	    " says: it belongs to user %u and group %u with mode %03o, and is "
	    "to belong to user %u and group %u with mode %03o; remove it "
	    "while nobody uses it (leasehold rm%s), and make it again", path,
	    (unsigned)st.st_uid, (unsigned)st.st_gid,
	    (unsigned)st.st_mode & 0777, (unsigned)c.owner, (unsigned)c.group,
	    (unsigned)c.mode, TABLE_WORDS(path));
}
