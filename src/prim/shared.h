/* SPDX-License-Identifier: MIT */
/*
 * The only way to access shared memory: typed fields and named operations.
 * Every file that touches a table uses it.
 *
 * A field that several processes may touch is a shm_u64 or shm_u32.  These are
 * structs, so a plain access does not compile.  The memory order is in the
 * operation's name.  Pairs of operations are named where they are used and
 * listed in doc/protocol.md ("Ordering").  Read-modify-writes are sequentially
 * consistent, and so are loads that end in _sc; the two Dekker pairs need that.
 *
 * In a build with LHI_HOOKS, every operation first calls lhi_hook, and protocol
 * code names the points between operations with lhi_point().  There a test can
 * schedule, replay or kill without changes to the protocol.
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
 * The bound of a loop whose end depends on shared words.  True for the first
 * `most` times; n is the loop's own counter, which starts at 0.  A scribbled
 * word, or a process that keeps writing it, could keep a loop without bound
 * running for ever.  tests/loops requires the bound, and doc/loops.md lists all
 * of them.
 *
 * LHI_REACHED() is true after a loop that was ended by its bound.  Then the
 * table is damaged (shm/damaged.h).
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
 * Number of lost swaps of one word, or of reads that found it changed, after
 * which the table counts as damaged.  Each lost swap is another process's
 * success.  In normal use a few in a row are rare, and this many do not happen.
 */
#define LHI_SWAPS_MAX 10000u

/* Raises the field to at least v; it is never lowered.  Returns false if it
 * kept changing. */
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

/* Returns the field's value in its only writer, which needs no memory order. */
static inline uint64_t
sh64_own(const shm_u64 *f)
{
	lhi_touch("load", f);
	return f->raw;
}

#undef SH_OPS

/* Seeded bugs for `make check-mutants`: mutants.def lists them, mutants.c has a
 * flag for each. */
#ifdef LHI_MUTANTS
#define lhi_mutant_on(name) __extension__ ({				\
	extern bool lhi_mutant_##name;					\
	lhi_mutant_##name; })
#else
#define lhi_mutant_on(name) false
#endif

#endif
