/* SPDX-License-Identifier: MIT */
/* test: slow 5 */
/*
 * Guarantees G1 and G2 while keys come and go: processes acquire and release
 * random keys, by name and through opened keys, trying and waiting.  The table
 * has fewer slots than keys, so that each new key takes the slot of another;
 * one process only evicts.  A witness beside each key knows who holds it and
 * the last token.  Then the same with threads, each with its own attachment,
 * for race detectors.  An acquire of a key that is being evicted looks the key
 * up again, without an error.
 *
 * Otherwise an eviction would give two callers one key, or begin its tokens
 * again.
 */
#include <errno.h>
#include <stdlib.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

#define PROCS	4
#define KEYS	300
#define SLOTS	200
#define OPENED	20
#define GRANTS	15000		/* of a run; check-all: ten times */
#define EVICTED	3000

struct witness {
	_Atomic uint64_t inside;
	_Atomic uint64_t token;
};

static struct shared {
	struct witness keys[KEYS];
	_Atomic uint64_t grants, overlaps, token_errors, odd_results, removed;
	_Atomic int odd;
	_Atomic int64_t evicted;
	_Atomic bool stop;
} *sh;

static const char *table;

static void
name_of(char *buf, int k)
{
	snprintf(buf, 128, k % 4 == 0 ? "%d/%080d" : "%d/%d", k, k);
}

static void
hold(struct lh *lh, int k, struct lh_lease *l)
{
	struct witness *w = &sh->keys[k];

	if (atomic_exchange(&w->inside, lh_session_id(lh)) != 0)
		atomic_fetch_add(&sh->overlaps, 1);
	if (atomic_exchange(&w->token, l->token) >= l->token)
		atomic_fetch_add(&sh->token_errors, 1);
	atomic_fetch_add(&sh->grants, 1);
	if (l->token % 8 == 0)
		t_nap();
	if (atomic_exchange(&w->inside, 0) != lh_session_id(lh))
		atomic_fetch_add(&sh->overlaps, 1);
	if (lh_release(lh, l) != 0)
		atomic_fetch_add(&sh->odd_results, 1);
}

static int
use(struct lh *lh, unsigned seed)
{
	struct lh_key *opened[OPENED];
	char name[128];

	for (int k = 0; k < OPENED; k++) {
		name_of(name, k);
		if (lh_key_open(lh, name, 0, &opened[k]) != 0)
			return 1;
	}
	while (!sh->stop) {
		unsigned dice = (unsigned)rand_r(&seed) >> 4;
		/* some are contended for */
		int k = (int)(dice / 8 % (dice % 2 ? KEYS : OPENED));
		struct lh_acquire_opts o = t_opts(3600000,
		    dice / 2 % 2 ? 0 : 3600000);
		struct lh_lease l;
		int r;

		name_of(name, k);
		r = k < OPENED && dice / 4 % 2 ?
		    lh_key_acquire(opened[k], &o, &l) :
		    lh_acquire(lh, name, &o, &l);
		if (r == 0) {
			hold(lh, k, &l);
		} else if (r == -ESTALE) {
			atomic_fetch_add(&sh->removed, 1);
		} else if (r != -EAGAIN || o.max_wait_ms != 0) {
			atomic_fetch_add(&sh->odd_results, 1);
			sh->odd = r;
		}
	}
	return 0;
}

static int
evict(struct lh *lh)
{
	while (!sh->stop) {
		int64_t n = lh_evict(lh, NULL, 0);

		if (n < 0)
			return (int)n;
		sh->evicted += n;
	}
	return 0;
}

/* Number 0 evicts. */
static int
process(struct t_actor *a, void *arg)
{
	unsigned i = (unsigned)(uintptr_t)arg;

	return i == 0 ? evict(a->lh) : use(a->lh, i);
}

static void *
thread(void *arg)
{
	unsigned i = (unsigned)(uintptr_t)arg;
	struct lh *lh = t_open(table);
	int r = i == 0 ? evict(lh) : use(lh, i);

	return (void *)(intptr_t)(r != 0 ? r : lh_close(lh));
}

/* Until enough was done. */
static void
let_them(void)
{
	uint64_t times = getenv("LH_TEST_LONG") ? 10 : 1;
	int64_t from = t_now_ns();

	while ((sh->grants < times * GRANTS ||
	    sh->evicted < (int64_t)times * EVICTED) &&
	    t_since_ms(from) < (int64_t)times * T_HANG_MS)
		t_sleep_ms(5);
	sh->stop = true;
}

static void
as_processes(void)
{
	struct t_actor *a[PROCS + 1];

	for (uintptr_t i = 0; i <= PROCS; i++) {
		a[i] = t_actor(table);
		t_begin(a[i], process, (void *)i);
	}
	let_them();
	for (int i = 0; i <= PROCS; i++) {
		is(t_result(a[i]), 0, "process %d ends well", i);
		t_actor_end(a[i]);
	}
}

static void
as_threads(void)
{
	unsigned long t[PROCS + 1];

	for (uintptr_t i = 0; i <= PROCS; i++)
		t[i] = t_thread(thread, (void *)i);
	let_them();
	for (int i = 0; i <= PROCS; i++)
		is((intptr_t)t_join(t[i]), 0, "thread %d ends well", i);
}

static void
run(void (*fn)(void))
{
	struct lh_open_opts o = t_open_opts();
	struct lh *lh;

	memset(sh, 0, sizeof(*sh));
	table = t_table();
	o.max_keys = SLOTS;
	is(lh_open(&lh, table, &o), 0, "%d keys in %d slots", KEYS, SLOTS);
	fn();
	diag("%" PRIu64 " grants, %" PRId64 " keys evicted, %" PRIu64
	    " times the key had been removed", sh->grants, sh->evicted,
	    sh->removed);
	is_u64(sh->overlaps, 0, "nobody was inside with another");
	is_u64(sh->token_errors, 0, "tokens only grew");
	is(sh->odd_results, 0, "nothing else happened (%d)", sh->odd);
	is_u64(sh->removed, 0, "no call reported that a key had gone");
	cmp(sh->grants, >=, GRANTS, "much did");
	cmp(sh->evicted, >=, EVICTED, "and much was evicted");
	t_close(lh);
}

int
main(void)
{
	sh = t_shared(sizeof(*sh));
	run(as_processes);
	run(as_threads);
	return done();
}
