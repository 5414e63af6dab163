/* SPDX-License-Identifier: MIT */
/*
 * Issue 21 D5: locks of other programs are among the claims in the store: a
 * shim does not start while one exists, and names it; one that comes later is
 * counted.
 *
 * Otherwise etcdctl lock and leasehold would both grant one key, silently.
 */
#include <string.h>
#include "support/fake_store.h"
#include "support/hosts.h"

static struct host *a = &hosts[0];

static struct kv_bytes
bytes(const char *s)
{
	return (struct kv_bytes){ (const uint8_t *)s, strlen(s) };
}

static void
do_put(void *arg)
{
	struct kv_op op = { .what = KV_PUT, .range = { .key = bytes(arg) },
	    .value = bytes("") };
	struct kv_txn t = { .then = &op, .n_then = 1 };
	struct kv_answer answer = { 0 };
	struct arena memory = { 0 };

	store_txn(hosts_store, &t, &memory, &answer);
	arena_free(&memory);
}

static void
do_delete(void *arg)
{
	fake_store_delete(hosts_store, bytes(arg));
}

static void
refused(const char *key)
{
	host_down(a);
	a->over[0] = '\0';
	hosts_do(do_put, (void *)(uintptr_t)key);
	is(host_up(a), 0, "%s: a shim begins", key);
	ok(t_until(T_HANG_MS, a->over[0] != '\0'), "  and ends");
	ok(strstr(a->over, key) != NULL, "  says why: %s", a->over);
	host_down(a);
	hosts_do(do_delete, (void *)(uintptr_t)key);
	is(host_up(a), 0, "  it is gone: a shim begins");
	ok(t_until(T_HANG_MS, host_reaches_now(a)), "  and is up");
}

int
main(void)
{
	struct lh_lease l;

	hosts_begin(1);
	refused("test/q/nightly/694d9a2b1f0c3d5e");
	refused("test/q/stray");
	is(take(a, "cluster:k", RIGHT_EXCLUSIVE, T_HANG_MS, &l), 0,
	    "a key is acquired");
	hosts_do(do_put, (void *)(uintptr_t)"test/q/k/694d9a2b1f0c3d5e");
	ok(t_until(T_HANG_MS, host_counts(a).foreign == 1),
	    "one that comes later is counted");
	is(lh_verify(a->lh, &l), 0, "and changes nothing for who has the key");
	hosts_do(do_put, (void *)(uintptr_t)"test/other");
	is((int)host_counts(a).foreign, 1, "elsewhere they may stand");
	is(lh_release(a->lh, &l), 0, "released");
	hosts_end();
	return done();
}
