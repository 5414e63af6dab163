/* SPDX-License-Identifier: MIT */
/*
 * Power losses while ranges are claimed: is a new table's range above all that
 * may have been used by then, whatever the disk has kept?
 *
 * Every call that range.c makes is recorded.  After each one, every image that
 * a power loss can leave is made (disk.h).  A table is made again on it as
 * lh_open() does (directories, then a claim).  Its range is compared with what
 * had been returned before the loss.  Then the same again from these images,
 * and both with whole tables: lh_open(), grants in scope local, ranges of 16
 * tokens.  Two claimants run in turns (as coroutines), switched at every call
 * of both; that covers one that was killed there, since nobody waits for it.
 *
 * The same check has to find out five formats that are wrong.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>
#include "fence/disk.h"
#include "fence/wrong.h"
#include "fence/range.h"
#include "support/support.h"
#include "tap.h"

#define PARENTS 2		/* that are not there at first */
#define BITS 4			/* of a range, when there are tables */

static char live[128], copy[128];	/* what is recorded, and images */
static uint64_t (*wrong)(const char *dir);
static bool tables;
static const char *table;
static int told;
static unsigned total;

/* --- the operations ----------------------------------------------------- */

static const char *
dir_in(const char *root)
{
	static char dir[RANGE_PATH_MAX];

	snprintf(dir, sizeof(dir), wrong != NULL ? "%s" :
	    "%s/state/leasehold/leasehold.0.t.fence", root);
	return dir;
}

static uint64_t
claim(const char *root)
{
	static const uint64_t uuid[2] = { 3, 4 };
	uint64_t n = 0;

	if (wrong != NULL)
		return wrong(dir_in(root));
	return lhi_range_claim(dir_in(root), uuid, 1, &n) == 0 ? n : 0;
}

/* With tables: open the one on that disk, grant so often; the last range. */
static uint64_t
grants(const char *root, unsigned times)
{
	struct lh_acquire_opts a = t_opts(3600000, 0);
	struct lh_open_opts o = t_open_opts();
	char state[sizeof(live) + 8];
	uint64_t n = 0;
	struct lh_lease l;
	struct lh *lh;

	snprintf(state, sizeof(state), "%s/state", root);
	o.max_keys = 64;
	o.fence_dir = state;
	o.flags = LH_NO_CLOCK_FLOOR;
	a.scope = LH_LOCAL;
	(void)unlink(t_object(table));		/* with the power */
	if (lh_open(&lh, table, &o) != 0)
		return 0;
	for (unsigned i = 0; i < times; i++) {
		if (lh_acquire(lh, "k", &a, &l) != 0) {
			n = 0;
			break;
		}
		if (n != l.token >> BITS && times > 1)
			disk_mark(l.token >> BITS);
		n = l.token >> BITS;
		(void)lh_release(lh, &l);
	}
	(void)lh_close(lh);
	return n;
}

static uint64_t
create(const char *root)
{
	if (tables)
		return grants(root, 1);
	if (wrong == NULL &&
	    lhi_range_make_dir(dir_in(root), (gid_t)-1, PARENTS) != 0)
		return 0;
	return claim(root);
}

/* --- looking at images ---------------------------------------------------- */

static struct disk_image *kept[2048];
static uint64_t kept_used[2048];
static unsigned n_kept;
static bool keeping;

static bool
look(const char *root, uint64_t used, const struct disk_image *image, void *arg)
{
	uint64_t n;

	if (keeping && n_kept < 2048) {
		kept_used[n_kept] = used;
		kept[n_kept++] = disk_keep(image);
	}
	n = create(root);
	if (n > used)
		return true;
	if (wrong == NULL && told++ < 5)
		diag("%llu had been used, a new table begins at %llu, in: %s",
		    (unsigned long long)used, (unsigned long long)n,
		    disk_tell(image));
	return false;
}

/* All images from the first-th call on, both ways.  How many were bad. */
static unsigned
look_at_all(unsigned first)
{
	unsigned bad = 0;

	total += disk_images(DISK_PREFIX, first, copy, look, NULL, &bad);
	total += disk_images(DISK_SUBSET, first, copy, look, NULL, &bad);
	return bad;
}

static void
use(uint64_t n)
{
	if (n != 0)
		disk_mark(n);
}

static void
drop_kept(void)
{
	while (n_kept > 0)
		free(kept[--n_kept]);
}

/* --- two at once ----------------------------------------------------- */

#define STACK_LEN (256 * 1024)

static struct { int who; unsigned steps; } phases[5];
static int phase;
static bool together, ended[2];
static uint64_t got[2];
static uint64_t (*act)(const char *root);
static ucontext_t contexts[2], back;
static int me;

/* Before a call: until it is ours to make. */
static void
turn(void)
{
	int was = me;

	while (together) {
		if (ended[phases[phase].who] || phases[phase].steps == 0) {
			phase++;
		} else if (phases[phase].who == me) {
			phases[phase].steps--;
			return;
		} else {
			me = !was;
			(void)swapcontext(&contexts[was], &contexts[me]);
		}
	}
}

static void
claimant(void)
{
	turn();
	got[me] = act(live);
	use(got[me]);
	ended[me] = true;
	if (!ended[!me]) {
		me = !me;
		(void)setcontext(&contexts[me]);
	}
}

/* The first makes i calls, the second j, then each ends.  False: there are not
 * so many. */
