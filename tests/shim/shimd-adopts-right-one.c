/* SPDX-License-Identifier: MIT */
/*
 * A shim adopts two shared claims of a key; the one of the right is kept,
 * whatever became, late, of the requests for the other one.  Otherwise the host
 * would read under a claim that is deleted.
 *
 *	1 granted; a newer revision requested, late; given back, deletion late
 *	2 granted, under the right; 1's newer revision is drawn now; one for 2
 *	  as well, but the shim is killed before it learns of that
 *	the next shim finds both, each with a revision above the table's base
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "support/asked.h"
#include "support/hosts.h"

#define LATE_MS 400

static const char key[] = "cluster:k";
static char first_claim[200];
static _Atomic unsigned confirms;
static _Atomic enum { ALL_WELL, FIRST_LATE, LAST_UNHEARD } what;

static bool
is_of_claims(void)
{
	const struct kv_bytes *k = &asked->then[0].range.key;

	return memmem(k->p, k->len, "/q/", 3) != NULL;
}

static enum fake_mishap
mishap(unsigned host, uint64_t call, void *arg)
{
	if (host != 0 || what == ALL_WELL || asked == NULL ||
	    asked->n_then == 0 || !is_of_claims())
		return FAKE_NONE;
	if (asked_to(KV_DELETE))
		return FAKE_BROKEN;
	/* CONFIRM compares the claim's age, nothing else does */
	if (!asked_to(KV_PUT) || asked->n_compares < 2 ||
	    asked->compares[1].subject != KV_CREATE)
		return FAKE_NONE;
	if (confirms++ > 0)
		return FAKE_BROKEN;
	return what == FIRST_LATE ? FAKE_BROKEN_LATE : FAKE_BROKEN_APPLIED;
}

static void
do_begin(void *arg)
{
	asked_watch(hosts[0].engine);
	fake_store_mishaps(hosts_store, mishap, NULL, NULL);
}

static void
note_claim(const struct kv_pair *p, void *arg)
{
	if (memmem(p->key.p, p->key.len, "/q/k/r/", 7) != NULL)
		(void)snprintf(first_claim, sizeof(first_claim), "%.*s",
		    (int)p->key.len, (const char *)p->key.p);
}

static void
do_note(void *arg)
{
	fake_store_each(hosts_store, note_claim, NULL);
}

static void
do_delete(void *arg)
{
	fake_store_delete(hosts_store, (struct kv_bytes){
	    (const uint8_t *)first_claim, strlen(first_claim) });
}

/* A newer revision of it is wanted; it is asked for. */
static int
want_newer(struct host *h, int how)
{
	int fd = dial(h);

	confirms = 0;
	what = how;
	hosts_want(fd, 1, key, RIGHT_SHARED, FRAME_REANCHOR);
	ok(t_until(T_HANG_MS, confirms > 0), "a newer revision is asked for");
	return fd;
}

int
main(void)
{
	struct host *a = &hosts[0], *b = &hosts[1];
	struct lh_lease l, m;
	int fd, wants;

	hosts_begin(2);
	host_patient(a, t_ms(LATE_MS));
	hosts_do(do_begin, NULL);
	is(take(a, key, RIGHT_SHARED, T_HANG_MS, &l), 0, "A takes a key");
	is(lh_release(a->lh, &l), 0, "which it leaves");
	hosts_do(do_note, NULL);
	wants = want_newer(a, FIRST_LATE);
	fd = dial(b);
	is(ask(fd, key, RIGHT_EXCLUSIVE, 0), FRAME_QUEUED, "B wants it");
	ok(t_until(T_HANG_MS, host_right(a, key) == RIGHT_NONE),
	    "A gives it back, and the store does not hear that");
	(void)close(wants);
	(void)close(fd);
	is(take(a, key, RIGHT_SHARED, T_HANG_MS, &l), 0, "A has it again");
	is(lh_release(a->lh, &l), 0, "and leaves it");
	t_sleep_ms(t_ms(2 * LATE_MS));
	wants = want_newer(a, LAST_UNHEARD);
	host_down(a);
	(void)close(wants);
	what = ALL_WELL;
	is(host_up(a), 0, "A's shim is killed, and started");
	ok(t_until(T_HANG_MS, host_reaches_now(a)), "it is up");
	is(host_right(a, key), RIGHT_SHARED, "A has its right still");
	is(take(a, key, RIGHT_SHARED, T_HANG_MS, &l), 0, "and goes by it");
	fd = dial(b);
	is(ask(fd, key, RIGHT_EXCLUSIVE, 0), FRAME_QUEUED, "B wants it");
	hosts_do(do_delete, NULL);	/* late, but done now */
	is(take(b, key, RIGHT_EXCLUSIVE, t_ms(500), &m), -ETIMEDOUT,
	    "the first claim is deleted at last: B has not got it");
	is(lh_verify(a->lh, &l), 0, "while A has");
	is(lh_release(a->lh, &l), 0, "A releases");
	is(take(b, key, RIGHT_EXCLUSIVE, T_HANG_MS, &m), 0, "B has it");
	is(lh_release(b->lh, &m), 0, "and releases");
	hosts_end();
	return done();
}
