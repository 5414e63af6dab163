/* SPDX-License-Identifier: MIT */
/*
 * Every bit of a small table flipped, one at a time: what is judged sound
 * works, what is damaged is reported and can be repaired, and nothing is lost
 * by one bit alone (G12, finding B3).
 *
 *	flips KIND		three bits of each field of layout.def
 *	flips KIND PART		every bit of every structure of one sort that is
 *				in use, and of one that is not
 *	flips --parts		prints the parts
 *	flips --bit KIND OFFSET BIT	that one, with what is said of it
 *
 * The table is plain, durable, or has a cluster key: 8 keys, 4 sessions, 256
 * leases.  Everything in it was left by processes that have died.  There are
 * held keys, one with a value and one with a long name; readers, an idle one,
 * and waiters; a kept key and an unused one; a request; and a named session
 * that has ended.  Its object is restored in place between flips.
 *
 * A child process tries some flips, one after the other, until one is bad; the
 * next child goes on behind that one.  For each flip it asks the checker (a dry
 * run of the repair), opens the table and acquires its keys; then, with the
 * flip once more, repairs it, asks again, and acquires all keys.  Bad is:
 *
 *	judged sound, but a key cannot be acquired and released
 *	repaired, but not sound
 *	a repair that is refused, though nobody uses the table
 *	two holders
 *	the table is removed, or a named session that lives ends
 *	no end within 10 s, or a signal
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "flips/flip_table.h"
#include "support/support.h"
#include "tap.h"

#define HANG_S 10
#define SHOWN 40		/* so many bad flips a table are printed */

static const char *const kind_names[] = { "plain", "durable", "cluster" };
static const char *const keys[] = { "x", "s", LONG_KEY, "kept", "free", "n" };
#define N_KEYS (sizeof(keys) / sizeof(keys[0]))

/* --- one flip ---------------------------------------------------------------
 */
static void __attribute__((format(printf, 2, 3), noreturn))
is_bad(struct table *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(t->answer->why, sizeof(t->answer->why), fmt, ap);
	va_end(ap);
	_exit(1);
}

static void
flip(struct table *t, size_t off, unsigned bit)
{
	flip_table_restore(t);
	((unsigned char *)t->o.h)[off] ^= (unsigned char)(1u << bit);
}

static char last_finding[300];

static void
note_finding(const char *what, void *arg)
{
	(void)arg;
	(void)snprintf(last_finding, sizeof(last_finding), "%s", what);
}

static bool
is_there(const struct table *t)
{
	struct stat named, kept;

	return stat(t_object(t->name), &named) == 0 &&
	    stat(t->kept, &kept) == 0 && named.st_ino == kept.st_ino;
}

/* (Of a durable table in the scope that its disk is for.) */
static int
acquire(const struct table *t, struct lh *lh, const char *key, int64_t wait_ms,
    struct lh_lease *l)
{
	struct lh_acquire_opts o = t_opts(HOUR_MS, wait_ms);

	o.scope = t->kind == DURABLE ? LH_LOCAL : 0;
	return lh_acquire(lh, key, &o, l);
}

/* Each key by one session, and not by another meanwhile. */
static void
use_keys(struct table *t, bool sound, const char *when)
{
	struct lh_open_opts o = flip_table_opts(t->kind);
	struct lh *a = NULL, *b = NULL;
	int error;

	o.flags |= LH_NO_CREATE;
	error = lh_open(&a, t->name, &o);
	if (error == 0)
		error = lh_open(&b, t->name, &o);
	if (error != 0 && sound)
		is_bad(t, "%s, but lh_open: %s", when, lh_error_detail());
	for (size_t i = 0; i < N_KEYS && error == 0; i++) {
		struct lh_lease l, m;
		int got = acquire(t, a, keys[i], 0, &l);

		if (got == -EAGAIN)	/* behind those who died waiting */
			got = acquire(t, a, keys[i], 300, &l);
		if (got != 0 && sound)
			is_bad(t, "%s, but acquire %s: %s", when, keys[i],
			    lh_error_detail());
		if (got == 0 && acquire(t, b, keys[i], 0, &m) == 0)
			is_bad(t, "%s: two holders of %s", when, keys[i]);
		if (got == 0 && lh_release(a, &l) != 0 && sound)
			is_bad(t, "%s, but release %s: %s", when, keys[i],
			    lh_error_detail());
	}
	if (b != NULL)
		(void)lh_close(b);
	if (a != NULL)
		(void)lh_close(a);
	if (!is_there(t))
		is_bad(t, "%s: the table was removed by opening it", when);
}

