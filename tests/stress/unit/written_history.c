/* SPDX-License-Identifier: MIT */
/* See written_history.h. */
#include <string.h>

#include "written_history.h"
#include "tap.h"

struct op ops[CAP];
struct life lives[LIVES];
struct gap gaps[2];
struct history h;
struct verdict judged;

static uint32_t n_ops;
static struct stop stops[4];
static struct sighting sights[8];

/* A new story, on a table of two keys with the sessions 100, 101 ... */
void story(void)
{
	int i;

	memset(ops, 0, sizeof(ops));
	n_ops = 0;
	for (i = 0; i < LIVES; i++)
		lives[i] = (struct life){ 100 + (uint64_t)i, NEVER, NEVER };
	h = (struct history){ .ops = ops, .n_logs = 1, .cap = CAP,
	    .counts = &n_ops, .lives = lives, .n_lives = LIVES,
	    .stops = stops, .sightings = sights, .gaps = gaps, .n_keys = 2,
	    .idle_limit_ns = 200 * MS };
}

struct op *add(enum op_kind kind, uint32_t life, int64_t call,
    int64_t ret, int result)
{
	struct op *op = &ops[n_ops++];

	op->kind = (uint8_t)kind;
	op->life = life;
	op->call_ns = call * MS;
	op->limit_ns = NEVER;
	op->result = result;
	op->ret_ns = ret * MS;
	return op;
}

/* An acquire of key 0 that was served just before it returned. */
struct op *acq(uint32_t life, int64_t call, int64_t ret, uint64_t token,
    uint32_t ttl)
{
	struct op *op = add(OP_ACQUIRE, life, call, ret, 0);

	op->how = HOW_FOREVER;
	op->token = token;
	op->ttl_ms = ttl;
	op->acquired_ns = ret * MS;
	op->deadline_ns = (ret + ttl) * MS;
	return op;
}

struct op *about(struct op *of, enum op_kind kind, int64_t call,
    int64_t ret, int result)
{
	struct op *op = add(kind, of->life, call, ret, result);

	op->of = (uint32_t)(of - ops);
	op->key = of->key;
	op->token = of->token;
	return op;
}

struct op *rel(struct op *of, int64_t call, int64_t ret, int result)
{
	return about(of, OP_RELEASE, call, ret, result);
}

void ext(struct op *of, int64_t call, int64_t ret, int result,
    uint32_t ttl)
{
	struct op *op = about(of, OP_EXTEND, call, ret, result);

	op->ttl_ms = ttl;
	op->deadline_ns = (ret + ttl) * MS;
}

/* A wait that failed. */
struct op *failed(uint32_t life, enum op_how how, int64_t call,
    int64_t ret, int64_t limit, int result)
{
	struct op *op = add(OP_ACQUIRE, life, call, ret, result);

	op->how = (uint8_t)how;
	op->ttl_ms = 10;
	op->limit_ns = limit * MS;
	return op;
}

void killed(uint32_t life, int64_t at, int64_t reaped)
{
	lives[life].kill_ns = at * MS;
	lives[life].gone_ns = reaped * MS;
}

void stopped(uint32_t life, int64_t from, int64_t to)
{
	stops[h.n_stops++] = (struct stop){ life, from * MS, (from + 1) * MS,
	    to * MS };
}

void seen(uint32_t life, int64_t from, int64_t to)
{
	sights[h.n_sightings++] = (struct sighting){ 100 + life, 0, from * MS,
	    to * MS, 0 };
}

void seen_behind(uint32_t life, uint32_t before, int64_t from, int64_t to)
{
	seen(life, from, to);
	sights[h.n_sightings - 1].before = 100 + before;
}

struct op *shared(struct op *op)
{
	op->mode = LH_SHARED;
	return op;
}

struct op *conv(struct op *of, enum lh_mode mode, int64_t call, int64_t ret,
    int result, uint64_t token)
{
	struct op *op = about(of, OP_CONVERT, call, ret, result);

	op->mode = (uint8_t)mode;
	if (result == 0) {
		op->token = token;
		op->deadline_ns = of->deadline_ns;
	}
	return op;
}

static void tell(enum rule rule, const char *text, void *arg)
{
	(void)arg;
	diag("%s: %s", rule_name(rule), text);
}

void accepts(const char *what)
{
	int64_t n = history_check(&h, &judged, tell, NULL);

	is(n, 0, "accepts: %s", what);
}

/* By that rule, once, and by no other. */
void rejects(enum rule rule, const char *what)
{
	int64_t n = history_check(&h, &judged, NULL, NULL);

	ok(n == 1 && judged.broken[rule] == 1, "rejects, rule %s: %s",
	    rule_name(rule), what);
	if (n != 1 || judged.broken[rule] != 1)
		history_check(&h, &judged, tell, NULL);
}

void rejects_also(enum rule rule, const char *what)
{
	int64_t n = history_check(&h, &judged, NULL, NULL);

	ok(n >= 1 && judged.broken[rule] == 1, "rejects, rule %s: %s",
	    rule_name(rule), what);
}
