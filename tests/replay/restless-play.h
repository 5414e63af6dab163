/* SPDX-License-Identifier: MIT */
/*
 * The player of g-restless-*.c: keeps one word changing under an operation.
 */
#ifndef TESTS_REPLAY_RESTLESS_PLAY_H
#define TESTS_REPLAY_RESTLESS_PLAY_H

#include "restless-stage.h"

#define SOON_MS t_ms(8000)

/* MAPPED: of a mapping of the operation's own. */
enum part {
	HEADER, SESSION, CHUNK, CLAIM, BUCKET, SLOT, VALUE, REQUEST,
	MAPPED_HEADER, MAPPED_SLOT
};

/* How the field is changed: its bits are flipped, set or cleared; or it gets
 * the value again that it had at first. */
enum change { FLIP, RAISE, CLEAR, RESET };

struct row {
	const char *bound;	/* the function whose loop it is */
	const char *act;	/* as in the list of acts */
	const char *what;	/* before each of these accesses ... */
	enum part part;		/* ... of this field ... */
	size_t off;
	uint64_t bits;		/* ... these bits are changed; 0: what was
				 * prepared is a circle, and findings tell */
	enum change change;
	const char *from;	/* from this point on ... */
	uint32_t skip;		/* ... behind so many accesses ... */
	uint32_t each;		/* ... at one of so many; 0: at all */
	void (*once)(struct stage *st);	/* and this is done there */
	void (*with)(shm_u32 *field);	/* and this whenever it is changed */
	bool harmless;		/* nothing is decided by it: no damage */
};

#define OF(p, type, field) .part = p, .off = offsetof(struct type, field)
#define BIT(n) (UINT64_C(1) << (n))

/* The operations of this file. */
static const struct act *acts_at(size_t i);

/* The row that is played, where its table is mapped, and what came of it. */
static const struct row *row;
static struct lhi_view *view;
static bool begun;
static uint64_t first;		/* RESET: what it was; 0: not seen yet */
static uint32_t accesses;

/* Where the table is mapped in which addr is: this row's, or any. */
static uintptr_t
base_of(const char *addr)
{
	static uintptr_t from, to, base;
	uintptr_t a = (uintptr_t)addr, off;
	char line[400];
	FILE *f;

	if (row->part < MAPPED_HEADER)
		return (uintptr_t)view->hdr;
	if (a >= from && a < to)
		return base;
	f = fopen("/proc/self/maps", "re");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		if (sscanf(line, "%lx-%lx %*s %lx", &from, &to, &off) == 3 &&
		    a >= from && a < to)
			break;
	}
	if (f != NULL)
		(void)fclose(f);
	return base = from - off;
}

static bool
is_in(const char *addr, uint64_t at, uint64_t n, size_t size, size_t off)
{
	uint64_t o = (uint64_t)((uintptr_t)addr - base_of(addr));

	return o >= at && o < at + n * size && (o - at) % size == off;
}

/* Of the floors, which are one array, any. */
static bool
is_of_field(const char *addr)
{
	const struct lhi_geometry *g = &view->geo;

	switch (row->part) {
	case HEADER:
	case MAPPED_HEADER:
		return is_in(addr, row->off, row->off ==
		    offsetof(struct shm_header, floor) ? SHM_SHARDS : 1, 8, 0);
	case SESSION:
		return is_in(addr, g->sessions_off, g->max_sessions,
		    sizeof(struct shm_session), row->off);
	case CHUNK:
		return is_in(addr, g->chunks_off, g->n_chunks,
		    sizeof(struct shm_chunk), row->off);
	case CLAIM:
		return is_in(addr, g->claims_off, g->n_claims,
		    sizeof(struct shm_claim), row->off);
	case BUCKET:
		return is_in(addr, g->buckets_off + row->off,
		    g->n_buckets - row->off / 8, 8, 0);
	case SLOT:
	case MAPPED_SLOT:
		return is_in(addr, g->slots_off, g->n_slots,
		    sizeof(struct shm_slot), row->off);
	case VALUE:
		return is_in(addr, g->values_off, g->n_values,
		    sizeof(struct shm_value), row->off);
	case REQUEST:
		return is_in(addr, g->requests_off, g->n_requests,
		    sizeof(struct shm_request), row->off);
	}
	return false;
}

/* (Fields of 32 bits have rows with low bits, or are reset.) */
static void
change_bits(shm_u32 *word, uint32_t bits)
{
	if (bits == 0)
		return;
	if (row->change == FLIP)
		__atomic_xor_fetch(&word->raw, bits, __ATOMIC_SEQ_CST);
	else if (row->change == RAISE)
		__atomic_or_fetch(&word->raw, bits, __ATOMIC_SEQ_CST);
	else
		__atomic_and_fetch(&word->raw, ~bits, __ATOMIC_SEQ_CST);
}

static void
change_field(shm_u32 *word)
{
	uint32_t n = accesses++;

	if (n < row->skip || (row->each != 0 &&
	    (n - row->skip) % row->each != 0))
		return;
	if (row->with != NULL)
		row->with(word);
	if (row->change == RESET && row->bits != 0) {
		if (first == 0)
			first = __atomic_load_n((uint64_t *)(void *)word,
			    __ATOMIC_SEQ_CST);
		__atomic_store_n((uint64_t *)(void *)word, first,
		    __ATOMIC_SEQ_CST);
		return;
	}
	if (row->change == RESET) {
		if (first == 0)
			first = word->raw;
		__atomic_store_n(&word->raw, (uint32_t)first, __ATOMIC_SEQ_CST);
		return;
	}
	change_bits(&word[0], (uint32_t)row->bits);
	change_bits(&word[1], (uint32_t)(row->bits >> 32));
}

static void
on_access(const char *what, const void *addr)
{
	if (row == NULL)
		return;
	if (strcmp(what, "bound") == 0) {
		reached |= strcmp(addr, row->bound) == 0;
		return;
	}
	if (!begun && addr == NULL && strcmp(what, row->from) == 0) {
		begun = true;
		if (row->once != NULL)
			row->once(stage);
	}
	if (begun && !(reached && row->harmless) && addr != NULL &&
	    strcmp(what, row->what) == 0 && is_of_field(addr))
		change_field((shm_u32 *)(uintptr_t)addr);
}

static const struct act *
act_of(const char *name)
{
	const struct act *a;

	for (size_t i = 0; (a = acts_at(i)) != NULL; i++) {
		if (strcmp(a->name, name) == 0)
			return a;
	}
	bail_out("there is no operation \"%s\"", name);
}

static void
play(const struct row *r)
{
	const struct act *act = act_of(r->act);
	struct stage st;
	int64_t began;
	bool damaged;
	int result;

	set_stage(&st, act);
	view = &st.other->v;
	stage = &st;
	reached = false;
	begun = r->from == NULL;
	first = accesses = 0;
	began = t_now_ns();
	row = r;
	result = act->run(&st);
	row = NULL;
	damaged = (sh32_load(&view->hdr->flags) & SHM_DAMAGED) ||
	    (r->bits == 0 && result > 0);
	cmp(t_since_ms(began), <, SOON_MS, "%s: \"%s\" is answered (%d)",
	    r->bound, r->act, result);
	ok(reached, "by the bound of %s()", r->bound);
	ok(damaged || r->harmless, "and the damage is reported");
	clear_stage(&st);
	t_watch();
}

#endif
