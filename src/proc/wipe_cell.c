/* SPDX-License-Identifier: MIT */
/*
 * Cells: memory for claim caches and anchors.  claim_cache.c and lh_open() use
 * them.
 *
 * The kernel clears a cell in a forked child.  Cells are never unmapped, and
 * never used for anything else.  So a thread may still point to the claim cache
 * of an attachment that another thread closed; it finds the cache unused.
 */
#include <string.h>
#include <sys/mman.h>
#include "proc/claim_cache.h"

#define ARENA_LEN (64 * 1024)
#define CELL_LEN 960	/* whole cache lines */

_Static_assert(sizeof(struct lhi_claim_cache) <= CELL_LEN, "claim cache cell");
_Static_assert(CELL_LEN % _Alignof(struct lhi_claim_cache) == 0, "aligned");

static struct lhi_claim_cache *free_cells;
static char *arena, *arena_end;

struct lhi_claim_cache *
lhi_claim_cache_cell(void)
{
	struct lhi_claim_cache *m = free_cells;

	if (m != NULL) {
		free_cells = m->next;
		memset(m, 0, sizeof(*m));
		return m;
	}
	if (arena_end - arena < CELL_LEN) {
		char *p = mmap(NULL, ARENA_LEN, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED)
			return NULL;
		if (madvise(p, ARENA_LEN, MADV_WIPEONFORK) != 0) {
			(void)munmap(p, ARENA_LEN);
			return NULL;
		}
		arena = p;
		arena_end = p + ARENA_LEN;
	}
	m = (struct lhi_claim_cache *)arena;
	arena += CELL_LEN;
	return m;
}

void
lhi_claim_cache_cell_free(struct lhi_claim_cache *m)
{
	memset(m, 0, sizeof(*m));
	m->next = free_cells;
	free_cells = m;
}

void
lhi_claim_cache_cells_child(void)
{
	/* the cells are cleared, so the lists through them are gone */
	free_cells = NULL;
	arena = arena_end = NULL;
}
