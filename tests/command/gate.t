#!/bin/bash
# SPDX-License-Identifier: MIT
# Guarantee G2, `leasehold gate`: the largest token that has passed is kept,
# over processes, failing disks and files that are no gates; and the examples of
# doc/gate.md work.
#
# Otherwise an older holder could still write.
. "$(dirname "$0")/lib.sh"
table gate
cd "$dir" || exit 1

run lh gate g
is "$status" 1 "no gate: 1"
like "$err" "there is no gate 'g'" "  says so"
ok "  and makes none" test ! -e g
run lh gate --no-create g 5
is "$status" 1 "nor with --no-create"
ok "  makes none" test ! -e g

run lh gate g 5
is "$status$out$err" 0 "a first token passes"
run lh gate g 5
is "$status" 0 "  again"
run lh gate g 4
is "$status" 1 "an older one: 1"
like "$err" "refuses token 4: 5 has been here" "  says why"
run lh gate -s g 7
is "$status" 0 "a reader"
run lh gate --shared g 6
is "$status" 0 "  another"
run lh gate g 7
is "$status" 1 "no writer with its token"
run lh gate g
is "$status$out" "0exclusive 5
shared 7" "the marks"
run lh gate --json g
is "$(jq -c . <<<"$out")" '{"gate":"g","exclusive":"5","shared":"7"}' "  as JSON"
run lh gate --json g 3
is "$status$(jq -c '[.token,.mode,.passed]' <<<"$out")" \
    '1["3","exclusive",false]' "a refusal as JSON"
run lh gate g 9223372036854775807
is "$status" 0 "the largest token"

for bad in "" "g 1 2" "g 0" "g 9223372036854775808" "g -1" "g x" "g ''" \
    "--nonsense g 1"; do
	eval "run lh gate $bad"
	is "$status" 64 "gate $bad: 64"
done

# Files that are no gates, disks that are full or fail.
echo nonsense >none
run lh gate none 5
is "$status" 65 "not a gate: 65"
run lh gate /no/such/directory/g 5
is "$status" 73 "no directory: 73"
run lh gate . 5
is "$status" 65 "a directory: 65"
for call in msync:error=EIO fsync:error=EIO fsync:error=EIO:when=2; do
	run strace -o /dev/null -e inject=$call "$LEASEHOLD" gate --durable \
	    d-$call 5
	is "$status" 71 "a disk that fails in $call: 71"
	like "$err" "Input/output error" "  says so"
done
run lh gate d-msync:error=EIO 4
is "$status" 1 "what could not be written has been shown all the same"
run lh gate --durable d-msync:error=EIO 5
is "$status" 0 "and passes when the disk works"
run strace -o trace -e trace=msync "$LEASEHOLD" gate --durable \
    d-msync:error=EIO 5
is "$status$(grep -c msync trace)" 00 "what is on the disk is not written again"
run strace -o /dev/null -e inject=pwrite64:error=ENOSPC "$LEASEHOLD" gate full 5
is "$status" 73 "a full disk: 73"
is "$(ls -A | grep -c -e full -e '^\.gate-')" 0 "  leaves nothing"
run strace -o /dev/null -e inject=pwrite64:retval=100 "$LEASEHOLD" gate full 5
is "$status" 73 "a short write: 73"
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	mkdir disk
	run unshare -m sh -c 'mount -t tmpfs -o size=64k none disk &&
	    { cat /dev/zero >disk/fill; "$LEASEHOLD" gate disk/g 5; }'
	is "$status" 73 "no room at all: 73"
	like "$err" "No space left" "  says so"
	run unshare -m sh -c 'mount -t tmpfs -o ro none disk &&
	    "$LEASEHOLD" gate disk/g 5'
	is "$status" 73 "read-only: 73"
else
	skip "needs root" "no room at all"
fi

# Many at once: what passed is in order, and the gate knows the last.
for i in 1 2 3; do
	for t in $(seq $i 3 60); do
		lh gate crowd $t 2>/dev/null && echo $t
	done >passed.$i &
	mind $!
done
wait %1 %2 %3
run lh gate crowd
like "$out" "exclusive 60" "many at once: the largest has been there"
for i in 1 2 3; do
	ok "  in order" sort -nc passed.$i
done

# doc/gate.md
example() {
	sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$here/../../doc/gate.md" | sed '1d;$d'
}
PATH=$(dirname "$LEASEHOLD"):$PATH
make_report() { cat -- ${1:+"$1"} </dev/null && echo "by $LEASEHOLD_FENCE"; }
export -f make_report
example 'sh file' >file.sh
ok "the example with a file" test -s file.sh
LEASEHOLD_FENCE=8 bash file.sh 2>/dev/null
LEASEHOLD_FENCE=7 bash file.sh 2>/dev/null
is "$?$(echo report.[0-9]*)" "1report.8" "  keeps the late one off"
LEASEHOLD_FENCE=10 bash file.sh 2>/dev/null
is "$?$(cat report.10)" "0by 8
by 10" "  and lets the next one go on from there"
if command -v sqlite3 >/dev/null; then
	example 'sh sql' >sql.sh
	export DB=$dir/db
	LEASEHOLD_FENCE=8 AMOUNT=80 bash sql.sh 2>/dev/null
	is "$?" 0 "the example with a database"
	LEASEHOLD_FENCE=7 AMOUNT=70 bash sql.sh 2>/dev/null
	is "$?" 1 "  refuses the late one"
	is "$(sqlite3 "$DB" 'SELECT * FROM ledger')" 'a|80|8' "  and its amount"
else
	skip "no sqlite3" "the example with a database"
fi
example c >save.c
echo 'int main(void) { return 0; }' >>save.c
run gcc -std=c99 -Wall -Werror -I"$here/../../include" -fsyntax-only save.c
is "$status$err" 0 "the example in C compiles"

finish
