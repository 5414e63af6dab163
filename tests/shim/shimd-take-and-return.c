/* SPDX-License-Identifier: MIT */
/*
 * A key goes from host to host: it is taken when somebody wants it, kept while
 * idle, and given back when another host wants it: at once if nobody here holds
 * it, otherwise when it is free.
 *
 * Otherwise a host would keep a key that others wait for.
 */
#include <errno.h>
#include <unistd.h>
#include "support/hosts.h"

static const char key[] = "cluster:k";

/* It stands in the queue for a moment, in which A has to be let run. */
static bool
try_gets(void *fd)
{
	return ask(*(int *)fd, key, RIGHT_EXCLUSIVE, FRAME_TRY) ==
	    FRAME_GRANTED;
}

int
main(void)
{
	struct host *a = &hosts[0], *b = &hosts[1];
	struct lh_lease l, m;
	uint64_t token;
	int fd, other;

	hosts_begin(2);
	is(host_right(a, key), RIGHT_NONE, "at first nobody has a right");
	is(take(a, key, RIGHT_EXCLUSIVE, T_HANG_MS, &l), 0, "A takes the key");
	is(host_right(a, key), RIGHT_EXCLUSIVE, "it has the right");
	is(host_right(b, key), RIGHT_NONE, "B has none");
	cmp(l.token, >, CLUSTER_FIRST, "its token is of the cluster's kind");
	token = l.token;
	is(lh_release(a->lh, &l), 0, "released");
	t_sleep_ms(t_ms(50));
	ok(host_may(a, key, RIGHT_EXCLUSIVE), "the right stays");
	is(take(a, key, RIGHT_EXCLUSIVE, 0 + T_HANG_MS, &l), 0, "again");
	is(cluster_revision(l.token), cluster_revision(token),
	    "without asking the cluster");
	cmp(l.token, >, token, "its token is larger");
	token = l.token;

	fd = dial(b);
	is(ask(fd, key, RIGHT_EXCLUSIVE, FRAME_TRY), FRAME_BUSY,
	    "a try of B's finds it busy");
	is(ask(fd, key, RIGHT_EXCLUSIVE, 0), FRAME_QUEUED, "B waits for it");
	t_sleep_ms(t_ms(100));
	is(host_right(b, key), RIGHT_NONE, "B has no right");
	is(lh_verify(a->lh, &l), 0, "A's lease is there");
	ok(host_may(a, key, RIGHT_EXCLUSIVE), "and counts");
	is(lh_release(a->lh, &l), 0, "A releases");
	ok(t_until(T_HANG_MS, host_may(b, key, RIGHT_EXCLUSIVE)),
	    "B has it now");
	is(host_right(a, key), RIGHT_NONE, "and A has not");
	is(take(b, key, RIGHT_EXCLUSIVE, T_HANG_MS, &m), 0, "B acquires");
	cmp(cluster_revision(m.token), >, cluster_revision(token),
	    "with a larger revision");
	is(lh_release(b->lh, &m), 0, "releases");

	other = dial(a);
	is(ask(other, key, RIGHT_EXCLUSIVE, 0), FRAME_QUEUED, "A wants it");
	ok(t_until(T_HANG_MS, host_may(a, key, RIGHT_EXCLUSIVE)),
	    "an idle right goes at once");
	is(ask(other, key, RIGHT_EXCLUSIVE, 0), FRAME_GRANTED,
	    "who asks again has it");
	is(ask(other, "other:k", RIGHT_EXCLUSIVE, 0), FRAME_FAILED,
	    "other keys are none of its business");
	ok(t_tries(3, try_gets, &fd),
	    "a try of B's gets a key that A has and does not use");
	(void)close(fd);
	(void)close(other);
	is(host_counts(a).lost, 0, "no session was lost");
	host_ended(a);
	host_ended(b);
	is(fake_store_keys(hosts_store), 0, "nothing is left in the store");
	hosts_end();
	return done();
}
