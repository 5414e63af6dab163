/* SPDX-License-Identifier: MIT */
/*
 * An outside witness: a resource that sees who says that it has a key, and with
 * which token.
 */
#ifndef SUPPORT_GATE_H
#define SUPPORT_GATE_H

#include "member.h"

struct gate {
	unsigned readers, writers;	/* who say that they have it now */
	int64_t highest;		/* token of any writer */
	int64_t highest_reader;
	uint64_t grants;
	unsigned doubles, back;		/* violations: two at once; tokens */
};

void gate_enter(struct gate *g, enum claim_mode mode, int64_t token);
void gate_anchor(struct gate *g, enum claim_mode mode, int64_t token);
void gate_leave(struct gate *g, enum claim_mode mode);

#endif
