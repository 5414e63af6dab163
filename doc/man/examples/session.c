/* SPDX-License-Identifier: MIT */
/* Examples of leasehold/session.h, for its manual pages (tools/man3). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <leasehold.h>

/* Acquires into a session that outlives this process. */
static int
acquire_into_session(struct lh *lh, struct lh_session *s,
    struct lh_lease *lease)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;

	more.session = s;
	o.more = &more;
	return lh_acquire(lh, "disk-3", &o, lease);
}

/* Opens the session, and lets a thread renew it. */
static int
open_and_keep(struct lh *lh, struct lh_session **s)
{
	int e = lh_session_open(lh, "build-42", NULL, s);

	return e != 0 ? e : lh_session_keep(*s, 1);
}

/* Renews it by hand, and says for how long. */
static int
renew_and_print(struct lh_session *s)
{
	struct lh_session_info info = { .size = sizeof(info) };
	int64_t ttl_ms = lh_session_renew(s);

	if (ttl_ms < 0)
		return (int)ttl_ms;	/* -ESTALE: it has ended */
	if (lh_session_info(s, &info) == 0)
		printf("%s: %" PRIu32 " leases, %" PRId64 " ms\n", info.name,
		    info.leases, ttl_ms);
	return 0;
}

static int
print_session(const struct lh_session_info *info, void *arg)
{
	++*(int *)arg;
	printf("%s\n", info->name);
	return 0;
}

/* Lists the named sessions of builds. */
static int
list_builds(struct lh *lh)
{
	int n = 0, e = lh_session_list(lh, "build-", print_session, &n);

	return e != 0 ? e : n;
}

/* Takes a lease over from a process that kept only key, id and token. */
static int
take_over(struct lh *lh, const uint64_t id[2], uint64_t token,
    struct lh_lease *lease)
{
	int e = lh_lease_recall(lh, "disk-3", id, token, lease);

	return e != 0 ? e : lh_handoff(lh, lease, NULL);	/* to us */
}

/* Ends the session: its keys are free. */
static int
end_session(struct lh_session *s)
{
	int e = lh_session_destroy(s);

	lh_session_close(s);
	return e;
}

int
main(void)
{
	struct lh_lease lease, ours;
	struct lh_session *s;
	struct lh *lh;

	if (lh_open(&lh, NULL, NULL) != 0 || open_and_keep(lh, &s) != 0 ||
	    acquire_into_session(lh, s, &lease) != 0 ||
	    renew_and_print(s) != 0 || list_builds(lh) != 1 ||
	    take_over(lh, lease.id, lease.token, &ours) != 0 ||
	    end_session(s) != 0 || lh_release(lh, &ours) != 0)
		return EXIT_FAILURE;
	return lh_close(lh) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
