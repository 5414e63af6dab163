/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G12, issue 21 A12: whatever a client says or does not say, it is
 * disconnected, or nothing happens; clients beside it are answered as usual.
 *
 * Otherwise one user could stop the shim for all.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "support/hosts.h"

static struct host *a = &hosts[0];
static int good;

/* Is somebody else served, and how soon? */
static void
beside(const char *what)
{
	int64_t then_ns = t_now_ns();

	is(ask(good, "cluster:good", RIGHT_EXCLUSIVE, 0), FRAME_GRANTED,
	    "%s: others are answered", what);
	cmp(t_since_ms(then_ns), <, t_ms(2000), "  soon");
}

static void
hung_up(int fd, const char *what)
{
	static struct lhi_frame f;
	int type = 1;

	while (type > 0)
		type = hear(fd, &f, T_HANG_MS);
	is(type, 0, "%s: hung up", what);
	(void)close(fd);
}

static void
send_raw(int fd, const void *p, size_t n)
{
	(void)send(fd, p, n, MSG_NOSIGNAL);
}

static void
no_frames(void)
{
	static uint8_t big[FRAME_LEN_MAX + 1];
	struct lhi_frame f = { .type = FRAME_HELLO, .id = 1 };
	uint8_t buf[64];
	int fd = dial_raw(a), n;

	send_raw(fd, "x", 1);
	hung_up(fd, "one byte");
	fd = dial_raw(a);
	send_raw(fd, big, sizeof(big));
	hung_up(fd, "a message that is too long");
	fd = dial(a);
	send_raw(fd, big, 100);
	hung_up(fd, "zeros after the greeting");
	fd = dial_raw(a);
	hosts_want(fd, 1, "cluster:x", RIGHT_EXCLUSIVE, 0);
	hung_up(fd, "no greeting");
	fd = dial_raw(a);
	say(fd, &f);
	hung_up(fd, "another table's uuid");
	f = (struct lhi_frame){ .type = FRAME_STATS, .id = 1 };
	n = lhi_frame_pack(&f, buf, sizeof(buf));
	fd = dial(a);
	send_raw(fd, buf, (size_t)n - 1);
	hung_up(fd, "half a frame");
	fd = dial(a);
	buf[n] = 0;
	send_raw(fd, buf, (size_t)n + 1);
	hung_up(fd, "a byte too many");
	f.type = FRAME_GRANTED;
	fd = dial(a);
	say(fd, &f);
	hung_up(fd, "what only a shim says");
	beside("no frames");
}

static void
noise(void)
{
	uint8_t buf[256];

	srandom(1);
	for (int i = 0; i < 3000; i++) {
		int fd = dial_raw(a);

		for (size_t j = 0; j < sizeof(buf); j++)
			buf[j] = (uint8_t)random();
		if (i & 1) {	/* with a good head */
			memcpy(buf, "LF\001", 3);
			buf[3] = (uint8_t)(1 + random() % 6);
		}
		send_raw(fd, buf, (size_t)(random() % 256));
		(void)close(fd);
	}
	beside("noise");
}

static int
flood(void *arg)
{
	int fd = dial(a);

	(void)arg;
	(void)fcntl(fd, F_SETFL, O_NONBLOCK);
	while (getppid() != 1)	/* and never reads an answer */
		hosts_want(fd, 1, "cluster:flood", RIGHT_EXCLUSIVE, FRAME_TRY);
	return 0;
}

static void
floods(void)
{
	struct lhi_frame f = { .type = FRAME_STATS, .id = 1 };
	pid_t pid[4];
	int fd = dial(a);
	struct pollfd end = { fd, POLLRDHUP, 0 };

	for (int i = 0; i < 4; i++)
		pid[i] = t_fork(flood, NULL);
	for (int i = 0; i < 20; i++) {
		t_sleep_ms(10);
		beside("floods");
	}
	for (int i = 0; i < 4; i++)
		t_kill(pid[i]);
	(void)fcntl(fd, F_SETFL, O_NONBLOCK);
	/* until the shim has had enough: what is read too early makes room */
	for (int i = 0; i < T_HANG_MS && poll(&end, 1, 1) == 0; i++)
		say(fd, &f);
	hung_up(fd, "one who does not read");
	beside("answers that nobody reads");
}

static void
half_open(void)
{
	static int fd[1200];
	unsigned n = sizeof(fd) / sizeof(fd[0]);

	for (unsigned i = 0; i < n; i++)
		fd[i] = dial_raw(a);
	t_sleep_ms(t_ms(100));
	(void)close(good);
	good = dial(a);
	beside("more connections than there may be");
	for (unsigned i = 0; i < n; i++)
		(void)close(fd[i]);
}

static void
too_much(void)
{
	static struct lhi_frame f;
	int fd = dial(a), type = 0;
	char key[32];

	for (unsigned i = 0; i <= SHIM_REQUESTS_MAX; i++) {
		(void)snprintf(key, sizeof(key), "cluster:b%u", i);
		hosts_want(fd, i, "cluster:held", RIGHT_EXCLUSIVE, 0);
		type = hear(fd, &f, T_HANG_MS);
	}
	is(type, FRAME_FAILED, "too many wants at a time");
	is(f.error, ENOSPC, "  there is no room for it");
	f = (struct lhi_frame){ .type = FRAME_DROP, .id = 0 };
	say(fd, &f);
	is(ask(fd, "cluster:held", RIGHT_EXCLUSIVE, 0), FRAME_QUEUED,
	    "one dropped: there is room for another");
	(void)close(fd);
	fd = dial(a);
	is(ask(fd, "cluster:", RIGHT_EXCLUSIVE, 0), FRAME_FAILED,
	    "a key with no name");
	is(ask(fd, "local", RIGHT_EXCLUSIVE, 0), FRAME_FAILED,
	    "a key of the table's own");
	is(t_holders(a->lh, "local"), -ENOENT, "which is not touched");
	(void)close(fd);
	beside("too much");
}

/* Keys by the thousand: the idle ones are given back. */
static void
many_keys(void)
{
	int fd = dial(a), refused = 0;
	char key[32];

	for (int i = 0; i < 3000; i++) {
		int type;

		(void)snprintf(key, sizeof(key), "cluster:many%d", i);
		type = ask(fd, key, RIGHT_EXCLUSIVE, 0);
		refused += type == FRAME_FAILED;
		if (type == FRAME_QUEUED && !t_until(T_HANG_MS,
		    host_right(a, key) != RIGHT_NONE))
			bail_out("no right to %s", key);
	}
	is(refused, 0, "3,000 keys, one after another");
	ok(t_until(T_HANG_MS, host_keys(a) <= a->opts.max_keys),
	    "no more of them are kept than there may be");
	(void)close(fd);
	beside("many keys");
}

int
main(void)
{
	struct lh_lease l, m;
	struct host *b = &hosts[1];

	a->opts.max_keys = 500;
	hosts_begin(2);
	is(take(a, "cluster:good", RIGHT_EXCLUSIVE, T_HANG_MS, &l), 0,
	    "somebody has a key");
	is(take(b, "cluster:held", RIGHT_EXCLUSIVE, T_HANG_MS, &m), 0,
	    "and another host another");
	good = dial(a);
	no_frames();
	noise();
	floods();
	half_open();
	too_much();
	many_keys();
	is(lh_verify(a->lh, &l), 0, "the lease is there all the time");
	diag("%d were refused", (int)host_counts(a).refused);
	hosts_end();
	return done();
}
