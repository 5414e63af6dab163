#!/bin/bash
# SPDX-License-Identifier: MIT
# Issue 24 B8: doc/from-consul-lock.md, from-etcdctl-lock.md, from-fcntl.md and
# from-pthread.md: each command line in them works, each program compiles and
# ends with 0, and each option that they promise to map is an option.
#
# Otherwise a reader would copy a line that fails, or miss an option.
. "$(dirname "$0")/lib.sh"
unset LEASEHOLD_SESSION
top=$here/../..
build=${LEASEHOLD%/*}
mkdir "$dir/bin"
ln -s "$LEASEHOLD" "$dir/bin/leasehold"
PATH=$dir/bin:$PATH

# blocks LANGUAGE PAGE: each into a file $dir/block.N; $n
blocks() {
	rm -f "$dir"/block.*
	awk -v "first=\`\`\`$1" -v "to=$dir/block." '
	    $0 == first { on = 1; n++; next }
	    /^```$/ { on = 0 }
	    on { print >(to n) }' "$2"
	n=$(find "$dir" -name 'block.*' | wc -l)
}

for page in consul-lock etcdctl-lock fcntl pthread; do
	table "from-$page"
	file=$top/doc/from-$page.md
	ok "from-$page: traps come first" bash -c \
	    "sed -n '1,8p' '$file' | grep -qx 'Traps first:'"
	blocks shell "$file"
	ok "  it has lines for a shell" [ "$n" -ge 1 ]
	for b in "$dir"/block.*; do
		# each line is a command that must succeed
		# shellcheck disable=SC2016 # the script expands it
		sed -e "s,/tmp/lease,$dir/lease,g" \
		    -e 's/$/ || { echo "failed in line $LINENO" >\&2; exit 1; }/' \
		    "$b" >"$dir/script"
		run bash "$dir/script"
		is "$status" 0 "  ${b##*/} of it: each line succeeds"
		[ "$status" = 0 ] || diag "$err"
	done
	# all blocks in one shell: none waits for an earlier one
	table "from-$page-whole"
	for ((b = 1; b <= n; b++)); do
		cat "$dir/block.$b"
	done | sed -e "s,/tmp/lease,$dir/lease,g" -e '1i set -e' >"$dir/script"
	run timeout 60 bash "$dir/script"
	is "$status" 0 "  the whole page in one shell"
	[ "$status" = 0 ] || diag "$err"
	# options of ours that the page names
	grep -oE 'leasehold (run|acquire|renew|release|session [a-z]+|list) [^`|]*' \
	    "$file" | while read -r _ verb rest; do
		grep -oE '(^| )--[a-z-]+' <<<"$rest" | while read -r o; do
			lh "$verb" --help | grep -qw -e "$o" || echo "$verb $o"
		done
	done >"$dir/unknown"
	is "$(cat "$dir/unknown")" "" "  every option of ours is one"
	# and functions and codes of ours
	grep -oE '\blh_[a-z_]+\(' "$file" | sort -u | while read -r f; do
		grep -qF "$f" "$top"/include/leasehold/*.h || echo "$f"
	done >"$dir/unknown"
	grep -oE '\bLH_[A-Z_]+\b' "$file" | sort -u | while read -r c; do
		grep -qw "$c" "$top"/include/leasehold/*.h || echo "$c"
	done >>"$dir/unknown"
	is "$(cat "$dir/unknown")" "" "  every function and constant is one"
	blocks c "$file"
	case $page in
	fcntl | pthread) is "$n" 1 "  it has a program" ;;
	*)	continue ;;
	esac
	mv "$dir/block.1" "$dir/program.c"
	run "${CC:-gcc}" -std=c11 -Wall -Wextra -Werror -pthread \
	    -I"$top/include" -o "$dir/program" "$dir/program.c" \
	    "$build/libleasehold.a" -lbsd
	is "$status$err" 0 "  which compiles without a warning"
	run "$dir/program"
	is "$status$err" 0 "  and does what it says"
done

# every option of etcdctl lock is in its page
page=$top/doc/from-etcdctl-lock.md
if command -v etcdctl >/dev/null; then
	ETCDCTL_API=3 etcdctl lock --help | grep -oE -e '--[a-z][a-z-]*' | sort -u \
	    >"$dir/options"
	ok "etcdctl lock has options" test "$(wc -l <"$dir/options")" -gt 10
	while read -r o; do
		ok "  the page has $o" grep -qwF -e "$o" "$page"
	done <"$dir/options"
else
	skip "there is no etcdctl" "every option of etcdctl lock is in its page"
fi
# every option of consul lock 1.x, and what it gives to the command
page=$top/doc/from-consul-lock.md
for o in -child-exit-code -monitor-retry -n= -name -pass-stdin -shell -timeout -try \
    -verbose CONSUL_LOCK_HELD; do
	ok "  from-consul-lock has $o" grep -qF -e "| \`$o" -e "| \`\$$o" "$page"
done
# settings of the shim that the pages name
for page in "$top"/doc/from-{consul,etcdctl}-lock.md; do
	for s in endpoints ca_file cert_file key_file; do
		ok "${page##*/}: the shim has $s" \
		    grep -qx ".It Cm $s" "$top/doc/man/leasehold-shimd.conf.5"
	done
done
finish
