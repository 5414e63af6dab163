/* SPDX-License-Identifier: MIT */
/*
 * The contents of a table, or of a copy of one, as they are.
 *
 * Unlike the functions of inspect.h this one takes no session, needs only read
 * permission, frees nothing, and works on an image: a copy of a table's object
 * that was kept after a reboot or an accident.  Every index is checked before
 * it is used, so no bit pattern does harm (G12).
 */
#ifndef LEASEHOLD_DUMP_H
#define LEASEHOLD_DUMP_H

#include <leasehold/inspect.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* lh_dump_table.flags */
#define LH_DUMP_DAMAGED	0x1u	/* damage was found while it was in use */
#define LH_DUMP_RETIRED	0x2u	/* it is being removed, or was */
#define LH_DUMP_OTHER_CLOCK 0x10000u /* it is in use, and its clock is that of
				 * another time namespace, or may be (/proc
				 * cannot be read) */
#define LH_DUMP_OTHER_BOOT 0x20000u /* a copy whose clock is that of another
				 * boot or time namespace, or may be: ends of
				 * named sessions are not checked */

struct lh_dump_table {
	size_t size;		/* sizeof(struct lh_dump_table) */
	const char *path;
	uint64_t uuid[2];
	uint32_t format;
	uint32_t flags;		/* LH_DUMP_... */
	uint32_t order;		/* enum lh_order */
	uint32_t creator_pid;
	int64_t created_epoch_ms;
	int64_t zero_epoch_ms;	/* when its clock would have been 0, by the
				 * wall clock at its creation */
	uint32_t max_keys, ready_keys;	/* at most; with memory by now */
	uint32_t max_leases, ready_leases;
	uint32_t max_sessions;
	uint32_t clock;		/* enum lh_clock */
	uint64_t bytes;		/* at most */
	uint64_t token_base;	/* tokens are above it */
	uint64_t token_ceiling;	/* and below this */
	uint64_t token_durable;	/* as in struct lh_stats */
	const char *fence_dir;	/* "": it has no fence file */
	uint64_t token_last;	/* of a table whose tokens rise over all keys:
				 * the last one drawn; 0 of any other */
	int64_t clock_ns;	/* its clock now; 0: it cannot be asked (an
				 * image, LH_DUMP_OTHER_CLOCK) */
};

struct lh_dump_session {
	size_t size;		/* sizeof(struct lh_dump_session) */
	uint64_t id;
	const char *state;	/* "reserved", "alive", "closing", "dead" */
	uint32_t index;
	uint32_t pid, uid;
	uint32_t leases_reserved;
	int64_t attached_ns;	/* table clock */
	char application[LH_APPLICATION_MAX + 1];
};

struct lh_dump_key {
	size_t size;		/* sizeof(struct lh_dump_key) */
	uint32_t slot;		/* where it is */
	uint32_t reserved;
	uint64_t word;		/* its lock word: doc/format.md */
	/* holders past their deadline and the dead are in it as well; rank,
	 * moved, delayed_ns and what is known of other hosts are 0 */
	const struct lh_key_info *info;
};

/* The functions to call; NULL leaves a part out.  Pointers are valid during the
 * call.  A result other than 0 ends the dump and becomes its result. */
struct lh_dump_to {
	size_t size;		/* sizeof(struct lh_dump_to) */
	int (*table)(const struct lh_dump_table *table, void *arg);
	int (*session)(const struct lh_dump_session *session, void *arg);
	int (*key)(const struct lh_dump_key *key, void *arg);
	void (*finding)(const char *finding, void *arg);
};

/*
 * Reports table `name` (NULL: as lh_open()), flags 0 or LH_SYSTEM; or, if file
 * is not NULL, the image in that file.  First the table, then the sessions in
 * use, then the keys, in no particular order.
 *
 * For a table in use, each key is reported as it was at some moment, and damage
 * only where the dump itself finds it, or its live file is gone (lh_check()
 * checks more). An image is checked as a whole.
 *
 * Returns the number of findings; or what a function returned; -ENOENT;
 * -EACCES; -EPROTO (not a table, another version's or build's, cut short);
 * -EUCLEAN (the header is damaged: nothing can be reported); -ENOMEM; -EINVAL;
 * -ENAMETOOLONG; -errno.
 */
int lh_dump(const char *name, const char *file, uint32_t flags,
    const struct lh_dump_to *to, void *arg);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
