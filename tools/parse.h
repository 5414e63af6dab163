/* SPDX-License-Identifier: MIT */
/* Keys, lease ids and the options that all verbs have.  See parse.c. */
#ifndef TOOLS_PARSE_H
#define TOOLS_PARSE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "open_table.h"

/* Each returns 0, or EX_BAD_USAGE after a message that names `what`. */
int parse_key(const char *key);
/* A number of times, 1 or more. */
int parse_times(const char *what, const char *text, uint64_t *n);
int parse_pid(const char *what, const char *text, int32_t *pid);
int parse_uid(const char *what, const char *text, uid_t *uid);
int parse_lease_id(const char *what, const char *text, uint64_t id[2]);

/* The same for --request: zeros are the id of no request. */
int parse_request_id(const char *text, uint64_t id[2]);

/* Explains the option that getopt_long() has just refused by returning `c`.
 * Returns EX_BAD_USAGE. */
int parse_refused_option(const char *verb, int c, char **argv);

/*
 * Parses the options of a verb: --help, --json, --system, --table, and its own,
 * if it has any.  With --uid the process becomes that user.  Returns true if
 * the verb goes on; optind is at the first argument.  Returns false if
 * everything is done or an option was wrong; *status is the exit status.  A
 * verb that prints nothing refuses table->json itself.
 */
struct option;			/* of <getopt.h> */
#define VERB_OPTS_MAX 24
struct verb_opts {
	/* Ends with an entry without a name.  Their values are letters other
	 * than 'h', or 256 to 65535. */
	const struct option *options;
	const char *letters;	/* as for getopt(): "nw:"; NULL: none */
	/* Called for each such option with its value.  Returns 0, or the exit
	 * status after a message. */
	int (*take)(int c, char *value, void *arg);
	void *arg;
	bool reads;		/* it has --uid as well */
};

bool parse_verb_opts(const char *verb, const char *help, int argc,
    char **argv, struct table_opts *table, const struct verb_opts *own,
    int *status);
/* The same for a verb that has no options of its own, and for one that only
 * reads as well. */
bool parse_table_opts(const char *verb, const char *help, int argc,
    char **argv, struct table_opts *table, int *status);
bool parse_look_opts(const char *verb, const char *help, int argc, char **argv,
    struct table_opts *table, int *status);

/* Refuses --uid for the part of a verb that changes something: `what` is its
 * name.  Returns 0, or EX_BAD_USAGE after a message. */
int parse_refuse_uid(const struct table_opts *table, const char *what);

#endif
