/* SPDX-License-Identifier: MIT */
/*
 * lh_open(): the attachments of one process share one mapping of the table,
 * which is made with the first, used by each with a session of its own, and
 * unmapped with the last; closing one takes nothing from the others.
 *
 * Otherwise a library and its program could not both use a table in one
 * process.
 */
#include <errno.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define N	6

/* Writable mappings of the object in this process, but for single pages of it
 * (prim/robust_list.c). */
static int
n_mappings(const char *object)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long from, to;
	char line[512];
	int n = 0;

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		n += strstr(line, object) != NULL &&
		    strstr(line, " rw-s ") != NULL &&
		    sscanf(line, "%lx-%lx", &from, &to) == 2 &&
		    to - from > 4096;
	if (f != NULL)
		fclose(f);
	return n;
}

int
main(void)
{
	const char *table = t_table(), *object = t_object(table);
	struct lh_stats st = { .size = sizeof(st) };
	struct lh_lease leases[N], l;
	struct lh *lh[N];
	char path[192], name[16];
	int distinct = 0, one = 0, held = 0;

	snprintf(path, sizeof(path), "%s", object);
	is(n_mappings(path), 0, "before the first there is no mapping");
	for (int i = 0; i < N; i++) {
		lh[i] = t_open(table);
		one += n_mappings(path) == 1;
		for (int j = 0; j < i; j++)
			distinct += lh[i] != lh[j] &&
			    lh_session_id(lh[i]) != lh_session_id(lh[j]);
	}
	is(one, N, "one mapping, however many attachments");
	is(distinct, N * (N - 1) / 2, "each with a session of its own");
	is(lh_stats(lh[0], &st), 0, "statistics");
	is(st.sessions, N, "they count %d sessions", N);
	for (int i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "key-%d", i);
		leases[i] = t_hold(lh[i], name);
	}

	/* the first goes first: it was the one who mapped */
	is(lh_close(lh[0]), 0, "the first closes");
	for (int i = 1; i < N; i++)
		held += lh_verify(lh[i], &leases[i]) == 0;
	is(held, N - 1, "the others hold what they hold");
	is(t_acquire(lh[1], "key-0", 1000, 0, &l), 0, "its lease is free");
	is(l.notes, 0, "without a note");
	is(lh_release(lh[1], &l), 0, "released");
	is(lh_release(lh[0 + 1], &leases[2]), -EPERM,
	    "each has its own leases only");
	is(n_mappings(path), 1, "the mapping is still there");
	lh[0] = t_open(table);
	is(n_mappings(path), 1, "and a newcomer shares it");
	is(t_acquire(lh[0], "key-3", 1000, 0, &l), -EAGAIN, "and its keys");
	for (int i = N - 1; i > 0; i--)
		is(lh_close(lh[i]), 0, "closed");
	is(n_mappings(path), 1, "the last one has it alone");
	t_close(lh[0]);
	is(n_mappings(path), 0, "and takes it away");
	return done();
}
