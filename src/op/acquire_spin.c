/* SPDX-License-Identifier: MIT */
/*
 * Spins for a moment before a claim is announced or a thread sleeps, because a
 * holder on another processor may be about to release.  Where that never
 * succeeds (one processor, long holds) it is tried only now and then.  The
 * attachment counts failures in a row, as a hint.
 */
#include <stdatomic.h>
#include <unistd.h>
#include "op/acquire_attempt.h"
#include "prim/pause.h"

#define SPINS 40
#define VAIN_MAX 16		/* failures in a row before most spins are
				 * skipped */
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
