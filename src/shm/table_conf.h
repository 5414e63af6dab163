/* SPDX-License-Identifier: MIT */
/* What root says about the machine's tables: see table_conf.c. */
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
 * Reads the section of the machine's table whose object is at `path`.  0: the
 * whole file was understood, or there is none; -EACCES: it cannot be trusted or
 * understood, and then nothing in it counts; -ENOMEM.
 */
int lhi_table_conf_find(const char *path, struct lhi_table_conf *c);

/* 0 if a machine's table that belongs to `owner` is to be trusted; -EACCES:
 * it is neither root's nor is that owner named for it; -ENOMEM. */
int lhi_table_conf_check_owner(const char *path, uid_t owner);

/*
 * Makes of the options of whoever makes that table the ones to make it with,
 * and says for whom.  0; -EINVAL: they contradict the configuration; -ENOENT:
 * LH_CONFIGURED, and there is no section; -EACCES, -ENOMEM.
 */
int lhi_table_conf_apply(const char *path, const struct lh_open_opts *asked,
    struct lh_open_opts *opts, uid_t *owner);

/* With LH_CONFIGURED: 0 if an existing table is as its section says. */
int lhi_table_conf_check(const char *path, int fd, uint32_t flags);

#endif
