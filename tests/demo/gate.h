/* SPDX-License-Identifier: MIT */
/*
 * A guarded resource: a small file that only the holder of a lease may rewrite,
 * behind a check that refuses a stale fencing token.
 *
 * A lease alone cannot protect a file.  A holder may be stopped between "I hold
 * it" and the write, and wake up when the lease has long been another's.  So
 * the resource itself remembers the largest token that it has seen and refuses
 * every smaller one; a token that grows with every grant makes that enough.
 *
 * The file is one page of text that is written with one pwrite(2):
 *
 *	leasehold-demo
 *	token 4294967313	the largest token seen
 *	writes 17		how many writes were let in
 *	by 3			the worker whose write was the last
 *	sum 91e2...		of all the above
 *
 * Reading shows the token too, and raises the one in the file: from then on an
 * older holder cannot write over what was read.  Check and write are one step
 * under the file's own lock (an open file description lock, which a killed
 * writer cannot leave behind); it is the resource's, and not the lease.
 */
#ifndef GATE_H
#define GATE_H

#include <stdint.h>

struct page {
	uint64_t token;
	uint64_t writes;
	uint32_t by;
};

/* Opens the file, creating it if need be.  A descriptor, or -errno. */
int gate_open(const char *path);

/*
 * Show the token and read.  0; -ESTALE: a larger one has been here, and is in
 * page->token; -EUCLEAN: the file is damaged; other -errno.
 */
int gate_read(int fd, uint64_t token, struct page *page);

/* Show the token and write writes and by.  As gate_read(). */
int gate_write(int fd, uint64_t token, struct page *page);

#endif
