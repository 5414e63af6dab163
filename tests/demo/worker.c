/* SPDX-License-Identifier: MIT */
/*
 * A worker of the demonstration.  It does what the README tells users to do:
 *
 *	acquire the key		and get a token with it
 *	read the file		showing the token
 *	work			a few milliseconds
 *	write the file		showing the token
 *	release the key
 *
 * It does not look at the clock before it writes, as most programs would not:
 * whether its lease still holds is for the gate to find out.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "worker.h"
#include "gate.h"

const char *const file_names[N_FILES] = { "accounts", "orders", "stock" };

struct self {
	const struct demo *d;
	struct log *log;
	struct lh *lh;
	struct lh_key *keys[N_FILES];
	int fds[N_FILES];
	uint64_t dice;
	uint32_t slot, life;
};

static struct op *
record(struct self *s, enum op_kind kind, uint32_t file, const struct op *of)
{
	struct op *op = journal_next(s->d->j, s->log);

	if (!op)
		_exit(4);	/* more than ever fits into a demonstration */
	op->kind = (uint8_t)kind;
	op->life = s->life;
	op->key = (uint16_t)file;
	op->limit_ns = NEVER;
	if (of) {
		op->of = journal_index(s->d->j, of);
		op->token = of->token;
	}
	return op;
}

static struct op *
acquire(struct self *s, uint32_t file, struct lh_lease *lease)
{
	struct lh_acquire_opts o = LH_ACQUIRE_OPTS_INIT;
	struct lh_lease_info info = LH_LEASE_INFO_INIT;
	struct op *op = record(s, OP_ACQUIRE, file, NULL);
	int64_t at;
	int rc;

	o.ttl_ms = TTL_MS;
	o.max_wait_ms = LH_WAIT_FOREVER;
	op->how = HOW_FOREVER;
	op->ttl_ms = TTL_MS;
	journal_call(s->log, op);
	rc = lh_key_acquire(s->keys[file], &o, lease);
	at = now_ns();
	if (rc == 0) {
		op->token = lease->token;
		op->acquired_ns = lh_lease_info(s->lh, lease, &info) == 0 ?
		    info.acquired_ns : op->call_ns; /* it is over */
		op->deadline_ns = lease->expires_ns;
		op->notes = lease->notes;
	}
	journal_ret(op, at, rc);
	return rc == 0 ? op : NULL;
}

static int
through_gate(struct self *s, const struct op *held, int what,
    struct page *page)
{
	struct op *op = record(s, OP_WRITE, held->key, held);
	int64_t at;
	int rc;

	op->how = (uint8_t)what;
	journal_call(s->log, op);
	if (what == GATE_READ)
		rc = gate_read(s->fds[held->key], held->token, page);
	else
		rc = gate_write(s->fds[held->key], held->token, page);
	at = now_ns();
	op->seen = page->token;
	journal_ret(op, at, rc);
	return rc;
}

static void
turn(struct self *s, uint32_t file)
{
	struct lh_lease lease;
	struct page page;
	struct op *held = acquire(s, file, &lease), *op;
	int rc;

	if (!held)
		_exit(5);
	if (through_gate(s, held, GATE_READ, &page) == 0) {
		sleep_until_ns(now_ns() + between(&s->dice, 6000000,
		    24000000));
		page.writes++;
		page.by = s->slot + 1;
		(void)through_gate(s, held, GATE_WRITE, &page);
	}
	op = record(s, OP_RELEASE, file, held);
	journal_call(s->log, op);
	rc = lh_release(s->lh, &lease);
	journal_ret(op, now_ns(), rc);
}

void
crew_main(const struct demo *d, uint32_t slot, uint32_t life)
{
	struct self s = { .d = d, .log = &d->j->logs[slot], .slot = slot,
	    .life = life, .dice = d->dice ^ (uint64_t)life << 20 };
	char path[128];
	uint32_t f;

	/* Ctrl-C is for the director, whose end is ours. */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != d->director || lh_open(&s.lh, d->table, NULL))
		_exit(2);
	for (f = 0; f < N_FILES; f++) {
		snprintf(path, sizeof(path), "%s/%s", d->dir, file_names[f]);
		s.fds[f] = gate_open(path);
		if (s.fds[f] < 0 || lh_key_open(s.lh, file_names[f], 0,
		    &s.keys[f]))
			_exit(3);
	}
	while (!atomic_load(&d->j->quit)) {
		turn(&s, (uint32_t)between(&s.dice, 0, N_FILES - 1));
		sleep_until_ns(now_ns() + between(&s.dice, 0, 3000000));
	}
	_exit(lh_close(s.lh) ? 6 : 0);
}
