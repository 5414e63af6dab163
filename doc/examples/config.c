/* SPDX-License-Identifier: MIT */
/*
 * A configuration that many processes read and few change.
 *
 * Use it when each request needs the present configuration: asking whether it
 * has changed takes no lock, and only a change is read, under a shared lease.
 * Each configuration is a file that never changes, and the key's value is the
 * name of the present one, which a writer that has lost its lease cannot set.
 * The table is empty after a reboot, so publish once more when the machine
 * starts.
 *
 *	cc -o config config.c $(pkg-config --cflags --libs leasehold)
 *	./config new.conf	# publishes it; it becomes config.TOKEN
 *	./config		# serves, and prints each configuration
 */
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <leasehold.h>

struct config {
	uint64_t version;	/* the token of its writer; 0: none yet */
	char text[4096];
};

/* Reads the name of the present file, "" if nothing is published, and its
 * version. */
static int
read_name(struct lh *lh, char name[LH_VALUE_MAX + 1], uint64_t *version)
{
	size_t len = 0;
	int e = lh_value_get(lh, "config", name, &len, version);

	name[len] = '\0';
	return e;
}

/* Publishes a file, and removes the one before. */
static int
publish(struct lh *lh, const char *path)
{
	char old[LH_VALUE_MAX + 1], new[64];
	struct lh_lease lease;
	int e = lh_acquire(lh, "config", NULL, &lease);

	if (e != 0)
		return e;
	snprintf(new, sizeof(new), "config.%" PRIu64, lease.token);
	e = read_name(lh, old, NULL);
	if (e == 0 && rename(path, new) != 0)
		e = -errno;
	/* -ESTALE: this was too slow, and another writer may have published */
	if (e == 0 && (e = lh_value_set(lh, &lease, new, strlen(new))) != 0)
		rename(new, path);
	if (e == 0)
		unlink(old);	/* nobody reads it, nor finds it any more */
	lh_release(lh, &lease);
	return e;
}

/* Reads the configuration if there is a later one: call it for each request. */
static int
refresh(struct lh *lh, struct config *config)
{
	struct lh_acquire_opts shared = LH_ACQUIRE_OPTS_INIT;
	char name[LH_VALUE_MAX + 1];
	struct config new;
	struct lh_lease lease;
	FILE *f;
	int e = read_name(lh, name, &new.version);

	if (e != 0 || new.version <= config->version)
		return e == -ENOENT ? 0 : e;
	shared.mode = LH_SHARED;	/* the file stays while it is held */
	e = lh_acquire(lh, "config", &shared, &lease);
	if (e != 0)
		return e;
	e = read_name(lh, name, &new.version);
	f = e == 0 ? fopen(name, "r") : NULL;
	if (f != NULL) {
		new.text[fread(new.text, 1, sizeof(new.text) - 1, f)] = '\0';
		fclose(f);
		*config = new;
	}
	if (lh_release(lh, &lease) == -ESTALE)
		return 0;	/* this was stopped: the next request tries */
	return f == NULL && e == 0 ? -ENOENT : e;
}

int
main(int argc, char **argv)
{
	static struct config config;
	uint64_t shown = 0;
	struct lh *lh;
	int e = lh_open(&lh, NULL, NULL);

	if (e == 0 && argc > 1)
		e = publish(lh, argv[1]);
	while (e == 0 && argc == 1 && (e = refresh(lh, &config)) == 0) {
		if (config.version != shown)	/* ... or your request ... */
			printf("%" PRIu64 " %s", config.version, config.text);
		shown = config.version;
		fflush(stdout);
		usleep(10000);
	}
	if (e != 0)
		errx(EXIT_FAILURE, "%s", strerror(-e));
	return EXIT_SUCCESS;
}