static int
judge(struct table *t)
{
	return lh_table_repair(t->name, LH_DRY_RUN, note_finding, NULL);
}

static void
try_flip(struct table *t, size_t off, unsigned bit, int *judged)
{
	int findings, left;

	flip(t, off, bit);
	findings = judge(t);
	*judged = findings;
	if (!is_there(t))
		is_bad(t, "the table was removed by a dry run");
	use_keys(t, findings == 0, findings == 0 ? "sound" : "damaged");
	if (findings == 0)
		return;
	flip(t, off, bit);
	findings = lh_table_repair(t->name, 0, note_finding, NULL);
	if (!is_there(t))
		is_bad(t, "the table was removed by a repair");
	if (findings < 0)
		is_bad(t, "repair is refused: %s", lh_error_detail());
	left = judge(t);
	if (left != 0)
		is_bad(t, "repaired, but %d findings, the last: %s", left,
		    left < 0 ? lh_error_detail() : last_finding);
	use_keys(t, true, "repaired");
}

/* Where structures of one kind are. */
struct part {
	const char *name;
	uint64_t at, n;
	size_t size;
};

/* A bit of an object of some kind of structure. */
struct one_flip {
	const struct part *p;
	uint64_t i;
	size_t at;
	unsigned bit;
};

static size_t
offset_of(const struct one_flip *f)
{
	return f->p->at + f->i * f->p->size + f->at;
}

/*
 * Tries flips in a child, until one is bad; returns how many were not.  The
 * child's answer has the judgement of each, and why the one after those was
 * bad.
 */
