/* SPDX-License-Identifier: MIT */
/* What is hashed before each step: see sight.h. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "crash/scenario.h"
#include "crash/sight.h"

void
sight_look(struct play *p, struct sight *s)
{
	struct stat st;
	int fd;

	if (p->sc->toy) {
		s->mem = p->toy;
		s->len = sizeof(p->toy);
		return;
	}
	if (s->mapped)
		return;
	fd = open(play_object(p), O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && st.st_size > 0) {
		s->mem = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED,
		    fd, 0);
		s->len = (size_t)st.st_size;
		s->mapped = s->mem != MAP_FAILED;
		if (!s->mapped)
			s->mem = NULL;
	}
	close(fd);
}

uint64_t
sight_hash(const struct sight *s)
{
	return s->mem == NULL ? 0 : XXH3_64bits(s->mem, s->len);
}

void
sight_end(struct sight *s)
{
	if (s->mapped)
		munmap((void *)(uintptr_t)s->mem, s->len);
}
