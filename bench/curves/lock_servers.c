/* SPDX-License-Identifier: MIT */
/*
 * Redis and etcd on loopback, for the curves: what a lock costs that a server
 * keeps.
 *
 *   Redis	SET key 1 NX PX 30000 and DEL, by TCP, nothing saved.  A client
 *		that is careful deletes by a script that compares its token, so
 *		this is the least.  The server is the program that Debian's
 *		redis-tools has as redis-check-rdb; it runs while the lock does.
 *   etcd	the two transactions of a lock, by the connection of the shim
 *		(bench/bare.c), one member, its data on tmpfs
 *
 * Neither has a wait that a curve of one key could show without a client that
 * asks again and again, so they are in the curves of keys of one's own.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "etcd.h"
#include "locks.h"

#define BEGIN_NS UINT64_C(10000000000)

static int server;		/* a process */
static in_port_t port;
static int connection = -1;

static struct sockaddr_in address(void)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
	    .sin_port = htons(port),
	    .sin_addr = { htonl(INADDR_LOOPBACK) } };
}

/* Asks the kernel for a port that is free. */
static in_port_t free_port(void)
{
	struct sockaddr_in any = address();
	socklen_t len = sizeof(any);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	any.sin_port = 0;
	if (fd < 0 || bind(fd, (struct sockaddr *)&any, len) < 0 ||
	    getsockname(fd, (struct sockaddr *)&any, &len) < 0)
		bench_die("no port: %s", strerror(errno));
	close(fd);
	return ntohs(any.sin_port);
}

static bool connect_redis(void)
{
	struct sockaddr_in to = address();
	int one = 1;

	connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connection >= 0 && connect(connection, (struct sockaddr *)&to,
	    sizeof(to)) == 0) {
		setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &one,
		    sizeof(one));
		return true;
	}
	close(connection);
	return false;
}

static void redis_attach(void)
{
	uint64_t end = bench_clock_ns() + BEGIN_NS;

	while (!connect_redis()) {
		if (bench_clock_ns() > end)
			bench_die("Redis does not answer");
		bench_sleep_us(10000);
	}
}

static void redis_detach(void)
{
	close(connection);
}

static void run_server(void)
{
	char number[16];

	(void)snprintf(number, sizeof(number), "%u", (unsigned int)port);
	if (!freopen("/dev/null", "w", stdout))
		_exit(COULD_NOT_MEASURE);
	execlp("redis-check-rdb", "redis-server", "--port", number, "--bind",
	    "127.0.0.1", "--save", "", "--appendonly", "no", "--dir",
	    bench.scratch, (char *)NULL);
	_exit(COULD_NOT_MEASURE);
}

static const char *redis_prepare(uint32_t keys)
{
	uint64_t end = bench_clock_ns() + BEGIN_NS;

	(void)keys;
	port = free_port();
	server = bench_fork();
	if (server == 0)
		run_server();
	while (!connect_redis()) {
		if (waitpid(server, NULL, WNOHANG) == server)
			return "redis-tools is not installed, or fails";
		if (bench_clock_ns() > end) {
			bench_kill(&server, 1);
			return "Redis does not answer";
		}
		bench_sleep_us(10000);
	}
	redis_detach();
	return NULL;
}

/* Sends a command and compares the answer. */
static void ask(const char *command, size_t len, const char *answer)
{
	char got[16];
	ssize_t n;

	if (send(connection, command, len, MSG_NOSIGNAL) != (ssize_t)len)
		bench_die("Redis: %s", strerror(errno));
	n = recv(connection, got, sizeof(got), 0);
	if (n <= 0 || strncmp(got, answer, strlen(answer)) != 0)
		bench_die("Redis answers '%.*s'", n > 0 ? (int)n : 0, got);
}

static void redis_pair(uint32_t key, bool shared)
{
	char name[CURVE_NAME_MAX], command[128];
	int len;

	(void)shared;
	curve_name(name, key);
	len = snprintf(command, sizeof(command), "SET %s 1 NX PX 30000\r\n",
	    name);
	ask(command, (size_t)len, "+OK");
	len = snprintf(command, sizeof(command), "DEL %s\r\n", name);
	ask(command, (size_t)len, ":1");
}

static void redis_finish(void)
{
	bench_kill(&server, 1);
}

const struct lock lock_redis = { "Redis", redis_prepare, redis_attach,
	redis_pair, redis_detach, redis_finish };

static struct bare *client;

static const char *etcd_prepare(uint32_t keys)
{
	(void)keys;
	return etcd_begin(1);
}

static void etcd_attach(void)
{
	client = bare_open(etcd_url());
	if (!bare_here(client))
		bench_die("etcd does not answer");
}

static void etcd_pair(uint32_t key, bool shared)
{
	char name[CURVE_NAME_MAX];

	(void)shared;
	curve_name(name, key);
	if (!bare_put(client, name, 10000) || !bare_delete(client, name))
		bench_die("etcd: a transaction failed");
}

static void etcd_detach(void)
{
	bare_close(client);
}

const struct lock lock_etcd = { "etcd", etcd_prepare, etcd_attach, etcd_pair,
	etcd_detach, etcd_end };
