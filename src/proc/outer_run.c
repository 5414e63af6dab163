/* SPDX-License-Identifier: MIT */
/*
 * Finds the `leasehold run` that waits for this process to end.  lh_open()
 * calls it.
 *
 * `run` passes what it holds to its command:
 *
 *	LEASEHOLD_HELD=TABLE:KEY=LEASEID[,TABLE:KEY=LEASEID...]
 *
 * (+TABLE for the machine's tables.  Commas and backslashes in keys are escaped
 * by a backslash.  An inner run appends to the list.)  The last lease of this
 * table that is still held belongs to the nearest run.  Its session is written
 * once into our own session's record, when the attachment begins.  So a search
 * for deadlocks (inspect/waits_for.c) sees that the run's leases are not
 * released before this process, its job, has ended.
 *
 * The variable proves nothing, so the search compares pids, too.  A process
 * that has invented the variable can at most get a false deadlock for itself.
 */
#include <stdlib.h>
#include <string.h>
#include "proc/outer_run.h"

#define VARIABLE "LEASEHOLD_HELD"
#define ID_DIGITS 32

/* Returns the length of the first element. */
static size_t
element_span(const char *list)
{
	size_t n = 0;

	while (list[n] != '\0' && list[n] != ',')
		n += list[n] == '\\' && list[n + 1] != '\0' ? 2 : 1;
	return n;
}

/* Reads the lease id at the end of an element.  Returns false if there is
 * none. */
static bool
read_lease_id(const char *element, size_t len, uint64_t id[2])
{
	char half[ID_DIGITS / 2 + 1] = "";

	if (len < ID_DIGITS + 1 || element[len - ID_DIGITS - 1] != '=')
		return false;
	for (int i = 0; i < 2; i++) {
		memcpy(half, element + len - (2 - i) * (ID_DIGITS / 2),
		    ID_DIGITS / 2);
		if (strspn(half, "0123456789abcdef") != ID_DIGITS / 2)
			return false;
		id[i] = strtoull(half, NULL, 16);
	}
	return true;
}

/* Returns the session that holds that lease, or 0 if it is not held, or is
 * another table's. */
static uint64_t
holder_of_lease(const struct lhi_view *v, const uint64_t id[2])
{
	uint32_t ci = lid_claim(id[1]);
	struct shm_claim *c = lhi_claim(v, ci);
	uint64_t owner, st;

	if (c == NULL)
		return 0;
	owner = lhi_claim_owner(v, ci);
	st = sh64_load(&c->state);
	return owner == lhi_view_session_of(v, id[0]) && state_held(st) &&
	    state_seq(st) == lid_seq(id[1]) &&
	    lhi_claim_epoch(c) == lid_epoch(id[1]) ? owner : 0;
}

void
lhi_outer_run_note(struct lh *lh, bool system_wide)
{
	const char *list = secure_getenv(VARIABLE);
	const size_t plus = system_wide, n = strlen(lh->name);
	uint64_t sid = 0, holder, id[2];
	size_t len;

	for (; list != NULL && *list != '\0'; list += len) {
		list += *list == ',';
		len = element_span(list);
		if (len <= plus + n || (plus && *list != '+') ||
		    strncmp(list + plus, lh->name, n) != 0 ||
		    list[plus + n] != ':' || !read_lease_id(list, len, id))
			continue;
		holder = holder_of_lease(&lh->v, id);
		if (holder != 0)
			sid = holder;
	}
	if (sid != 0 && sid != lh->sid)
		sh64_store(&lh->v.me->outer, sid);
}
