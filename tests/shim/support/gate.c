/* SPDX-License-Identifier: MIT */
#include "gate.h"

/* A token is larger than those of all who excluded it before. */
void
gate_anchor(struct gate *g, enum claim_mode mode, int64_t token)
{
	if (token <= g->highest || (mode == CLAIM_EXCLUSIVE &&
	    token <= g->highest_reader))
		g->back++;
	if (mode == CLAIM_EXCLUSIVE)
		g->highest = token;
	else if (token > g->highest_reader)
		g->highest_reader = token;
}

void
gate_enter(struct gate *g, enum claim_mode mode, int64_t token)
{
	if (g->writers > 0 || (mode == CLAIM_EXCLUSIVE && g->readers > 0))
		g->doubles++;
	gate_anchor(g, mode, token);
	g->grants++;
	if (mode == CLAIM_EXCLUSIVE)
		g->writers++;
	else
		g->readers++;
}

void
gate_leave(struct gate *g, enum claim_mode mode)
{
	if (mode == CLAIM_EXCLUSIVE)
		g->writers--;
	else
		g->readers--;
}
