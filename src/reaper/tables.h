/* SPDX-License-Identifier: MIT */
/* The tables that the daemon looks after: see tables.c. */
#ifndef REAPER_TABLES_H
#define REAPER_TABLES_H

#include "reaper_conf.h"
#include "reaper/reap.h"

enum table_state {
	TABLE_ABSENT,		/* named, and there is none */
	TABLE_SERVED,
	TABLE_LEFT		/* there is one that we cannot look after */
};

struct table {
	char name[TABLE_NAME_MAX + 1];	/* "": an unused place */
	enum table_state state;
	int error;		/* LEFT: why */
	bool seen;		/* by the scan that goes on */
	bool damaged;		/* that was said */
	bool rangeless;		/* so was that there is no range of tokens */
	bool woken;		/* its descriptor has spoken, and waits to be
				 * listened to again */
	dev_t dev;		/* which object this is about */
	ino_t ino;
	struct lhi_reaper *reaper;
	int64_t began_ns;	/* the latest pass */
	int64_t next_ns;	/* the next one */
	int64_t keep_ns;	/* the next look at its tokens */
	int64_t spent_ns;	/* in all passes */
	int64_t longest_ns;
};

/* Descriptors go into the epoll set, as `kind` << 32 | the table's number. */
void tables_begin(int epoll_fd, uint32_t kind);

/* What to look after from now on, and how; scans the directory. */
void tables_configure(const struct conf *conf);

/*
 * What has come, gone or been replaced?  `again`: try those once more that
 * could not be looked after.
 */
void tables_scan(bool again);

/* The directory that the tables stand in, which may not be there yet. */
void tables_directory(char *to, size_t len);

/* Something is known to have changed since the last scan. */
void tables_scan_soon(void);
bool tables_is_look_due(void);

/* Let go of a table that is looked after; error: why, if it is LEFT. */
void tables_close(struct table *t, enum table_state state, int error);

/* Listen to its descriptor (once): EPOLL_CTL_ADD; EPOLL_CTL_MOD: again. */
int tables_arm(const struct table *t, int op);

/* Table i, below TABLES_MAX; NULL: an unused place. */
struct table *tables_at(uint32_t i);
unsigned tables_count_served(void);

void tables_log(void);
void tables_end(void);

#endif
