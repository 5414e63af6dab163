/* SPDX-License-Identifier: MIT */
/*
 * `leasehold watch`: prints changes at one key, or at many, as they happen.
 *
 * It reads the table every 20 ms and prints the differences; the table's users
 * do not notice.  If a read takes long (many keys), it reads less often, so
 * that it takes a tenth of a processor at most.  A lease that begins and ends
 * between two reads is missed; the table's log has it (log_query.h).
 *
 * Once a second it opens the table anew, because a removed table would look as
 * if nothing happened in it.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <leasehold.h>
#include "daemon/exit_status.h"
#include "daemon/number.h"
#include "daemon/text.h"
#include "daemon/usage_error.h"
#include "message.h"
#include "open_table.h"
#include "output.h"
#include "parse.h"
#include "show.h"
#include "snapshot_diff.h"
#include "verbs.h"

#define LOOK_NS INT64_C(20000000)
#define LOOK_MAX_NS INT64_C(1000000000)
#define OPEN_NS INT64_C(1000000000)

static const char help[] =
"usage: leasehold watch [OPTION...] KEY\n"
"       leasehold watch [OPTION...] --prefix TEXT\n"
"\n"
"Prints who holds KEY (or the keys that begin with TEXT) and who waits, and\n"
"then every change as it happens, until INT or TERM.\n"
"Exit status 0: a change was seen; 1: none was seen.\n"
"\n"
"  -n, --count N     end after N changes\n"
"  -w, --wait TIME   end after that time\n"
"      --renewals    also print renewals\n"
"      --prefix TEXT the keys that begin with TEXT; \"\": all\n"
"      --json        print one JSON object a line\n"
"      --table NAME  use that table, not $LEASEHOLD_TABLE or \"default\"\n"
"      --uid N       look at the tables of user N, as root\n"
"      --system      use the machine's table of that name, not your own\n"
"      --help        print this\n";

struct watch {
	struct table_opts table;
	const char *key;	/* NULL: all with this prefix */
	const char *prefix;
	uint64_t count;		/* changes to print; 0: no end */
	int64_t wait_ms;	/* < 0: no end */
	bool renewals;
	struct lh *lh;
	uint64_t told;		/* changes printed */
	bool first;		/* printing the present state, not changes */
};

static volatile sig_atomic_t interrupted;

static void
note_interrupt(int sig)
{
	(void)sig;
	interrupted = 1;
}

static const char *
change_word(const struct watch *w, enum party_change what)
{
	static const char *const changes[] = {
		"ended", "left", "acquired", "converted", "renewed", "queued"
	};

	return !w->first ? changes[what] :
	    what == CHANGE_QUEUED ? "waits" : "holds";
}

static void
print_time(struct watch *w)
{
	int64_t ms = lh_epoch_ms(w->lh, lh_clock_ns(w->lh));
	time_t s = (time_t)(ms / 1000);
	char text[32] = "?";
	struct tm tm;

	if (localtime_r(&s, &tm) != NULL)
		(void)strftime(text, sizeof(text), "%H:%M:%S", &tm);
	printf("%s.%03d  ", text, (int)(ms % 1000));
}

static void
print_text(struct watch *w, enum party_change what, const struct key_party *was,
    const struct key_party *now)
{
	char name[NAME_MAX_TEXT], who[PARTY_MAX], info[INFO_MAX_TEXT];
	char span[SPAN_MAX];
	const struct key_party *a = now != NULL ? now : was;
	int64_t at = lh_clock_ns(w->lh), since = a->p.since_ns;

	print_time(w);
	printf("%s  %-9s  %s, %s", text_name(name, a->key), change_word(w,
	    what), show_party(who, &a->p), show_mode(a->p.mode));
	if (a->p.token != 0)
		printf(", token %" PRIu64, a->p.token);
	if (a->p.rank != 0 && a->p.priority != 0)
		printf(", priority %" PRIu32, a->p.priority);
	if (what == CHANGE_ACQUIRED && was != NULL)
		printf(", waited for %s", text_span(span,
		    now->p.since_ns - was->p.since_ns));
	else if (what == CHANGE_ENDED || (w->first && a->p.rank == 0))
		printf(", held for %s", text_span(span, at - since));
	else if (what == CHANGE_LEFT || (w->first && a->p.rank != 0))
		printf(", waited for %s", text_span(span, at - since));
	else if (what == CHANGE_RENEWED)
		printf(", for %s", text_span(span, now->p.expires_ns - at));
	printf("%s\n", show_info(info, ": ", &a->p));
}

static int
print_json(struct watch *w, enum party_change what, const struct key_party *a)
{
	int64_t zero_ms = lh_epoch_ms(w->lh, 0);
	json_t *o = json_object();
	int bad;

	if (o == NULL)
		return -ENOMEM;
	bad = show_set_u64(o, "time_ms", (uint64_t)lh_epoch_ms(w->lh,
	    lh_clock_ns(w->lh)));
	bad |= json_object_set_new(o, "table",
	    json_string(lh_table_name(w->lh)));
	bad |= show_set_bytes(o, "key", a->key);
	bad |= json_object_set_new(o, "event", json_string(change_word(w,
	    what)));
	bad |= json_object_set_new(o, "party",
	    show_party_json(zero_ms, &a->p));
	if (bad == 0) {
		(void)json_dumpf(o, stdout, JSON_COMPACT);
		(void)putchar('\n');
	}
	json_decref(o);
	return bad != 0 ? -ENOMEM : 0;
}

