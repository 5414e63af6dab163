/* SPDX-License-Identifier: MIT */
/*
 * Work-queue shards: any number of workers share a queue that is cut into
 * shards, each of which has one worker at a time.
 *
 * Use it when jobs of one shard must be done in order, and a dead worker's
 * shards must go to the others.  How far a shard is done is the value of its
 * key, which only the present holder can set: a worker that was stopped too
 * long cannot move it.  A job may be done twice, after a death between the job
 * and the value or after a reboot, so doing it again must change nothing.
 *
 *	cc -o shards shards.c $(pkg-config --cflags --libs leasehold)
 *	./shards 8 &  ./shards 8 &	# where queue.0 to queue.7 are
 */
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <leasehold.h>

struct shard {
	struct lh *lh;
	int number;
	char key[32];
	long done;	/* jobs, in this turn */
};

/* Does job n of a shard, any number of times with the same result: here, a file
 * with the job's line in it, which appears whole. */
static int
do_job(int shard, long n, const char *line)
{
	char new[64], path[64];
	FILE *f;

	usleep(5000);			/* ... your work ... */
	snprintf(new, sizeof(new), "new.%d.%ld.%d", shard, n, (int)getpid());
	snprintf(path, sizeof(path), "done.%d.%ld", shard, n);
	f = fopen(new, "w");
	if (f == NULL || fputs(line, f) < 0 || fclose(f) != 0 ||
	    rename(new, path) != 0)
		return -errno;
	return 0;
}

/* Does the jobs of a shard that are not done yet; its key is held. */
static int
work(const struct lh_held *held, void *arg)
{
	char text[LH_VALUE_MAX + 1], line[256];
	struct shard *s = arg;
	size_t len;
	long n, first;
	FILE *queue;
	int e = lh_value_get(s->lh, s->key, text, &len, NULL);

	text[e == 0 ? len : 0] = '\0';
	first = atol(text);
	snprintf(text, sizeof(text), "queue.%d", s->number);
	queue = fopen(text, "r");
	if (e != 0 || queue == NULL)
		return e != 0 ? e : -errno;
	for (n = 0; e == 0 && fgets(line, sizeof(line), queue) != NULL; n++) {
		if (n < first)
			continue;
		if (strchr(line, '\n') == NULL)
			break;		/* it is still being written */
		e = do_job(s->number, n, line);
		snprintf(text, sizeof(text), "%ld", n + 1);
		if (e == 0)		/* -ESTALE: another worker has it */
			e = lh_value_set(s->lh, &held->lease, text,
			    strlen(text));
		s->done += e == 0;
	}
	fclose(queue);
	return e;
}

int
main(int argc, char **argv)
{
	int e, result = 0, shards = argc > 1 ? atoi(argv[1]) : 1;
	struct lh_acquire_opts opts = LH_ACQUIRE_OPTS_INIT;
	struct shard s = { .number = 0 };
	long done = 0;

	opts.ttl_ms = 2000;	/* a stopped worker's shard is free then */
	e = shards > 0 ? lh_open(&s.lh, NULL, NULL) : -EINVAL;
	for (; e == 0; s.number = (s.number + 1) % shards) {
		snprintf(s.key, sizeof(s.key), "queue/%d", s.number);
		e = lh_with(s.lh, s.key, &opts, work, &s, &result);
		if (e == -EAGAIN || e == -ESTALE)
			e = 0;		/* another worker has it */
		else if (e == 0)
			e = result;
		if (s.number == shards - 1) {
			if (done == s.done)
				usleep(50000);	/* wait for jobs */
			done = s.done;
		}
	}
	errx(EXIT_FAILURE, "shard %d: %s", s.number, strerror(-e));
}
