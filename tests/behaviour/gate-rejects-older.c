/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G2 and G11, lh_gate_check(): a gate refuses tokens that are older
 * than one that has passed, in either mode; readers do not exclude each other.
 * Its mark outlives every process that has it open; tokens of real leases pass
 * in the order of the leases.
 *
 * Otherwise a late holder could still write to the protected resource.
 */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

static char dir[] = "/tmp/leasehold-gate.XXXXXX";
static char path[64];

static void
table_of_cases(void)
{
	static const struct {
		uint64_t token;
		uint32_t mode;
		int want;
		const char *what;
	} cases[] = {
		{ 5, LH_EXCLUSIVE, 0, "a first writer" },
		{ 5, LH_EXCLUSIVE, 0, "the same again" },
		{ 4, LH_EXCLUSIVE, -ESTALE, "an older writer" },
		{ 4, LH_SHARED, -ESTALE, "an older reader" },
		{ 5, LH_SHARED, 0, "a reader after that writer" },
		{ 5, LH_EXCLUSIVE, -ESTALE, "that writer after the reader" },
		{ 9, LH_SHARED, 0, "a later reader" },
		{ 7, LH_SHARED, 0, "an earlier reader beside it" },
		{ 9, LH_SHARED, 0, "the later one still" },
		{ 9, LH_EXCLUSIVE, -ESTALE, "a writer as old as a reader" },
		{ 8, LH_EXCLUSIVE, -ESTALE, "a writer between readers" },
		{ 7, LH_SHARED, 0, "which has not shut out readers" },
		{ 10, LH_EXCLUSIVE, 0, "a later writer" },
		{ 9, LH_SHARED, -ESTALE, "readers before it" },
		{ INT64_MAX, LH_EXCLUSIVE, 0, "the last token there is" },
		{ INT64_MAX - 1, LH_EXCLUSIVE, -ESTALE, "the one before" },
	};
	uint64_t x = 0, s = 0;
	struct lh_gate *g;

	is(lh_gate_open(&g, path, NULL, 0), 0, "a gate is made");
	is(lh_gate_marks(g, &x, &s), 0, "and read");
	ok(x == 0 && s == 0, "nobody has been there");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		is(lh_gate_check(g, cases[i].token, cases[i].mode),
		    cases[i].want, "%s", cases[i].what);
		if (cases[i].want != 0)
			ok(strstr(lh_error_detail(), "has been here") != NULL,
			    "and it is said why");
	}
	is(lh_gate_marks(g, &x, NULL), 0, "the marks");
	ok(x == INT64_MAX, "are the largest tokens");
	is(lh_gate_close(g), 0, "closed");
}

static int
show_token(void *arg)
{
	struct lh_gate *g;

	if (lh_gate_open(&g, path, NULL, LH_NO_CREATE) != 0)
		return 2;
	if (arg != NULL)
		return lh_gate_check(g, *(uint64_t *)arg, LH_EXCLUSIVE) != 0;
	return 0;
}

static void
over_processes(void)
{
	uint64_t older = 41, newer = 42;
	struct lh_gate *g;

	unlink(path);
	is(lh_gate_open(&g, path, NULL, 0), 0, "another gate");
	is(lh_gate_close(g), 0, "closed at once");
	is(t_reap(t_fork(show_token, &newer), T_HANG_MS), 0,
	    "a token passes in one process");
	is(t_reap(t_fork(show_token, &older), T_HANG_MS), 1,
	    "an older one is refused in another");
	is(lh_gate_open(&g, path, NULL, LH_GATE_DURABLE), 0, "and here");
	is(lh_gate_check(g, older, LH_EXCLUSIVE), -ESTALE, "it is refused");
	is(lh_gate_check(g, newer, LH_EXCLUSIVE), 0, "the newer one passes");
	is(lh_gate_close(g), 0, "closed");
}

/* A stopped holder's check when it continues. */
static void
real_leases(void)
{
	struct lh *lh = t_open(t_table());
	struct lh_lease first, second;
	struct lh_gate *g;

	is(lh_gate_open(&g, dir, "ledger", LH_GATE_DURABLE), 0,
	    "a gate of a resource");
	is(t_acquire(lh, "k", 20, 0, &first), 0, "a short lease");
	is(lh_gate_check(g, first.token, first.mode), 0, "it passes");
	is(t_acquire(lh, "k", 60000, T_HANG_MS, &second), 0, "its successor");
	is(lh_gate_check(g, second.token, second.mode), 0, "passes");
	is(lh_gate_check(g, first.token, first.mode), -ESTALE,
	    "the late one does not");
	is(lh_convert(lh, &second, LH_SHARED), 0, "a reader instead");
	is(lh_gate_check(g, second.token, second.mode), 0, "passes");
	is(lh_gate_close(g), 0, "closed");
	t_close(lh);
}

int
main(void)
{
	char other[96];

	if (mkdtemp(dir) == NULL)
		bail_out("no directory: %s", strerror(errno));
	snprintf(path, sizeof(path), "%s/gate", dir);
	table_of_cases();
	over_processes();
	real_leases();
	unlink(path);
	snprintf(other, sizeof(other), "%s/ledger", dir);
	is(unlink(other), 0, "a resource's gate has its name");
	is(rmdir(dir), 0, "and nothing else is left");
	return done();
}
