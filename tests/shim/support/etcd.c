/* SPDX-License-Identifier: MIT */
/* Real etcd: see etcd.h. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "shim/support/etcd.h"
#include "support/child.h"
#include "support/support.h"
#include "tap.h"

#define READY_MS 20000

struct cluster {
	unsigned n;
	unsigned number;		/* of the test's clusters */
	const char *tls;
	char begun[16];			/* initial-cluster-state */
	uint16_t port[CLUSTER_MEMBERS], peer_port[CLUSTER_MEMBERS];
	pid_t pid[CLUSTER_MEMBERS];
	char url[CLUSTER_MEMBERS][64];
	char urls[CLUSTER_MEMBERS * 64];
};

static char dir[64];
static pid_t janitor;
static int alive[2];

static void
run(const char *command)
{
	if (system(command) != 0)
		diag("failed: %s", command);
}

/* Waits for the end of all who have the pipe, then takes the files away. */
static void
start_janitor(void)
{
	char command[128], byte;

	janitor = fork();
	if (janitor != 0)
		return;
	(void)setsid();		/* what ends the test does not end it */
	(void)close(alive[1]);
	while (read(alive[0], &byte, 1) > 0)
		;
	(void)snprintf(command, sizeof(command), "rm -rf %s", dir);
	_exit(system(command) == 0 ? 0 : 1);
}

static pid_t owner;

static void
at_end(void)
{
	if (getpid() != owner)
		return;
	(void)close(alive[1]);
	(void)waitpid(janitor, NULL, 0);
}

const char *
cluster_dir(void)
{
	if (dir[0] != '\0')
		return dir;
	owner = getpid();
	(void)snprintf(dir, sizeof(dir), "/dev/shm/lh-etcd.%d", (int)owner);
	if (mkdir(dir, 0700) != 0 || pipe2(alive, O_CLOEXEC) != 0)
		bail_out("no directory for etcd");
	start_janitor();
	(void)atexit(at_end);
	return dir;
}

/* Bound to as long as this process is there, so that nobody else is given it:
 * a member, who asks for it by number and SO_REUSEADDR, gets it. */
static uint16_t
free_port(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(a);
	int yes = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes,
	    sizeof(yes)) != 0 ||
	    bind(fd, (struct sockaddr *)&a, sizeof(a)) != 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &len) != 0)
		bail_out("no free port");
	return ntohs(a.sin_port);
}

static void
exec_member(struct cluster *c, unsigned i)
{
	const char *scheme = c->tls == NULL ? "http" : "https";
	char name[16], data[128], peer[64], token[32], all[256] = "";
	char ca[200], cert[200], key[200], log[128];
	int fd;

	(void)snprintf(name, sizeof(name), "n%u", i);
	(void)snprintf(data, sizeof(data), "%s/%u.%u", dir, c->number, i);
	(void)snprintf(peer, sizeof(peer), "http://127.0.0.1:%u",
	    c->peer_port[i]);
	(void)snprintf(token, sizeof(token), "t%d.%u", (int)owner, c->number);
	for (unsigned k = 0; k < c->n; k++)
		(void)snprintf(all + strlen(all), sizeof(all) - strlen(all),
		    "%sn%u=http://127.0.0.1:%u", k == 0 ? "" : ",", k,
		    c->peer_port[k]);
	(void)snprintf(ca, sizeof(ca), "%s/ca.pem", scheme[4] ? c->tls : "");
	(void)snprintf(cert, sizeof(cert), "%s/server.pem", scheme[4] ?
	    c->tls : "");
	(void)snprintf(key, sizeof(key), "%s/server.key", scheme[4] ?
	    c->tls : "");
	(void)snprintf(log, sizeof(log), "%s/%u.%u.log", dir, c->number, i);
	fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
	(void)dup2(fd, 1);
	(void)dup2(fd, 2);
	/* With one processor Go does not look for work on the others.  A
	 * password's hash is to cost as little as etcd allows. */
	(void)setenv("GOMAXPROCS", "1", 1);
	(void)setenv("GOGC", "400", 1);
	(void)execlp("etcd", "etcd", "--name", name, "--data-dir", data,
	    "--listen-client-urls", c->url[i], "--advertise-client-urls",
	    c->url[i], "--listen-peer-urls", peer,
	    "--initial-advertise-peer-urls", peer, "--initial-cluster", all,
	    "--initial-cluster-token", token, "--initial-cluster-state",
	    c->begun, "--logger", "zap", "--pre-vote", "--unsafe-no-fsync",
	    "--heartbeat-interval", "50", "--election-timeout", "500",
	    "--bcrypt-cost", "4",
	    c->tls == NULL ? NULL : "--client-cert-auth", "--trusted-ca-file",
	    ca, "--cert-file", cert, "--key-file", key, (char *)NULL);
	_exit(127);
}

static void
start_member(struct cluster *c, unsigned i)
{
	c->pid[i] = fork();
	if (c->pid[i] == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		exec_member(c, i);
	}
}

static void
tell_ctl(const char *command)
{
	char path[128], said[400] = "";
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/ctl", dir);
	f = fopen(path, "re");
	if (f != NULL && fread(said, 1, sizeof(said) - 1, f) > 0)
		diag("%s: %s", command, said);
	if (f != NULL)
		(void)fclose(f);
}

