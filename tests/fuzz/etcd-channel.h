/* SPDX-License-Identifier: MIT */
/* The acts of a server on a channel: see etcd-channel.c. */
#ifndef FUZZ_ETCD_CHANNEL_H
#define FUZZ_ETCD_CHANNEL_H

#include "fuzz/fuzz.h"

void fuzz_channel_begin(void);
void fuzz_channel(struct fuzz_input *in);

#endif
