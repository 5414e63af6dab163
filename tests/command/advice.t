#!/bin/bash
# SPDX-License-Identifier: MIT
# Issue 21 C: a command that `explain` advises can be copied into a shell.  It
# has exactly the key's or session's bytes as one word, and names the table.
#
# Otherwise the name of a stranger's session would run a command as root, and
# the copied line would break another key, or a key of another table.
. "$(dirname "$0")/lib.sh"
table advice
name=$LEASEHOLD_TABLE
unset LEASEHOLD_SESSION

# The advice that begins with $1, and the words that a shell makes of it.
advice() {
	sed -n "s/^  $1: *//p" <<<"$out"
}
words() {
	env -u LEASEHOLD_TABLE bash -c "leasehold() {
		printf '<%s>' \"\$@\" | od -An -tx1 -v | tr -d ' \n'
	}; $(advice "$1")"
}
expected() {
	printf '<%s>' "$@" | od -An -tx1 -v | tr -d ' \n'
}

for key in plain "it's" 'two words' $'a\nb' 'a\x0ab' $'t\tab' '-n' 'a\b' '~' \
    '$(id)' '`id`;id' $'it\'s\n!x' $'\303\244' $'\303\2441' $'\377\1771' '"'; do
	lh acquire --for-pid $$ -- "${key//\\/\\\\}" >/dev/null
	run lh explain -- "$key"
	dash=()
	[ "${key:0:1}" != - ] || dash=(--)
	shown=$(printf %q "$key")
	is "$(words 'end its lease')" "$(expected break --table "$name" \
	    "${dash[@]}" "$key")" "$shown: what ends its lease"
	is "$(words 'wait for a change')" "$(expected watch -n 1 --table \
	    "$name" "${dash[@]}" "$key")" "  what waits for a change"
	is "$(advice 'end its lease' | LC_ALL=C tr -d '\0-\11\13-\37\177')" \
	    "$(advice 'end its lease')" "  nothing moves the cursor"
done

# The name of a session is anybody's choice.
evil='x;touch "$EVIL"'
export EVIL=$dir/evil
if unshare -pf --mount-proc true 2>/dev/null; then
	cat >"$dir/script" <<'END'
"$LEASEHOLD" session open --pid $$ "$1" >/dev/null &&
    "$LEASEHOLD" acquire --session "$1" theirs >/dev/null || exit
echo $$ >"$0.pid"
sleep 300
END
	bg unshare -pf --kill-child --mount-proc bash "$dir/script" "$evil"
	until_true 5000 test -s "$dir/script.pid"
	run lh explain theirs
	is "$(words 'if its process has ended')" "$(expected session destroy \
	    --table "$name" "$evil")" "a session that looks like a command"
	ok "  nothing is run" test ! -e "$EVIL"
fi

# Only the table that the same words reach is not named.
run lh destroy --inconsistent plain
is "$status" 75 "a key that is held stays"
lh run --robust noted sh -c 'kill -9 $PPID' 2>/dev/null
run lh destroy noted
like "$err" "leasehold destroy --inconsistent --table $name 'noted'" \
    "destroy of a key with a note: what removes it"
# A command that was cut would name another key.
long=$(printf "'%.0s" {1..255})
lh run --robust "$long" sh -c 'kill -9 $PPID' 2>/dev/null
run lh destroy "$long"
like "$err" "--table $name" "destroy of the longest key, with a note"
out=$(sed 's/.*this note: /  all of it: /' <<<"$err")
is "$(words 'all of it')" "$(expected destroy --inconsistent --table "$name" \
    "$long")" "  what removes it names that key"

run lh run --scope local k true
like "$err" "leasehold init --durable --table $name" "an error of the library"
run lh init
like "$err" "leasehold rm --table $name" "init of a table that exists"
run lh log --at now none
like "$out" "leasehold log --grants on --table $name" "log --at"
finish
