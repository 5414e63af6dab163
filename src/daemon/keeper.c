/* SPDX-License-Identifier: MIT */
/*
 * Finds the process that keeps a session whose own process has ended.
 *
 * Such a session has a second sign of life, a socket, which the processes that
 * its process started have inherited.  The kernel's lists say which these are
 * (offline/sign_holder.c); each process of the machine is looked at.  This is a
 * hint for people: what cannot be seen from here is not named.  The look is
 * repeated if it finds nobody, because a process that begins or ends, or a
 * repair, may hide the keeper from it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "keeper.h"
#include "offline/sign_holder.h"
#include "proc/attachment.h"

#define LIMIT_MS 10000		/* of a look */
#define LOOKS 3

static void
read_name(pid_t pid, char name[KEEPER_NAME_MAX])
{
	char path[40];
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	(void)strcpy(name, "?");
	f = fopen(path, "re");
	if (f == NULL)
		return;
	if (fgets(name, KEEPER_NAME_MAX, f) != NULL)
		name[strcspn(name, "\n")] = '\0';
	(void)fclose(f);
}

static pid_t
look(struct lh *lh, uint32_t idx)
{
	struct lhi_sign_holders *signs = lhi_sign_holders_scan(&lh->v,
	    LIMIT_MS);
	pid_t pid = 0;

	if (signs != NULL &&
	    lhi_sign_holders_find(signs, idx, &pid) != SIGN_HELD)
		pid = 0;
	free(signs);
	return pid;
}

pid_t
keeper_find(struct lh *lh, uint64_t id, char name[KEEPER_NAME_MAX])
{
	uint32_t idx = sid_idx(lhi_view_session_of(&lh->v, id));
	pid_t pid = 0;

	if (idx >= lh->v.geo.max_sessions)
		return 0;
	for (int i = 0; i < LOOKS && pid == 0; i++)
		pid = look(lh, idx);
	if (pid != 0)
		read_name(pid, name);
	return pid;
}
