/* SPDX-License-Identifier: MIT */
/*
 * A cache that is rebuilt once, however many processes find it old (single
 * flight).
 *
 * Use it when building a result is so expensive that a second process should
 * wait for the first one's result.  If the builder dies, the next process in
 * line builds at once; if it is stopped, after the lease's 10 seconds.  A late
 * result does no harm and needs no token: its file has the age of what it was
 * made from, so it is rebuilt as soon as that is too old.
 *
 *	cc -o cache cache.c $(pkg-config --cflags --libs leasehold)
 *	./cache report.txt 60 | less	# a minute old at most
 */
#include <err.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <leasehold.h>

/* True if the result is there and was made from data of the last max_age
 * seconds. */
static bool
is_fresh(const char *path, long max_age)
{
	struct stat st;

	return stat(path, &st) == 0 && time(NULL) - st.st_mtime < max_age;
}

/* Makes the result: here, the time it was made at. */
static int
build(FILE *to)
{
	warnx("process %d builds", (int)getpid());
	usleep(500000);		/* ... your expensive work ... */
	return fprintf(to, "made at %ld\n", (long)time(NULL)) < 0 ? -EIO : 0;
}

/* Replaces the result by a new one, whole or not at all. */
static int
rebuild(const char *path)
{
	struct timespec read_at[2];	/* the times of access, modification */
	char new[4096];
	FILE *f;
	int e;

	snprintf(new, sizeof(new), "%s.%d", path, (int)getpid());
	f = fopen(new, "w");
	if (f == NULL)
		return -errno;
	clock_gettime(CLOCK_REALTIME, &read_at[0]);
	read_at[1] = read_at[0];
	e = build(f);
	if (e == 0 && (fflush(f) != 0 || futimens(fileno(f), read_at) != 0 ||
	    rename(new, path) != 0))
		e = -errno;
	fclose(f);
	return e;
}

/* Returns 0 once the result is fresh; rebuilds it, or waits until it is. */
static int
refresh(struct lh *lh, const char *path, long max_age)
{
	struct lh_acquire_opts opts = LH_ACQUIRE_OPTS_INIT;
	struct lh_lease lease;
	char key[LH_KEY_MAX + 1];
	int e = 0;

	if (is_fresh(path, max_age))
		return 0;		/* nearly always: no lock at all */
	snprintf(key, sizeof(key), "cache/%s", path);
	opts.ttl_ms = 10000;		/* longer than a build takes */
	e = lh_acquire(lh, key, &opts, &lease);
	if (e != 0)
		return e;
	if (!is_fresh(path, max_age))	/* or the one before has just built */
		e = rebuild(path);
	lh_release(lh, &lease);
	return e;
}

int
main(int argc, char **argv)
{
	struct lh *lh;
	int e = argc == 3 ? lh_open(&lh, NULL, NULL) : -EINVAL;

	if (e == 0)
		e = refresh(lh, argv[1], atol(argv[2]));
	if (e == 0)
		execlp("cat", "cat", argv[1], (char *)NULL);
	errx(EXIT_FAILURE, "FILE SECONDS: %s", strerror(-e));
}
