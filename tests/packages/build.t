#!/bin/bash
# SPDX-License-Identifier: MIT
# Issue 24 E2: `make dist` gives the same bytes twice, also from what it packed.
# The packages are built from the tarball in a clean system that has only what
# debian/control names, by a user who is not root.  Their build tests what it
# built.  lintian has no error and no warning.
#
# Otherwise packages would build only on the machine of whoever wrote them, and
# nobody could tell which source a tarball is.
watch_s=3000
. "$(dirname "$0")/lib.sh"
rm -rf "$debs"
mkdir -p "$debs"

# the tarball
tarball=leasehold-$upstream.tar.xz
is "$upstream" "$("$LEASEHOLD" version | sed -n '1s/^leasehold //p')" \
    "debian/changelog has the version of the command"
ok "make dist" loud tools/dist "$upstream" "$dir/first.xz"
ok "  again" loud env TZ=Asia/Tokyo LC_ALL=de_DE.UTF-8 XZ_OPT=-1 \
    tools/dist "$upstream" "$dir/second.xz"
ok "  the same bytes" cmp "$dir/first.xz" "$dir/second.xz"
mkdir "$dir/tree"
tar -xf "$dir/first.xz" -C "$dir/tree"
tree=$dir/tree/leasehold-$upstream
ok "  from the tarball" loud "$tree/tools/dist" "$upstream" "$dir/third.xz"
ok "  the same bytes" cmp "$dir/first.xz" "$dir/third.xz"
echo >>"$tree/README.md"
ok "  of another file" loud "$tree/tools/dist" "$upstream" "$dir/fourth.xz"
ok "  other bytes" bash -c "! cmp -s '$dir/first.xz' '$dir/fourth.xz'"
is "$(tar -tvf "$dir/first.xz" | awk '{ print substr($1, 2), $2 }' | sort -u |
    tr '\n' ' ')" "rw-r--r-- 0/0 rwxr-xr-x 0/0 " "two modes, one owner"

# what the packaging says
sed -n '/^Build-Depends:/,/^[A-Z]/p' debian/control | tr -d ' ,' >"$dir/depends"
for p in $(sed -n '/^run="/,/"$/p' tools/deps | tr '"' ' ' | sed 's/run=//'); do
	case $p in
	gcc | make | libc6-dev)	continue ;;	# build-essential
	esac
	grep -qx "$p" "$dir/depends" || echo "$p"
done >"$dir/missing"
is "$(cat "$dir/missing")" "" "Build-Depends has what tools/deps installs to build"
ok "  which are many" test "$(wc -l <"$dir/depends")" -gt 12
for p in $names; do
	ok "debian/control has $p" grep -qx "Package: $p" debian/control
done
is "$(awk '/^[^#]/ && last !~ /^#/ { print FILENAME ": " $0 } { last = $0 }' \
    debian/source/lintian-overrides debian/*.lintian-overrides 2>/dev/null)" "" \
    "each override of lintian has its reason"

# the build
make_system build
mkdir "$root/build"
cp "$dir/first.xz" "$root/build/leasehold_$upstream.orig.tar.xz"
tar -xf "$dir/first.xz" -C "$root/build"
ok "a clean system" apt update
ok "  without what we need" bash -c \
    "! [ -e '$root/usr/include/bsd' ] && ! [ -e '$root/usr/bin/jq' ]"
ok "  what debian/control names" apt build-dep "/build/leasehold-$upstream"
loud inside useradd -m builder
inside chown -R builder: /build
run inside_as builder sh -c "cd /build/leasehold-$upstream &&
    DEB_BUILD_OPTIONS=parallel=$(nproc) nice dpkg-buildpackage -us -uc"
is "$status" 0 "dpkg-buildpackage: 0, in $((took / 1000)) s"
[ "$status" = 0 ] || diag "$(tail -n 60 "$dir/out")" "$(tail -n 40 "$dir/err")"
cat "$dir/out" "$dir/err" >"$store/build.log"
for what in tests/unit/:20 tests/command/:65; do
	ok "  at least ${what#*:} of ${what%:*} were run, and passed" test \
	    "$(grep -c "${what%:*}[a-z0-9.-]* \.* ok  " "$dir/out")" -ge "${what#*:}"
done
is "$(grep -c '^Result: PASS' "$dir/out")" 2 "  and none failed"
cp "$root"/build/*.deb "$root"/build/*.dsc "$root"/build/*.changes \
    "$root"/build/*.tar.* "$root"/build/*.buildinfo "$debs/"
for p in $names; do
	ok "$p is there" ls "$debs/${p}_${version}"_*.deb
done

# and what lintian says
run lintian --allow-root --tag-display-limit 0 "$debs"/*.changes
is "$(grep '^[EW]:' <<<"$out")" "" "lintian: no error, no warning"
is "$status" 0 "  and exit status 0"
run lintian --allow-root --show-overrides "$debs"/*.changes
is "$(grep -c '^O:' <<<"$out")" "$(cat debian/source/lintian-overrides \
    debian/*.lintian-overrides 2>/dev/null | grep -c '^[^#]')" \
    "  each override is needed"
# it would be heard
mkdir "$dir/bad"
dpkg-deb -R "$debs/leasehold_${version}"_*.deb "$dir/bad/tree"
rm "$dir/bad/tree/usr/share/doc/leasehold/copyright"
loud dpkg-deb --root-owner-group -b "$dir/bad/tree" "$dir/bad/bad.deb"
like "$(lintian --allow-root "$dir/bad/bad.deb")" "E: leasehold: no-copyright-file" \
    "  a package without its licence is refused"
finish
