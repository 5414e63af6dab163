/* SPDX-License-Identifier: MIT */
/* Tokens: see token_next.c, and how far they may go: token_ceiling.c. */
#ifndef LHI_TOKEN_CEILING_H
#define LHI_TOKEN_CEILING_H

#include "shm/cluster_right.h"

#define TOKEN_STEP lhi_range_width()

/* A table's latest range is at most so far above the highest one on disk, even
 * if files were lost: more is damage in memory. */
#define RANGE_LEAP_MAX (1 << 20)

/*
 * The winner of a grant moves a slot's hint on when it lags by more (C6).  A
 * claim that takes the same key again and again does not look, but comes by the
 * slow path at least every 2^22 uses.
 */
#define TOKEN_LAG_MAX (UINT64_C(1) << 30)

/* The token of a key's next grant. */
struct lhi_token_next {
	uint64_t token;
	uint64_t hint;		/* the slot's, not far behind */
};

/* Beside 0 and -errno. */
enum {
	TOKEN_AGAIN = 2,	/* the word has changed: look at it again */
	TOKEN_DEFERRED = 3	/* not while others hold the key */
};

/*
 * For who is about to swap the word w of s, which he has loaded: which token,
 * and hence which version, is next?  `local`: in scope local; `joins`: others
 * hold it, and go on to.  May take its time at the disk.  0; TOKEN_AGAIN;
 * TOKEN_DEFERRED; -EIO: no range of tokens could be had; -ESTALE: the table was
 * removed; -ENOSPC: tokens are used up.
 */
int lhi_token_next(struct lhi_view *v, struct shm_slot *s, uint64_t w,
    bool local, bool joins, struct lhi_token_next *next);

/*
 * For lhi_token_next(), *token being what the key would have next: make that
 * one for which there is room in a range of ours and below the ceiling.  With
 * `held`, where it is, if that can be.  0; -EIO; -ESTALE; -ENOSPC.
 */
int lhi_token_ceiling_room(struct lhi_view *v, struct shm_slot *s, bool held,
    bool local, uint64_t *token);

/* The word was swapped, with that token. */
static inline void
lhi_token_ceiling_granted(struct shm_slot *s, const struct lhi_token_next *n)
{
	if (n->token - n->hint > TOKEN_LAG_MAX)
		(void)sh64_cas(&s->hint, n->hint, n->token);
}

/* True if the file of the table's latest range is in order and, in a table that
 * is not sealed (I4), is the highest on disk. */
bool lhi_token_ceiling_is_on_disk(const struct lhi_view *v);

/* An attachment begins: are the table's ranges on disk? */
void lhi_token_ceiling_attach(struct lhi_view *v);

/*
 * For the reaper: claim the next range when half of the latest is used, and
 * another one when that one's file is not there any more or, in a table that is
 * not sealed, others were claimed since.  A dozen system calls.  0, also for a
 * table without a fence file; -EIO; -ESTALE.
 */
int lhi_token_ceiling_keep_ahead(struct lhi_view *v);

#endif
