/* SPDX-License-Identifier: MIT */
/* Examples of leasehold/sem.h, for its manual pages (tools/man3). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <leasehold.h>

/* Uses one of five licences. */
static int
use_licence(struct lh *lh)
{
	struct lh_lease permit;
	struct lh_sem *sem;
	int e = lh_sem_open(lh, "licences", 5, &sem);

	if (e != 0)
		return e;
	e = lh_sem_acquire(sem, NULL, &permit);
	if (e == 0)
		/* ... use it ... */
		e = lh_sem_release(sem, &permit);
	lh_sem_close(sem);
	return e;
}

/* Prints how many licences are in use. */
static int
print_licences(struct lh *lh)
{
	struct lh_sem_status s = { .size = sizeof(s) };
	struct lh_sem *sem;
	int e = lh_sem_open(lh, "licences", 0, &sem);	/* it must exist */

	if (e != 0)
		return e;
	e = lh_sem_status(sem, &s);
	if (e == 0)
		printf("%" PRIu32 " of %" PRIu32 ", %" PRIu32 " wait\n",
		    s.held, s.limit, s.waiting);
	lh_sem_close(sem);
	return e;
}

/* Changes the limit: removes the semaphore, which must not be in use. */
static int
change_limit(struct lh *lh, uint32_t limit)
{
	struct lh_sem *sem;
	int e = lh_sem_destroy(lh, "licences");

	if (e == 0)
		e = lh_sem_open(lh, "licences", limit, &sem);
	return e != 0 ? e : lh_sem_close(sem);
}

int
main(void)
{
	struct lh *lh;

	if (lh_open(&lh, NULL, NULL) != 0 || use_licence(lh) != 0 ||
	    print_licences(lh) != 0 || change_limit(lh, 7) != 0)
		return EXIT_FAILURE;
	return lh_close(lh) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
