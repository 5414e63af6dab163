/* SPDX-License-Identifier: MIT */
/* test: slow 10 */
/*
 * etcd's users: a password gives a token, which is renewed when etcd forgets
 * it; a wrong password, a missing one, and a missing permission are reported as
 * such.
 *
 * Otherwise a shim would stop after a day, or an operator would search for a
 * network fault.
 */
#include "shim/support/etcd.h"
#include "shim/support/kv.h"
#include "shim/support/loop.h"
#include "tap.h"

static struct event_base *base;
static struct cluster *c;
static struct kv_said s;

static void
users_on(void)
{
	ok(cluster_ctl(c, "user add root:r00t") == 0 &&
	    cluster_ctl(c, "user grant-role root root") == 0 &&
	    cluster_ctl(c, "role add r") == 0 &&
	    cluster_ctl(c, "role grant-permission r readwrite --prefix t/")
	    == 0 && cluster_ctl(c, "user add lh:secret") == 0 &&
	    cluster_ctl(c, "user grant-role lh r") == 0 &&
	    cluster_ctl(c, "user add reader:secret") == 0 &&
	    cluster_ctl(c, "role add ro") == 0 &&
	    cluster_ctl(c, "role grant-permission ro read t/") == 0 &&
	    cluster_ctl(c, "user grant-role reader ro") == 0, "users");
}

static void
without_users(void)
{
	struct etcd_opts o = { .user = "lh", .password = "secret" };
	struct kv_noted n;

	kv_open(&n, base, cluster_endpoints(c), &o, NULL);
	ok(kv_here(&n, 20000), "nobody asks for the password");
	ok(n.says > 0, "that is said");
	is(n.e->ops->watch(n.e, kv_text("t/")), 0, "a watch");
	ok(kv_put(&n, "t/a", "1", &s) && s.fate == FATE_DONE, "put");
	/* and now they do */
	is(cluster_ctl(c, "auth enable"), 0, "users are asked from now on");
	for (int i = 0; i < 100 && !(kv_put(&n, "t/a", "1", &s) &&
	    s.fate == FATE_DONE); i++)
		loop_rest(base, 20);
	is(s.fate, FATE_DONE, "the password is used: %s", s.why);
	kv_close(&n);
}

static void
right_password(void)
{
	struct etcd_opts o = { .user = "lh", .password = "secret" };
	struct kv_noted n;
	int changes;

	kv_open(&n, base, cluster_endpoints(c), &o, NULL);
	ok(kv_here(&n, 20000), "a user: %s", n.why);
	is(n.e->ops->watch(n.e, kv_text("t/")), 0, "a watch");
	ok(loop_until(base, &n.looks, 1, 3000), "it begins");
	ok(kv_put(&n, "t/a", "1", &s) && s.fate == FATE_DONE, "put");
	ok(kv_put(&n, "other", "1", &s) && s.fate == FATE_NOT_APPLIED &&
	    s.denied, "what is not allowed is not applied: %s", s.why);
	is(n.state, KV_HERE, "it stays");
	/* simple tokens are in its memory alone */
	cluster_kill(c, 0);
	ok(kv_until_state(&n, KV_AWAY, 3000), "killed");
	cluster_again(c, 0);
	ok(kv_here(&n, 20000) && kv_put(&n, "t/a", "2", &s) &&
	    s.fate == FATE_DONE, "etcd forgets the token: it gets another");
	/* any change of users makes tokens old */
	is(cluster_ctl(c, "--user root:r00t user add u:p"), 0, "a new user");
	ok(kv_put(&n, "t/a", "3", &s) && s.fate == FATE_DONE,
	    "a token from before that is renewed at once: %s", s.why);
	changes = n.changes;
	ok(kv_put(&n, "t/b", "3", &s) && loop_until(base, &n.changes,
	    changes + 1, 3000), "the watch goes on");
	kv_close(&n);
}

static void
refused(const char *user, const char *password, const char *why)
{
	struct etcd_opts o = { .user = user, .password = password,
	    .refused_ms = 200, .connect_ms = 5000 };
	struct kv_noted n;

	kv_open(&n, base, cluster_endpoints(c), &o, NULL);
	ok(kv_until_state(&n, KV_REFUSED, 20000), "%s/%s is refused",
	    user == NULL ? "-" : user, password == NULL ? "-" : password);
	if (!ok(strstr(n.why, why) != NULL, "why"))
		diag("'%s' is not in '%s'", why, n.why);
	ok(!kv_put(&n, "t/a", "x", &s), "nothing can be asked");
	loop_rest(base, 500);
	is(n.states, 1, "it is reported once");
	kv_close(&n);
}

static void
mended(void)
{
	struct etcd_opts o = { .user = "late", .password = "secret",
	    .refused_ms = 200 };
	struct kv_noted n;

	kv_open(&n, base, cluster_endpoints(c), &o, NULL);
	ok(kv_until_state(&n, KV_REFUSED, 20000), "no such user: %s", n.why);
	ok(cluster_ctl(c, "--user root:r00t user add late:secret") == 0 &&
	    cluster_ctl(c, "--user root:r00t user grant-role late r") == 0,
	    "it is added");
	ok(kv_here(&n, 20000), "and comes in");
	kv_close(&n);
}

static void
may_not_watch(void)
{
	struct etcd_opts o = { .user = "reader", .password = "secret",
	    .root = "t/" };
	struct kv_noted n;

	kv_open(&n, base, cluster_endpoints(c), &o, NULL);
	ok(kv_here(&n, 20000), "one who may read the root");
	is(n.e->ops->watch(n.e, kv_text("t/")), 0, "and not watch it all");
	ok(kv_until_state(&n, KV_REFUSED, 20000), "is refused: %s", n.why);
	kv_close(&n);
}

int
main(void)
{
	base = event_base_new();
	c = cluster_start(1, NULL);
	users_on();
	without_users();
	right_password();
	refused("lh", "wrong", "invalid user ID or password");
	refused("nobody", "secret", "invalid user ID or password");
	refused(NULL, NULL, "user name is empty");
	refused("root2", NULL, "invalid");
	mended();
	may_not_watch();
	cluster_end(c);
	event_base_free(base);
	return done();
}
