#!/bin/bash
# SPDX-License-Identifier: MIT
# The manual: formats without a warning, and leaves no option, key, metric or
# exit status out.
. "$(dirname "$0")/lib.sh"
table manual
pages=$here/../../doc/man

for page in leasehold-reaperd.8 leasehold-reaperd.conf.5; do
	run groff -ww -mdoc -Tutf8 "$pages/$page"
	is "$status$err" 0 "$page formats without a warning"
	groff -mdoc -Tascii -P-cbou -rLL=1000n "$pages/$page" 2>/dev/null |
	    tr -s ' \n' ' ' >"$dir/$page"
done

"$REAPERD" --help | grep -o -e ' --*[a-zA-Z][a-z-]*' | sort -u | tr -d ' ' \
    >"$dir/options"
ok "--help has options" test -s "$dir/options"
while read -r o; do
	ok "leasehold-reaperd(8) has $o" grep -qF -e "$o" \
	    "$dir/leasehold-reaperd.8"
done <"$dir/options"

echo nonsense = 1 >"$dir/conf"
run "$REAPERD" -n -c "$dir/conf"
for key in $(sed 's/.*there are //; s/,//g' <<<"$err"); do
	ok "leasehold-reaperd.conf(5) has $key" grep -q "^\.It Cm $key\$" \
	    "$pages/leasehold-reaperd.conf.5"
done

reaperd
for name in $(metrics | sed -n 's/^# TYPE leasehold_reaper_\([a-z_]*\) .*/\1/p')
do
	ok "leasehold-reaperd(8) has $name" grep -q "\<$name\>" \
	    "$dir/leasehold-reaperd.8"
done
for s in 0 64 69 71 78; do
	ok "leasehold-reaperd(8) has exit status $s" grep -qx ".It $s" \
	    "$pages/leasehold-reaperd.8"
done
sed -n 's/^\.Dl //p' "$pages/leasehold-reaperd.8" >"$dir/examples"
while read -r line; do
	ok "shell: $line" bash -n -c "$line"
done <"$dir/examples"

# The example is a configuration.
sed -n '/^\.Bd/,/^\.Ed/p' "$pages/leasehold-reaperd.conf.5" | grep -v '^\.' \
    >"$dir/conf"
run "$REAPERD" -n -c "$dir/conf"
is "$status" 0 "the example is a configuration"

finish
