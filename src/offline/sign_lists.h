/* SPDX-License-Identifier: MIT */
/* Reads the kernel's lists of sockets for second signs: see sign_lists.c. */
#ifndef LHI_SIGN_LISTS_H
#define LHI_SIGN_LISTS_H

#include <stdint.h>
#include <sys/types.h>
#include "offline/inode_set.h"
#include "offline/live_users.h"
#include "shm/view.h"

#define SIGN_SOCKETS_MAX 4096	/* noted; more: nothing is known */

struct lhi_sign_socket {
	unsigned long ino;
	uint32_t idx;		/* the record whose sign it is */
	pid_t holder;		/* has it open; 0: none is seen */
	bool doubt;		/* a stranger may have made that line */
};

/* The second signs of a table that the kernel shows at one moment. */
struct lhi_sign_holders {
	struct lhi_view v;	/* a copy: its table is not used here */
	pid_t self;		/* this process, which looks */
	unsigned n;
	size_t n_listed, n_sorted, room;
	bool unseen;		/* there may be more */
	bool unlisted;		/* a process that is not copied from may have
				 * one that is in no list */
	struct lhi_live_pids unread;	/* processes that may have more */
	bool sees_all;		/* no others are hidden from us */
	struct lhi_sign_socket socket[SIGN_SOCKETS_MAX];
	struct lhi_inode_set nets;	/* network namespaces looked at */
	unsigned long *listed;	/* the inodes of all sockets that lists have */
};

/* Reads the lists of the network namespaces of all threads. */
void lhi_sign_lists_read(struct lhi_sign_holders *h);
void lhi_sign_lists_free(struct lhi_sign_holders *h);

/* True if one of those lists has that socket. */
bool lhi_sign_lists_have(const struct lhi_sign_holders *h, unsigned long ino);

/* Reads the list of a network namespace, if it was not read yet: of that
 * descriptor, which is closed.  `list` is its name elsewhere, or NULL. */
void lhi_sign_lists_net(struct lhi_sign_holders *h, int net, const char *list);

/* Notes a socket of that name and user, if it is a second sign of the table.
 * uid -1: not known. */
void lhi_sign_lists_note(struct lhi_sign_holders *h, unsigned long ino,
    const char *name, int64_t uid);

#endif
