/* SPDX-License-Identifier: MIT */
/*
 * cutter PORT TO-PORT FILE SEED: a way to a server on which answers are lost.
 *
 * Forwards connections of 127.0.0.1:PORT to 127.0.0.1:TO-PORT.  About every
 * EVERY-th time that something is asked, the question is passed on, and what
 * comes back is thrown away: at once the connection is closed, or it is silent
 * for half a second and closed then.  So whoever asked does not know whether it
 * was done.  SIGUSR1 begins that, SIGUSR2 ends it; FILE is written when it
 * listens, and has the number of cuts when it ends (SIGTERM).
 *
 * One process, one poll(); connections are few.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define LINKS 32
#define EVERY 20
#define SILENT_MS 500

struct link {
	int from, to;		/* -1: not in use */
	long long mute_until;	/* 0: it is not */
};

static volatile sig_atomic_t cutting, ending;
static struct link links[LINKS];
static unsigned long cuts;

static void
on_signal(int sig)
{
	if (sig == SIGTERM)
		ending = 1;
	else
		cutting = sig == SIGUSR1;
}

static long long
now_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

static struct sockaddr_in
place(const char *port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
	    .sin_port = htons((uint16_t)atoi(port)),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static void
drop(struct link *l)
{
	(void)close(l->from);
	(void)close(l->to);
	l->from = l->to = -1;
	l->mute_until = 0;
}

static void
begin(int listener, const char *to_port)
{
	struct sockaddr_in to = place(to_port);
	int from = accept(listener, NULL, NULL);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	for (int i = 0; i < LINKS && from >= 0 && fd >= 0; i++) {
		if (links[i].from >= 0)
			continue;
		if (connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0)
			break;
		links[i] = (struct link){ from, fd, 0 };
		return;
	}
	(void)close(from);
	(void)close(fd);
}

/* False: it has ended. */
static bool
pass(int from, int to, bool forget)
{
	static char buf[65536];
	ssize_t n = read(from, buf, sizeof(buf)), at = 0, w;

	while (!forget && at < n) {
		w = write(to, buf + at, (size_t)(n - at));
		if (w <= 0)
			return false;
		at += w;
	}
	return n > 0;
}

static void
serve(struct link *l, const struct pollfd *p)
{
	bool cut = false;

	if (l->mute_until != 0 && now_ms() >= l->mute_until) {
		drop(l);
		return;
	}
	if (p[0].revents != 0) {
		cut = cutting && l->mute_until == 0 && random() % EVERY == 0;
		if (!pass(l->from, l->to, false)) {
			drop(l);
			return;
		}
	}
	if (cut) {
		cuts++;
		l->mute_until = now_ms() + (random() % 2) * SILENT_MS + 5;
	}
	if (p[1].revents != 0 && !pass(l->to, l->from, l->mute_until != 0))
		drop(l);
}

static bool
write_cuts(const char *file)
{
	FILE *f = fopen(file, "w");

	return f != NULL && fprintf(f, "%lu\n", cuts) > 0 && fclose(f) == 0;
}

int
main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_signal };
	struct pollfd p[2 * LINKS + 1];
	int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;
	struct sockaddr_in at;

	if (argc < 5)
		return 64;
	(void)sigaction(SIGUSR1, &sa, NULL);
	(void)sigaction(SIGUSR2, &sa, NULL);
	(void)sigaction(SIGTERM, &sa, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	srandom((unsigned)atoi(argv[4]));
	for (int i = 0; i < LINKS; i++)
		links[i].from = links[i].to = -1;
	at = place(argv[1]);
	(void)setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one,
	    sizeof(one));
	if (bind(listener, (struct sockaddr *)&at, sizeof(at)) != 0 ||
	    listen(listener, 16) != 0 || !write_cuts(argv[3])) {
		perror("cutter");
		return 1;
	}
	while (!ending) {
		for (int i = 0; i < LINKS; i++) {
			p[2 * i] = (struct pollfd){ links[i].from, POLLIN, 0 };
			p[2 * i + 1] = (struct pollfd){ links[i].to, POLLIN,
			    0 };
		}
		p[2 * LINKS] = (struct pollfd){ listener, POLLIN, 0 };
		if (poll(p, 2 * LINKS + 1, 5) < 0)
			continue;
		for (int i = 0; i < LINKS; i++)
			if (links[i].from >= 0)
				serve(&links[i], p + 2 * i);
		if (p[2 * LINKS].revents != 0)
			begin(listener, argv[2]);
	}
	return write_cuts(argv[3]) ? 0 : 1;
}