static int
print_change(enum party_change what, const struct key_party *was,
    const struct key_party *now, void *arg)
{
	struct watch *w = arg;
	int e = 0;

	if (what == CHANGE_RENEWED && !w->renewals)
		return 0;
	if (w->table.json)
		e = print_json(w, what, now != NULL ? now : was);
	else
		print_text(w, what, was, now);
	if (!w->first)
		w->told++;
	return e != 0 ? e : w->told == w->count && w->count > 0;
}

static int64_t
mono_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

/* Sleeps until the next read; the last one took that long. */
static void
sleep_until_next_look(int64_t took_ns, int64_t end_ns)
{
	int64_t ns = took_ns * 10, now = mono_ns();
	struct timespec ts;

	if (ns < LOOK_NS)
		ns = LOOK_NS;
	if (ns > LOOK_MAX_NS)
		ns = LOOK_MAX_NS;
	if (ns > end_ns - now)
		ns = end_ns > now ? end_ns - now : 0;
	ts.tv_sec = (time_t)(ns / 1000000000);
	ts.tv_nsec = (long)(ns % 1000000000);
	(void)nanosleep(&ts, NULL);
}

/* Opens the table of that name again.  Returns 0, or -errno; nothing changes
 * then. */
static int
open_again(struct watch *w)
{
	struct lh *lh;
	int e = open_table(&lh, &w->table, LH_NO_CREATE, NULL);

	if (e != 0)
		return e;
	(void)lh_close(w->lh);
	w->lh = lh;
	return 0;
}

/* Returns 0, -errno, or EX_SYSTEM if it cannot be printed. */
static int
follow_changes(struct watch *w)
{
	struct key_parties parties[2] = { { .n = 0 }, { .n = 0 } };
	int64_t began = mono_ns(), opened = began, at = began;
	int64_t end = w->wait_ms < 0 ? INT64_MAX :
	    began + w->wait_ms * 1000000;
	int old = 0, e = 0;

	w->first = true;
	while (e == 0) {
		e = snapshot_diff_read(&parties[!old], w->lh, w->key,
		    w->prefix);
		if (e == 0) {
			e = snapshot_diff_compare(&parties[old], &parties[!old],
			    print_change, w);
			old = !old;
			w->first = false;
		} else if (e == -EAGAIN) {
			e = 0;		/* try again at the next read */
		}
		if (e >= 0 && output_flush(EX_YES) != EX_YES)
			e = EX_SYSTEM;
		if (e != 0 || interrupted || at >= end)
			break;
		sleep_until_next_look(mono_ns() - at, end);
		at = mono_ns();
		if (at - opened >= OPEN_NS) {
			e = open_again(w);
			opened = at;
		}
	}
	snapshot_diff_free(&parties[0]);
	snapshot_diff_free(&parties[1]);
	return e;
}

static int
watch_table(struct watch *w)
{
	const struct sigaction sa = { .sa_handler = note_interrupt };
	int e = open_table(&w->lh, &w->table, LH_NO_CREATE, NULL), status;

	if (e == -ENOENT)
		return open_table_missing(&w->table);
	if (e != 0)
		return message_error(e, lh_error_detail(), "cannot open the "
		    "table");
	(void)sigaction(SIGINT, &sa, NULL);
	(void)sigaction(SIGTERM, &sa, NULL);
	e = follow_changes(w);
	status = w->told > 0 ? EX_YES : EX_NO;
	if (e == EX_SYSTEM) {
		status = EX_SYSTEM;
	} else if (e == -ENOENT) {
		message("the table '%s' was removed",
		    open_table_name(&w->table));
		status = EX_AWAY;
	} else if (e < 0) {
		status = message_error(e, e == -ENOMEM ? NULL :
		    lh_error_detail(), "cannot watch any longer");
	}
	(void)lh_close(w->lh);
	return status;
}

static int
take_option(int c, char *value, void *arg)
{
	struct watch *w = arg;

	switch (c) {
	case 'n':
		return parse_times("--count", value, &w->count);
	case 'p':
		w->prefix = value;
		return 0;
	case 'r':
		w->renewals = true;
		return 0;
	default:			/* 'w' */
		return parse_span("--wait", value, &w->wait_ms);
	}
}

int
verb_watch(int argc, char **argv)
{
	static const struct option options[] = {
		{ "count", required_argument, NULL, 'n' },
		{ "prefix", required_argument, NULL, 'p' },
		{ "renewals", no_argument, NULL, 'r' },
		{ "wait", required_argument, NULL, 'w' },
		{ NULL, 0, NULL, 0 },
	};
	struct watch w = { .wait_ms = -1 };
	const struct verb_opts own = { .options = options,
	    .letters = "n:w:", .take = take_option, .arg = &w,
	    .reads = true };
	int status;

	if (!parse_verb_opts("watch", help, argc, argv, &w.table, &own,
	    &status))
		return status;
	if (argc - optind != (w.prefix == NULL ? 1 : 0))
		return usage_error("watch takes one key, or --prefix: "
		    "leasehold watch KEY");
	w.key = argv[optind];
	if (w.prefix == NULL)
		status = parse_key(w.key);
	return status != 0 ? status : watch_table(&w);
}