int
cluster_ctl(struct cluster *c, const char *fmt, ...)
{
	char command[2048];
	/* health is asked again; all else is once, on a busy machine too */
	bool health = strcmp(fmt, "endpoint health") == 0;
	int timeout_s = health ? 3 : 30, status;
	size_t n;
	va_list ap;

	(void)snprintf(command, sizeof(command), "ETCDCTL_API=3 exec etcdctl "
	    "--dial-timeout=%ds --command-timeout=%ds --endpoints=%s ",
	    health ? 2 : timeout_s, timeout_s, c->urls);
	n = strlen(command);
	if (c->tls != NULL)
		(void)snprintf(command + n, sizeof(command) - n, "--cacert="
		    "%s/ca.pem --cert=%s/client.pem --key=%s/client.key ",
		    c->tls, c->tls, c->tls);
	n = strlen(command);
	va_start(ap, fmt);
	(void)vsnprintf(command + n, sizeof(command) - n, fmt, ap);
	va_end(ap);
	n = strlen(command);
	(void)snprintf(command + n, sizeof(command) - n, " >%s/ctl 2>&1", dir);
	status = system(command);
	if (status != 0 && !health)
		tell_ctl(command);
	return status;
}

/* Also when they will not talk to us without a password. */
static bool
are_healthy(struct cluster *c)
{
	char command[128];

	(void)snprintf(command, sizeof(command), "grep -q 'user name is empty'"
	    " %s/ctl", dir);
	return cluster_ctl(c, "endpoint health") == 0 || system(command) == 0;
}

static void
await_members(struct cluster *c)
{
	int64_t begun = t_now_ns();

	while (!are_healthy(c)) {
		for (unsigned i = 0; i < c->n; i++)
			if (waitpid(c->pid[i], NULL, WNOHANG) == c->pid[i])
				bail_out("etcd has ended: %s", dir);
		if (t_since_ms(begun) > t_ms(READY_MS))
			bail_out("etcd does not answer");
		t_sleep_ms(20);
	}
}

struct cluster *
cluster_start(unsigned n, const char *tls)
{
	static unsigned number;
	struct cluster *c = calloc(1, sizeof(*c));

	if (system("command -v etcd etcdctl >/dev/null") != 0)
		skip_all("there is no etcd: tools/deps check");
	(void)cluster_dir();
	if (c == NULL)
		bail_out("no memory");
	c->n = n;
	c->tls = tls;
	c->number = number++;
	(void)snprintf(c->begun, sizeof(c->begun), "new");
	for (unsigned i = 0; i < n; i++) {
		c->port[i] = free_port();
		c->peer_port[i] = free_port();
		(void)snprintf(c->url[i], sizeof(c->url[i]),
		    "%s://127.0.0.1:%u", tls == NULL ? "http" : "https",
		    c->port[i]);
		(void)snprintf(c->urls + strlen(c->urls), sizeof(c->urls) -
		    strlen(c->urls), "%s%s", i == 0 ? "" : ",", c->url[i]);
	}
	for (unsigned i = 0; i < n; i++)
		start_member(c, i);
	await_members(c);
	return c;
}

void
cluster_restore(struct cluster *c, const char *snapshot)
{
	char command[1024];

	cluster_kill(c, 0);
	(void)snprintf(command, sizeof(command), "rm -rf %s/%u.0 && "
	    "ETCDCTL_API=3 etcdctl snapshot restore %s --name n0 --data-dir "
	    "%s/%u.0 --initial-cluster n0=http://127.0.0.1:%u "
	    "--initial-cluster-token t%d.%u --initial-advertise-peer-urls "
	    "http://127.0.0.1:%u >%s/ctl 2>&1", dir, c->number, snapshot, dir,
	    c->number, c->peer_port[0], (int)owner, c->number,
	    c->peer_port[0], dir);
	run(command);
	cluster_again(c, 0);
}

void
cluster_end(struct cluster *c)
{
	for (unsigned i = 0; i < c->n; i++)
		cluster_kill(c, i);
	free(c);
}

const char *
cluster_endpoints(const struct cluster *c)
{
	return c->urls;
}

const char *
cluster_endpoint(const struct cluster *c, unsigned i)
{
	return c->url[i];
}

uint16_t
cluster_port(const struct cluster *c, unsigned i)
{
	return c->port[i];
}

void
cluster_kill(struct cluster *c, unsigned i)
{
	if (c->pid[i] > 0) {
		(void)kill(c->pid[i], SIGKILL);
		(void)waitpid(c->pid[i], NULL, 0);
	}
	c->pid[i] = 0;
}

void
cluster_stop(struct cluster *c, unsigned i)
{
	t_stop(c->pid[i]);
}

void
cluster_cont(struct cluster *c, unsigned i)
{
	t_cont(c->pid[i]);
}

void
cluster_again(struct cluster *c, unsigned i)
{
	start_member(c, i);
	await_members(c);
}

unsigned
cluster_leader(struct cluster *c)
{
	char command[512];

	for (int tries = 0; tries < 200; tries++) {
		for (unsigned i = 0; i < c->n; i++) {
			if (c->pid[i] == 0)
				continue;
			(void)snprintf(command, sizeof(command), "ETCDCTL_API"
			    "=3 etcdctl --command-timeout=1s --endpoints=%s "
			    "endpoint status | cut -d, -f5 | grep -q true",
			    c->url[i]);
			if (system(command) == 0)
				return i;
		}
		t_sleep_ms(20);
	}
	bail_out("nobody leads");
}
