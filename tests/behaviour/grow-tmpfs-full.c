/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G8 and G12: a table grows in a tmpfs that fills up.  A call that
 * needs more memory returns -ENOSPC and says what to do; existing keys and
 * leases go on; nobody gets a SIGBUS; with room again the table goes on
 * growing.  The same for keys that are too long for their slots, and for
 * leases.  Keys are made to stay, because idle ones would be evicted first,
 * which is tested as well.  A limit of the process (ulimit -f) does not affect
 * an existing table, and is a clear refusal of a new one.  Needs root.
 *
 * Otherwise a full /dev/shm would kill every user of a table.
 */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

#define FILLER		"/dev/shm/filler"
#define KEYS		100000
#define HELD		200

static struct lh *lh;
static const char *table;

/* Make kept keys from number `from` on until it fails, at most `n`. */
static int
make(const char *form, int from, int n, int *result)
{
	char name[256];
	int i;

	*result = 0;
	for (i = from; i < from + n; i++) {
		snprintf(name, sizeof(name), form, i);
		*result = lh_key_create(lh, name);
		if (*result != 0)
			break;
	}
	return i;
}

static bool
names_remedy(void)
{
	return t_has_detail() && strstr(lh_error_detail(), "/dev/shm") != NULL;
}

static void
all_work(const char *form, int n)
{
	char name[256];
	int good = 0;

	for (int i = 0; i < n; i++) {
		struct lh_lease l;

		snprintf(name, sizeof(name), form, i);
		good += t_acquire(lh, name, 3600000, 0, &l) == 0 &&
		    lh_release(lh, &l) == 0;
	}
	is(good, n, "all %d keys of '%s' work", n, form);
}

static void
full(const char *form, struct t_actor *a)
{
	struct lh *more = NULL;
	struct lh_lease l;
	char others[256];
	int n, again, r;

	snprintf(others, sizeof(others), form, 2 * KEYS);
	t_fill_up(FILLER);
	n = make(form, 0, KEYS, &r);
	is(r, -ENOSPC, "'%s': at %d there is no room", form, n);
	ok(names_remedy(), "which is explained: %s", lh_error_detail());
	cmp(n, >=, 500, "what had been reserved could be used");
	again = make(form, n, 1, &r);
	is(again, n, "nor the next time");
	is(t_do_acquire(a, others, 3600000, 0), -ENOSPC,
	    "nor for other processes");
	is(lh_open(&more, table, NULL), 0, "others still attach");
	is(t_acquire(more, others, 1000, 0, &l), -ENOSPC,
	    "and get the same error");
	is(lh_close(more), 0, "closed");
	all_work(form, n);
	is(t_findings(lh), 0, "the table is sound");
	unlink(FILLER);
	again = make(form, n, 3000, &r);
	is(r, 0, "with room again %d more are made", again - n);
	all_work(form, again);
	is(t_do_acquire(a, others, 3600000, 0), 0, "others, too");
	is(t_do_release(a), 0, "released");
}

/* Idle keys give way before anybody is refused. */
static void
give_way(void)
{
	struct lh_lease held[HELD], l;
	char name[64];
	int good = 0;

	t_fill_up(FILLER);
	for (int i = 0; i < HELD; i++) {
		snprintf(name, sizeof(name), "held-%d", i);
		good += t_acquire(lh, name, 3600000, 0, &held[i]) == 0;
	}
	is(good, HELD, "there is room for a few");
	good = 0;
	for (int i = 0; i < 8000; i++) {
		snprintf(name, sizeof(name), "idle-%d", i);
		good += t_acquire(lh, name, 3600000, 0, &l) == 0 &&
		    lh_release(lh, &l) == 0;
	}
	is(good, 8000, "8,000 more keys take turns");
	good = 0;
	for (int i = 0; i < HELD; i++)
		good += lh_verify(lh, &held[i]) == 0 &&
		    lh_release(lh, &held[i]) == 0;
	is(good, HELD, "while those that are held stay");
	unlink(FILLER);
}

static void
leases(void)
{
	static struct lh_lease l[25000];
	int n, r = 0, good = 0, more = 0;
	char name[64];

	/* no lack of keys, but of claims */
	for (int i = 0; i < 25000; i++) {
		snprintf(name, sizeof(name), "lease-%d", i);
		if (lh_key_create(lh, name) != 0)
			fail("key %d: %s", i, lh_error_detail());
	}
	t_fill_up(FILLER);
	for (n = 0; n < 25000; n++) {
		snprintf(name, sizeof(name), "lease-%d", n);
		r = t_acquire(lh, name, 3600000, 0, &l[n]);
		if (r != 0)
			break;
	}
	is(r, -ENOSPC, "at %d leases there is no room", n);
	ok(names_remedy(), "which is explained");
	unlink(FILLER);
	for (int i = n; i < n + 3000; i++) {
		snprintf(name, sizeof(name), "lease-%d", i);
		more += t_acquire(lh, name, 3600000, 0, &l[i]) == 0;
	}
	is(more, 3000, "with room again 3,000 more");
	for (int i = 0; i < n + more; i++)
		good += lh_verify(lh, &l[i]) == 0 &&
		    lh_release(lh, &l[i]) == 0;
	is(good, n + more, "all of them were held");
}

static void
limited(void)
{
	struct rlimit small = { 8 << 20, 8 << 20 }, was;
	struct lh *other = NULL;
	int before, after, r;

	is(lh_open(&lh, table, NULL), 0, "a table that is there");
	before = make("limit-%d", 0, 5000, &r);
	getrlimit(RLIMIT_FSIZE, &was);
	small.rlim_max = was.rlim_max;
	setrlimit(RLIMIT_FSIZE, &small);
	after = make("limit-%d", before, 5000, &r);
	is(after, before + 5000, "grows with a limit on files");
	is(lh_open(&other, "another", NULL), -ENOSPC, "another is refused");
	ok(strstr(lh_error_detail(), "ulimit") != NULL, "which is explained");
	setrlimit(RLIMIT_FSIZE, &was);
	is(lh_close(lh), 0, "closed");
}

static void
begin(const char *name, struct t_actor **a)
{
	struct lh_open_opts o = LH_OPEN_OPTS_INIT;

	table = name;
	o.max_keys = KEYS;
	o.max_leases = 100000;
	is(lh_open(&lh, table, &o), 0, "a table of %s", name);
	*a = t_actor(table);
}

static void
end(struct t_actor *a)
{
	t_actor_end(a);
	t_close(lh);
	unlink(t_object(table));
}

static int
in_a_small_world(void *arg)
{
	struct t_actor *a;

	(void)arg;
	if (!t_mount("/dev/shm", "size=32m"))
		return T_NO_MOUNT;
	begin("short", &a);
	full("key-%d", a);
	end(a);
	begin("long", &a);
	full("%0200d", a);
	end(a);
	begin("idle", &a);
	give_way();
	end(a);
	begin("leases", &a);
	leases();
	end(a);
	table = "limited";
	limited();
	return tap_child_status();
}

int
main(void)
{
	t_small_world(in_a_small_world, NULL, 5 * T_HANG_MS);
	return done();
}
