/* SPDX-License-Identifier: MIT */
/*
 * Real etcd, for the group "cluster": members on this machine, on free ports of
 * 127.0.0.1, with the flags that doc/cluster.md recommends.  Their files
 * are on tmpfs, so no figure includes a disk, ours or theirs.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "etcd.h"

static struct member {
	int pid;
	char client[64], peer[64];
} members[MEMBERS_MAX];

static unsigned int n_members, n_clusters;
static char initial[MEMBERS_MAX * 80];

static void free_url(char url[64])
{
	struct sockaddr_in a = { .sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(a);

	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &len) < 0)
		bench_die("no free port: %s", strerror(errno));
	close(fd);
	snprintf(url, 64, "http://127.0.0.1:%u", ntohs(a.sin_port));
}

void etcd_again(unsigned int i)
{
	struct member *m = &members[i];
	char name[16], data[128];
	int null;

	snprintf(name, sizeof(name), "n%u", i);
	snprintf(data, sizeof(data), "%s/etcd.%u.%u", bench.scratch, n_clusters,
	    i);
	m->pid = bench_fork();
	if (m->pid != 0)
		return;
	null = open("/dev/null", O_RDWR);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	execlp("etcd", "etcd", "--name", name, "--data-dir", data,
	    "--listen-client-urls", m->client, "--advertise-client-urls",
	    m->client, "--listen-peer-urls", m->peer,
	    "--initial-advertise-peer-urls", m->peer, "--initial-cluster",
	    initial, "--initial-cluster-state", "new", "--logger", "zap",
	    "--pre-vote", "--heartbeat-interval", "50", "--election-timeout",
	    "500", "--auto-compaction-mode", "revision",
	    "--auto-compaction-retention", "10000", (char *)NULL);
	_exit(127);
}

const char *etcd_begin(unsigned int n)
{
	struct bare *b;
	unsigned int i;
	bool here;

	if (system("command -v etcd >/dev/null && command -v etcdctl "
	    ">/dev/null") != 0)
		return "etcd is not installed";
	n_members = n;
	n_clusters++;
	initial[0] = '\0';
	for (i = 0; i < n; i++) {
		free_url(members[i].client);
		free_url(members[i].peer);
		snprintf(initial + strlen(initial), sizeof(initial) -
		    strlen(initial), "%sn%u=%s", i ? "," : "", i,
		    members[i].peer);
	}
	for (i = 0; i < n; i++)
		etcd_again(i);
	b = bare_open(etcd_urls(-1));
	here = bare_here(b);
	bare_close(b);
	if (here)
		return NULL;
	etcd_end();
	return "etcd does not begin";
}

void etcd_kill(unsigned int i)
{
	kill(members[i].pid, SIGKILL);
	waitpid(members[i].pid, NULL, 0);
}

void etcd_end(void)
{
	unsigned int i;

	for (i = 0; i < n_members; i++)
		etcd_kill(i);
}

const char *etcd_url(void)
{
	return members[0].client;
}

const char *etcd_urls(int but)
{
	static char urls[MEMBERS_MAX * 64];
	unsigned int i;

	urls[0] = '\0';
	for (i = 0; i < n_members; i++)
		if ((int)i != but)
			snprintf(urls + strlen(urls), sizeof(urls) -
			    strlen(urls), "%s%s", urls[0] ? "," : "",
			    members[i].client);
	return urls;
}

unsigned int etcd_leader(void)
{
	char command[256];
	unsigned int tries, i;

	for (tries = 0; tries < 100; tries++) {
		for (i = 0; i < n_members; i++) {
			snprintf(command, sizeof(command), "ETCDCTL_API=3 "
			    "etcdctl --command-timeout=1s --endpoints=%s "
			    "endpoint status 2>&1 | cut -d, -f5 | grep -q true",
			    members[i].client);
			if (system(command) == 0)
				return i;
		}
		bench_sleep_us(20000);
	}
	bench_die("no member of etcd leads");
}
