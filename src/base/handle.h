/* SPDX-License-Identifier: MIT */
/* Memory of closed handles: see handle.c. */
#ifndef LHI_HANDLE_H
#define LHI_HANDLE_H

enum lhi_handle_kind {
	HANDLE_TABLE,
	HANDLE_KEY,
	HANDLE_SESSION,
	HANDLE_LOCK,
	HANDLE_WATCH,
	HANDLE_TICKET,
	HANDLE_SEM,
	HANDLE_GATE,
	HANDLE_KINDS
};

/* Takes over the memory of a closed handle, and frees it after 64 more of its
 * kind were closed.  The caller has marked the handle as closed, in words that
 * its checks read. */
void lhi_handle_free(enum lhi_handle_kind kind, void *handle);

#endif
