/* SPDX-License-Identifier: MIT */
/* Shared by the files of the checker: see check.c. */
#ifndef LHI_CHECK_PART_H
#define LHI_CHECK_PART_H

#include "shm/view.h"

struct check {
	struct lhi_view *v;
	void (*fn)(const char *finding, void *arg);
	void *arg;
	int times;		/* as in check.h */
	int findings;
	char text[384];		/* of the part that is being judged */
};

/* Reports a finding about the part. Returns false. */
bool lhi_check_wrong(struct check *k, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
#define wrong(...) lhi_check_wrong(__VA_ARGS__)

/* True if the header's tokens are sound (i is 0), and the floor of shard i. */
bool lhi_check_tokens(struct check *k, uint32_t i);
bool lhi_check_shard(struct check *k, uint32_t i);

#endif
