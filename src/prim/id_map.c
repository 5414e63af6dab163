/* SPDX-License-Identifier: MIT */
/*
 * Reads a map of user or group ids, "inside outside count" in each line.
 *
 * With read(2) alone, because stdio takes locks and memory: a thread of the
 * parent may have those in the child of a fork that ran no fork handlers, which
 * then waited for ever (behaviour/fork-never-hangs).
 */
#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>
#include "prim/descriptor.h"
#include "prim/id_map.h"

#define RANGES_MAX 340		/* the kernel's limit */

/* The number that is being read, and those before it in its line. */
struct line {
	uint64_t number[3];
	unsigned n;
	bool in_number;
};

/* Returns true when the line is complete. */
static bool
take(struct line *l, char c)
{
	if (c >= '0' && c <= '9') {
		if (!l->in_number && l->n < 3)
			l->number[l->n] = 0;
		l->in_number = true;
		if (l->n < 3)
			l->number[l->n] = l->number[l->n] * 10 +
			    (uint64_t)(c - '0');
		return false;
	}
	if (l->in_number)
		l->n++;
	l->in_number = false;
	return c == '\n';
}

void
lhi_id_map_walk(const char *path, bool (*fn)(const struct lhi_id_range *r,
    void *arg), void *arg)
{
	int fd = lhi_fd_open(path, O_RDONLY | O_CLOEXEC), ranges = 0;
	struct line l = { .n = 0 };
	struct lhi_id_range r;
	bool more = fd >= 0;
	char text[512];
	ssize_t len;

	while (more && (len = read(fd, text, sizeof(text))) > 0)
		for (ssize_t i = 0; i < len && more; i++) {
			if (!take(&l, text[i]))
				continue;
			r = (struct lhi_id_range){ l.number[0], l.number[1],
			    l.number[2] };
			more = l.n == 3 && fn(&r, arg) &&
			    ++ranges < RANGES_MAX;
			l.n = 0;
		}
	if (fd >= 0)
		(void)close(fd);
}
