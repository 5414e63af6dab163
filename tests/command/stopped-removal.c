/* SPDX-License-Identifier: MIT */
/*
 * A removal that is stopped halfway, for stopped-removal.t: the table has the
 * mark of its removal, and still has its name.  Linked in front of libc's with
 * -Wl,--wrap=unlinkat; stops itself before the table's name is unlinked.
 */
#include <signal.h>
#include <string.h>
#include <unistd.h>

int __real_unlinkat(int dir, const char *path, int flags);
int __wrap_unlinkat(int dir, const char *path, int flags);

int
__wrap_unlinkat(int dir, const char *path, int flags)
{
	if (strstr(path, ".table") != NULL)
		(void)raise(SIGSTOP);
	return __real_unlinkat(dir, path, flags);
}
