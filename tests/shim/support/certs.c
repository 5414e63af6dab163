/* SPDX-License-Identifier: MIT */
/* Certificates: see certs.h. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include "shim/support/certs.h"
#include "shim/support/etcd.h"
#include "tap.h"

static char dir[100];

static void
run(const char *fmt, const char *a, const char *b, const char *c)
{
	char command[1024], format[900];

	(void)snprintf(format, sizeof(format), "cd %s && (%s) >>log 2>&1", dir,
	    fmt);
	(void)snprintf(command, sizeof(command), format, a, b, c);
	if (system(command) != 0)
		bail_out("cannot make certificates: %s", command);
}

static void
authority(const char *name)
{
	run("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 "
	    "-nodes -days 2 -subj /CN=%s -keyout %s.key -out %s.pem", name,
	    name, name);
}

static void
sign(const char *name, const char *subject, const char *by)
{
	run("openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes "
	    "-subj /CN=%s -keyout %s.key -out %s.csr", name, name, name);
	run("echo subjectAltName=%s >ext; : %s %s", subject, "", "");
	run("openssl x509 -req -days 2 -in %s.csr -extfile ext -CA %s.pem "
	    "-CAkey %s.key -CAcreateserial -out signed.pem", name,
	    by, by);
	run("mv signed.pem %s.pem; : %s %s", name, "", "");
}

const char *
certs_file(const char *name)
{
	static char paths[5][200];
	static unsigned turn;
	char *path = paths[turn++ % 5];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", certs_dir(), name);
	return path;
}

const char *
certs_dir(void)
{
	if (dir[0] != '\0')
		return dir;
	if (system("command -v openssl >/dev/null") != 0)
		skip_all("there is no openssl: tools/deps check");
	(void)snprintf(dir, sizeof(dir), "%s/certs", cluster_dir());
	if (mkdir(dir, 0700) != 0)
		bail_out("no directory for certificates");
	authority("ca");
	authority("other-ca");
	sign("server", "IP:127.0.0.1,DNS:localhost", "ca");
	sign("client", "DNS:client", "ca");
	sign("far", "DNS:far.example", "ca");
	sign("stranger", "IP:127.0.0.1", "other-ca");
	return dir;
}
