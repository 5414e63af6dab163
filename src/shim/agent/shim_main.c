/* SPDX-License-Identifier: MIT */
/*
 * leasehold-shimd: connects the cluster keys of one table to a cluster, so that
 * processes of several hosts exclude each other.  shim.h lists the files;
 * src/daemon has what it shares with leasehold-reaperd.
 *
 * Exit status: 0; 64 usage; 78 configuration, or a damaged state file; 69
 * another shim runs, or the table was removed; 71 the system refused something.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <bsd/unistd.h>
#include <leasehold/version.h>
#include "shim_conf.h"
#include "daemon/catch_sigbus.h"
#include "daemon/daemon_log.h"
#include "daemon/pidfile.h"
#include "daemon/options.h"
#include "shim/store/endpoint.h"
#include "shim_loop.h"
#include "daemon/exit_status.h"
#include "daemon/secret.h"
#include "daemon/standard_files.h"

extern char **environ;

static const char help[] =
"usage: leasehold-shimd [OPTION...]\n"
"\n"
"Connects the cluster keys of a table to a cluster, so that processes of\n"
"several hosts exclude each other.  Runs in the background, without -f.\n"
"\n"
"  -c, --config FILE     read FILE instead of the default configuration file\n"
"  -e, --endpoints URLS  connect to the cluster at these endpoints\n"
"  -f, --foreground      stay in the foreground; log to standard error\n"
"  -n, --check           only check the configuration\n"
"      --system          use the machine's table instead of your own\n"
"  -t, --table NAME      use this table, not $LEASEHOLD_TABLE or \"default\"\n"
"  -v, --verbose         log more\n"
"      --help            print this\n"
"      --version         print the version\n";

static struct conf conf;

/* Returns -1 to go on, or the exit status. */
static int
parse_options(int argc, char **argv, struct conf_args *args, bool *foreground,
    bool *check)
{
	static const struct option options[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "endpoints", required_argument, NULL, 'e' },
		{ "foreground", no_argument, NULL, 'f' },
		{ "check", no_argument, NULL, 'n' },
		{ "system", no_argument, NULL, 'S' },
		{ "table", required_argument, NULL, 't' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "c:e:fnt:v", options,
	    NULL)) != -1) {
		switch (c) {
		case 'c':
			args->file = optarg;
			break;
		case 'e':
			args->endpoints = options_keep(optarg, PROGRAM);
			if (args->endpoints == NULL)
				return EX_SYSTEM;
			break;
		case 'f':
			*foreground = true;
			break;
		case 'n':
			*check = true;
			break;
		case 'S':
			args->system = true;
			break;
		case 't':
			args->table = options_keep(optarg, PROGRAM);
			if (args->table == NULL)
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
	log_line(LOG_INFO, "version " LEASEHOLD_VERSION " connects cluster "
	    "keys of table %s to %s", conf.table, conf.endpoints);
}

static int
run_daemon(const struct conf_args *args, bool foreground)
{
	int status = pidfile_acquire(conf.pidfile);

	if (status == 0)
		status = pidfile_background(foreground, PROGRAM);
	if (status != 0)
		return status;
	status = shim_loop_run(&conf, args, on_ready);
	pidfile_release();
	return status;
}

static const char *
or_null(const char *text)
{
	return text[0] != '\0' ? text : NULL;
}

/* Checks, for -n, that the files of an https endpoint can be used, as a start
 * does. */
static int
check_tls_files(void)
{
	struct ssl_ctx_st *tls;
	struct endpoints ends;
	char why[CONF_ERROR_MAX];

	if (endpoints_parse(&ends, conf.endpoints, why, sizeof(why)) != 0 ||
	    !ends.tls)
		return 0;	/* it was parsed before */
	tls = endpoint_tls(or_null(conf.ca_file), or_null(conf.cert_file),
	    or_null(conf.key_file), why, sizeof(why));
	if (tls == NULL) {
		fprintf(stderr, PROGRAM ": %s\n", why);
		return EX_BAD_CONFIG;
	}
	endpoint_tls_free(tls);
	return 0;
}

int
main(int argc, char **argv)
{
	static struct conf_args args;
	char error[CONF_ERROR_MAX], path[PATH_MAX];
	bool foreground = false, check = false;
	int status = standard_files_open();

	if (status != 0) {
		fprintf(stderr, PROGRAM ": cannot open /dev/null: %s\n",
		    strerror(-status));
		return EX_SYSTEM;
	}
	secret_guard_process();
	log_begin(PROGRAM);
	catch_sigbus();
	status = parse_options(argc, argv, &args, &foreground, &check);
	if (status >= 0)
		return status;
	args.file = options_file(args.file);
	if (shim_conf_load(&conf, &args, error) != 0) {
		fprintf(stderr, PROGRAM ": %s\n", error);
		return EX_BAD_CONFIG;
	}
	if (check) {
		if (shim_conf_warning(&conf) != NULL)
			fprintf(stderr, PROGRAM ": warning: %s\n",
			    shim_conf_warning(&conf));
		explicit_bzero(conf.password, sizeof(conf.password));
		status = check_tls_files();
		if (status != 0)
			return status;
		shim_conf_path(path, &args);
		return options_good(path);
	}
	log_level(conf.log_level);
	options_raise_limits();
	setproctitle_init(argc, argv, environ);
	return run_daemon(&args, foreground);
}
