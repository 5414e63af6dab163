/* SPDX-License-Identifier: MIT */
/* Examples of leasehold/ticket.h, for its manual pages (tools/man3). */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <leasehold.h>

/* Waits for a key in an event loop. */
static int
wait_in_loop(struct lh *lh, struct lh_lease *lease)
{
	struct pollfd pfd = { .events = POLLIN };
	struct lh_ticket *ticket;
	int e = lh_acquire_start(lh, "printer", NULL, &ticket);

	if (e != 0)
		return e;
	pfd.fd = lh_ticket_fd(ticket);
	if (lh_ticket_rank(ticket) > 0)
		printf("place %d in the queue\n", lh_ticket_rank(ticket));
	poll(&pfd, 1, 10000);		/* beside all else */
	e = lh_ticket_finish(ticket, lease);
	if (e == -EAGAIN)
		lh_ticket_cancel(ticket);
	return e;
}

/* Starts to wait, and changes its mind. */
static int
change_mind(struct lh *lh)
{
	struct lh_ticket *ticket;
	int e = lh_acquire_start(lh, "printer", NULL, &ticket);

	return e != 0 ? e : lh_ticket_cancel(ticket);
}

/* Waits until nobody prints, without printing itself. */
static int
wait_for_quiet(struct lh *lh)
{
	return lh_wait_free(lh, "printer", NULL);
}

int
main(void)
{
	struct lh_lease lease;
	struct lh *lh;

	if (lh_open(&lh, NULL, NULL) != 0 || wait_in_loop(lh, &lease) != 0 ||
	    change_mind(lh) != 0 || lh_release(lh, &lease) != 0 ||
	    wait_for_quiet(lh) != 0)
		return EXIT_FAILURE;
	return lh_close(lh) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
