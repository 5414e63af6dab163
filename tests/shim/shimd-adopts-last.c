/* SPDX-License-Identifier: MIT */
/*
 * A shim adopts two shared claims of a key, whose right was taken away in the
 * table but not everywhere.  The claim that was queued last is kept until the
 * others have left it: the other one is being deleted.
 *
 * Otherwise processes of this host would lose a key that they still read.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "support/asked.h"
#include "support/hosts.h"
#include "op/acquire_target.h"
#include "op/cluster_check.h"

#define LATE_MS 400

static const char key[] = "cluster:k";
static char first_claim[200];
static _Atomic enum { ALL_WELL, FIRST_LATE } what;

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
	return FAKE_NONE;
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

static void
clear_right(struct host *h)
{
	struct lhi_key_name n;
	struct lhi_ref ref;

	if (lhi_key_name_check(h->lh, key, 0, &n) != 0 ||
	    lhi_key_name_resolve(h->lh, &n, LH_NO_CREATE, &ref) != 0)
		bail_out("no key");
	is(lhi_right_set(&h->lh->v, &ref, RIGHT_NONE, 0), 0, "taken away");
}

int
main(void)
{
	struct host *a = &hosts[0], *b = &hosts[1];
	struct lh_lease l, m;
	int fd;

	hosts_begin(2);
	host_patient(a, t_ms(LATE_MS));
	hosts_do(do_begin, NULL);
	is(take(a, key, RIGHT_SHARED, T_HANG_MS, &l), 0, "A takes a key");
	is(lh_release(a->lh, &l), 0, "which it leaves");
	hosts_do(do_note, NULL);
	what = FIRST_LATE;
	fd = dial(b);
	is(ask(fd, key, RIGHT_EXCLUSIVE, 0), FRAME_QUEUED, "B wants it");
	ok(t_until(T_HANG_MS, host_right(a, key) == RIGHT_NONE),
	    "A gives it back, and the store does not hear that");
	(void)close(fd);
	is(take(a, key, RIGHT_SHARED, T_HANG_MS, &l), 0, "A has it again");
	/* its shim's own lease ran out between this and the look at that */
	host_down(a);
	clear_right(a);
	what = ALL_WELL;
	is(host_up(a), 0, "A's shim is killed, and started");
	ok(t_until(T_HANG_MS, host_reaches_now(a)), "it is up");
	t_sleep_ms(t_ms(50));
	hosts_do(do_delete, NULL);	/* late, but done now */
	is(take(b, key, RIGHT_EXCLUSIVE, t_ms(300), &m), -ETIMEDOUT,
	    "the first claim is deleted at last: B has not got it");
	cmp(l.expires_ns, >, t_now_ns(), "while A's process may go by it");
	is(lh_release(a->lh, &l), 0, "A releases");
	is(take(b, key, RIGHT_EXCLUSIVE, T_HANG_MS, &m), 0, "B has it");
	is(lh_release(b->lh, &m), 0, "and releases");
	hosts_end();
	return done();
}
