/* SPDX-License-Identifier: MIT */
/* Counts what a shim does, and writes the counters in Prometheus' text
 * format. */
#include <inttypes.h>
#include "shim.h"

#define FIRST_US 250		/* upper bound of the first class of
				 * latencies */

void
metrics_add_latency(struct shim *s, int64_t ns)
{
	uint64_t us = ns < 0 ? 0 : (uint64_t)ns / 1000;
	unsigned i = 0;

	while (i < SHIM_LATENCIES && us >= (uint64_t)FIRST_US << i)
		i++;
	s->count.latency[i]++;
	s->count.latency_us += us;
}

static void
print_head(FILE *f, const char *name, const char *type, const char *help)
{
	fprintf(f, "# HELP leasehold_shim_%s %s\n# TYPE leasehold_shim_%s %s\n",
	    name, help, name, type);
}

static void
print_number(const struct shim *s, FILE *f, const char *name, const char *type,
    uint64_t n, const char *help)
{
	print_head(f, name, type, help);
	fprintf(f, "leasehold_shim_%s{table=\"%s\"} %" PRIu64 "\n", name,
	    lh_table_name(s->lh), n);
}

static void
print_seconds(const struct shim *s, FILE *f, const char *name, int64_t ns,
    const char *help)
{
	print_head(f, name, "gauge", help);
	fprintf(f, "leasehold_shim_%s{table=\"%s\"} %.6f\n", name,
	    lh_table_name(s->lh), (double)ns / (double)NS_PER_SEC);
}

static void
write_answers(const struct shim *s, FILE *f)
{
	static const struct {
		uint8_t type;
		const char *name;
	} kinds[] = {
		{ FRAME_QUEUED, "queued" }, { FRAME_GRANTED, "granted" },
		{ FRAME_BUSY, "busy" }, { FRAME_AWAY, "away" },
		{ FRAME_DENIED, "denied" }, { FRAME_FAILED, "failed" },
		{ FRAME_HOLDERS, "holders" }, { FRAME_TEXT, "stats" },
	};

	print_head(f, "answers_total", "counter",
	    "Answers to processes, by kind.");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		fprintf(f, "leasehold_shim_answers_total{table=\"%s\","
		    "kind=\"%s\"} %" PRIu64 "\n", lh_table_name(s->lh),
		    kinds[i].name, s->count.answers[kinds[i].type]);
}

static void
write_latencies(const struct shim *s, FILE *f)
{
	uint64_t n = 0;

	print_head(f, "claim_seconds", "histogram",
	    "Time from sending a claim to its grant or refusal.");
	for (unsigned i = 0; i <= SHIM_LATENCIES; i++) {
		n += s->count.latency[i];
		fprintf(f, "leasehold_shim_claim_seconds_bucket{table=\"%s\","
		    "le=\"", lh_table_name(s->lh));
		if (i < SHIM_LATENCIES)
			fprintf(f, "%g", (double)((uint64_t)FIRST_US << i) /
			    1e6);
		else
			fprintf(f, "+Inf");
		fprintf(f, "\"} %" PRIu64 "\n", n);
	}
	fprintf(f, "leasehold_shim_claim_seconds_sum{table=\"%s\"} %.6f\n"
	    "leasehold_shim_claim_seconds_count{table=\"%s\"} %" PRIu64 "\n",
	    lh_table_name(s->lh), (double)s->count.latency_us / 1e6,
	    lh_table_name(s->lh), n);
}

static void
write_session(const struct shim *s, FILE *f)
{
	uint64_t now_ns = shim_boot_ns();
	int64_t least = s->count.margin_min_ns;

	print_number(s, f, "up", "gauge", s->up && !s->expired,
	    "1: the session with the cluster is valid.");
	print_number(s, f, "store", "gauge",
	    shim_refusal(s)[0] != '\0' ? KV_REFUSED : s->store,
	    "The cluster: 0: unreachable; 1: reachable; 2: refused.");
	print_seconds(s, f, "margin_seconds", s->until_ns > now_ns ?
	    (int64_t)(s->until_ns - now_ns) : 0, "Time until leases of cluster "
	    "keys end, unless the cluster confirms the session.");
	print_seconds(s, f, "margin_seconds_min",
	    least == INT64_MAX ? 0 : least,
	    "Least margin that was left when the session was confirmed.");
}

static void
write_keys(const struct shim *s, FILE *f)
{
	const struct shim_counts *c = &s->count;

	print_number(s, f, "keys", "gauge", s->n_keys, "Keys that the shim "
	    "knows.");
	print_number(s, f, "delegations", "gauge", s->n_rights,
	    "Keys that this host holds.");
	print_number(s, f, "delegations_taken_total", "counter", c->taken,
	    "Keys that this host was granted.");
	print_number(s, f, "delegations_returned_total", "counter", c->returned,
	    "Keys that this host returned.");
	print_number(s, f, "recalls_total", "counter", c->recalls,
	    "Keys held here that other hosts queued for.");
	print_number(s, f, "reanchored_total", "counter", c->reanchored,
	    "Keys held here that got a new base of tokens.");
	print_number(s, f, "sessions_lost_total", "counter", c->lost,
	    "Sessions with the cluster that were lost.");
	print_number(s, f, "keys_broken_total", "counter", c->broken,
	    "Keys whose leases were broken because their right was void.");
	print_number(s, f, "foreign_total", "counter", c->foreign,
	    "Locks of other programs found among the claims.");
	print_number(s, f, "clients", "gauge", s->n_clients, "Connections.");
	print_number(s, f, "wants", "gauge", s->n_requests,
	    "Open requests.");
	print_number(s, f, "clients_total", "counter", c->clients,
	    "Connections accepted.");
	print_number(s, f, "refused_total", "counter", c->refused,
	    "Connections closed by the shim.");
}

static void
write_store(const struct shim *s, FILE *f)
{
	struct recipe_stats r;

	recipe_stats(s->recipe, &r);
	print_number(s, f, "store_calls_total", "counter", r.calls,
	    "Calls to the cluster's store.");
	print_number(s, f, "store_unknown_total", "counter", r.unknown,
	    "Calls with an unknown outcome, which were repeated.");
	print_number(s, f, "store_refused_total", "counter", r.refused,
	    "Calls that were certainly not applied.");
	print_number(s, f, "heartbeats_total", "counter", r.heartbeats,
	    "Confirmations of the session.");
	print_number(s, f, "sessions_total", "counter", r.sessions,
	    "Sessions that were made or adopted.");
	print_number(s, f, "stolen_total", "counter", r.stolen,
	    "Dead sessions of other hosts that were ended.");
	print_number(s, f, "store_lists_total", "counter", r.lists,
	    "Full reads of the store.");
	print_number(s, f, "store_gaps_total", "counter", r.gaps,
	    "Full reads because changes may have been missed.");
	print_seconds(s, f, "store_wait_seconds",
	    (int64_t)r.wait_ms * NS_PER_MS, "Time until keys are granted "
	    "again, because the store was older than before.");
	print_number(s, f, "swept_total", "counter", r.swept,
	    "Leftover keys in the store that were deleted.");
}

void
metrics_write(const struct shim *s, FILE *f)
{
	write_session(s, f);
	write_keys(s, f);
	write_answers(s, f);
	write_latencies(s, f);
	if (s->recipe != NULL)
		write_store(s, f);
}
