/* SPDX-License-Identifier: MIT */
/*
 * Declares the structures of the file LAYOUT; shm/layout.def explains its
 * form.  Asserts that each structure has the size, and each field the offset,
 * that LAYOUT states, and that there are no gaps.  layout.h and range.c include
 * it, once for each file.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define STRUCT(s, size) struct s {
#define FIELD(offset, type, name, guard, meaning) type name;
#define ARRAY(offset, type, name, n, guard, meaning) type name[n];
#define END(s) };
#include LAYOUT

#define STRUCT(s, size)							\
	static inline __attribute__((unused)) void s##_is_placed(void)	\
	{								\
		typedef struct s this_struct;				\
		static_assert(sizeof(this_struct) == (size), #s);
#define FIELD(offset, type, name, guard, meaning)			\
		static_assert(offsetof(this_struct, name) == (offset), #name);
#define ARRAY(offset, type, name, n, guard, meaning)			\
		static_assert(offsetof(this_struct, name) == (offset), #name);
#define END(s) }
#include LAYOUT

#define STRUCT(s, size) static_assert((size) == 0
#define FIELD(offset, type, name, guard, meaning) + sizeof(type)
#define ARRAY(offset, type, name, n, guard, meaning) + sizeof(type) * (n)
#define END(s) , #s " has a gap");
#include LAYOUT
