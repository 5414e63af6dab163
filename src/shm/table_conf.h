/* SPDX-License-Identifier: MIT */
/* Root's configuration of the machine's tables: see table_conf.c. */
#ifndef LHI_TABLE_CONF_H
#define LHI_TABLE_CONF_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <leasehold/table.h>

#define TABLE_CONF "/etc/leasehold.conf"

struct lhi_table_conf {
	bool found;		/* the configuration has a section about it */
	uid_t owner;
	gid_t group;
	mode_t mode;
	bool durable;
};

/*
 * Reads the section of the machine's table whose object is at `path`. Returns
 * 0: the whole file was accepted, or there is none; -EACCES: it is not trusted
 * or has a mistake, and then all of it is ignored; -ENOMEM.
 */
int lhi_table_conf_find(const char *path, struct lhi_table_conf *c);

/* Returns 0 if a machine's table that belongs to `owner` may be trusted;
 * -EACCES: it is neither root's nor is that owner named for it; -ENOMEM. */
int lhi_table_conf_check_owner(const char *path, uid_t owner);

/*
 * Turns the caller's options into those to make that table with, and says for
 * which owner.  Returns 0; -EINVAL: they contradict the configuration; -ENOENT:
 * LH_CONFIGURED, and there is no section; -EACCES, -ENOMEM.
 */
int lhi_table_conf_apply(const char *path, const struct lh_open_opts *asked,
    struct lh_open_opts *opts, uid_t *owner);

/* With LH_CONFIGURED: returns 0 if an existing table matches its section. */
int lhi_table_conf_check(const char *path, int fd, uint32_t flags);

#endif
