/* SPDX-License-Identifier: MIT */
/*
 * Makes sure that a daemon runs only once: the process that locks the pid file
 * is the daemon.  Also moves the daemon into the background.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <bsd/libutil.h>
#include "daemon_log.h"
#include "pidfile.h"
#include "paths.h"
#include "exit_status.h"

static struct pidfh *pidfile;
static const char *file;

int
pidfile_acquire(const char *path)
{
	char why[PATHS_ERROR_MAX];
	pid_t other = 0;

	file = path;
	if (paths_make_directory(path, why) != 0) {
		log_line(LOG_ERR, "cannot lock the pid file %s: %s", path,
		    why);
		return EX_SYSTEM;
	}
	pidfile = pidfile_open(path, 0644, &other);
	if (pidfile != NULL)
		return 0;
	if (errno == EEXIST && other <= 0) {
		log_line(LOG_ERR, "another daemon is just starting (pid file "
		    "%s)", path);
		return EX_AWAY;
	}
	if (errno == EEXIST) {
		log_line(LOG_ERR, "already running as process %ld (pid file "
		    "%s); stop it first, or set another pid file (key "
		    "'pidfile')",
		    (long)other, path);
		return EX_AWAY;
	}
	log_line(LOG_ERR, "cannot lock the pid file %s: %s; set another one "
	    "with key 'pidfile'", path, strerror(errno));
	return EX_SYSTEM;
}

int
pidfile_background(bool foreground, const char *program)
{
	if (foreground)
		return 0;
	log_to_syslog();
	if (daemon(0, 0) == 0)
		return 0;
	fprintf(stderr, "%s: cannot run in the background: %s\n", program,
	    strerror(errno));
	return EX_SYSTEM;
}

void
pidfile_record(void)
{
	if (pidfile_write(pidfile) != 0)
		log_line(LOG_WARNING, "cannot write %s: %s", file,
		    strerror(errno));
}

void
pidfile_release(void)
{
	(void)pidfile_remove(pidfile);
}
