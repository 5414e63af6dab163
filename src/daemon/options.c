/* SPDX-License-Identifier: MIT */
/*
 * Start of a daemon, common to all daemons: the end of its command line, the
 * file it names, --check, and the limit of descriptors.
 */
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <leasehold/version.h>
#include "options.h"
#include "exit_status.h"

int
options_other(int c, const char *program, const char *help)
{
	switch (c) {
	case 'h':
		fputs(help, stdout);
		return 0;
	case 'V':
		printf("%s " LEASEHOLD_VERSION "\n", program);
		return 0;
	default:	/* getopt_long() has printed the error */
		fprintf(stderr, "'%s --help' lists the options\n", program);
		return EX_BAD_USAGE;
	}
}

int
options_end(int argc, char *const *argv, const char *program)
{
	if (optind == argc)
		return -1;
	fprintf(stderr, "%s: unexpected argument '%s': only options are "
	    "accepted\n",
	    program, argv[optind]);
	return EX_BAD_USAGE;
}

const char *
options_keep(const char *value, const char *program)
{
	const char *copy = strdup(value);

	if (copy == NULL)
		fprintf(stderr, "%s: out of memory\n", program);
	return copy;
}

const char *
options_file(const char *file)
{
	static char whole[PATH_MAX];

	/* a missing file is reported by the name that was given */
	return file != NULL && realpath(file, whole) != NULL ? whole : file;
}

int
options_good(const char *path)
{
	printf("the configuration is valid (%s%s)\n", path,
	    access(path, R_OK) == 0 ? "" : ": missing, so the defaults apply");
	return fflush(stdout) == 0 ? 0 : EX_SYSTEM;
}

void
options_raise_limits(void)
{
	struct rlimit most;

	if (getrlimit(RLIMIT_NOFILE, &most) == 0) {
		most.rlim_cur = most.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &most);
	}
}
