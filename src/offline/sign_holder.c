/* SPDX-License-Identifier: MIT */
/*
 * Looks for second signs of life whose file is gone, for a repair by force.
 *
 * A socket keeps the first name that it was bound to for as long as a copy of
 * it is open, whatever becomes of its file (shm/session_sign.c).  The kernel
 * lists the sockets of each network namespace (foreign_socket.c). The list is
 * complete: it has a socket that no process shows, too (one that is in flight,
 * or kept by an io_uring).  So the sign is held if it is listed.  It is not
 * held if no list has it, of the network namespace of any thread
 * (sign_lists.c) or of any descriptor (sign_descriptors.c).  For that, every
 * thread must be visible.  (Process 1 may not be: see live_users.c.)
 *
 * A stranger can bind a socket of the same name.  A socket belongs to the user
 * who made it, and nobody but root can give it to another.  So a socket of a
 * user who can have no session of the table is not a sign (sign_files.c). If
 * the kernel does not say whose it is, the socket counts.
 *
 * Not covered: a sign that no process shows, of a network namespace which all
 * threads have left and of which no process shows a socket.
 */
#include <stdlib.h>
#include <unistd.h>
#include "offline/look_child.h"
#include "offline/processes.h"
#include "offline/sign_descriptors.h"
#include "offline/sign_holder.h"

#define SCANS 3

static void
look_for_signs(void *arg)
{
	struct lhi_sign_holders *h = arg;

	/* a socket that was made after its list was read is in the next one */
	h->unlisted = true;
	for (int i = 0; i < SCANS && h->unlisted; i++) {
		h->unlisted = h->unseen = false;
		h->n = h->unread.n = 0;
		lhi_sign_lists_read(h);
		lhi_sign_descriptors_look(h);
		lhi_sign_lists_free(h);
	}
}

struct lhi_sign_holders *
lhi_sign_holders_scan(const struct lhi_view *v, int limit_ms)
{
	struct lhi_sign_holders *h = calloc(1, sizeof(*h));
	pid_t at;

	if (h == NULL)
		return NULL;
	h->v = *v;
	h->self = getpid();
	h->sees_all = lhi_processes_are_visible();
	h->unseen = true;
	if (lhi_look_apart(look_for_signs, h, sizeof(*h), limit_ms, &at) != 0 &&
	    at != 0)
		lhi_live_pids_add(&h->unread, at);
	return h;
}

enum lhi_sign_found
lhi_sign_holders_find(const struct lhi_sign_holders *h, uint32_t idx,
    pid_t *pid)
{
	bool doubt = false, held = false;

	for (unsigned i = 0; i < h->n; i++) {
		const struct lhi_sign_socket *s = &h->socket[i];

		if (s->idx != idx)
			continue;
		doubt |= s->doubt;
		held |= !s->doubt;
		*pid = s->holder != 0 ? s->holder : *pid;
	}
	return held ? SIGN_HELD : doubt ? SIGN_DOUBTFUL : h->unseen ||
	    !h->sees_all || h->unread.n > 0 ? SIGN_UNSEEN : SIGN_NOT_HELD;
}
