/* SPDX-License-Identifier: MIT */
/* Decides when to renew and when to give up. See renewal_schedule.h. */
#include <stdint.h>
#include "renewal_schedule.h"

#define NS_PER_S INT64_C(1000000000)

static int64_t
at_most(int64_t ns, int64_t most_ns)
{
	return ns < most_ns ? ns : most_ns;
}

void
schedule_renewed(struct renewal_schedule *p, int64_t now_ns, int64_t expires_ns)
{
	int64_t left_ns = expires_ns - now_ns;

	if (expires_ns > p->expires_ns || p->span_ns == 0)
		p->span_ns = left_ns > p->ttl_ns / 4 * 3 ? p->ttl_ns :
		    left_ns > 0 ? left_ns : 1;
	p->expires_ns = expires_ns;
	p->renew_at_ns = now_ns + p->span_ns / 3;
	p->failures = 0;
}

void
schedule_failed(struct renewal_schedule *p, int64_t now_ns)
{
	p->renew_at_ns = now_ns + at_most(p->span_ns / 20, NS_PER_S);
	p->failures++;
}

int64_t
schedule_term_at_ns(const struct renewal_schedule *p)
{
	return p->expires_ns - at_most(p->span_ns / 4, 5 * NS_PER_S);
}

int64_t
schedule_kill_at_ns(const struct renewal_schedule *p, int64_t term_ns, int lost)
{
	int64_t grace_ns = at_most(p->span_ns / 10, NS_PER_S);

	return lost ? term_ns + grace_ns : p->expires_ns - grace_ns;
}
