/* SPDX-License-Identifier: MIT */
/*
 * A process without a free file descriptor cannot open, inspect, remove or
 * repair a table, and each call says so; what it has open goes on working: old
 * and new keys, and waits.  With a descriptor again everything works, and it
 * finds dead holders.  If it has closed the table's own descriptors, only calls
 * that need one are refused, for that reason: cluster keys, the first request
 * id, and growth of the table.
 *
 * Otherwise a process at its limit would get a wrong error, or lose keys that
 * it holds.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

#define MANY 20000		/* more than a table begins with */

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
close_ours(void)
{
	char path[64], to[256];
	ssize_t n;

	for (int fd = 3; fd < 64; fd++) {
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n = readlink(path, to, sizeof(to) - 1);
		to[n > 0 ? n : 0] = '\0';
		if (strstr(to, "leasehold") != NULL)
			(void)close(fd);
	}
}

static void
refused(int error, const char *what)
{
	is(error, -EMFILE, "%s: refused", what);
	ok(strstr(lh_error_detail(), "memory") == NULL &&
	    strstr(lh_error_detail(), "descriptor") != NULL,
	    "  with the reason: %s", lh_error_detail());
}

/* Keys that stay, of so many bytes, until there is room for no more. */
static int
fill(struct lh *lh, int len, int *n)
{
	char key[200];
	int error;

	do {
		(void)snprintf(key, sizeof(key), "%0*d", len, ++*n);
		error = lh_key_create(lh, key);
	} while (error == 0 && *n < MANY);
	return error;
}

/* Readers of one key, until there is no room for one more. */
static int
crowd(struct lh *lh, struct lh_lease *l, int *n)
{
	struct lh_acquire_opts o = t_opts(3600000, 0);
	int error;

	o.mode = LH_SHARED;
	while ((error = lh_acquire(lh, "crowd", &o, &l[*n])) == 0 &&
	    *n + 1 < MANY)
		(*n)++;
	return error;
}

static int
by_request(struct lh *lh, struct lh_lease *l)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts o = t_opts(3600000, 0);

	more.request[0] = 1;
	o.more = &more;
	return lh_acquire(lh, "by request", &o, l);
}

static void
without_even_ours(const char *table)
{
	static struct lh_lease reader[MANY];
	struct lh_open_opts o = LH_OPEN_OPTS_INIT;
	struct lh_lease l, r;
	int readers = 0, keys = 0;
	struct lh *lh;

	is(lh_open(&lh, table, &o), 0, "a table that may grow");
	is(t_acquire(lh, "k", 3600000, 0, &l), 0, "a lease");
	is(lh_key_create(lh, "crowd"), 0, "another key");
	close_ours();
	use_up();
	refused(lh_key_create(lh, "cluster:k"), "a cluster key");
	refused(by_request(lh, &r), "a request id");
	refused(lh_value_set(lh, &l, "v", 1), "a value");
	refused(fill(lh, 180, &keys), "one long key more");
	cmp(keys, >, 1, "  (with %d)", keys);
	refused(fill(lh, 10, &keys), "one key more");
	cmp(keys, >, 1100, "  (with %d)", keys);
	refused(crowd(lh, reader, &readers), "one lease more");
	cmp(readers, >, 1, "  (with %d)", readers);
	setrlimit(RLIMIT_NOFILE, &usual);
	is(lh_key_create(lh, "cluster:k"), 0, "with one it is made");
	is(lh_destroy(lh, "cluster:k"), 0, "  and forgotten");
	is(by_request(lh, &r), 0, "the request, too");
	is(lh_value_set(lh, &l, "v", 1), 0, "the value");
	is(fill(lh, 10, &keys), 0, "keys");
	is(crowd(lh, reader, &readers), 0, "leases");
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
