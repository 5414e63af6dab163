/* SPDX-License-Identifier: MIT */
/*
 * Calls on a damaged table: see image-calls.h.  They must return; the results
 * do not matter.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <leasehold.h>
#include "shm/session_reclaim.h"
#include "fuzz/fuzz.h"
#include "fuzz/image-base.h"
#include "fuzz/image-calls.h"
#include "live/live_set.h"
#include "reaper/reap.h"
#include "proc/attachment.h"

#define HOUR_MS INT64_C(3600000)

int
image_open(struct lh **lh)
{
	struct lh_open_opts o = LH_OPEN_OPTS_INIT;

	o.flags = LH_NO_CREATE;
	return lh_open(lh, t.name, &o);
}

static const char *
key_of(unsigned n)
{
	static const char *const keys[] = { THE_X, THE_S, THE_LONG, THE_FREE,
		THE_KEPT, "over", "k5", "slot.filled", "slot.linking",
		"evict.dying", "evict.committed", "evict.marked", "closing",
		"new", "new, and longer than what is beside the slot" };

	return keys[n % (sizeof(keys) / sizeof(keys[0]))];
}

static int
look_at_key(const struct lh_key_info *info, void *arg)
{
	(void)arg;
	/* every byte that was promised is there */
	return strlen(info->key) > 255 || (info->n_holders > 0 &&
	    info->holders[info->n_holders - 1].pid == UINT32_MAX - 7) ||
	    (info->n_waiters > 0 &&
	    info->waiters[info->n_waiters - 1].pid == UINT32_MAX - 7);
}

static int
look_at_explained(const struct lh_key_info *info, void *arg)
{
	for (uint32_t i = 0; i < info->n_holders; i++)
		if (info->holders[i].waits_for != NULL &&
		    strlen(info->holders[i].waits_for) > 255)
			return 1;
	return look_at_key(info, arg);
}

static int
look_at_dumped(const struct lh_dump_key *key, void *arg)
{
	(void)look_at_key(key->info, arg);
	return 0;
}

static int
look_at_session(const struct lh_dump_session *s, void *arg)
{
	(void)arg;
	return strlen(s->application) > LH_APPLICATION_MAX ||
	    strlen(s->state) == 0;
}

static void
look_at_finding(const char *finding, void *arg)
{
	*(size_t *)arg += strlen(finding);
}

void
image_dump(const char *file)
{
	const struct lh_dump_to to = { .size = sizeof(to),
		.session = look_at_session, .key = look_at_dumped,
		.finding = look_at_finding };
	size_t n = 0;

	(void)lh_dump(t.name, file, 0, &to, &n);
}

static void
acquire(unsigned n, uint32_t mode, int64_t wait_ms)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	struct lh_lease lease;

	o.mode = mode;
	o.flags = n & 1 ? LH_EXPLAIN : 0;
	o.max_wait_ms = wait_ms;
	o.ttl_ms = n & 0x40 ? 1 : HOUR_MS;
	o.priority = n & 0x20 ? n : 0;
	if (lh_acquire(t.lh, key_of(n), &o, &lease) != 0)
		return;
	(void)lh_verify(t.lh, &lease);
	(void)lh_verify_token(t.lh, key_of(n), lease.token);
	if (n & 0x80)
		(void)lh_convert(t.lh, &lease, !mode);
	t.lease = lease;
	if (!(n & 0x10))
		(void)lh_release(t.lh, &lease);
}

static void call_check(unsigned n)
{
	size_t len = 0;

	(void)n;
	(void)lh_check(t.lh, look_at_finding, &len);
}

static void call_dump(unsigned n) { (void)n; image_dump(NULL); }
static void call_image(unsigned n) { (void)n; image_dump(t.path); }

static void
call_list(unsigned n)
{
	(void)lh_list(t.lh, n & 1 ? "k" : NULL, look_at_key, NULL);
}

