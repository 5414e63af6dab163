#!/bin/bash
# SPDX-License-Identifier: MIT
# Issue 24 E1: `make install` installs everything: libraries, headers, pages of
# every section, completion, units, documents, samples.  The installed files can
# be used.  `make uninstall` leaves nothing of it, and touches nothing else.
#
# Otherwise a package would lack a file, and a user who removes leasehold would
# find it there still.
. "$(dirname "$0")/lib.sh"
top=$here/../..
root=$dir/root
build=${LEASEHOLD%/*}
make_it() {	# make hands its own variables down
	env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -s -C "$top" "$@"
}
run make_it install DESTDIR="$root" PREFIX=/usr
is "$status" 0 "make install: 0"
is "${out/ldconfig/}" "$out" "  with DESTDIR it does not say what to run next"

# the list and what is there are the same
cd "$top" || exit 1
export PREFIX=/usr BUILD=$build SONAME=libleasehold.so.0 VERSION=1
tools/install list >"$dir/list"
cut -d' ' -f3 "$dir/list" | sort >"$dir/listed"
find "$root" ! -type d | sed "s,^$root,," | sort >"$dir/found"
is "$(diff "$dir/listed" "$dir/found")" "" "all that is listed, and no more"
is "$(uniq -d "$dir/listed")" "" "  each once"
# what the tree has is in the list
for f in include/*.h* include/leasehold/* doc/man/*.[1-8] doc/*.md doc/conf/* \
    doc/man/examples/* doc/examples/*.* doc/examples/*/* build/man/man[37]/* \
    bindings/python/leasehold/*.* LICENSE \
    README.md CHANGELOG.md tools/completion/* src/*/*.sysusers \
    src/*/*.tmpfiles src/*/*.service.in src/*/*/*.service.in \
    src/*/*.socket.in src/*.pc.in; do
	grep -q " @\?$f " "$dir/list" || echo "$f"
done >"$dir/missing"
is "$(cat "$dir/missing")" "" "no file of the tree is forgotten"
for f in lib/libleasehold.a lib/libleasehold.so.0 lib/libleasehold.so \
    lib/pkgconfig/leasehold.pc bin/leasehold sbin/leasehold-reaperd \
    sbin/leasehold-shimd share/man/man1/leasehold.1 \
    share/man/man3/lh_acquire.3 share/man/man5/leasehold.conf.5 \
    share/man/man7/leasehold.7 share/man/man8/leasehold-shimd.8 \
    share/bash-completion/completions/leasehold \
    share/zsh/site-functions/_leasehold \
    share/fish/vendor_completions.d/leasehold.fish \
    lib/sysusers.d/leasehold-reaperd.conf lib/tmpfiles.d/leasehold-reaperd.conf \
    share/doc/leasehold/LICENSE share/doc/leasehold/doc/operations.md \
    share/doc/leasehold/conf/leasehold.conf \
    share/doc/leasehold/examples/lease.c \
    share/doc/leasehold/examples/leader.c share/doc/leasehold/doc/examples/README.md; do
	ok "  /usr/$f" test -s "$root/usr/$f"
done
is "$(grep -rIl '@[A-Z]*@' "$root/usr/lib" | grep -v '\.a$')" "" \
    "no place of a template is left unnamed"
is "$(find "$root" ! -type l ! -perm -444 -o -type f -perm /022)" "" \
    "all can read it, and only root writes"

ok "an example in shell can be run" test -x \
    "$root/usr/share/doc/leasehold/examples/migrate.sh"
for f in "$root"/usr/share/doc/leasehold/doc/*.md; do
	grep -o '](examples/[^)#]*' "$f" | while read -r link; do
		test -s "${f%/*}/${link#*(}" || echo "$f: $link"
	done
done >"$dir/broken"
is "$(cat "$dir/broken")" "" "the documents find the examples that they name"

# it can be used
like "$(MANWIDTH=78 man -M "$root/usr/share/man" 3 lh_acquire 2>/dev/null)" \
    "LH_ACQUIRE(3)" "man 3 lh_acquire"
like "$(MANWIDTH=78 man -M "$root/usr/share/man" 7 leasehold 2>/dev/null)" \
    "leasehold-lease(3)" "man 7 leasehold"
if command -v pkg-config >/dev/null; then
	export PKG_CONFIG_PATH=$root/usr/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root
	# shellcheck disable=SC2046
	run "${CC:-gcc}" -std=c11 -D_GNU_SOURCE -o "$dir/example" \
	    "$root/usr/share/doc/leasehold/examples/key.c" \
	    $(pkg-config --cflags --libs leasehold)
	is "$status$err" 0 "a program is compiled as pkg-config says"
	table install
	run env LD_LIBRARY_PATH="$root/usr/lib" "$dir/example"
	is "$status$err" 0 "  and runs"
else
	skip "there is no pkg-config" "a program is compiled as pkg-config says"
fi
run "$root/usr/bin/leasehold" version
is "$status" 0 "the command runs"
python=/usr/bin/python3
[ -x $python ] || python=python3
for p in /usr /usr/local; do
	at=$(PREFIX=$p tools/install python-dir)
	like "$(env -u PYTHONPATH $python -c 'import sys; print(*sys.path)')" \
	    "$at" "python3 looks in $at"
done
run env PYTHONPATH="$root$(tools/install python-dir)" \
    LEASEHOLD_LIBRARY="$root/usr/lib/libleasehold.so.0" \
    $python -c 'import leasehold; print(leasehold.__file__)'
like "$out" "$root/usr/" "  and finds the package"
ok "  which has the mark of types" test -f \
    "$root$(tools/install python-dir)/leasehold/py.typed"
# the samples: each line holds, without its mark
for d in reaperd shimd; do
	sed 's/^#\([a-z_]* = \)/\1/' "$root/usr/share/doc/leasehold/conf/leasehold-$d.conf" \
	    >"$dir/$d.conf"
	ok "the sample for $d has lines" grep -q '^[a-z_]* = ' "$dir/$d.conf"
	run "$root/usr/sbin/leasehold-$d" -n -c "$dir/$d.conf"
	is "$status$err" 0 "  which leasehold-$d accepts"
done

# the programs are hardened
for f in bin/leasehold sbin/leasehold-reaperd sbin/leasehold-shimd \
    lib/libleasehold.so.0; do
	readelf -lWd "$root/usr/$f" >"$dir/elf" 2>/dev/null
	ok "$f: GNU_RELRO" grep -q GNU_RELRO "$dir/elf"
	ok "  bound at start" grep -qE 'BIND_NOW|FLAGS.* NOW' "$dir/elf"
	ok "  any address" grep -q 'type is DYN' "$dir/elf"
	is "$(grep -c 'GNU_STACK.* RWE' "$dir/elf")" 0 "  no code on the stack"
	ok "  the stack is guarded" bash -c \
	    "nm -D '$root/usr/$f' | grep -q __stack_chk_fail"
	ok "  and copies are checked" bash -c \
	    "nm -D '$root/usr/$f' | grep -q '_chk\(@\|$\)'"
done
# and the user's flags are used
make_it -n V=1 BUILD="$dir/none" all CPPFLAGS=-DOF_CPP CFLAGS=-DOF_C \
    LDFLAGS=-Wl,-of-ld 2>&1 | sed -e ':a' -e '/\\$/{N;s/\\\n//;ba' -e '}' \
    >"$dir/commands"
grep -E -- ' -c -o ' "$dir/commands" >"$dir/compile"
ok "compilers are called" test "$(wc -l <"$dir/compile")" -gt 100
is "$(grep -vc -e '-DOF_CPP.*-DOF_C\b\|-DOF_C\b.*-DOF_CPP' "$dir/compile")" 0 \
    "  each with CPPFLAGS and CFLAGS"
is "$(grep -c -e '-Wl,-of-ld' "$dir/commands")" 5 \
    "LDFLAGS: of both libraries, the command, and both daemons"

# away again
: >"$root/usr/share/doc/leasehold/conf/mine.conf"
: >"$root/usr/lib/libother.so"
run make_it uninstall DESTDIR="$root" PREFIX=/usr
is "$status" 0 "make uninstall: 0"
is "$(find "$root" ! -type d | sed "s,^$root/usr/,," | sort | tr '\n' ' ')" \
    "lib/libother.so share/doc/leasehold/conf/mine.conf " \
    "it leaves what is not ours, and no file more"
rm "$root/usr/share/doc/leasehold/conf/mine.conf" "$root/usr/lib/libother.so"
run make_it install DESTDIR="$root" PREFIX=/usr
run make_it uninstall DESTDIR="$root" PREFIX=/usr
is "$(find "$root" -mindepth 1)" "" "without others' files: nothing at all"

# folders with characters that mean something to sed, or to nobody else
# tool FOLDER WHAT: with DESTDIR $root, PREFIX FOLDER
tool() {
	DESTDIR=${2-$root} PREFIX=$1 run timeout 60 tools/install "$3"
}
rm -rf "$root"
tool '/opt/a|b&c' "$root" install
is "$status" 0 "PREFIX with | and &: installed"
like "$(cat "$root/opt/a|b&c/lib/pkgconfig/leasehold.pc")" 'prefix=/opt/a|b&c' \
    "  named so in what is made from templates"
tool '/opt/a|b&c' "$root" uninstall
is "$status/$(find "$root" -mindepth 1)" 0/ "  and uninstalled: nothing is left"
tool '/opt/my soft' "$root" install
is "$status" 64 "PREFIX with a space: 64"
like "$err" "PREFIX '/opt/my soft' has a space" "  says so"
is "$(find "$root" -mindepth 1)" "" "  nothing is installed"
mkdir -p "$root/opt/my soft/bin"
: >"$root/opt/my soft/bin/leasehold"
tool '/opt/my soft' "$root" uninstall
is "$status/$(find "$root" -mindepth 1)" 0/ "  uninstall ends, and removes"
for what in install uninstall; do
	tool usr "$root" $what
	is "$status" 64 "relative PREFIX, $what: 64"
	like "$err" "PREFIX 'usr' does not begin with /" "  says so"
	tool /usr root $what
	is "$status" 64 "relative DESTDIR, $what: 64"
	like "$err" "DESTDIR 'root' does not begin with /" "  says so"
done
BUILD=$dir/none tool /usr "$root" install
is "$status" 1 "nothing was built: 1"
like "$err" "there is no $dir/none/libleasehold.a: nothing is installed" \
    "  says so"
is "$(find "$root" -mindepth 1)" "" "  nothing is installed"

# without DESTDIR it says what to run next
prefix=$dir/prefix
mkdir -p "$prefix/bin"
run make_it install PREFIX="$prefix"
is "$status" 0 "make install without DESTDIR: 0"
for what in ldconfig systemd-sysusers systemd-tmpfiles "man leasehold-shimd" \
    "$prefix/share/doc/leasehold/conf"; do
	like "$out" "$what" "  says '$what'"
done
run make_it uninstall PREFIX="$prefix"
is "$(find "$prefix" ! -type d -o -name 'leasehold*')" "" \
    "make uninstall: no file, and no folder of ours"
ok "  a folder of others stays" test -d "$prefix/bin"
finish
