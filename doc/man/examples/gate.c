/* SPDX-License-Identifier: MIT */
/* Examples of leasehold/gate.h, for its manual pages (tools/man3). */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <leasehold.h>

/* Writes only if no younger holder has been here, before and after. */
static int
guarded_write(struct lh_gate *gate, uint64_t token)
{
	int e = lh_gate_check(gate, token, LH_EXCLUSIVE);

	if (e == 0)
		/* ... write ... */
		e = lh_gate_check(gate, token, LH_EXCLUSIVE);
	return e;			/* -ESTALE: it does not count */
}

/* Opens the gate of a resource, and prints its marks. */
static int
open_and_print(const char *path, struct lh_gate **gate)
{
	uint64_t exclusive, shared;
	int e = lh_gate_open(gate, path, NULL, 0);

	if (e == 0)
		e = lh_gate_marks(*gate, &exclusive, &shared);
	if (e == 0)
		printf("%" PRIu64 " and %" PRIu64 "\n", exclusive, shared);
	return e;
}

/* Closes it; the marks stay in the file. */
static int
leave(struct lh_gate *gate)
{
	return lh_gate_close(gate);
}

int
main(void)
{
	char path[64];
	struct lh_gate *gate;
	int ok;

	snprintf(path, sizeof(path), "/tmp/example-%d.gate", (int)getpid());
	ok = open_and_print(path, &gate) == 0 && guarded_write(gate, 7) == 0 &&
	    guarded_write(gate, 6) == -ESTALE && leave(gate) == 0;
	unlink(path);
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
