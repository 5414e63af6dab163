/* SPDX-License-Identifier: MIT */
/*
 * Errors in words: lh_strerror() knows each documented code with either sign,
 * by distinct texts; lh_error_detail() is empty at first, a thread's own, names
 * the holder, and errno is never touched, whatever a call returns.
 */
#include <errno.h>
#include <unistd.h>
#include "support/actor.h"
#include "support/support.h"
#include "tap.h"

static const int codes[] = { EAGAIN, ETIMEDOUT, ECANCELED, ESTALE, EPERM,
	EBUSY, ENOENT, ENOSPC, ENOMEM, EINVAL, ENAMETOOLONG, EPROTO, EUCLEAN,
	EXDEV, EACCES, EOPNOTSUPP, EMFILE, ENFILE, EEXIST };
#define N (int)(sizeof(codes) / sizeof(codes[0]))

static struct lh *lh;

static void
texts(void)
{
	int known = 0, distinct = 0, signs = 0;

	for (int i = 0; i < N; i++) {
		const char *s = lh_strerror(-codes[i]);

		known += s != NULL && strlen(s) >= 4 &&
		    strcmp(s, lh_strerror(-99999)) != 0;
		signs += s != NULL && strcmp(s, lh_strerror(codes[i])) == 0;
		for (int j = 0; j < i; j++)
			/* two ways to run out of descriptors are one */
			distinct += strcmp(s, lh_strerror(codes[j])) != 0 ||
			    codes[i] == ENFILE;
	}
	is(known, N, "each documented code has a text");
	is(signs, N, "with either sign the same");
	is(distinct, N * (N - 1) / 2, "and another than the others");
	ok(lh_strerror(0) != NULL && lh_strerror(0)[0] != '\0', "0 has one");
	ok(lh_strerror(99999) != NULL, "and so has nonsense");
	ok(lh_strerror(INT32_MIN) != NULL, "whatever it is");
	ok(lh_strerror(INT32_MAX) != NULL, "and however large");
}

static void *
fresh_thread(void *arg)
{
	struct lh_lease l;
	intptr_t wrong = 0;

	(void)arg;
	wrong += strcmp(lh_error_detail(), "") != 0;
	wrong += t_acquire(lh, "k", 0, 0, &l) != -EINVAL;
	wrong += strcmp(lh_error_detail(), "") == 0;
	return (void *)wrong;
}

static void
details(const char *table)
{
	struct t_actor *a = t_actor(table);
	char number[16], kept[512];
	struct lh_lease l;

	is(t_do_acquire(a, "busy-key", 3600000, 0), 0, "a process holds");
	snprintf(number, sizeof(number), "%d", (int)a->pid);
	is(t_acquire(lh, "busy-key", 1000, 0, &l), -EAGAIN, "busy");
	snprintf(kept, sizeof(kept), "%s", lh_error_detail());
	ok(strstr(kept, number) != NULL, "the detail names the process");
	ok(strstr(kept, "busy-key") != NULL, "and the key");
	is((intptr_t)t_join(t_thread(fresh_thread, NULL)), 0,
	    "another thread has a detail of its own");
	is_str(lh_error_detail(), kept, "and this one's is unmoved");
	is(t_acquire(lh, "busy-key", 1000, 5, &l), -ETIMEDOUT, "timed out");
	ok(strstr(lh_error_detail(), number) != NULL, "names it, too");
	is(lh_release(lh, &a->lease), -EPERM, "another failure");
	ok(strcmp(lh_error_detail(), kept) != 0, "another text");
	t_actor_end(a);
}

/* Each call once with success and once with failure. */
static void
errno_is_left(const char *table)
{
	struct lh_stats st = { .size = sizeof(st) };
	struct lh_cancel c = LH_CANCEL_INIT;
	struct lh_open_opts o = t_open_opts();
	struct lh *other = NULL;
	struct lh_key *k = NULL;
	struct lh_lease l, l2;
	int touched = 0;

#define LEAVES(call, want) do { \
	int r_; \
	errno = 4711; \
	r_ = (call); \
	if (errno != 4711) { \
		diag("%s: errno is %d", #call, errno); \
		touched++; \
	} \
	is(r_, want, "%s", #call); \
} while (0)
	LEAVES(lh_open(&other, table, &o), 0);
	LEAVES(lh_close(other), 0);
	LEAVES(lh_open(&other, "a/b", &o), -EINVAL);
	o.flags = LH_NO_CREATE;
	LEAVES(lh_open(&other, "is-not-there", &o), -ENOENT);
	LEAVES(lh_close(NULL), -EINVAL);
	LEAVES(lh_key_open(lh, "k", 0, &k), 0);
	LEAVES(lh_key_acquire(k, NULL, &l), 0);
	LEAVES(t_acquire(lh, "k", 1000, 0, &l2), -EAGAIN);
	LEAVES(t_acquire(lh, "k", 1000, 5, &l2), -ETIMEDOUT);
	LEAVES(lh_extend(lh, &l, 5000), 0);
	LEAVES(lh_verify(lh, &l), 0);
	LEAVES(lh_verify_token(lh, "k", l.token), 0);
	LEAVES(lh_release(lh, &l), 0);
	LEAVES(lh_verify(lh, &l), -ESTALE);
	LEAVES(lh_extend(lh, &l, 5000), -ESTALE);
	LEAVES(lh_verify_token(lh, "k", 1), -ESTALE);
	LEAVES(lh_key_close(k), 0);
	LEAVES(lh_key_open(lh, "is not there", LH_NO_CREATE, &k), -ENOENT);
	LEAVES(lh_key_create(lh, ""), -EINVAL);
	LEAVES(lh_cancel(&c), 0);
	LEAVES(lh_cancel(NULL), -EINVAL);
	LEAVES(lh_stats(lh, &st), 0);
	LEAVES(lh_check(lh, NULL, NULL), 0);
	is(touched, 0, "none of them touched errno");
}

int
main(void)
{
	const char *table = t_table();

	is_str(lh_error_detail(), "", "before the first failure: empty");
	texts();
	is_str(lh_error_detail(), "", "naming codes is no failure");
	lh = t_open(table);
	details(table);
	errno_is_left(table);
	t_close(lh);
	return done();
}
