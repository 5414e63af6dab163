#!/bin/bash
# SPDX-License-Identifier: MIT
# Issue 24 D1: every function and type of the library has a page in section 3,
# made from the headers (tools/man3).  The pages format without a warning, have
# all sections, and their examples compile without a warning and do what they
# say.  The same headers give the same pages.
#
# Otherwise a programmer would copy an example that does not work, or read of an
# error that the function does not return.
. "$(dirname "$0")/lib.sh"
top=$here/../..
build=${LEASEHOLD%/*}
run "$top/tools/man3" "$dir/man"
is "$status$err" 0 "the pages are written"
"$top/tools/man3" "$dir/again"
ok "and again: the same bytes" diff -r "$dir/man" "$dir/again"

# each function that is exported
must_run "$build/libleasehold.so"
nm -D --defined-only "$build/libleasehold.so" | sed -n 's/.* T \(lh_\w*\).*/\1/p' \
    >"$dir/exported"
ok "functions are exported" test "$(wc -l <"$dir/exported")" -gt 80
# (a page is looked through by the shell: a process takes a hundred times as long)
calls_it() {	# PAGE NAME: in its example
	local example=${1#*$'\n.Sh EXAMPLES\n'}

	[[ ${example%%$'\n.Sh SEE'*} =~ (^|[^a-z0-9_])"$2"\( ]]
}
while read -r name; do
	page=$'\n'$(<"$dir/man/man3/$name.3")$'\n'
	missing=
	for s in NAME SYNOPSIS DESCRIPTION 'RETURN VALUE' ERRORS EXAMPLES \
	    'SEE ALSO'; do
		[[ $page == *$'\n'".Sh $s"$'\n'* ]] || missing+="$s "
	done
	is "$missing" "" "$name(3) has all sections"
	ok "  its example calls it" calls_it "$page" "$name"
done <"$dir/exported"
# each type
while read -r name; do
	ok "$name(3) is there" test -s "$dir/man/man3/$name.3"
done < <(sed -nE 's/^(struct|enum) (lh_\w+)( \{|;).*/\2/p
    s/^typedef .*\b(lh_\w+_fn)\)?\(.*/\1/p' "$top"/include/leasehold/*.h | sort -u)
run grep -o 'PTHREAD' "$dir/man/man3/lh_key_lock.3"
is "$out" "" "nothing of another header is in it"
like "$(MANWIDTH=78 man -l "$dir/man/man3/lh_acquire.3" 2>/dev/null)" \
    "-ETIMEDOUT" "lh_acquire(3) as man(1) shows it names its errors"

# every page, as groff reads it, which names the page in what it says
cd "$dir/man" || exit 1
run groff -ww -mdoc -Tutf8 man3/*.3 man7/*.7
is "$status$err" 0 "groff has no warning"
# every page that is named is there
sed -n 's/^\.Xr \([^ ]*\) \([37]\).*/man\2\/\1.\2/p' man3/*.3 man7/*.7 | sort -u |
    while read -r page; do
	[ -e "$page" ] || echo "$page"
done >"$dir/missing"
is "$(cat "$dir/missing")" "" "every page that is named in SEE ALSO is there"
cd "$OLDPWD" || exit 1

# the examples
for example in "$top"/doc/man/examples/*.c; do
	name=${example##*/}
	table "man3-${name%.c}"
	run "${CC:-gcc}" -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror \
	    -Wno-unused-parameter -pthread -I"$top/include" -o "$dir/example" \
	    "$example" "$build/libleasehold.a" -lbsd
	is "$status$err" 0 "$name compiles without a warning"
	run "$dir/example"
	is "$status" 0 "  and does what it says"
	[ "$status" = 0 ] || diag "$out" "$err"
	rm -f "$dir/example"
done
finish
