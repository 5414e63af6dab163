/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G1, amendment C10: the byte locks of another file prove nothing
 * about a session of this table.
 *
 * A process has closed all its descriptors; the name of the table's object
 * belongs to another table by now, and that of its live file to another file.
 * To ask whether a holder is alive, the process must open the live file again,
 * and would open the wrong one, in which nobody has locked anything.
 *
 * Otherwise a living holder would count as dead, and its key would be granted
 * twice.
 */
#include <fcntl.h>
#include <glob.h>
#include "replay.h"

struct shared {
	struct replay_call call;
	const char *table;
	struct t_event attached, replaced;
	int again;
};

static int
ask(void *arg)
{
	struct shared *sh = arg;
	int r;

	sh->call.lh = replay_open(sh->table, 0);
	closefrom(3);
	t_post(&sh->attached);
	if (!t_await(&sh->replaced, 1, REPLAY_MS))
		return -ETIME;
	r = replay_acquire(&sh->call);
	/* again, when the number of its descriptor is another file's */
	for (int i = 0; i < 16; i++)
		(void)dup(1);
	t_sleep_ms(15);			/* a try asks every 10 ms */
	sh->again = replay_acquire(&sh->call);
	return r;
}

/* The live file of the one table of that name. */
static bool
find_live_file(const char *table, char path[256])
{
	const char *object = t_object(table);
	char pattern[256];
	glob_t found;
	bool one;

	(void)snprintf(pattern, sizeof(pattern), "%.*s.live.*",
	    (int)(strrchr(object, '.') - object), object);
	one = glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc == 1;
	(void)snprintf(path, 256, "%s", one ? found.gl_pathv[0] : "");
	globfree(&found);
	return one;
}

/* Puts another file in the place of that name. */
static bool
replace_file(const char *path)
{
	int fd = unlink(path) != 0 ? -1 :
	    open(path, O_RDWR | O_CREAT | O_EXCL, 0600);

	return fd >= 0 && close(fd) == 0;
}

int
main(void)
{
	const char *table = replay_begin();
	struct shared *sh = t_shared(sizeof(*sh));
	/* so that the holder's record is another one than that of `new` */
	struct lh *first = replay_open(table, 0);
	struct lh *lh = replay_open(table, 0), *new;
	struct lh_lease k = t_hold(lh, "k");
	char live[256];

	*sh = (struct shared){ .call = REPLAY_CALL(NULL, "k", 60000, 0),
	    .table = table };
	replay_fork("asker", ask, sh);
	ok(t_await(&sh->attached, 1, REPLAY_MS), "an asker is attached");
	is(unlink(t_object(table)), 0, "the object's name is removed");
	ok(find_live_file(table, live), "it has a live file");
	new = replay_open(table, 0);
	ok(replace_file(live), "whose name is another's now");
	t_post(&sh->replaced);
	is(replay_result("asker"), -EAGAIN, "the asker finds the key busy");
	is(sh->again, -EAGAIN, "and busy again");
	is(lh_verify(lh, &k), 0, "it is held");
	is(lh_release(lh, &k), 0, "until it is released");
	t_close(new);
	t_close(lh);
	t_close(first);
	return done();
}
