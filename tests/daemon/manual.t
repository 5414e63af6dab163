#!/bin/bash
# SPDX-License-Identifier: MIT
# The manual: formats without a warning, and leaves no option, key, metric or
# exit status out.
. "$(dirname "$0")/lib.sh"
table manual

manual "$REAPERD"
reaperd
metrics >"$dir/metrics"
ok "there are metrics" test -s "$dir/metrics"
manual_has leasehold-reaperd leasehold_reaper <"$dir/metrics"
sed -n '/^\.Bd .*-compact/,/^\.Ed/p' "$pages/leasehold-reaperd.8" |
    grep -v '^\.' >"$dir/examples"
ok "there are examples" test -s "$dir/examples"
while read -r line; do
	ok "shell: $line" bash -n -c "$line"
done <"$dir/examples"

# The example is a configuration.
sed -n '/^\.Bd/,/^\.Ed/p' "$pages/leasehold-reaperd.conf.5" | grep -v '^\.' \
    >"$dir/conf"
run "$REAPERD" -n -c "$dir/conf"
is "$status" 0 "the example is a configuration"

finish
