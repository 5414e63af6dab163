/* SPDX-License-Identifier: MIT */
/*
 * The functions of tap.h, once in a program that has tests/support.
 */
#define TAP_DEFINE
#include "tap.h"
