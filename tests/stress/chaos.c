/* SPDX-License-Identifier: MIT */
/*
 * Do the guarantees hold while participants are killed and stopped at random,
 * with no daemon there to help, or one that is killed as well?
 *
 *	chaos [--seconds 60] [--procs 8] [--order bounded|fifo|barge] [--grow]
 *	      [--exclusive] [--no-evict] [--reaper] [--threads [--shared]]
 *	      [--seed N] [--dump FILE] [--judge-fifo]
 *
 * Runs one round on a table of order bounded, which has room for only a few
 * keys, and one on a FIFO table that begins small and has to grow.  With
 * --order it runs only one, which grows with --grow.  Each has a few contended
 * keys, readers and writers, and one more process that evicts keys.  Then it
 * judges the history that the participants left (history/history.h), the table
 * itself, and whether every participant returned.  The second round has a
 * reaper, too.  TAP; the status is non-zero if anything did not hold.
 *
 * --exclusive leaves out the readers, --no-evict the one who evicts; --reaper
 * puts one into each round.  --dump writes every record to a file, --judge-fifo
 * holds a table to the FIFO rule whatever it promises: with --order barge it
 * must be found wanting, which shows that the rule sees something.
 *
 * LH_TEST_SLOW=N allows N times as long wherever time is a limit.
 */
#include <errno.h>
#include <getopt.h>
#include <sys/mman.h>

#include "history/cleanup.h"
#include "settings.h"
#include "tap.h"

static const char *const orders[] = { "bounded", "fifo", "barge" };

struct round *
round_new(uint32_t n_logs, uint32_t cap)
{
	struct round *r = mmap(NULL, sizeof(*r), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (r == MAP_FAILED)
		return NULL;
	r->j = journal_new(n_logs, cap);
	if (!r->j) {
		munmap(r, sizeof(*r));
		return NULL;
	}
	return r;
}

void
round_free(struct round *r)
{
	journal_free(r->j);
	munmap(r, sizeof(*r));
}

static void
play(const struct settings *set, enum lh_order order, bool grow, bool reaper,
    double seconds)
{
	uint32_t logs = set->procs + !set->no_evict + reaper;
	struct settings mine = *set;
	char name[64];
	struct round *r;
	struct fault_injector h;

	snprintf(name, sizeof(name), "%s%s%s, %u %s", orders[order],
	    grow ? ", growing" : "", reaper ? ", with a reaper" : "",
	    set->procs,
	    set->threads ? "threads" : "processes");
	r = round_new(logs, (uint32_t)(4000 * seconds) + 4000);
	if (!r || fault_injector_new(&h))
		bail_out("no memory");
	mine.seconds = seconds;
	snprintf(r->table, sizeof(r->table), "chaos-%d-%s", (int)getpid(),
	    orders[order]);
	r->open = (struct lh_open_opts)LH_OPEN_OPTS_INIT;
	r->open.order = order;
	/* Few, so that sessions, leases and keys are used again and again;
	 * or more than a new table has room for. */
	r->open.max_keys = grow ? 20000 : 16;
	r->weeds = grow ? 30000 : 24;
	r->exclusive = set->exclusive;
	r->evictor = set->no_evict ? NOBODY : set->procs;
	r->reaper = reaper ? logs - 1 : NOBODY;
	r->open.max_sessions = set->procs + 14;
	r->open.max_leases = 64 * (set->procs + 14);
	r->open.application = "chaos";
	r->seed = set->seed * 4 + order;
	r->slow = set->slow;
	r->began_ns = now_ns();
	if (set->threads)
		fault_injector_threads(&h, r, seconds, set->shared);
	else
		fault_injector_processes(&h, r, seconds);
	judge(&mine, r, &h, name, set->judge_fifo ? LH_ORDER_FIFO : order);
	judge_table(r, name);
	fault_injector_free(&h);
	round_free(r);
}

static void
usage(void)
{
	fprintf(stderr, "usage: chaos [--seconds N] [--procs N] "
	    "[--order bounded|fifo|barge] [--grow]\n\t[--exclusive] "
	    "[--no-evict] [--reaper] [--threads [--shared]] [--seed N]\n\t"
	    "[--dump FILE] [--judge-fifo]\n");
	exit(64);
}

static double
number(const char *text, double min, double max)
{
	char *end;
	double n = strtod(text, &end);

	if (end == text || *end || !(n >= min && n <= max)) {
		fprintf(stderr, "chaos: %s: not a number from %g to %g\n",
		    text, min, max);
		exit(64);
	}
	return n;
}

static void
options(struct settings *set, int argc, char **argv)
{
	static const struct option opts[] = {
		{ "seconds", 1, NULL, 's' }, { "procs", 1, NULL, 'p' },
		{ "order", 1, NULL, 'o' }, { "threads", 0, NULL, 't' },
		{ "shared", 0, NULL, 'S' }, { "seed", 1, NULL, 'e' },
		{ "dump", 1, NULL, 'd' }, { "judge-fifo", 0, NULL, 'f' },
		{ "exclusive", 0, NULL, 'x' }, { "no-evict", 0, NULL, 'n' },
		{ "grow", 0, NULL, 'g' }, { "reaper", 0, NULL, 'r' },
		{ NULL, 0, NULL, 0 }
	};
	int c, i;

	while ((c = getopt_long(argc, argv, "", opts, NULL)) != -1) {
		switch (c) {
		case 's': set->seconds = number(optarg, 0.1, 86400); break;
		case 'p': set->procs = (unsigned)number(optarg, 1, 64); break;
		case 't': set->threads = true; break;
		case 'S': set->shared = true; break;
		case 'e': set->seed = (uint64_t)number(optarg, 0, 1e15); break;
		case 'd': set->dump = optarg; break;
		case 'f': set->judge_fifo = true; break;
		case 'x': set->exclusive = true; break;
		case 'n': set->no_evict = true; break;
		case 'g': set->grow = true; break;
		case 'r': set->reaper = true; break;
		case 'o':
			for (i = 0; i < 3; i++)
				if (!strcmp(optarg, orders[i]))
					set->order = i;
			if (set->order < 0)
				usage();
			break;
		default: usage();
		}
	}
	if (optind != argc || (set->shared && !set->threads))
		usage();
}

int
main(int argc, char **argv)
{
	struct settings set = { .seconds = 60, .slow = 1, .procs = 8,
	    .order = -1, .seed = 20261121 };
	struct cleanup cleanup = { 0 };
	const char *slow = getenv("LH_TEST_SLOW");
	int i;

	if (slow)
		set.slow = number(slow, 1, 1000);
	options(&set, argc, argv);
	for (i = 0; i < 3; i++)
		cleanup_add(&cleanup, "/dev/shm/leasehold.%u/chaos-%d-%s.table",
		    getuid(), (int)getpid(), orders[i]);
	i = cleanup_start(&cleanup);
	if (i)
		bail_out("no cleanup process: %s", strerror(-i));
	diag("seed %" PRIu64 ", %g s", set.seed, set.seconds);
	if (set.order >= 0) {
		play(&set, (enum lh_order)set.order, set.grow, set.reaper,
		    set.seconds);
	} else {
		play(&set, LH_ORDER_BOUNDED, set.grow, set.reaper,
		    set.seconds * 0.6);
		play(&set, LH_ORDER_FIFO, true, true, set.seconds * 0.4);
	}
	cleanup_stop(&cleanup);
	return done();
}
