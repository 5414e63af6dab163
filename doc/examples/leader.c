/* SPDX-License-Identifier: MIT */
/*
 * A leader for a pair of daemons: one serves, the other one stands by.
 *
 * Use it when one of several equal processes must do the work, and another one
 * must go on at once when that process dies.  A leader that was stopped too
 * long finds its term ended: the gate refuses its writes, and it exits, so
 * that its supervisor starts it again with nothing of the old term in its
 * memory.  Clients find the leader by the key's value: `leasehold value get
 * leader`.
 *
 *	cc -o leader leader.c $(pkg-config --cflags --libs leasehold)
 *	leasehold init --durable	# tokens grow over reboots, as the state
 *	cd /srv/state && leader 10.0.0.7:4711
 */
#include <err.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <leasehold.h>

static void
must(int e, const char *doing)
{
	if (e != 0)
		errx(EXIT_FAILURE, "cannot %s: %s", doing, lh_error_detail());
}

/* Returns the state of the latest term: of the file with the largest token.
 * Names have leading zeros, so that glob(3) sorts them by token. */
static long
read_state(void)
{
	glob_t terms;
	long state = 0;
	FILE *f;

	if (glob("state.*", 0, NULL, &terms) == GLOB_NOMATCH)
		return 0;
	f = fopen(terms.gl_pathv[terms.gl_pathc - 1], "r");
	if (f == NULL || fscanf(f, "%ld", &state) != 1)
		err(EXIT_FAILURE, "cannot read the state");
	fclose(f);
	globfree(&terms);
	return state;
}

/* Writes the state of this term, whole or not at all.  The files of other terms
 * are never touched, however late this runs. */
static void
write_state(uint64_t term, long state)
{
	char new[32], path[32];
	FILE *f;

	snprintf(new, sizeof(new), "new.%020" PRIu64, term);
	snprintf(path, sizeof(path), "state.%020" PRIu64, term);
	f = fopen(new, "w");
	if (f == NULL || fprintf(f, "%ld\n", state) < 0 || fclose(f) != 0 ||
	    rename(new, path) != 0)
		err(EXIT_FAILURE, "cannot write the state");
}

int
main(int argc, char **argv)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts opts = LH_ACQUIRE_OPTS_INIT;
	struct lh_lease lease;
	struct lh_lock *lock;
	struct lh_gate *gate;
	struct lh *lh;
	long state;

	opts.ttl_ms = 2000;	/* a stopped leader is replaced after that */
	opts.max_wait_ms = LH_WAIT_FOREVER;
	opts.scope = LH_LOCAL;
	opts.more = &more;
	more.value = argc > 1 ? argv[1] : "here";
	more.value_len = strlen(more.value);
	must(lh_open(&lh, NULL, NULL), "open the table");
	must(lh_gate_open(&gate, "gate", NULL, 0), "open the gate");
	must(lh_lock_open(lh, "leader", NULL, &lock), "name the key");
	must(lh_lock_acquire(lock, &opts), "stand by");
	must(lh_lock_lease(lock, 0, &lease), "read the token");

	/* before the read: from now on every earlier term is refused */
	must(lh_gate_check(gate, lease.token, LH_EXCLUSIVE), "begin");
	state = read_state();
	while (lh_lock_valid(lock) == 0) {
		usleep(10000);			/* ... your work ... */
		write_state(lease.token, ++state);
		/* done only if no later term can have read the state before */
		must(lh_gate_check(gate, lease.token, LH_EXCLUSIVE), "go on");
		printf("%" PRIu64 " %ld\n", lease.token, state);
		fflush(stdout);
	}
	errx(EXIT_FAILURE, "the term has ended");
}
