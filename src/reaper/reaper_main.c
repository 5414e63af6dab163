/* SPDX-License-Identifier: MIT */
/*
 * leasehold-reaperd: serves tables, so that their users have less to do.
 *
 *	reaper_main.c	  options		reaper_loop.c	 sleeps, and
 *								wakes up
 *	reaper_conf.c	  configuration		reaper_metrics.c  metrics
 *	tables.c	  which tables		table_pass.c	 work on each
 *								table
 *	guard.c		  hostile tables
 *
 * It shares these files of src/daemon with leasehold-shimd:
 *
 *	settings.c	reads configurations	settings_value.c  values of keys
 *	options.c	the command line	pidfile.c	 pid file,
 *								background
 *	paths.c		the daemon's files	daemon_log.c	  log
 *	serve.c		the metrics socket	metrics_page.c	  its text
 *	notify.c	systemd
 *
 * The work on a table is that of reaper/reap.h.  Nothing depends on this
 * program: the users of a table do the same work themselves, later.  It may be
 * killed or stopped at any moment, and any number of reapers may run.  The pid
 * file prevents a second one only to save double work.
 *
 * Exit status: 0; 64 usage; 78 configuration; 69 another one runs; 71 the
 * system refused something.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <bsd/unistd.h>
#include <leasehold.h>
#include "daemon/daemon_log.h"
#include "daemon/now.h"
#include "daemon/pidfile.h"
#include "daemon/options.h"
#include "guard.h"
#include "reaper_loop.h"
#include "tables.h"
#include "daemon/exit_status.h"
#include "daemon/standard_files.h"
#include "table_pass.h"

#define ONCE_NS NS_PER_SEC

extern char **environ;

static const char help[] =
"usage: leasehold-reaperd [OPTION...]\n"
"\n"
"Serves tables: ends leases past their deadlines and reclaims sessions whose\n"
"processes have died.  Runs in the background, unless -f is given.\n"
"\n"
"  -c, --config FILE  read FILE instead of the default configuration file\n"
"  -f, --foreground   stay in the foreground; log to standard error\n"
"  -n, --check        only check the configuration\n"
"      --once         serve the tables for a second, then exit\n"
"      --system       serve the machine's tables instead of your own\n"
"  -t, --table NAME   serve this table (may be repeated); '*': all tables\n"
"  -v, --verbose      log more\n"
"      --help         print this\n"
"      --version      print the version\n";

static struct conf conf;

struct mode {
	bool foreground, check, once;
};

/* Returns -1 to go on, or the exit status. */
static int
parse_options(int argc, char **argv, struct conf_args *args, struct mode *mode)
{
	static const struct option options[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "foreground", no_argument, NULL, 'f' },
		{ "check", no_argument, NULL, 'n' },
		{ "once", no_argument, NULL, 'o' },
		{ "system", no_argument, NULL, 'S' },
		{ "table", required_argument, NULL, 't' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "c:fnt:v", options, NULL)) != -1) {
		switch (c) {
		case 'c':
			args->file = optarg;
			break;
		case 'f':
			mode->foreground = true;
			break;
		case 'n':
			mode->check = true;
			break;
		case 'o':
			mode->once = true;
			break;
		case 'S':
			args->system = true;
			break;
		case 't':
			if (args->n_tables == TABLES_MAX) {
				fprintf(stderr, PROGRAM ": more than %d "
				    "tables\n", TABLES_MAX);
				return EX_BAD_USAGE;
			}
			args->tables[args->n_tables] = options_keep(optarg,
			    PROGRAM);
			if (args->tables[args->n_tables++] == NULL)
				return EX_SYSTEM;
			break;
		case 'v':
			args->verbose = true;
			break;
		default:
			return options_other(c, PROGRAM, help);
		}
	}
	return options_end(argc, argv, PROGRAM);
}

static void
on_ready(void)
{
	pidfile_record();
	log_line(LOG_INFO, "version " LEASEHOLD_VERSION " serves %s "
	    "tables: %u", conf.system ? "the machine's" : "its user's",
	    tables_count_served());
}

static int
run_daemon(const struct conf_args *args, bool foreground)
{
	int status = pidfile_acquire(conf.pidfile), error;

	if (status == 0)
		status = pidfile_background(foreground, PROGRAM);
	if (status != 0)
		return status;
	reaper_loop_block_signals();
	error = reaper_loop_run(&conf, args, on_ready);
	if (error != 0)
		log_line(LOG_ERR, "cannot begin: %s", strerror(-error));
	pidfile_release();
	return error == 0 ? 0 : EX_SYSTEM;
}

/* Does passes for a second, without epoll set, socket and pid file. */
static int
run_once(void)
{
	int64_t end_ns = mono_ns() + ONCE_NS, next_ns;
	struct timespec until;

	tables_begin(-1, 0);
	table_pass_configure(&conf);
	tables_configure(&conf);
	while ((next_ns = table_pass_run_due()) < end_ns) {
		until.tv_sec = next_ns / NS_PER_SEC;
		until.tv_nsec = next_ns % NS_PER_SEC;
		(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until,
		    NULL);
	}
	tables_log();
	tables_end();
	return 0;
}

int
main(int argc, char **argv)
{
	static struct conf_args args;
	char error[CONF_ERROR_MAX], path[PATH_MAX];
	struct mode mode = { 0 };
	int status = standard_files_open();

	if (status != 0) {
		fprintf(stderr, PROGRAM ": cannot open /dev/null: %s\n",
		    strerror(-status));
		return EX_SYSTEM;
	}
	log_begin(PROGRAM);
	status = parse_options(argc, argv, &args, &mode);
	if (status >= 0)
		return status;
	args.file = options_file(args.file);
	if (reaper_conf_load(&conf, &args, error) != 0) {
		fprintf(stderr, PROGRAM ": %s\n", error);
		return EX_BAD_CONFIG;
	}
	if (mode.check) {
		reaper_conf_path(path, &args);
		return options_good(path);
	}
	log_level(conf.log_level);
	options_raise_limits();
	guard_begin();
	if (mode.once)
		return run_once();
	setproctitle_init(argc, argv, environ);
	return run_daemon(&args, mode.foreground);
}
