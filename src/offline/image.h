/* SPDX-License-Identifier: MIT */
/* A table's memory for inspection, which cannot be changed: see image.c. */
#ifndef LHI_IMAGE_H
#define LHI_IMAGE_H

#include "shm/view.h"

struct lhi_image {
	struct lhi_view v;
	char *base;
	bool live;		/* others may be changing it */
	char lost[512];		/* why nobody can tell who lives: its live file
				 * is gone; or "" */
};

/*
 * `live`: path is a table's object, which may be in use; else a copy of one.
 * 0; -ENOENT, -EACCES, -EPROTO, -EUCLEAN, -ENOMEM, -errno.
 */
int lhi_image_open(struct lhi_image *im, const char *path, bool live);
void lhi_image_close(struct lhi_image *im);

/* True if the table is in use and this process has its clock. */
bool lhi_image_has_our_clock(const struct lhi_image *im);

#endif
