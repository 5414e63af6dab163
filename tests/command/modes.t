#!/bin/bash
# SPDX-License-Identifier: MIT
# test: slow 12
# doc/security.md, "By mode of the table": the script reads that table and tries
# each cell: `yes` or the exit status of the refusal.  A refusal changes nothing
# for the present holder.  The script runs in a mount namespace with an /etc and
# a /dev/shm of its own.
#
# Otherwise the document would promise a protection that does not exist.
if [ "$(id -u)" != 0 ]; then
	echo "1..0 # SKIP needs root"
	exit 0
fi
[ -n "${own_etc:-}" ] || exec env own_etc=1 unshare -m "$0"
. "$(dirname "$0")/lib.sh"
table modes
name=$LEASEHOLD_TABLE
own_places
chmod 755 "$dir"
cp "$LEASEHOLD" "$dir/leasehold"	# where everybody can run it
system=/dev/shm/leasehold.system/$name.table
owner=4711 crew=4713

# as KIND COMMAND...: as a user of that kind
# shellcheck disable=SC2317
as() {
	local user group

	case $1 in
	root)	user=0 group=0 ;;
	owner)	user=$owner group=4712 ;;
	group)	user=4714 group=$crew ;;
	other)	user=65534 group=65534 ;;
	*)	echo "Bail out! no kind of user: $1"; exit 1 ;;
	esac
	shift
	setpriv --reuid "$user" --regid "$group" --clear-groups "$@"
}

# make MODE: a table that root has given to its owner and group
make() {
	[ ! -e "$system" ] || lh rm --system --force --forget-tokens 2>/dev/null
	printf '[table %s]\nowner = %s\ngroup = %s\nmode = %s\n' "$name" \
	    $owner $crew "$1" >/etc/leasehold.conf
	lh init --system --configured >/dev/null
	is "$(stat -c '%u %g %a' "$system")" "$owner $crew $1" \
	    "$1: as configured"
}

# stage MODE: a table with a holder and a session of root's.
stage() {
	make "$1"
	bg "$LEASEHOLD" run --system --ttl 60s held sleep 60
	holder=$pid
	until_true 5000 lh status --system held
	lh session open --system work --ttl 60s >/dev/null
}

# shellcheck disable=SC2317
is_held_there() {
	lh status --system held >/dev/null
}

unstage() {
	kill "$holder" 2>/dev/null
	ended "$holder"
	lh session destroy --system work 2>/dev/null
}

# tries_verb KIND WANTED VERB...: what it answers
tries_verb() {
	local kind=$1 wanted=$2 verb=$3

	shift 3
	run as "$kind" "$dir/leasehold" "$verb" --system "$@"
	is "$status" "${wanted/yes/0}" "$mode, $kind: $verb $*"
	[ "$wanted" = yes ] || [ -n "$err" ] || fail "  says why"
}

opens() {	# opens KIND WANTED -r|-w PATH
	run as "$1" test "$3" "$4"
	is "$status" "$([ "$2" = yes ] && echo 0 || echo 1)" \
	    "$mode, $1: test $3 ${4##*.}"
}

# one_row MODE KIND USE BREAK END LOOK DUMP LIVE REPAIR REMOVE
one_row() {
	local mode=$1 kind=$2 verb

	stage "$mode"
	tries_verb "$kind" "$3" run free true
	for verb in list stats fsck; do
		tries_verb "$kind" "$6" "$verb"
	done
	tries_verb "$kind" "$6" status held
	tries_verb "$kind" "$6" explain held
	tries_verb "$kind" "$7" dump
	tries_verb "$kind" "$7" log
	opens "$kind" "$8" -r "${system%.table}".live.*
	opens "$kind" "$8" -w "${system%.table}".live.*
	tries_verb "$kind" "$4" break held
	tries_verb "$kind" "$5" session destroy work
	[ "$4" = yes ] ||
	    ok "  the holder was not disturbed" is_held_there
	[ "$5" = yes ] || is "$(lh session list --system --json | jq length)" 1 \
	    "  nor the session"
	unstage
	tries_verb "$kind" "$9" fsck --repair
	tries_verb "$kind" "${10}" rm
	[ "${10}" != yes ] || make "$mode"
	tries_verb "$kind" "${10}" rm --force
}

# rows: the table of the page, without its bars
rows() {
	sed -n '/^## By mode of the table/,/^## /p' "$here/../../doc/security.md" |
	    grep -E '^\| ([0-7]{3}|any) \|' | tr -d '|'
}

n=0
while read -ra cells; do
	n=$((n + 1))
	[ ${#cells[@]} = 10 ] || fail "a row of ten cells: ${cells[*]}"
	modes=${cells[0]}
	[ "$modes" != any ] || modes="600 660 644 666"
	for m in $modes; do
		one_row "$m" "${cells[@]:1}"
	done
done < <(rows)
is "$n" 10 "every mode and kind of user has its row"
finish
