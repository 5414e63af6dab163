/* SPDX-License-Identifier: MIT */
/* Kernels, and containers, that refuse a system call: see seccomp.c. */
#ifndef TESTS_SECCOMP_H
#define TESTS_SECCOMP_H

/* That system call is -ENOSYS from now on.  0; -errno. */
int seccomp_refuse(long call);

/* fcntl(F_OFD_...) is -EINVAL from now on, as before Linux 3.15. */
int seccomp_no_ofd_locks(void);

#endif
