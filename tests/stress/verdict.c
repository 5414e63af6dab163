/* SPDX-License-Identifier: MIT */
/*
 * Judges a round of chaos, as lines of TAP: the history that the participants
 * left (history/history.h), the notes of the observers, whether every
 * participant returned, and the table as a new process finds it afterwards.
 */
#include <errno.h>

#include "settings.h"
#include "tap.h"

static void
tell(enum rule rule, const char *text, void *arg)
{
	unsigned *told = arg;
	size_t len;

	if (++*told > 10)
		return;
	for (; *text; text += len + (text[len] == '\n')) {
		len = strcspn(text, "\n");
		diag_failed("%s: %.*s", rule_name(rule), (int)len, text);
	}
}

static int
holds_nothing(const struct lh_key_info *info, void *arg)
{
	(void)arg;
	return info->n_holders || info->n_waiters ? 1 : 0;
}

static void
finding(const char *text, void *arg)
{
	(void)arg;
	diag_failed("lh_check: %s", text);
}

/* Checks the table as a new process finds it when all others have gone. */
void
judge_table(struct round *r, const char *name)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	unsigned taken = 0, clean = 0, k;
	struct lh_lease lease;
	struct lh *lh;
	int rc = lh_open(&lh, r->table, &r->open);

	if (!is(rc, 0, "%s: a newcomer can attach", name))
		return;
	o.max_wait_ms = (int64_t)(500 * r->slow);
	for (k = 0; k < N_KEYS; k++) {
		rc = lh_acquire(lh, round_keys[k], &o, &lease);
		if (rc)
			diag_failed("key %u: %s", k, lh_error_detail());
		else
			taken += lh_release(lh, &lease) == 0;
		clean += lh_status(lh, round_keys[k], NULL, holds_nothing,
		    NULL) == 0;
	}
	is(taken, N_KEYS, "%s: and take every key within 0.5 s (G4)", name);
	is(clean, N_KEYS, "%s: no holder and no waiter is left", name);
	is(lh_check(lh, finding, NULL), 0, "%s: lh_check() finds nothing",
	    name);
	is(lh_close(lh), 0, "%s: and it can detach", name);
}

static void
judge_watch(const struct round *r, const char *name)
{
	diag("%s: %u looks at the queues, %u waiters seen, %u checks of the "
	    "table", name, r->looks, r->n_sights, r->checks);
	is(r->findings, 0, "%s: no finding while it ran", name);
	is(r->misordered, 0, "%s: queues were in order of priority", name);
	is(r->failures, 0, "%s: no question failed", name);
	if (r->finding[0])
		diag_failed("first: %s", r->finding);
}

static void
judge_history(const struct settings *set, const struct round *r,
    const struct fault_injector *h, const struct history *hist,
    const char *name)
{
	struct verdict v;
	unsigned told = 0;
	int64_t n = history_check(hist, &v, tell, &told);
	double wait = (double)v.wait_longest_ns / 1e6;

	if (n < 0)
		bail_out("%s: the history cannot be judged: %s", name,
		    strerror((int)-n));
	diag("%s: %" PRIu64 " acquire calls: %" PRIu64 " granted, %" PRIu64
	    " refused, %" PRIu64 " unknown", name, v.calls, v.grants,
	    v.refusals, v.unknown);
	diag("%s: %" PRIu64 " extends, %" PRIu64 " verifies, %" PRIu64
	    " releases, %" PRIu64 " told that it was lost; %" PRIu64
	    " attempts after the release, %" PRIu64 " by old copies", name,
	    v.extends, v.verifies, v.releases, v.lost, v.posthumous, v.old);
	diag("%s: granted %" PRIu64 " exclusive, %" PRIu64 " shared, up to %u "
	    "at once; %" PRIu64 " upgrades, %" PRIu64 " busy; %" PRIu64
	    " downgrades; %" PRIu64 " evictions, up to %u keys; %u kills, %u "
	    "stops; %" PRId64 " violations", name, v.grants - v.shared,
	    v.shared, r->readers_most, v.upgrades, v.upgrades_busy,
	    v.downgrades, v.evictions, r->keys_most, h->kills, h->n_stops, n);
	diag("%s: longest idle while somebody waited %.1f ms, longest wait "
	    "%.0f ms, most often overtaken %" PRIu64 " times, machine stood "
	    "still %u times", name, (double)v.idle_longest_ns / 1e6, wait,
	    v.overtaken_most, r->n_gaps);
	diag("%s: a lease ended up to %.1f ms before it was asked to", name,
	    (double)v.early_most_ns / 1e6);
	cmp(v.grants, >=, (uint64_t)(20 * set->seconds / r->slow),
	    "%s: %" PRIu64 " acquisitions", name, v.grants);
	is(v.broken[RULE_OVERLAP], 0, "%s: exclusion violations (G1)", name);
	is(v.broken[RULE_TOKEN], 0, "%s: token regressions (G2)", name);
	is(v.broken[RULE_EXPIRY], 0, "%s: expiry violations (G3, T4)", name);
	is(v.broken[RULE_RESULT], 0, "%s: answers without a reason", name);
	is(v.broken[RULE_NOTE], 0, "%s: wrong notes, of %" PRIu64, name,
	    v.noted);
	is(v.broken[RULE_IDLE], 0, "%s: keys left idle while somebody waited "
	    "(G6), of %" PRIu64 " waits", name, v.waits);
	is(v.broken[RULE_ORDER], 0, "%s: overtakings (G7), of %" PRIu64
	    " pairs; %" PRIu64 " excused", name, v.pairs, v.excused);
	if (!set->exclusive)
		ok(v.shared && v.upgrades && v.upgrades_busy && v.downgrades,
		    "%s: readers, who up- and downgraded", name);
	if (!set->no_evict)
		cmp(v.evictions, >, 0, "%s: keys were evicted", name);
	cmp(v.cancel_longest_ns, <, (int64_t)(1e9 * r->slow),
	    "%s: a cancelled wait ends, after %.1f ms at the latest", name,
	    (double)v.cancel_longest_ns / 1e6);
}

