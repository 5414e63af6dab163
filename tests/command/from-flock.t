#!/bin/bash
# SPDX-License-Identifier: MIT
# doc/from-flock.md: each command line in it works, and the script that locks
# itself runs once at a time.
#
# Otherwise a reader would copy a line that fails.
. "$(dirname "$0")/lib.sh"
table from-flock
unset LEASEHOLD_SESSION
page=$here/../../doc/from-flock.md
mkdir "$dir/bin"
ln -s "$LEASEHOLD" "$dir/bin/leasehold"
PATH=$dir/bin:$PATH

# the blocks are one script after another, in a directory of ours
awk '/^```shell$/ { on = 1; next } /^```$/ { if (on) print "#end"; on = 0 }
    on { print }' "$page" | sed "s,/tmp/job.lock,$dir/job.lock,g" >"$dir/lines"
ok "the page has command lines" [ "$(grep -c leasehold "$dir/lines")" -ge 10 ]
n=0
block=
while IFS= read -r line; do
	if [ "$line" != "#end" ]; then
		block+="$line || { echo \"failed: $line\" >&2; exit 1; }"$'\n'
		continue
	fi
	n=$((n + 1))
	run bash -c "$block"
	is "$status" 0 "block $n"
	[ "$status" = 0 ] || diag "$err"
	block=
done <"$dir/lines"
# all of them are pasted into one shell: none waits for an earlier one
{ echo set -e; grep -v '^#end$' "$dir/lines"; } >"$dir/whole"
run timeout 60 bash "$dir/whole"
is "$status" 0 "the whole page in one shell"
[ "$status" = 0 ] || diag "$err"
ok "there are several" [ "$n" -ge 5 ]

# the first line of a script that locks itself
first=$(grep -o 'leasehold held me .*"\$@"' "$page")
printf '#!/bin/bash\n%s\necho in >>"%s"\nsleep 1\n' "$first" "$dir/ran" \
    >"$dir/self"
chmod +x "$dir/self"
"$dir/self" &
one=$!
mind "$one"
until_true 5000 test -s "$dir/ran"
run "$dir/self"
is "$status" 75 "a script that locks itself: the second one ends at once"
wait "$one"
is $? 0 "  the first one runs"
is "$(wc -l <"$dir/ran")" 1 "  once"
finish
