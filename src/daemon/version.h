/* SPDX-License-Identifier: MIT */
#ifndef DAEMON_VERSION_H
#define DAEMON_VERSION_H

#ifndef LEASEHOLD_VERSION	/* set by the Makefile */
#define LEASEHOLD_VERSION "0.1.0"
#endif

#endif
