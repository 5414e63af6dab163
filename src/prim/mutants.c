/* SPDX-License-Identifier: MIT */
/* The mutant that is switched on, in a build with LHI_MUTANTS: see
 * mutants.def. */
#include "prim/shared.h"

#ifdef LHI_MUTANTS
#include <stdlib.h>
#include <string.h>

#define MUTANT(number, name, test, what) \
	extern bool lhi_mutant_##name; bool lhi_mutant_##name;
#include "prim/mutants.def"
#undef MUTANT

static const struct {
	const char *name;
	bool *on;
} mutants[] = {
#define MUTANT(number, name, test, what) { #name, &lhi_mutant_##name },
#include "prim/mutants.def"
#undef MUTANT
};

/* Switches on the mutant named in the environment.  An unknown name ends the
 * program, because the test would prove nothing. */
__attribute__((constructor)) static void
switch_on(void)
{
	const char *name = secure_getenv("LH_TEST_MUTANT");

	if (name == NULL)
		return;
	for (size_t i = 0; i < sizeof(mutants) / sizeof(mutants[0]); i++) {
		if (strcmp(mutants[i].name, name) == 0) {
			*mutants[i].on = true;
			return;
		}
	}
	abort();
}
#endif