static void
call_status(unsigned n)
{
	if (n & 0x40)
		(void)lh_explain(t.lh, key_of(n), look_at_explained, NULL);
	(void)lh_status(t.lh, key_of(n), n & 0x80 ? t.lease.id : NULL,
	    look_at_key, NULL);
}

static int
look_at_numbers(const struct lh_session_stats *s, void *arg)
{
	(void)arg;
	return strlen(s->application) > LH_APPLICATION_MAX;
}

static void
call_stats(unsigned n)
{
	struct lh_stats s = { .size = sizeof(s) };

	(void)n;
	(void)lh_stats(t.lh, &s);
	(void)lh_stats_sessions(t.lh, look_at_numbers, NULL);
}

static void call_try(unsigned n) { acquire(n, LH_EXCLUSIVE, 0); }
static void call_shared(unsigned n) { acquire(n, LH_SHARED, 0); }

static void
call_wait(unsigned n)
{
	acquire(n, n & 1 ? LH_SHARED : LH_EXCLUSIVE, 1);
}

static void
call_lease(unsigned n)
{
	if (n & 1)
		(void)lh_extend(t.lh, &t.lease, 1 + n);
	else if (n & 2)
		(void)lh_convert(t.lh, &t.lease, n >> 7);
	else
		(void)lh_release(t.lh, &t.lease);
}

static void
call_key(unsigned n)
{
	struct lh_lease lease;

	if (t.key == NULL &&
	    lh_key_open(t.lh, key_of(n), n & 0x80 ? LH_NO_CREATE : 0,
	    &t.key) != 0)
		return;
	for (int i = 0; i < 3; i++) {
		struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;

		o.max_wait_ms = 0;
		if (lh_key_acquire(t.key, &o, &lease) == 0)
			(void)lh_release(t.lh, &lease);
	}
}

static void
call_create(unsigned n)
{
	(void)lh_key_create(t.lh, key_of(n));
}

static void
call_evict(unsigned n)
{
	(void)lh_evict(t.lh, n & 1 ? key_of(n >> 1) : NULL, n & 0x80 ? 1 : 0);
}

static void
call_bury(unsigned n)
{
	(void)n;
	(void)lhi_session_reclaim_dead(&t.lh->v);
}

/* Two passes: the second when all is due that can be. */
static void
call_reap(unsigned n)
{
	const struct lhi_reap_opts opts = { .evict_idle_ms = n & 1 };
	int64_t now_ns = lh_clock_ns(t.lh), next_ns;
	struct lhi_reaper *r;

	if (lhi_reap_open(&r, t.path) != 0)
		return;
	lhi_reap_set(r, &opts);
	(void)lhi_reap_pass(r, now_ns, &next_ns);
	(void)lhi_reap_pass(r, now_ns + HOUR_MS * 1000000,
	    &next_ns);
	lhi_reap_close(r);
}

/* Without the live thread, which would have its own time. */
static void
stand_in_line(unsigned n)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	struct lh_ticket *ticket;
	struct lh_lease lease = { 0 };

	lhi_live_by_hand = true;
	o.mode = n & 1 ? LH_SHARED : LH_EXCLUSIVE;
	if (lh_acquire_start(t.lh, key_of(n), &o, &ticket) != 0)
		return;
	(void)lh_ticket_rank(ticket);
	if (lh_ticket_finish(ticket, &lease) == -EAGAIN)
		(void)lh_ticket_cancel(ticket);
	else
		(void)lh_lease_asked(t.lh, &lease);
}

static void
call_break(unsigned n)
{
	const uint64_t *id = n & 0x80 ? t.lease.id : NULL;

	(void)lh_ask_release(t.lh, key_of(n), id, 0);
	(void)lh_break(t.lh, key_of(n), id, 0);
	stand_in_line(n);
}

