/* SPDX-License-Identifier: MIT */
/* Pauses in a spin loop, so that the other hyperthread can run. */
#ifndef LHI_PAUSE_H
#define LHI_PAUSE_H

static inline void
lhi_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#else
	__asm__ volatile("" ::: "memory");
#endif
}

#endif
