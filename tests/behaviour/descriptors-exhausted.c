/* SPDX-License-Identifier: MIT */
/*
 * A process that has no file descriptor left cannot open a table, look at one,
 * remove or repair one, and is told so; what it has open it goes on using: keys
 * new and old, and waits.  With a descriptor again all of it works, and it sees
 * who died.  If it has closed even those of the table, cluster keys, which need
 * one to be made, are refused, for that reason and no other.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

static struct rlimit usual;

static void
use_up(void)
{
	struct rlimit none = usual;

	if (getrlimit(RLIMIT_NOFILE, &usual) != 0)
		bail_out("getrlimit: %d", errno);
	none = usual;
	none.rlim_cur = 0;
	if (setrlimit(RLIMIT_NOFILE, &none) != 0)
		bail_out("setrlimit: %d", errno);
}

static void
without_even_ours(const char *table)
{
	struct lh *lh = t_open(table);
	char path[64], to[256];
	ssize_t n;

	for (int fd = 3; fd < 64; fd++) {
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n = readlink(path, to, sizeof(to) - 1);
		to[n > 0 ? n : 0] = '\0';
		if (strstr(to, "leasehold") != NULL)
			(void)close(fd);
	}
	use_up();
	is(lh_key_create(lh, "cluster:k"), -EMFILE, "a cluster key: refused");
	ok(strstr(lh_error_detail(), "memory") == NULL &&
	    strstr(lh_error_detail(), "descriptor") != NULL,
	    "  with the reason: %s", lh_error_detail());
	setrlimit(RLIMIT_NOFILE, &usual);
	is(lh_key_create(lh, "cluster:k"), 0, "  with one it is made");
	is(lh_destroy(lh, "cluster:k"), 0, "  and forgotten");
	t_close(lh);
}

int
main(void)
{
	const struct lh_dump_to to = { .size = sizeof(to) };
	const char *table = t_table(), *other = t_table();
	struct t_actor *a = t_actor(table);
	struct lh *lh = t_open(table), *second;
	struct lh_lease l;

	is(t_do_acquire(a, "k", 3600000, 0), 0, "another holds a key");
	use_up();
	is(lh_open(&second, table, NULL), -EMFILE, "open: refused");
	ok(t_has_detail(), "  with a reason");
	is(lh_open(&second, other, NULL), -EMFILE, "make one: refused");
	is(lh_dump(table, NULL, 0, &to, NULL), -EMFILE, "dump: refused");
	is(lh_table_remove(table, 0), -EMFILE, "remove: refused");
	is(lh_table_repair(table, 0, NULL, NULL), -EMFILE, "repair: refused");
	is(t_acquire(lh, "new", 60000, 0, &l), 0, "a new key");
	is(lh_release(lh, &l), 0, "  released");
	is(t_acquire(lh, "k", 1000, t_ms(50), &l), -ETIMEDOUT,
	    "a wait for one that is held");
	is(lh_check(lh, NULL, NULL), 0, "a check");
	setrlimit(RLIMIT_NOFILE, &usual);
	t_actor_kill(a);
	is(t_acquire(lh, "k", 1000, T2_MS, &l), 0, "a death is noticed");
	is(lh_open(&second, table, NULL), 0, "open: works again");
	t_close(second);
	t_close(lh);
	t_actor_free(a);
	without_even_ours(other);
	return done();
}