/* One of four requests, which the image may know. */
static void
call_request(unsigned n)
{
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	const uint64_t id[2] = { 1 + (n & 3), 0 };
	struct lh_lease lease;

	memcpy(more.request, id, sizeof(id));
	more.info = n & 0x40 ? "who asks" : NULL;
	o.mode = n >> 7;
	o.max_wait_ms = n & 0x20 ? 1 : 0;
	o.more = &more;
	if (lh_acquire(t.lh, key_of(n), &o, &lease) == 0) {
		t.lease = lease;
		if (n & 4)
			(void)lh_release(t.lh, &lease);
	}
	if (n & 8)
		(void)lh_release_request(t.lh, NULL, id);
}

static void
call_value(unsigned n)
{
	char value[LH_VALUE_MAX];
	size_t len = 0;

	if (lh_value_get(t.lh, key_of(n), value, &len, NULL) == 0 &&
	    len > sizeof(value))
		abort();
	memset(value, (int)n, sizeof(value));
	if (n & 0x80)
		(void)lh_value_set(t.lh, &t.lease, value, n & 0x7f);
}

static int
look_at_named(const struct lh_session_info *info, void *arg)
{
	(void)arg;
	return strlen(info->name) > LH_SESSION_NAME_MAX;
}

/* The lease into a named session and out of it, or one acquired there. */
static void
call_session(unsigned n)
{
	static const char *const names[] = { "named", "n", NULL, "another" };
	struct lh_session_opts so = LH_SESSION_OPTS_INIT;
	struct lh_acquire_more more = LH_ACQUIRE_MORE_INIT;
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	struct lh_session *s;

	so.on_end = n >> 6 & 1;
	so.flags = n & 0x20 ? LH_SESSION_WITH_MAKER : 0;
	(void)lh_session_list(t.lh, n & 1 ? names[0] : NULL, look_at_named,
	    NULL);
	if (lh_session_open(t.lh, names[n & 3], &so, &s) != 0)
		return;
	more.session = s;
	o.more = &more;
	o.max_wait_ms = 0;
	o.mode = n >> 7;
	if (n & 4)
		(void)lh_handoff(t.lh, &t.lease, s);
	else
		(void)lh_acquire(t.lh, key_of(n >> 2), &o, &t.lease);
	(void)lh_session_renew(s);
	if (n & 8)
		(void)lh_handoff(t.lh, &t.lease, NULL);
	if (n & 16)
		(void)lh_session_destroy(s);
	lh_session_close(s);
}

static void
call_open(unsigned n)
{
	struct lh *lh;

	(void)n;
	if (image_open(&lh) == 0)
		(void)lh_close(lh);
}

void
image_close(void)
{
	if (t.key != NULL)
		(void)lh_key_close(t.key);
	t.key = NULL;
	if (t.lh != NULL)
		(void)lh_close(t.lh);
	t.lh = NULL;
}

static const struct {
	const char *name;
	void (*fn)(unsigned n);
} calls[] = {
	{ "lh_check", call_check },
	{ "lh_dump", call_dump },
	{ "lh_dump of the image", call_image },
	{ "lh_list", call_list },
	{ "lh_status", call_status },
	{ "lh_stats", call_stats },
	{ "a try", call_try },
	{ "a reader's try", call_shared },
	{ "a short wait", call_wait },
	{ "a lease", call_lease },
	{ "an opened key", call_key },
	{ "lh_key_create", call_create },
	{ "lh_evict", call_evict },
	{ "a burial", call_bury },
	{ "a reaper", call_reap },
	{ "lh_break, and others that ask or wait", call_break },
	{ "lh_open of another", call_open },
	{ "a value", call_value },
	{ "a request", call_request },
	{ "a named session", call_session },
};

const unsigned image_n_calls = sizeof(calls) / sizeof(calls[0]);

void
image_call(unsigned which, unsigned n)
{
	which %= image_n_calls;
	fuzz_steps(calls[which].name, STEPS);
	calls[which].fn(n);
}