static bool
run_two(unsigned i, unsigned j)
{
	static char stacks[2][STACK_LEN];

	phase = 0;
	phases[0].who = 0, phases[0].steps = i + 1;	/* turn() at first */
	phases[1].who = 1, phases[1].steps = j + 1;
	phases[2].who = 0, phases[2].steps = 1000;
	phases[3].who = 1, phases[3].steps = 1000;
	phases[4] = phases[2];
	ended[0] = ended[1] = false;
	got[0] = got[1] = 0;
	for (int k = 0; k < 2; k++) {
		(void)getcontext(&contexts[k]);
		contexts[k].uc_stack.ss_sp = stacks[k];
		contexts[k].uc_stack.ss_size = STACK_LEN;
		contexts[k].uc_link = &back;
		makecontext(&contexts[k], claimant, 0);
	}
	me = 0;
	together = true;
	(void)swapcontext(&back, &contexts[0]);
	together = false;
	return phases[0].steps == 0 && phases[1].steps == 0;
}

/* --- what is tried ----------------------------------------------------- */

static void
made_and_raised(void)
{
	unsigned before = total, bad;

	disk_begin(live);
	keeping = true;
	use(create(live));
	use(claim(live));
	use(claim(live));
	bad = look_at_all(0);
	keeping = false;
	is(bad, 0, "made and raised twice: %u images", total - before);
}

/* From what a power loss has left, and lost again. */
static void
lost_twice(void)
{
	unsigned before = total, bad = 0, n = n_kept;

	for (unsigned i = 0; i < n; i++) {
		disk_begin_from(live, kept[i]);
		use(kept_used[i]);
		use(create(live));
		bad += look_at_all(0);
	}
	is(bad, 0, "power lost twice, from %u images: %u images", n,
	    total - before);
	drop_kept();
}

static void
whole_tables(void)
{
	unsigned before = total, bad, n;

	tables = true;
	lhi_range_bits = BITS;
	disk_begin(live);
	keeping = true;
	(void)grants(live, 40);
	bad = look_at_all(0);
	keeping = false;
	is(bad, 0, "whole tables: %u images", total - before);
	before = total;
	bad = 0;
	n = n_kept;
	for (unsigned i = 0; i < n; i += 3) {
		disk_begin_from(live, kept[i]);
		use(kept_used[i]);
		(void)grants(live, 20);
		bad += look_at_all(0);
	}
	is(bad, 0, "whole tables, power lost twice: %u images", total - before);
	drop_kept();
	lhi_range_bits = 32;
	tables = false;
}

static void
two_at_once(const char *what, uint64_t (*what_each)(const char *root),
    const struct disk_image *from, uint64_t used, unsigned stride)
{
	unsigned before = total, bad = 0, same = 0, runs = 0;
	bool more = true;

	act = what_each;
	for (unsigned i = 0; more; i += stride) {
		more = false;
		for (unsigned j = 0;; j += stride) {
			bool enough;

			disk_begin_from(live, from);
			use(used);
			enough = run_two(i, j);
			runs++;
			same += got[0] == got[1] || got[0] == 0 || got[1] == 0;
			bad += look_at_all(0);
			if (!enough)
				break;
			more = true;
		}
	}
	is(bad, 0, "two %s, %u ways: %u images", what, runs, total - before);
	is(same, 0, "and each had a range of its own");
}

/* With as many files as stay, so that claims prune. */
static void
pruned(void)
{
	unsigned bad = 0;

	disk_begin(live);
	for (unsigned i = 0; i < RANGE_KEEP + 1; i++)
		use(i == 0 ? create(live) : claim(live));
	keeping = true;
	(void)disk_images(DISK_PREFIX, disk_calls(), copy, look, NULL, &bad);
	keeping = false;
	is(bad, 0, "after %d claims a new table begins above", RANGE_KEEP + 1);
	two_at_once("raise and prune", claim, kept[0], RANGE_KEEP + 1,
	    getenv("LH_TEST_LONG") ? 1 : 3);
	drop_kept();
}

static void
syncs_fail(void)
{
	unsigned before = total, bad = 0;
	uint64_t n[2];

	for (int nth = 1; nth <= 12; nth++) {
		disk_begin(live);
		disk_fail_sync(nth);
		n[0] = create(live);
		use(n[0]);
		n[1] = create(live);
		use(n[1]);
		if (n[0] == 0 ? n[1] == 0 : n[1] != 0 && n[1] <= n[0])
			bad++;		/* one failure is not the end */
		bad += look_at_all(0);
	}
	disk_fail_sync(0);
	is(bad, 0, "a sync fails: %u images", total - before);
}

static void
wrong_ones(void)
{
	unsigned bad, before;

	for (unsigned i = 0; i < n_wrong_formats; i++) {
		wrong = wrong_formats[i].claim;
		disk_begin(live);
		for (int k = 0; k < 3; k++)
			use(claim(live));
		before = total;
		bad = look_at_all(0);
		cmp(bad, >, 0, "%s: found out in %u of %u images",
		    wrong_formats[i].what, bad, total - before);
	}
	wrong = NULL;
}

static void
clean_up(void)
{
	char cmd[2 * sizeof(live) + 16];

	snprintf(cmd, sizeof(cmd), "rm -rf %s %s", live, copy);
	if (system(cmd) != 0)
		diag("%s and %s are left behind", live, copy);
}

int
main(void)
{
	unsigned ours;

	snprintf(live, sizeof(live), "/dev/shm/lh-images-live.%d", getpid());
	snprintf(copy, sizeof(copy), "/dev/shm/lh-images-copy.%d", getpid());
	atexit(clean_up);
	table = t_table();
	disk_begin(copy);
	disk_install(turn);
	made_and_raised();
	lost_twice();
	whole_tables();
	two_at_once("make the table", create, NULL, 0, 1);
	pruned();
	syncs_fail();
	ours = total;
	wrong_ones();
	diag("%u images of our format, %u of wrong ones", ours, total - ours);
	return done();
}
