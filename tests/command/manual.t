#!/bin/bash
# SPDX-License-Identifier: MIT
# The manual pages: they format without a warning, name each option and exit
# status, and their examples are valid shell.
#
# Otherwise a user would type what the manual shows and get an error.
. "$(dirname "$0")/lib.sh"
table manual
pages=$here/../../doc/man

verbs=$(lh --help | sed -n '/^verbs:/,/^$/s/^  \([a-z-]*\) .*/\1/p')
ok "--help has verbs" test "$(wc -w <<<"$verbs")" -gt 20
version=$(lh version)
# The verbs in the synopsis of leasehold(1).
sed -n '/^\.Sh SYNOPSIS/,/^\.Sh DESCRIPTION/s/^\.Cm //p' "$pages/leasehold.1" |
    sed 's/ Cm .*//; s/ | /\n/g' >"$dir/synopsis"
# has_line TEXT LINE, has TEXT PART: told by the shell, hundreds of times
has_line() {
	[[ $'\n'$1$'\n' == *$'\n'"$2"$'\n'* ]]
}
has() {
	[[ $1 == *"$2"* ]]
}
synopsis=$(<"$dir/synopsis")
for v in $verbs; do
	ok "leasehold(1) has $v in its synopsis" has_line "$synopsis" "$v"
done
while read -r v; do
	like " $(echo $verbs) help " " $v " "  and $v is a verb"
done <"$dir/synopsis"
for page in "$pages"/*.[1-8]; do
	is "$(sed -n 's/^\.Os //p' "$page")" "\"$version\"" \
	    "${page##*/} is of this version"
done
# leasehold(1) has all there is to say of it
verbs=${verbs/version/}

# All at once: to read the macros takes longer than a page.
sources=("$pages/leasehold.1")
for v in $verbs; do
	sources+=("$pages/leasehold-$v.1")
done
run groff -ww -mdoc -Tutf8 "${sources[@]}"
is "$status" 0 "the pages format"
warnings=$err
# As read: each in a file of its own, one line, no overstrikes.
groff -mdoc -Tascii -P-cbou -rLL=1000n "${sources[@]}" 2>/dev/null |
    awk -v dir="$dir" '
	/^NAME$/ { named = 1; next }
	named { named = 0; page = dir "/" $1 }
	NF && page != "" { $1 = $1; printf "%s ", $0 >page }'
for source in "${sources[@]}"; do
	page=${source##*/} page=${page%.1}
	is "$(grep -F "$source:" <<<"$warnings")" "" \
	    "$page(1) formats without a warning"
	source=$(<"$source")
	ok "  has EXAMPLES" has_line "$source" '.Sh EXAMPLES'
	ok "  has EXIT STATUS" has_line "$source" '.Sh EXIT STATUS'
	ok "  can be read" test -s "$dir/$page"
done
is "$warnings" "" "groff says nothing else"

for verb in $verbs; do
	help=$(lh $verb --help)
	grep -o -e ' --*[a-zA-Z][a-z-]*' <<<"$help" | sort -u |
	    tr -d ' ' >"$dir/options"
	ok "$verb --help has options" test -s "$dir/options"
	page=$(<"$dir/leasehold-$verb")
	while read -r o; do
		[ "$o" = --help ] && continue
		ok "leasehold-$verb(1) has $o" has "$page" "$o"
	done <"$dir/options"
	# and back: what is in the page's lists is an option
	sed -n 's/^\.It Fl/Fl/p' "$pages/leasehold-$verb.1" |
	    grep -oE 'Fl (Fl )?[a-zA-Z][a-z-]*' |
	    sed 's/Fl Fl /--/; s/Fl /-/' | sort -u >"$dir/options"
	while read -r o; do
		[[ $help =~ (^|[^a-zA-Z0-9_])"$o"([^a-zA-Z0-9_]|$) ]] && continue
		# another name, which --help leaves out
		run timeout 2 "$LEASEHOLD" "$verb" "$o"
		is "$(grep -c 'has no option' "$dir/err")" 0 \
		    "leasehold $verb has $o, as its page says"
	done <"$dir/options"
done
is "$(grep -il 'later version' "$pages"/*.[1-8] | wc -l)" 0 "nothing is for later versions"
# Each kind of event that log prints is in its page, and the enum has no other.
sed -nE 's/^\t\treturn "([a-z-]+)";$/\1/p' "$here/../../tools/show_event.c" |
    sort -u >"$dir/kinds"
is "$(wc -l <"$dir/kinds")" \
    "$(grep -cE $'^\tLH_LOG_[A-Z_]+ = ' "$here/../../include/leasehold/log.h")" \
    "each kind of event has a name"
while read -r k; do
	ok "leasehold-log(1) has $k" grep -qx ".It Li $k" "$pages/leasehold-log.1"
done <"$dir/kinds"
for s in 0 1 64 65 69 70 71 73 75 76 77 126 127 128+N; do
	ok "leasehold(1) has exit status $s" grep -qx ".It $s" \
	    "$pages/leasehold.1"
done
run lh run k env
while IFS='=' read -r name _; do
	[ "$name" = LEASEHOLD_TABLE ] && continue
	ok "leasehold-run(1) has $name" grep -qx ".It Ev $name" \
	    "$pages/leasehold-run.1"
done < <(grep ^LEASEHOLD_ <<<"$out" | grep -v ^LEASEHOLD=)

# One-line examples are shell.
for page in "$pages"/*.1; do
	sed -n '/^\.Bd .*-compact/,/^\.Ed/p' "$page" | grep -v '^\.' |
	    sed 's/\\(dq/"/g; s/^\*.* \* //' >"$dir/examples"
	while read -r line; do
		ok "shell: $line" bash -n -c "$line"
	done <"$dir/examples"
done

finish
