/* SPDX-License-Identifier: MIT */
/* Tokens: see token_next.c, and their limits: token_ceiling.c. */
#ifndef LHI_TOKEN_CEILING_H
#define LHI_TOKEN_CEILING_H

#include "shm/cluster_right.h"

#define TOKEN_STEP lhi_range_width()

/* A table's latest range is at most this far above the highest one on disk,
 * even if files were lost: more is damage in memory. */
#define RANGE_LEAP_MAX (1 << 20)

/*
 * The winner of a grant moves a slot's hint on when it lags by more (amendment
 * C6). A claim that takes the same key again and again does not check this, but
 * takes the slow path at least every 2^22 uses.
 */
#define TOKEN_LAG_MAX (UINT64_C(1) << 30)

/* The token of a key's next grant. */
struct lhi_token_next {
	uint64_t token;
	uint64_t hint;		/* the slot's, not far behind */
};

/* Besides 0 and -errno. */
enum {
	TOKEN_AGAIN = 2,	/* the word has changed: look at it again */
	TOKEN_DEFERRED = 3	/* not while others hold the key */
};

/*
 * Chooses the next token, and hence version, for a caller that is about to swap
 * the word w of s, which it has loaded.  `local`: in scope local; `joins`:
 * others hold it, and stay.  May wait for the disk.  Returns 0; TOKEN_AGAIN;
 * TOKEN_DEFERRED; -EIO: no range of tokens could be claimed; -ESTALE: the table
 * was removed; -ENOSPC: tokens are used up.
 */
int lhi_token_next(struct lhi_view *v, struct shm_slot *s, uint64_t w,
    bool local, bool joins, struct lhi_token_next *next);

/*
 * For lhi_token_next(), *token being the key's next one: changes it to one for
 * which there is room in a range of ours and below the ceiling.  With `held`,
 * it stays if possible.  Returns 0; -EIO; -ESTALE; -ENOSPC.
 */
int lhi_token_ceiling_room(struct lhi_view *v, struct shm_slot *s, bool held,
    bool local, uint64_t *token);

/* Records that the word was swapped, with that token. */
static inline void
lhi_token_ceiling_granted(struct shm_slot *s, const struct lhi_token_next *n)
{
	if (n->token - n->hint > TOKEN_LAG_MAX)
		(void)sh64_cas(&s->hint, n->hint, n->token);
}

/* True if the file of the table's latest range is in order and, in a table that
 * is not sealed (I4), is the highest on disk. */
bool lhi_token_ceiling_is_on_disk(const struct lhi_view *v);

/* Begins an attachment: checks that the table's ranges are on disk. */
void lhi_token_ceiling_attach(struct lhi_view *v);

/*
 * For the reaper: claims the next range when half of the latest is used, and
 * another one if that one's file is missing or, in a table that is not sealed,
 * others were claimed since.  A dozen system calls.  Returns 0, also for a
 * table without a fence file; -EIO; -ESTALE.
 */
int lhi_token_ceiling_keep_ahead(struct lhi_view *v);

#endif
