/* SPDX-License-Identifier: MIT */
/* Descriptors that applications poll: see readable.c. */
#ifndef LHI_READABLE_H
#define LHI_READABLE_H

#include <sys/types.h>

struct lhi_readable {
	int fd;
	dev_t dev;		/* of fd: to see if it is still ours */
	ino_t ino;
};

/* 0; -EMFILE, -ENFILE, -ENOMEM with a detail. */
int lhi_readable_open(struct lhi_readable *r, const char *whose);
void lhi_readable_close(const struct lhi_readable *r);

/* Makes it readable; makes it unreadable. */
void lhi_readable_raise(const struct lhi_readable *r);
void lhi_readable_lower(const struct lhi_readable *r);

#endif
