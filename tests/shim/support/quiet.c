/* SPDX-License-Identifier: MIT */
#include "quiet.h"
#include "tap.h"

static void
store(enum kv_state s, const char *why, void *arg)
{ (void)s; (void)why; (void)arg; }

static void
up(const struct recipe_session *s, bool adopted, void *arg)
{ (void)s; (void)adopted; (void)arg; }

static void
alive(uint64_t until_ns, void *arg)
{ (void)until_ns; (void)arg; }

static void
found(const struct recipe_found *f, void *arg)
{ (void)f; (void)arg; }

static void
lost(const char *why, void *arg)
{ (void)arg; diag("lost: %s", why); }

static void
mark(const struct kv_mark *m, void *arg)
{ (void)m; (void)arg; }

/* settled, retired */
static void
nothing(void *arg)
{ (void)arg; }

/* granted, anchored */
static void
at(struct claim *c, int64_t revision, void *arg)
{ (void)c; (void)revision; (void)arg; }

static void
recalled(struct claim *c, enum claim_mode m, void *arg)
{ (void)c; (void)m; (void)arg; }

/* busy, not_anchored */
static void
busy(struct claim *c, const char *who, void *arg)
{ (void)c; (void)who; (void)arg; }

static void
failed(struct claim *c, int error, const char *why, void *arg)
{ (void)c; (void)error; (void)arg; diag("failed: %s", why); }

static void
left(struct claim *c, void *arg)
{ (void)c; (void)arg; }

struct recipe_hooks
quiet_hooks(void)
{
	return (struct recipe_hooks){ .store = store, .up = up,
	    .alive = alive, .found = found, .settled = nothing, .lost = lost,
	    .mark = mark, .retired = nothing, .granted = at, .anchored = at,
	    .not_anchored = busy, .recalled = recalled, .busy = busy,
	    .failed = failed, .left = left };
}
