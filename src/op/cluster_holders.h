/* SPDX-License-Identifier: MIT */
/* The hosts that have a cluster key.  See cluster_holders.c. */
#ifndef LHI_CLUSTER_HOLDERS_H
#define LHI_CLUSTER_HOLDERS_H

#include "base/frame.h"
#include "inspect/snapshot.h"

/* Copies the shim's words for people, without bytes that a terminal would
 * obey. */
const char *lhi_cluster_holders_printable(const struct lhi_frame *f, char *buf,
    size_t size);

/* Asks the shim which hosts have the key, for so long at most, and writes the
 * answer, or why there is none, into buf. */
enum lh_others lhi_cluster_holders_read(struct lh *lh, const char *key,
    int64_t wait_ns, char *buf, size_t size);

/* Adds that to the report of a cluster key, or of a lease on it. */
void lhi_cluster_holders_report(struct lhi_snapshot *sn, bool of_lease);

/* Makes the report of a cluster key that the table does not know, after that
 * error: others may have it.  Returns 0; or the error, if nobody has it. */
int lhi_cluster_holders_of_unknown(struct lhi_snapshot *sn, const char *key,
    int error);

#endif
