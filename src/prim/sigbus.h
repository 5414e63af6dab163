/* SPDX-License-Identifier: MIT */
/* Mappings that become zeros when their memory is gone: see sigbus.c. */
#ifndef LHI_SIGBUS_H
#define LHI_SIGBUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Maps as mmap(NULL, len, PROT_READ | PROT_WRITE, flags, fd, 0), and watches
 * the mapping.  Returns MAP_FAILED with errno on failure. */
void *lhi_sigbus_map(size_t len, int flags, int fd);
void lhi_sigbus_unmap(void *base, size_t len);

/* True if the mapping that begins at base was replaced by zeros. */
bool lhi_sigbus_struck(const void *base);

/* Returns how many mappings of this process were replaced so far. */
uint32_t lhi_sigbus_count(void);

/* Handles a signal that a signal handler received.  Returns true if it was a
 * fault in a watched mapping, which is zeros now.  Async-signal-safe. */
bool lhi_sigbus_handle(int sig, const void *info);

/*
 * Installs the handler, unless this copy of the library has installed it
 * already.  Each successful call needs one lhi_sigbus_release(); the last
 * release restores the earlier handler.  The caller holds lhi_proc_lock(), or
 * is the only thread.  Returns 0, or -EBUSY if the application has a handler.
 */
int lhi_sigbus_catch(void);
void lhi_sigbus_release(void);

#endif
