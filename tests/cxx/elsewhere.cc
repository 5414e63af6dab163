/* SPDX-License-Identifier: MIT */
/* The header once more, beside the one in wrapper.cc. */
#include <leasehold.hpp>

int elsewhere(const leasehold::table &table);

int
elsewhere(const leasehold::table &table)
{
	return table.try_acquire("elsewhere") ? 0 : 1;
}
