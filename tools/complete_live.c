/* SPDX-License-Identifier: MIT */
/*
 * Lists existing names for completion: keys and sessions of a table, tables,
 * and users that have tables.  No session is begun.  A name that contains a
 * control byte is left out, because the answer has one line for each name.
 */
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <leasehold.h>
#include "complete_live.h"
#include "daemon/paths.h"
#include "key_list.h"
#include "open_table.h"

#define NAMES_MAX 1000		/* more are of no use */
#define SHM "/dev/shm"
#define PREFIX "leasehold."
#define TABLES SHM "/" PREFIX
#define SUFFIX ".table"

struct names {
	const char *before;
	bool in_list;
	int n;
};

static bool
is_printable(const char *name)
{
	for (; *name != '\0'; name++)
		if ((unsigned char)*name < ' ' || *name == 127)
			return false;
	return true;
}

static int
print_key(const struct lh_key_info *info, void *arg)
{
	struct names *l = arg;
	char *escaped;

	if (!is_printable(info->key))
		return 0;
	escaped = l->in_list ? key_list_escape(info->key) : NULL;
	printf("%s%s\n", l->before, escaped != NULL ? escaped : info->key);
	free(escaped);
	return ++l->n == NAMES_MAX;
}

void
complete_live_keys(const struct table_opts *table, const char *before,
    const char *begun, bool in_list)
{
	struct names l = { .before = before, .in_list = in_list };
	struct lh *lh;

	if (open_table(&lh, table, LH_LOOK, NULL) != 0)
		return;
	(void)lh_list(lh, begun, print_key, &l);
	(void)lh_close(lh);
}

static int
print_session(const struct lh_session_info *info, void *arg)
{
	struct names *l = arg;

	if (is_printable(info->name))
		printf("%s\n", info->name);
	return ++l->n == NAMES_MAX;
}

void
complete_live_sessions(const struct table_opts *table, const char *begun)
{
	struct names l = { .n = 0 };
	struct lh *lh;

	if (open_table(&lh, table, LH_LOOK, NULL) != 0)
		return;
	(void)lh_session_list(lh, begun, print_session, &l);
	(void)lh_close(lh);
}

void
complete_live_tables(const struct table_opts *table, const char *begun)
{
	char place[64] = TABLES "system";
	struct dirent *d;
	size_t len;
	DIR *dir;

	if (!table->system)
		(void)snprintf(place, sizeof(place), TABLES "%u",
		    paths_own_number());
	dir = opendir(place);
	while (dir != NULL && (d = readdir(dir)) != NULL) {
		len = strlen(d->d_name);
		if (len <= strlen(SUFFIX) ||
		    strcmp(d->d_name + len - strlen(SUFFIX), SUFFIX) != 0 ||
		    strncmp(d->d_name, begun, strlen(begun)) != 0)
			continue;
		d->d_name[len - strlen(SUFFIX)] = '\0';
		if (is_printable(d->d_name))
			printf("%s\n", d->d_name);
	}
	if (dir != NULL)
		(void)closedir(dir);
}

void
complete_live_users(const char *begun)
{
	const char *number;
	struct dirent *d;
	DIR *dir = opendir(SHM);

	while (dir != NULL && (d = readdir(dir)) != NULL) {
		if (strncmp(d->d_name, PREFIX, strlen(PREFIX)) != 0)
			continue;
		number = d->d_name + strlen(PREFIX);
		if (*number != '\0' &&
		    strspn(number, "0123456789") == strlen(number) &&
		    strncmp(number, begun, strlen(begun)) == 0)
			printf("%s\n", number);
	}
	if (dir != NULL)
		(void)closedir(dir);
}
