/* SPDX-License-Identifier: MIT */
/*
 * Guarantee G11, issue 21 B1: a lease's id names its table as well.  The next
 * table of the same name gives the same places, numbers and tokens again (its
 * tokens were forgotten, as after a restart of the machine). Each call with a
 * lease of the earlier table returns -ESTALE, and the present holder keeps its
 * key.  Session ids do not come again either.
 *
 * Otherwise a lease that a program kept in a file would end somebody else's
 * lease after a reboot.
 */
#include <errno.h>
#include "support/support.h"
#include "tap.h"

/* The values of one life of the table. */
struct life {
	struct lh_lease own;		/* of the attachment itself */
	struct lh_lease named;		/* of a named session */
	struct lh_lease shared;
	struct lh_lease done;		/* released */
	struct lh_session_info session;
	uint64_t attachment;
};

static const char *table;

/* The same calls in each life. */
static struct lh *
live(struct life *x, struct lh_session **s)
{
	struct lh_acquire_opts o = t_opts(t_ms(60000), 0);
	struct lh_acquire_more m = LH_ACQUIRE_MORE_INIT;
	struct lh *lh = t_open(table);

	*x = (struct life){ .session.size = sizeof(x->session) };
	x->attachment = lh_session_id(lh);
	x->own = t_hold(lh, "own");
	x->done = t_hold(lh, "done");
	(void)lh_release(lh, &x->done);
	o.mode = LH_SHARED;
	is(lh_acquire(lh, "shared", &o, &x->shared), 0, "a reader");
	o.mode = LH_EXCLUSIVE;
	is(lh_session_open(lh, "job", NULL, s), 0, "a session");
	m.session = *s;
	o.more = &m;
	is(lh_acquire(lh, "named", &o, &x->named), 0, "its lease");
	is(lh_session_info(*s, &x->session), 0, "what it is");
	return lh;
}

static void
refused(struct lh *lh, const char *what, const struct lh_lease *old)
{
	struct lh_lease l = *old;
	int asked;

	is(lh_verify(lh, &l), -ESTALE, "%s: verify", what);
	ok(strstr(lh_error_detail(), "another table") != NULL,
	    "  says why: %s", lh_error_detail());
	is(lh_extend(lh, &l, 1000), -ESTALE, "%s: extend", what);
	is(lh_convert(lh, &l, LH_SHARED), -ESTALE, "%s: convert", what);
	is(lh_convert(lh, &l, LH_EXCLUSIVE), -ESTALE, "%s: and back", what);
	is(lh_handoff(lh, &l, NULL), -ESTALE, "%s: hand-off", what);
	asked = lh_lease_asked(lh, &l);
	is(asked, -ESTALE, "%s: was it asked for", what);
	is(lh_value_set(lh, &l, "x", 1), -ESTALE, "%s: value", what);
	is(lh_release(lh, &l), -ESTALE, "%s: release", what);
}

static void
unknown(struct lh *lh, const char *key, const struct lh_lease *old)
{
	struct lh_lease l;

	is(lh_lease_recall(lh, key, old->id, old->token, &l), -ESTALE,
	    "'%s': recall", key);
	is(lh_ask_release(lh, key, old->id, old->token), -ESTALE, "ask");
	is(lh_break(lh, key, old->id, old->token), -ESTALE, "break");
	is(lh_break(lh, key, old->id, 0), -ESTALE, "by the id alone");
}

int
main(void)
{
	struct lh_session *s;
	struct life was, now;
	struct lh *lh;

	table = t_table();
	lh = live(&was, &s);
	lh_session_close(s);
	(void)lh_close(lh);
	is(lh_table_remove(table, LH_FORCE | LH_FORGET_TOKENS), 0,
	    "the table is removed, and its tokens are forgotten");

	lh = live(&now, &s);
	ok(was.own.token == now.own.token && was.named.token ==
	    now.named.token && was.own.id[1] == now.own.id[1] &&
	    was.named.id[1] == now.named.id[1] && was.own.key == now.own.key,
	    "the next one gives the same places and tokens");
	ok(was.attachment != now.attachment, "not the same session ids");
	ok(was.session.id != now.session.id, "of named ones, too");
	refused(lh, "own", &was.own);
	refused(lh, "named", &was.named);
	refused(lh, "shared", &was.shared);
	is(lh_release(lh, &was.done), -ESTALE, "one that was released there");
	unknown(lh, "own", &was.own);
	unknown(lh, "named", &was.named);
	unknown(lh, "shared", &was.shared);
	is(lh_verify(lh, &now.own), 0, "this table's lease is held");
	is(lh_verify(lh, &now.named), 0, "the session's, too");
	is(lh_verify(lh, &now.shared), 0, "and the reader's");
	is(lh_release(lh, &now.own), 0, "released by its own id");
	is(lh_release(lh, &now.named), 0, "and the session's");
	is(lh_release(lh, &now.shared), 0, "and the reader's");
	lh_session_close(s);
	t_close(lh);
	return done();
}
