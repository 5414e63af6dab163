/* SPDX-License-Identifier: MIT */
/* The screen of `leasehold top`: see top_screen.c. */
#ifndef TOOLS_TOP_SCREEN_H
#define TOOLS_TOP_SCREEN_H

#include <stdbool.h>
#include "rates.h"
#include "top_key.h"

#define TOP_FILTER_MAX 64

/* The user's choices. */
struct top_view {
	enum rates_order order;
	char filter[TOP_FILTER_MAX];	/* only keys that contain it */
	char selected[KEY_MAX + 1];	/* key under the cursor, or "" */
	char opened[KEY_MAX + 1];	/* key that is shown by itself, or "" */
	bool typing;		/* keys go to the filter */
	bool ended;
	bool stale;		/* the next sample is needed at once */
	struct top_key key;	/* of `opened` */
};

/* Begins to draw on the terminal.  False: it cannot. */
bool top_screen_begin(void);
void top_screen_end(void);

void top_screen_draw(struct top_view *view, const struct rates *l,
    const char *table);

/* Waits for a key press for at most that time, and does what it says.  Returns
 * true if the screen must be drawn again. */
bool top_screen_wait(struct top_view *view, struct rates *l, int ms);

#endif
