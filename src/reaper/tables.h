/* SPDX-License-Identifier: MIT */
/*
 * The tables that the daemon serves: see tables.c.  reaper_loop.c, table_pass.c
 * and reaper_metrics.c use them.
 */
#ifndef REAPER_TABLES_H
#define REAPER_TABLES_H

#include "reaper_conf.h"
#include "reaper/reap.h"

enum table_state {
	TABLE_ABSENT,		/* named in the configuration, and missing */
	TABLE_SERVED,
	TABLE_LEFT		/* there is one that cannot be served */
};

struct table {
	char name[TABLE_NAME_MAX + 1];	/* "": an unused entry */
	enum table_state state;
	int error;		/* TABLE_LEFT: why */
	bool seen;		/* seen by the current scan */
	bool damaged;		/* damage was logged */
	bool rangeless;		/* a missing token range was logged */
	bool woken;		/* its descriptor was readable and is to be
				 * armed again */
	dev_t dev;		/* identity of the table's object */
	ino_t ino;
	struct lhi_reaper *reaper;
	int64_t began_ns;	/* start of the latest pass */
	int64_t next_ns;	/* time of the next pass */
	int64_t keep_ns;	/* time of the next token check */
	int64_t spent_ns;	/* time spent in all passes */
	int64_t longest_ns;
};

/* Sets the epoll set for descriptors of tables.  Their events carry `kind` <<
 * 32 | the table's index. */
void tables_begin(int epoll_fd, uint32_t kind);

/* Sets which tables to serve and how, and scans the directory. */
void tables_configure(const struct conf *conf);

/* Finds tables that were made, removed or replaced.  `again`: also tries those
 * again that could not be served. */
void tables_scan(bool again);

/* Writes the path of the tables' directory, which may not exist yet. */
void tables_directory(char *to, size_t len);

/* Asks for a scan, because something has changed. */
void tables_scan_soon(void);
/* True if a scan was asked for. */
bool tables_is_look_due(void);

/* Stops serving a table.  `error`: why, if its state becomes TABLE_LEFT. */
void tables_close(struct table *t, enum table_state state, int error);

/* Watches the table's descriptor for one event.  `op`: EPOLL_CTL_ADD, or
 * EPOLL_CTL_MOD to arm it again. */
int tables_arm(const struct table *t, int op);

/* Returns table i, or NULL if the entry is unused. */
struct table *tables_at(uint32_t i);
unsigned tables_count_served(void);

void tables_log(void);
void tables_end(void);

#endif