static void
dump(const struct settings *set, const struct history *h)
{
	FILE *f = fopen(set->dump, "a");
	uint32_t l, i;

	if (!f)
		bail_out("%s: %s", set->dump, strerror(errno));
	fprintf(f, "# log index life kind how key priority call ret limit "
	    "acquired deadline result token of notes mode\n");
	for (l = 0; l < h->n_logs; l++) {
		for (i = 0; i < h->counts[l]; i++) {
			const struct op *o = &h->ops[(size_t)l * h->cap + i];

			fprintf(f, "%u %u %u %u %u %u %u %" PRId64 " %" PRId64
			    " %" PRId64 " %" PRId64 " %" PRId64 " %d %" PRIu64
			    " %u %u %u\n", l, l * h->cap + i, o->life, o->kind,
			    o->how, o->key, o->priority, o->call_ns,
			    o->ret_ns, o->limit_ns, o->acquired_ns,
			    o->deadline_ns, o->result, o->token, o->of,
			    o->notes, o->mode);
		}
	}
	fclose(f);
}

void
judge(const struct settings *set, const struct round *r,
    const struct fault_injector *h, const char *name, enum lh_order order)
{
	uint32_t counts[MAX_WORKERS + 1], l;
	struct history hist = {
		.ops = r->j->ops, .n_logs = r->j->n_logs, .cap = r->j->cap,
		.counts = counts, .lives = h->lives, .n_lives = h->n_lives,
		.stops = h->stops, .n_stops = h->n_stops,
		.sightings = r->sights, .n_sightings = r->n_sights,
		.gaps = r->gaps, .n_gaps = r->n_gaps, .n_keys = N_KEYS,
		.fifo = order == LH_ORDER_FIFO,
		.barge = order == LH_ORDER_BARGE, .around = 24,
		.idle_limit_ns = (int64_t)(200e6 * r->slow),
	};

	for (l = 0; l < r->j->n_logs; l++)
		counts[l] = r->j->logs[l].n;
	if (set->dump)
		dump(set, &hist);
	judge_history(set, r, h, &hist, name);
	judge_watch(r, name);
	is(h->crashed, 0, "%s: nobody ended in a way that nobody asked for",
	    name);
	is(h->hung, 0, "%s: everybody came home", name);
	is(h->full, 0, "%s: no log was too small", name);
	if (set->threads)
		return;
	diag("%s: killed %u: %u holding, %u waiting, %u inside a short call, "
	    "%u while stopped; %u stops", name, h->kills, h->kills_holding,
	    h->kills_waiting, h->kills_inside, h->kills_stopped, h->n_stops);
	cmp(h->kills, >=, (unsigned)set->seconds, "%s: %u kills", name,
	    h->kills);
	cmp(h->n_stops, >=, (unsigned)set->seconds, "%s: %u stops", name,
	    h->n_stops);
}
