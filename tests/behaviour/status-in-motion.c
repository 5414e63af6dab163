/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G8: a reader that holds a key all the time is reported, however
 * fast other readers come and go: by lh_status() with its id, by lh_verify()
 * and by lh_verify_token(). Without an id, lh_status() never reports fewer
 * holders, but may return -EAGAIN ("too fast to be counted"). Three threads of
 * two attachments each read and release.
 *
 * Otherwise a holder would read at random that it holds nothing.
 */
#include <errno.h>
#include <stdatomic.h>
#include "readers.h"

#define THREADS 3
#define MIN_GOES 1000

static const char *table;
static _Atomic bool stop;
static _Atomic long goes;

static void *
come_and_go(void *arg)
{
	struct lh *a = t_open(table), *b = t_open(table);
	struct lh_lease l, m;

	(void)arg;
	while (!atomic_load(&stop)) {
		if (t_read(a, "k", HOUR_MS, 0, &l) != 0)
			continue;
		if (t_read(b, "k", HOUR_MS, 0, &m) == 0)
			(void)lh_release(b, &m);
		/* not the last one in is the first one out, now and then */
		if (t_read(b, "k", HOUR_MS, 0, &m) == 0) {
			(void)lh_release(a, &l);
			(void)lh_release(b, &m);
		} else {
			(void)lh_release(a, &l);
		}
		atomic_fetch_add(&goes, 1);
	}
	(void)lh_close(b);
	(void)lh_close(a);
	return NULL;
}

static int
count(const struct lh_key_info *info, void *arg)
{
	*(uint32_t *)arg = info->n_holders;
	return 0;
}

int
main(void)
{
	int n, by_id = 0, none = 0, again = 0, lost = 0, refused = 0, other = 0;
	unsigned long thread[THREADS];
	struct lh_lease l;
	int64_t until;
	struct lh *lh;

	table = t_table();
	lh = t_open(table);
	l = t_read_hold(lh, "k");
	for (int i = 0; i < THREADS; i++)
		thread[i] = t_thread(come_and_go, NULL);
	until = t_now_ns() + 1200 * T_NS_PER_MS;
	for (n = 0; t_now_ns() < until || goes < MIN_GOES; n++) {
		uint32_t holders = 0;
		int r = lh_status(lh, "k", l.id, count, &holders);

		by_id += r != 0;
		r = lh_status(lh, "k", NULL, count, &holders);
		again += r == -EAGAIN;
		other += r != 0 && r != -EAGAIN;
		none += r == 0 && holders == 0;
		lost += lh_verify(lh, &l) != 0;
		refused += lh_verify_token(lh, "k", l.token) != 0;
	}
	atomic_store(&stop, true);
	for (int i = 0; i < THREADS; i++)
		(void)t_join(thread[i]);
	diag("%d rounds, others came and went %ld times; -EAGAIN %d times", n,
	    (long)goes, again);
	is(by_id, 0, "status by id: it holds the key");
	is(none, 0, "status: the key has holders");
	is(other, 0, "and no other error");
	is(lost, 0, "verify: it is held");
	is(refused, 0, "verify_token: so it is");
	cmp(again, <, n, "the holders can be counted, too");
	is(lh_release(lh, &l), 0, "released");
	t_close(lh);
	return done();
}
