/* SPDX-License-Identifier: MIT */
/*
 * A fuzzer without libFuzzer, for `make check`:
 *
 *	FUZZER [--runs N] [--seed S] [--keep DIRECTORY] FILE-OR-DIRECTORY...
 *
 * TAP.  First it runs every input of the corpus, then N mutations of it: pieces
 * of two inputs joined, with bytes changed, inserted, left out, repeated.
 *
 * The seed is 1 unless given, so that each run of `make check` is the same.
 * Seed 0 draws another one for each run, as `make check-all` does; it is
 * printed, so that the run can be repeated.
 *
 * When an input ends the program (a sanitizer's report, abort(), a signal), it
 * is first written to /tmp/NAME.finding; with --keep, to DIRECTORY/found-HASH.
 * In the corpus it fails each run until the fault is repaired.  Giving that
 * file alone repeats it.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <sanitizer/common_interface_defs.h>
#include "fuzz/fuzz.h"
#include "tap.h"

#define INPUTS_MAX 1000
#define INPUT_MAX 4096
#define INPUT_S 20		/* of one: it hangs where no step is counted */

struct input {
	uint8_t *data;
	size_t len;
};

static struct input corpus[INPUTS_MAX];
static int n_corpus;
static struct input now;	/* under way */
static const char *keep_dir;	/* of --keep */

/* FNV-1a */
static uint64_t
hash_bytes(const uint8_t *data, size_t len)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < len; i++)
		h = (h ^ data[i]) * UINT64_C(0x100000001b3);
	return h;
}

static void
keep_input(void)
{
	char path[300];
	int fd;

	if (now.data == NULL)
		return;
	if (keep_dir != NULL)
		(void)snprintf(path, sizeof(path), "%s/found-%016llx", keep_dir,
		    (unsigned long long)hash_bytes(now.data, now.len));
	else
		(void)snprintf(path, sizeof(path), "/tmp/%s.finding",
		    fuzz_name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd >= 0 && write(fd, now.data, now.len) == (ssize_t)now.len)
		(void)fprintf(stderr, "# the input is in %s\n", path);
	now.data = NULL;
}

static void
on_signal(int sig)
{
	keep_input();
	(void)signal(sig, SIG_DFL);
	(void)raise(sig);
}

static void
run(uint8_t *data, size_t len)
{
	now.data = data;
	now.len = len;
	(void)alarm(INPUT_S);
	(void)LLVMFuzzerTestOneInput(data, len);
	(void)alarm(0);
	now.data = NULL;
}

static void
add_file(const char *path)
{
	struct input *in = &corpus[n_corpus];
	FILE *f = fopen(path, "re");

	if (f == NULL || n_corpus == INPUTS_MAX)
		bail_out("cannot take in %s", path);
	in->data = malloc(INPUT_MAX);
	in->len = in->data == NULL ? 0 : fread(in->data, 1, INPUT_MAX, f);
	(void)fclose(f);
	n_corpus++;
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* In the order of their names: the same everywhere. */
static void
add(const char *path)
{
	char *names[INPUTS_MAX], file[512];
	struct dirent *e;
	int n = 0;
	DIR *dir = opendir(path);

	if (dir == NULL) {
		add_file(path);
		return;
	}
	while ((e = readdir(dir)) != NULL && n < INPUTS_MAX)
		if (e->d_name[0] != '.')
			names[n++] = strdup(e->d_name);
	(void)closedir(dir);
	qsort(names, (size_t)n, sizeof(names[0]), by_name);
	for (int i = 0; i < n; i++) {
		(void)snprintf(file, sizeof(file), "%s/%s", path, names[i]);
		add_file(file);
		free(names[i]);
	}
}

/* splitmix64 */
static uint64_t
draw(uint64_t *s)
{
	uint64_t z = *s += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static size_t
below(uint64_t *s, size_t n)
{
	return n == 0 ? 0 : (size_t)(draw(s) % n);
}

/* The head of one input and the tail of another, into buf. */
static size_t
join(uint64_t *s, uint8_t *buf)
{
	const struct input *a = &corpus[below(s, (size_t)n_corpus)];
	const struct input *b = &corpus[below(s, (size_t)n_corpus)];
	size_t head = below(s, a->len + 1), from = below(s, b->len + 1);
	size_t tail = b->len - from;

	if (tail > INPUT_MAX - head)
		tail = INPUT_MAX - head;
	memcpy(buf, a->data, head);
	memcpy(buf + head, b->data + from, tail);
	return head + tail;
}

static size_t
mutate(uint64_t *s, uint8_t *buf, size_t len)
{
	size_t at = below(s, len), n = 1 + below(s, 16);

	switch (draw(s) % 6) {
	case 0:
		if (len > 0)
			buf[at] ^= (uint8_t)(1u << draw(s) % 8);
		return len;
	case 1:
		if (len > 0)
			buf[at] = (uint8_t)draw(s);
		return len;
	case 2:			/* a small number is often an index */
		if (len > 0)
			buf[at] = (uint8_t)(draw(s) % 16);
		return len;
	case 3:			/* left out */
		if (n > len - at)
			n = len - at;
		memmove(buf + at, buf + at + n, len - at - n);
		return len - n;
	case 4:			/* inserted */
		if (n > INPUT_MAX - len)
			n = INPUT_MAX - len;
		memmove(buf + at + n, buf + at, len - at);
		for (size_t i = 0; i < n; i++)
			buf[at + i] = (uint8_t)draw(s);
		return len + n;
	default:		/* repeated elsewhere */
		for (size_t from = below(s, len); n > 0 && at < len &&
		    from < len; n--)
			buf[at++] = buf[from++];
		return len;
	}
}

static long
number(const char *text)
{
	char *end;
	long n = text == NULL ? -1 : strtol(text, &end, 0);

	if (n < 0 || *end != '\0')
		bail_out("'%s' is no number", text == NULL ? "" : text);
	return n;
}

int
main(int argc, char **argv)
{
	static uint8_t buf[INPUT_MAX];
	uint64_t seed = 1;
	long runs = 0;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--runs") == 0)
			runs = number(argv[++i]);
		else if (strcmp(argv[i], "--seed") == 0)
			seed = (uint64_t)number(argv[++i]);
		else if (strcmp(argv[i], "--keep") == 0)
			keep_dir = argv[++i];
		else
			add(argv[i]);
	}
	if (n_corpus == 0)
		bail_out("which inputs?");
	while (seed == 0) {
		if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
			bail_out("cannot draw a seed");
		seed >>= 1;	/* as --seed takes it */
	}
	diag("seed %llu", (unsigned long long)seed);
	__sanitizer_set_death_callback(keep_input);
	(void)signal(SIGABRT, on_signal);
	(void)signal(SIGALRM, on_signal);
	(void)LLVMFuzzerInitialize(&argc, &argv);
	for (int i = 0; i < n_corpus; i++)
		run(corpus[i].data, corpus[i].len);
	pass("%s: %d inputs of the corpus", fuzz_name, n_corpus);
	for (long i = 0; i < runs; i++) {
		size_t len = join(&seed, buf);

		for (uint64_t n = 1 + draw(&seed) % 8; n > 0; n--)
			len = mutate(&seed, buf, len);
		run(buf, len);
	}
	pass("%s: %ld mutations of them", fuzz_name, runs);
	return done();
}
