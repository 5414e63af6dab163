/* SPDX-License-Identifier: MIT */
/* Ends requests to etcd that get no answer. etcd.c and etcd_link.c call it. */
#include <stdlib.h>
#include "etcd_link.h"

void
etcd_request_free(struct etcd_request *r)
{
	free(r->body.p);
	free(r);
}

void
etcd_request_end(struct etcd_request *r, struct etcd_requests *from,
    enum fate fate, const char *why)
{
	TAILQ_REMOVE(from, r, of);
	r->call = NULL;
	r->fate = fate;
	r->why = why;
	TAILQ_INSERT_TAIL(&r->e->ended, r, of);
	event_active(r->e->soon, 0, 0);
}

void
etcd_end_all(struct etcd *e, const char *why)
{
	struct etcd_request *r;

	while ((r = TAILQ_FIRST(&e->sent)) != NULL)
		etcd_request_end(r, &e->sent, FATE_UNKNOWN,
		    "the endpoint was given up");
	if (why == NULL)
		return;
	while ((r = TAILQ_FIRST(&e->waiting)) != NULL)
		etcd_request_end(r, &e->waiting, FATE_NOT_APPLIED, why);
}
