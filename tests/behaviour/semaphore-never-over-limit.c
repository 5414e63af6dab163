/* SPDX-License-Identifier: MIT */
/*
 * Guarantees G1 and G4: processes acquire and release permits while some are
 * killed at any moment.  No permit ever has two living holders, there are never
 * more permits than the limit, and afterwards all can be acquired.
 *
 * Otherwise a crash would raise the limit, or lose a permit for ever.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define LIMIT 3
#define CROWD 7
#define RUN_MS 4000
#define HOUR_MS 3600000

static struct shared {
	_Atomic uint64_t key[LIMIT + 1];	/* of each permit seen */
	_Atomic int holder[LIMIT + 1];	/* process that has it */
	_Atomic uint64_t token[LIMIT + 1];	/* the last one */
	_Atomic int over, together, behind, errors;
	_Atomic uint32_t grants;
} *sh;

static const char *table;

/* Returns the number of the permit.  LIMIT: one too many. */
static int
permit(uint64_t key)
{
	for (int i = 0; i < LIMIT; i++) {
		uint64_t none = 0;

		if (atomic_compare_exchange_strong(&sh->key[i], &none, key) ||
		    none == key)
			return i;
	}
	atomic_fetch_add(&sh->over, 1);
	return LIMIT;
}

static int
member(void *arg)
{
	struct lh_acquire_opts o = t_opts(HOUR_MS, T_HANG_MS);
	struct lh *lh = t_open(table);
	unsigned seed = (unsigned)getpid();
	struct lh_sem *sem;
	struct lh_lease l;

	(void)arg;
	if (lh_sem_open(lh, "s", LIMIT, &sem) != 0)
		return 1;
	for (;;) {
		int p, was, error = lh_sem_acquire(sem, &o, &l);

		if (error != 0) {
			diag("acquire: %s", lh_error_detail());
			atomic_fetch_add(&sh->errors, 1);
			return 1;
		}
		p = permit(l.key);
		was = atomic_exchange(&sh->holder[p], getpid());
		/* who was killed is not there any more, or is no more than a
		 * zombie: its pid is taken out before it is reaped */
		if (was > 0)
			atomic_fetch_add(&sh->together, 1);
		if (atomic_exchange(&sh->token[p], l.token) >= l.token)
			atomic_fetch_add(&sh->behind, 1);
		atomic_fetch_add(&sh->grants, 1);
		if (rand_r(&seed) % 4 == 0)
			t_nap();
		was = getpid();
		if (!atomic_compare_exchange_strong(&sh->holder[p], &was, 0))
			atomic_fetch_add(&sh->together, 1);
		if (lh_sem_release(sem, &l) != 0)
			atomic_fetch_add(&sh->errors, 1);
	}
}

/*
 * Stop it first: then nobody has its permits yet, and what it says of them can
 * be taken back before its death frees them.
 */
static void
end(pid_t pid)
{
	t_stop(pid);
	for (int i = 0; i <= LIMIT; i++) {
		int was = pid;

		(void)atomic_compare_exchange_strong(&sh->holder[i], &was, 0);
	}
	t_kill(pid);
}

int
main(void)
{
	pid_t pid[CROWD];
	struct lh_lease l[LIMIT];
	struct lh_acquire_opts o = t_opts(HOUR_MS, T_HANG_MS);
	struct lh_sem *sem;
	struct lh *lh;
	int64_t began;
	unsigned seed = 1;
	int kills = 0;

	sh = t_shared(sizeof(*sh));
	table = t_table();
	lh = t_open(table);
	is(lh_sem_open(lh, "s", LIMIT, &sem), 0, "a semaphore");
	for (int i = 0; i < CROWD; i++)
		pid[i] = t_fork(member, NULL);
	began = t_now_ns();
	while (t_since_ms(began) < RUN_MS) {
		int i = rand_r(&seed) % CROWD;

		t_sleep_ms(rand_r(&seed) % 10);
		end(pid[i]);
		kills++;
		pid[i] = t_fork(member, NULL);
	}
	for (int i = 0; i < CROWD; i++)
		end(pid[i]);
	diag("%u grants, %d kills", atomic_load(&sh->grants), kills);
	ok(atomic_load(&sh->grants) > 0, "permits were granted");
	is(atomic_load(&sh->over), 0, "never another permit than %d", LIMIT);
	is(atomic_load(&sh->together), 0, "never two holders of one");
	is(atomic_load(&sh->behind), 0, "each token is larger");
	is(atomic_load(&sh->errors), 0, "nothing failed");
	for (int i = 0; i < LIMIT; i++)
		is(lh_sem_acquire(sem, &o, &l[i]), 0, "permit %d", i);
	o.max_wait_ms = 0;
	is(lh_sem_acquire(sem, &o, &l[0]), -EAGAIN, "and not one more");
	is(lh_sem_close(sem), 0, "closed");
	t_close(lh);
	return done();
}
