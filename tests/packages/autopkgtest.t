#!/bin/bash
# SPDX-License-Identifier: MIT
# Issue 24 E2: autopkgtest runs each test of debian/tests in a clean system with
# the packages that were built, and all pass.  A package that lacks its library is
# noticed.
#
# Otherwise Debian's own machines would be the first to run them.
watch_s=2400
. "$(dirname "$0")/lib.sh"
make_system autopkgtest
copy_debs
apt update || bail "apt-get update"
sed -n 's/^Tests: //p' debian/tests/control >"$dir/tests"
ok "debian/tests/control names tests" test "$(wc -l <"$dir/tests")" -ge 4
is "$(ls debian/tests | grep -vx control | sort | tr '\n' ' ')" \
    "$(sort "$dir/tests" | tr '\n' ' ')" "  those that are there"

# in the namespaces of the system, but not in its folder: there it goes by itself
judge() {
	rm -rf "$dir/result"
	# shellcheck disable=SC2086
	run nsenter -t "$keeper" -m -p autopkgtest --no-built-binaries \
	    --output-dir "$dir/result" "$@" "$debs"/*.dsc \
	    -- chroot "$root"
}
debs_named() {
	local p

	for p; do
		echo "$debs/${p}_${version}"_*.deb
	done
}
# shellcheck disable=SC2046,SC2086
judge $(debs_named $names)
is "$status" 0 "autopkgtest: 0, in $((took / 1000)) s"
[ "$status" = 0 ] || diag "$(tail -n 60 "$dir/out")" "$(grep -E "^#|^not|Failed|Dubious" "$dir"/result/*-std*)" "$(tail -n 30 "$dir/err")"
while read -r t; do
	ok "  $t passed" grep -q "^$t  *PASS" "$dir/result/summary"
done <"$dir/tests"
is "$(grep -c . "$dir/result/summary")" "$(wc -l <"$dir/tests")" "  and no other"
finish
