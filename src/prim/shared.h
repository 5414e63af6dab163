/* SPDX-License-Identifier: MIT */
/*
 * The only way to touch shared memory: typed fields and named operations.
 *
 * A field that several processes may touch is a shm_u64 or shm_u32, which are
 * structs, so that a plain access does not compile.  The ordering is in the
 * operation's name; pairs are named where they are used and listed in
 * doc/protocol.md ("Ordering").  Read-modify-writes are sequentially consistent
 * and so are the loads that end in _sc: the two Dekker pairs need them.
 *
 * Built with LHI_HOOKS, every operation first calls lhi_hook, and protocol code
 * names the moments between them with lhi_point(): a schedule explorer, a
 * hand-ordered replay or a kill can be put there without touching the protocol.
 */
#ifndef LHI_SHARED_H
#define LHI_SHARED_H

#include <stdbool.h>
#include <stdint.h>

typedef struct { uint64_t raw; } shm_u64;
typedef struct { uint32_t raw; } shm_u32;

#ifdef LHI_HOOKS
extern void (*lhi_hook)(const char *what, const void *addr);
#define lhi_touch(what, addr) \
	do { if (lhi_hook) lhi_hook(what, addr); } while (0)
#define lhi_point(name) lhi_touch(name, (const void *)0)
#else
#define lhi_touch(what, addr) ((void)0)
#define lhi_point(name) ((void)0)
#endif

/* loads and stores */
#define SH_OPS(pfx, T, ctype)						\
static inline ctype pfx##_load(const T *f)	/* acquire */		\
{ lhi_touch("load", f); return __atomic_load_n(&f->raw, __ATOMIC_ACQUIRE); } \
static inline ctype pfx##_load_sc(const T *f)				\
{ lhi_touch("load", f); return __atomic_load_n(&f->raw, __ATOMIC_SEQ_CST); } \
static inline ctype pfx##_load_rlx(const T *f)				\
{ lhi_touch("load", f); return __atomic_load_n(&f->raw, __ATOMIC_RELAXED); } \
static inline void pfx##_store(T *f, ctype v)	/* release */		\
{ lhi_touch("store", f); __atomic_store_n(&f->raw, v, __ATOMIC_RELEASE); } \
static inline void pfx##_store_rlx(T *f, ctype v)			\
{ lhi_touch("store", f); __atomic_store_n(&f->raw, v, __ATOMIC_RELAXED); } \
static inline bool pfx##_cas(T *f, ctype from, ctype to)		\
{ lhi_touch("cas", f); return __atomic_compare_exchange_n(&f->raw, &from, to, \
    false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); }			\
static inline ctype pfx##_xchg(T *f, ctype v)				\
{ lhi_touch("xchg", f);							\
return __atomic_exchange_n(&f->raw, v, __ATOMIC_SEQ_CST); } \
static inline ctype pfx##_fetch_add(T *f, ctype v)			\
{ lhi_touch("add", f);							\
return __atomic_fetch_add(&f->raw, v, __ATOMIC_SEQ_CST); } \
static inline ctype pfx##_fetch_or(T *f, ctype v)			\
{ lhi_touch("or", f);							\
return __atomic_fetch_or(&f->raw, v, __ATOMIC_SEQ_CST); } \
static inline ctype pfx##_fetch_and(T *f, ctype v)			\
{ lhi_touch("and", f);							\
return __atomic_fetch_and(&f->raw, v, __ATOMIC_SEQ_CST); }

SH_OPS(sh64, shm_u64, uint64_t)
SH_OPS(sh32, shm_u32, uint32_t)

/*
 * The bound of a loop that shared words would end: true for the first `most`
 * times, n being the loop's own counter, which begins with 0.  A scribbled
 * word, or a process that never stops writing it, could keep the loop going for
 * ever.  So no loop's end rests on a shared word alone: tests/loops asks for
 * the bound, and doc/loops.md lists them all.
 *
 * LHI_REACHED() is true behind a loop that its bound has ended.  The table is
 * damaged then (shm/damaged.h).
 */
#ifdef LHI_HOOKS
static inline bool
lhi_bound_was_reached(const char *function)
{
	lhi_touch("bound", function);
	return true;
}
#define LHI_WITHIN(n, most) \
	((n)++ < (most) || !lhi_bound_was_reached(__func__))
#else
#define LHI_WITHIN(n, most) ((n)++ < (most))
#endif
#define LHI_REACHED(n, most) __builtin_expect((n) > (most), 0)

/*
 * Swaps of one word that are lost to others, or looks at it that found it
 * changed, before it is damage.  Each loss is another process's gain, so that
 * in use a few in a row are rare, and this many are not seen.
 */
#define LHI_SWAPS_MAX 10000u

/* Raise to at least v; the value is never lowered.  False: it kept changing. */
static inline bool
sh64_max(shm_u64 *f, uint64_t v)
{
	uint64_t old;
	uint32_t n = 0;

	do {
		old = sh64_load(f);
		if (old >= v)
			return true;
	} while (!sh64_cas(f, old, v) && LHI_WITHIN(n, LHI_SWAPS_MAX));
	return !LHI_REACHED(n, LHI_SWAPS_MAX);
}

/* What the only writer of a field last wrote: no other order is needed. */
static inline uint64_t
sh64_own(const shm_u64 *f)
{
	lhi_touch("load", f);
	return f->raw;
}

#undef SH_OPS

/*
 * Seeded bugs, for `make check-mutants`: mutants.def lists them, mutants.c has
 * a flag for each.
 */
#ifdef LHI_MUTANTS
#define lhi_mutant_on(name) __extension__ ({				\
	extern bool lhi_mutant_##name;					\
	lhi_mutant_##name; })
#else
#define lhi_mutant_on(name) false
#endif

#endif
