/* SPDX-License-Identifier: MIT */
/* Examples of leasehold/value.h, for its manual pages (tools/man3). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <leasehold.h>

/* Leads, and says where: others read it. */
static int
announce(struct lh *lh, const struct lh_lease *lease, const char *address)
{
	return lh_value_set(lh, lease, address, strlen(address));
}

/* Prints where the leader listens. */
static int
print_leader(struct lh *lh)
{
	char value[LH_VALUE_MAX];
	uint64_t token;
	size_t len;
	int e = lh_value_get(lh, "leader", value, &len, &token);

	if (e == 0)
		printf("%.*s (token %" PRIu64 ")\n", (int)len, value, token);
	return e;
}

/* Leaves a note for the next leader, and ends the lease. */
static int
resign(struct lh *lh, struct lh_lease *lease, const char *note)
{
	return lh_release_value(lh, lease, note, strlen(note));
}

int
main(void)
{
	struct lh_lease lease;
	struct lh *lh;

	if (lh_open(&lh, NULL, NULL) != 0 ||
	    lh_acquire(lh, "leader", NULL, &lease) != 0 ||
	    announce(lh, &lease, "10.0.0.7:4711") != 0 ||
	    print_leader(lh) != 0 || resign(lh, &lease, "batch 17") != 0 ||
	    print_leader(lh) != 0)
		return EXIT_FAILURE;
	return lh_close(lh) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
