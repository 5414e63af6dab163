/* SPDX-License-Identifier: MIT */
#include <support/check.h>
