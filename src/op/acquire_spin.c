/* SPDX-License-Identifier: MIT */
/*
 * A holder on another processor may be about to release: look at the word for a
 * moment before anything is announced or slept for.  Where that never comes
 * true (one processor, long holds) it is tried now and then only: the
 * attachment keeps the score, as a hint.
 */
#include <stdatomic.h>
#include <unistd.h>
#include "op/acquire_attempt.h"
#include "prim/pause.h"

#define SPINS 40
#define VAIN_MAX 16		/* spins in vain before most are left out */
#define VAIN_RETRY 64

void
lhi_attempt_spin(struct lhi_attempt *a, uint64_t w)
{
	uint32_t vain = atomic_load_explicit(&a->lh->spun_in_vain,
	    memory_order_relaxed);
	static _Atomic int known;
	int cpus = atomic_load_explicit(&known, memory_order_relaxed);

	if (cpus == 0) {
		cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
		atomic_store_explicit(&known, cpus, memory_order_relaxed);
	}
	if (vain < VAIN_MAX || vain % VAIN_RETRY == 0) {
		for (int i = 0; cpus > 1 && i < SPINS; i++) {
			if (sh64_load(&a->t.s->word) != w || (!a->t.queued &&
			    link_idx(sh64_load(&a->t.s->waitq)) != 0)) {
				vain = UINT32_MAX;
				break;
			}
			lhi_pause();
		}
	}
	atomic_store_explicit(&a->lh->spun_in_vain, vain + 1,
	    memory_order_relaxed);
}
