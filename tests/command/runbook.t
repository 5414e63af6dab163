#!/bin/bash
# SPDX-License-Identifier: MIT
# test: slow 15
# Issue 24 C5: each command of the runbook in doc/operations.md is run as it stands
# there, in the state that it is for, and its answer has the words that the runbook
# explains.
#
# Otherwise the runbook would name options that are gone, and words that nobody
# sees, and nobody would notice before the night in which it is needed.
watch_s=300
. "$(dirname "$0")/lib.sh"
table runbook
page=$here/../../doc/operations.md
mkdir "$dir/bin"
ln -s "$LEASEHOLD" "$dir/bin/leasehold"
PATH=$dir/bin:$PATH

# The runbook, and the commands of one part of it
sed -n '/^## Runbook/,/^## Looking/p' "$page" >"$dir/runbook"
part() {
	awk -v title="### $1" '/^###? / { on = $0 == title } on' "$dir/runbook"
}
commands() {
	part "$1" | awk '/^```/ { on = !on; next } on'
}
grep '^### ' "$dir/runbook" | sed 's/^### //' >"$dir/titles"
while read -r title; do
	commands "$title"
done <"$dir/titles" | sort >"$dir/all"
: >"$dir/done"

# step TITLE COMMAND: that command, which has to stand in that part
title=
step() {
	commands "$title" | grep -qxF -e "$1" || fail "'$title' has no '$1'"
	echo "$1" >>"$dir/done"
	# shellcheck disable=SC2086
	run $1
}
# explains WORDS: the part has these words, and the answer as well
explains() {
	like "$(part "$title")" "$1" "$title: explains '$1'"
	like "$out" "$1" "  which is what is seen"
}

title="A key is busy"
bg "$LEASEHOLD" run --ttl 600s backup sleep 600
holder=$pid
begun "$holder"
run leasehold run -n backup true
is "$status" 75 "a key is busy: 75"
step "leasehold explain backup"
is "$status" 0 "  explain: 0"
explains asleep
kill -STOP "$holder"
until_true 5000 is_stopped "$holder"
step "leasehold explain backup"
explains stopped
like "$out" "kill -CONT $holder" "  and the command that resumes it"
kill -CONT "$holder"
step "leasehold log --at now backup"
is "$status" 0 "  log --at: somebody held it"
like "$out" "[$holder]" "  who"
step "leasehold ask backup"
is "$status" 0 "  ask: 0"
ok "  the holder goes on" kill -0 "$holder"

bg "$LEASEHOLD" run --ttl 600s other sleep 600
begun "$pid"
bg "$LEASEHOLD" run --ttl 600s first "$LEASEHOLD" run -w 600s other true
until_true 5000 has_waiters other 1
run leasehold explain first
explains "waits, for"
like "$out" "'other' is held by" "  and goes on with that key"

title="Somebody waits and waits"
bg "$LEASEHOLD" run -w 600s backup true
waiter=$pid
until_true 5000 has_waiters backup 1
step "leasehold top -b -n 2"
explains "GRANTS/S"
like "$(grep ^backup <<<"$out")" "[$holder]" "  with the holder"
step "leasehold list --held"
like "$out" backup "  list: the key"
step "leasehold explain backup"
like "$out" "1 waits for it" "  explain: the waiter"

title="A key is busy"
step "leasehold break backup"
is "$status" 0 "$title: break: 0"
ended "$waiter"
is "$status" 0 "  the waiter gets the key"
ended "$holder"
is "$status" 76 "  and the holder ends with 76"

title="Leases are lost"
bg "$LEASEHOLD" run -F --ttl "$(t_ms 300)ms" backup sleep 600
due=$pid
until_true 20000 is_free backup
bg "$LEASEHOLD" run --ttl 600s backup sleep 600
slain "$pid"
until_true 20000 is_free backup
kill -KILL "$due"
step "leasehold stats"
for words in "ran out" "died with their process or session" "were broken"; do
	explains "$words"
done
like "$out" "1 ran out, 1 died with their process or session, 1 were broken" \
    "  one of each"
step "leasehold log backup"
is "$status" 0 "  log: 0"
for words in "had run out" "had died" broke; do
	ok "  has the reason: $words" grep -q "$words" <<<"$out"
done

title="Nobody can use a table"
step "leasehold tables"
like "$out" "$LEASEHOLD_TABLE" "$title: tables"
step "leasehold fsck"
is "$status" 0 "  fsck: sound"
step "leasehold fsck --repair --dry-run"
ok "  a repair that only says what it would do ($status)" test \
    "$status" = 0 -o "$status" = 75
run leasehold stats --shim
is "$status" 69 "  stats --shim without a shim: 69"

title="A job left something behind"
leasehold session open --ttl 600s left >/dev/null
leasehold acquire --session left kept >/dev/null
step "leasehold session list"
like "$out" left "$title: the session"
step "leasehold list"
like "$out" kept "  and what it holds"
run leasehold session destroy left
is "$status" 0 "  it is ended"
ok "  and its key is free" until_true 5000 is_free kept
bg "$LEASEHOLD" run --robust --ttl 600s kept sleep 600
slain "$pid"
until_true 5000 is_free kept
run leasehold mark-consistent kept
is "$status" 0 "  mark-consistent: 0"

title="A table must be looked at later"
step "leasehold dump --json"
is "$(jq -r .table.path <<<"$out")" "$(object)" "$title: dump"
run leasehold log --json
is "$status" 0 "  log --json: 0"
cp --sparse=always "$(object)" "$dir/copy"
run leasehold dump "$dir/copy"
like "$out" "key backup" "  dump of a copy"

# the limits
limit() {	# TEXT: the greatest number of that row
	sed -n "s/^| $1[^|]*| \([0-9,]*\) |.*/\1/p" "$page" | tr -d ,
}
for row in "keys:keys of a table" "sessions:processes attached" \
    "leases:leases and waits"; do
	most=$(limit "${row#*:}")
	ok "limits: ${row#*:}: $most" test "$most" -gt 1000
	run leasehold init --table "$LEASEHOLD_TABLE.none" "--${row%%:*}" \
	    $((most + 1))
	is "$status" 64 "  one more is refused"
done
most=$(limit "bytes of a key's name")
run leasehold run "$(printf "%0${most}d" 1)" true
is "$status" 0 "limits: a key of $most bytes"
run leasehold run "$(printf "%0$((most + 1))d" 1)" true
is "$status" 64 "  one more is refused"

is "$(sort -u "$dir/done" | comm -13 - <(sort -u "$dir/all"))" "" \
    "no command of the runbook is left out"
ok "which has many" test "$(sort -u "$dir/all" | wc -l)" -ge 12
finish
