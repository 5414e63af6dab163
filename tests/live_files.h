/* SPDX-License-Identifier: MIT */
/* The files beside a table's object, for the cleanup after a test. */
#ifndef LIVE_FILES_H
#define LIVE_FILES_H

#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The second signs of life of the table of that id, which is at path. */
static inline void
remove_signs(const char *path, const char *id)
{
	char pattern[256];
	glob_t found;

	(void)snprintf(pattern, sizeof(pattern), "%.*s/%s-*.sign*",
	    (int)(strrchr(path, '/') - path), path, id);
	if (glob(pattern, GLOB_NOSORT, NULL, &found) != 0)
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		(void)unlink(found.gl_pathv[i]);
	globfree(&found);
}

/* Removes the live files of the table whose object is, or was, at path. */
static inline void
remove_live_files(const char *path)
{
	char pattern[256];
	glob_t found;
	int n = 0;

	while (path[n] != '\0' && !(path[n] == '.' && path[n + 1] == 't' &&
	    path[n + 2] == 'a' && path[n + 3] == 'b' && path[n + 6] == '\0'))
		n++;
	(void)snprintf(pattern, sizeof(pattern), "%.*s.live.*", n, path);
	if (path[n] == '\0' || glob(pattern, GLOB_NOSORT, NULL, &found) != 0)
		return;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		remove_signs(path, strrchr(found.gl_pathv[i], '.') + 1);
		(void)unlink(found.gl_pathv[i]);
	}
	globfree(&found);
}

#endif
