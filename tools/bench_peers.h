/* SPDX-License-Identifier: MIT */
/* Locks of the C library and the kernel, as peers.  See bench_peers.c. */
#ifndef TOOLS_BENCH_PEERS_H
#define TOOLS_BENCH_PEERS_H

#include "bench_rounds.h"

extern const struct side bench_peer_mutex, bench_peer_trylock,
    bench_peer_rwlock, bench_peer_flock, bench_peer_ofd;

/* Returns a descriptor of a new file that is memory. */
int bench_memory_file(void);

#endif