static size_t
play(struct table *t, const struct one_flip *flips, size_t n)
{
	struct answer *a = t->answer;
	int status;
	pid_t pid;

	memset(a, 0, sizeof(*a));
	pid = fork();
	if (pid == 0) {
		(void)signal(SIGALRM, SIG_DFL);
		for (; a->tried < n; a->tried++) {
			(void)alarm(HANG_S);
			try_flip(t, offset_of(&flips[a->tried]),
			    flips[a->tried].bit, &a->judged[a->tried]);
		}
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		bail_out("no child");
	if (WIFSIGNALED(status))
		(void)snprintf(a->why, sizeof(a->why), "%s",
		    WTERMSIG(status) == SIGALRM ? "no end" :
		    strsignal(WTERMSIG(status)));
	else if (status != 0 && a->why[0] == '\0')
		(void)snprintf(a->why, sizeof(a->why), "exit status %d",
		    WEXITSTATUS(status));
	if ((status == 0) != (a->tried == n))
		bail_out("%zu of %zu flips, status %d", a->tried, n, status);
	return a->tried;
}

/* --- which bits -------------------------------------------------------------
 */
struct field {
	const char *part, *name, *who, *meaning;
	size_t off, len;	/* in bytes */
};

#define STRUCT(name, size)
#define FIELD(off, type, name, who, meaning) \
	{ NULL, #name, who, meaning, off, sizeof(type) },
#define ARRAY(off, type, name, n, who, meaning) \
	{ NULL, #name, who, meaning, off, sizeof(type) * (n) },
#define END(name) { #name, NULL, NULL, NULL, sizeof(struct name), 0 },

/* The fields of each structure, then its end, with its name and size. */
static const struct field fields[] = {
#include "shm/layout.def"
};
#define N_FIELDS (sizeof(fields) / sizeof(fields[0]))

#define N_PARTS 12

/* (Those that take longest first; flips of chunks make others wait.) */
static void
list_parts(const struct lhi_geometry *g, struct part parts[N_PARTS])
{
	const struct part all[N_PARTS] = {
		{ "shm_chunk", g->chunks_off, g->n_chunks,
		    sizeof(struct shm_chunk) },
		{ "shm_ring", g->rings_off, g->max_sessions,
		    sizeof(struct shm_ring) },
		{ "shm_header", 0, 1, sizeof(struct shm_header) },
		{ "shm_session", g->sessions_off, g->max_sessions,
		    sizeof(struct shm_session) },
		{ "shm_claim", g->claims_off, g->n_claims,
		    sizeof(struct shm_claim) },
		{ "shm_slot", g->slots_off, g->n_slots,
		    sizeof(struct shm_slot) },
		{ "shm_long", g->long_off, g->n_long,
		    sizeof(struct shm_long) },
		{ "shm_request", g->requests_off, g->n_requests,
		    sizeof(struct shm_request) },
		{ "shm_value", g->values_off, g->n_values,
		    sizeof(struct shm_value) },
		{ "shm_claim_note", g->asides_off, g->n_claims,
		    sizeof(struct shm_claim_note) },
		{ "shm_right", g->rights_off, g->n_slots,
		    sizeof(struct shm_right) },
		{ "bucket", g->buckets_off, g->n_buckets, sizeof(shm_u64) },
	};

	memcpy(parts, all, sizeof(all));
}

static bool
is_zero(const unsigned char *p, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (p[i] != 0)
			return false;
	}
	return true;
}

struct tally {
	long flips, damage, bad;
	long unseen[N_FIELDS];	/* judged sound, and it works */
};

/* Index of the field there; N_FIELDS: there is none. */
static size_t
field_at(const char *part, size_t off)
{
	size_t from = 0;

	for (size_t i = 0; i < N_FIELDS; i++) {
		if (fields[i].part == NULL)
			continue;
		if (strcmp(fields[i].part, part) == 0) {
			for (size_t k = from; k < i; k++) {
				if (off >= fields[k].off &&
				    off < fields[k].off + fields[k].len)
					return k;
			}
		}
		from = i + 1;
	}
	return N_FIELDS;
}

static struct one_flip *chosen;
static size_t n_chosen, room;

static void
add_flip(const struct part *p, uint64_t i, size_t at, unsigned bit)
{
	if (n_chosen == room) {
		room = room * 2 + 1024;
		chosen = realloc(chosen, room * sizeof(*chosen));
		if (chosen == NULL)
			bail_out("no memory");
	}
	chosen[n_chosen++] = (struct one_flip){ p, i, at, bit };
}

static void
count_flip(struct table *t, const struct one_flip *one, int judged,
    const char *why, struct tally *sum)
{
	size_t f = field_at(one->p->name, one->at);

	sum->flips++;
	sum->damage += judged != 0;
	if (why == NULL && judged == 0 && f < N_FIELDS)
		sum->unseen[f]++;
	if (why != NULL && sum->bad++ < SHOWN)
		diag("--bit %s %zu %u: %s %llu, %s, bit %zu: %s",
		    kind_names[t->kind], offset_of(one), one->bit,
		    one->p->name, (unsigned long long)one->i,
		    f < N_FIELDS ? fields[f].name : "",
		    8 * (one->at % 8) + one->bit, why);
}

static void
play_all(struct table *t, struct tally *sum)
{
	const struct answer *a = t->answer;

	for (size_t next = 0; next < n_chosen;) {
		size_t n = n_chosen - next < BATCH ? n_chosen - next : BATCH;
		size_t fine = play(t, chosen + next, n);

		for (size_t i = 0; i < fine; i++)
			count_flip(t, &chosen[next + i], a->judged[i], NULL,
			    sum);
		if (fine < n)
			count_flip(t, &chosen[next + fine], a->judged[fine],
			    a->why, sum);
		next += fine < n ? fine + 1 : n;
		t_watch();
	}
}

/* Of each field, in the first object of its kind that is in use, three bits. */
static void
add_some_of_each(const struct table *t, const struct part *p)
{
	size_t from = 0;
	uint64_t i = 0;

	while (i + 1 < p->n && is_zero(t->golden + p->at + i * p->size,
	    p->size < 64 ? p->size : 64))
		i++;
	for (size_t k = 0; k < N_FIELDS; k++) {
		if (fields[k].part == NULL)
			continue;
		for (size_t f = from; strcmp(fields[k].part, p->name) == 0 &&
		    f < k; f++) {
			size_t len = fields[f].len < 8 ? fields[f].len : 8;

			add_flip(p, i, fields[f].off, 0);
			add_flip(p, i, fields[f].off + len * 3 / 4, 0);
			add_flip(p, i, fields[f].off + len - 1, 4);
		}
		from = k + 1;
	}
	if (strcmp(p->name, "bucket") == 0)
		add_flip(p, 0, 4, 4);
}

/* Of those that are in use, and of one that is not, every bit. */
static void
add_all(const struct table *t, const struct part *p)
{
	int unused = 0;

	for (uint64_t i = 0; i < p->n; i++) {
		if (is_zero(t->golden + p->at + i * p->size, p->size) &&
		    unused++ > 0)
			continue;
		for (size_t at = 0; at < p->size; at++) {
			for (unsigned bit = 0; bit < 8; bit++)
				add_flip(p, i, at, bit);
		}
	}
}

static void
flip_bits(enum kind kind, const char *only)
{
	static struct tally sum;
	struct part parts[N_PARTS];
	struct table t;

	memset(&sum, 0, sizeof(sum));
	flip_table_make(&t, kind);
	is(judge(&t), 0, "%s: sound as it is made", kind_names[kind]);
	list_parts(&t.o.geo, parts);
	for (int i = 0; i < N_PARTS; i++) {
		if (only == NULL)
			add_some_of_each(&t, &parts[i]);
		else if (strcmp(parts[i].name, only) == 0)
			add_all(&t, &parts[i]);
	}
	play_all(&t, &sum);
	is(sum.bad, 0, "%s: bad flips", kind_names[kind]);
	diag("%ld bits, %ld reported as damage, %ld bad", sum.flips,
	    sum.damage, sum.bad);
	for (size_t i = 0, from = 0; i < N_FIELDS; i++) {
		if (fields[i].part == NULL)
			continue;
		for (; from < i; from++)
			if (sum.unseen[from] > 0)
				diag("unseen %s.%s %ld", fields[i].part,
				    fields[from].name, sum.unseen[from]);
		from++;
	}
	flip_table_restore(&t);
	(void)unlink(t.kept);
	free(t.golden);
}

static enum kind
kind_of(const char *name)
{
	for (int k = 0; k < N_KINDS; k++) {
		if (strcmp(kind_names[k], name) == 0)
			return (enum kind)k;
	}
	bail_out("usage: flips plain|durable|cluster [PART]");
}

static void
flip_one(const char *kind, const char *off, const char *bit)
{
	const struct part bytes = { "byte", 0, 0, 1 };
	struct one_flip one = { &bytes, 0, strtoul(off, NULL, 10),
	    (unsigned)atoi(bit) };
	struct table t;

	flip_table_make(&t, kind_of(kind));
	is((int)play(&t, &one, 1), 1, "%s", t.answer->why);
	diag("judged: %d", t.answer->judged[0]);
	(void)unlink(t.kept);
}

int
main(int argc, char **argv)
{
	struct lhi_geometry none = { 0 };
	struct part parts[N_PARTS];

	if (argc == 2 && strcmp(argv[1], "--parts") == 0) {
		list_parts(&none, parts);
		for (int i = 0; i < N_PARTS; i++)
			puts(parts[i].name);
		return 0;
	}
	if (argc < 2)
		(void)kind_of("");
	if (argc == 5 && strcmp(argv[1], "--bit") == 0)
		flip_one(argv[2], argv[3], argv[4]);
	else
		flip_bits(kind_of(argv[1]), argc > 2 ? argv[2] : NULL);
	return done();
}
