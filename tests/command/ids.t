#!/bin/bash
# SPDX-License-Identifier: MIT
# Guarantee G11, issue 21 B1: a lease's id that was kept in a file ends no lease
# of a later table, nor a session of it.  A later table's jobs do not take such
# an id for the lease of an outer `run`.
#
# Otherwise a script would end somebody else's lease after a reboot.
. "$(dirname "$0")/lib.sh"
table ids
unset LEASEHOLD_SESSION

run lh acquire --ttl 60s disk
is "$status" 0 "acquire"
echo "$out" >"$dir/kept"
read -r id token session <"$dir/kept"
run lh session open --ttl 60s job
run lh rm --force --forget-tokens
is "$status" 0 "the table is removed"

run lh acquire --ttl 60s disk
is "$status" 0 "acquired in the next one"
read -r id2 token2 session2 <<<"$out"
is "$token2" "$token" "  with the same token"
isnt "$id2" "$id" "  and another id"
isnt "$session2" "$session" "  of another session"
is "${id2:16}" "${id:16}" "  whose place is the same"
run lh release disk "$id" "$token"
is "$status" 76 "the id that was kept: lost"
like "$err" "another table" "  says why"
run lh convert --shared disk "$id" "$token"
is "$status" 76 "  not to be converted"
run lh break --lease "$id" disk
isnt "$status" 0 "  nor broken"
is_held disk >/dev/null
is "$?" 0 "the key is held still"
run lh acquire -n disk
is "$status" 75 "  and excludes"
run lh release disk "$id2" "$token2"
is "$status" 0 "released by its own id"
is_free disk
is "$?" 0 "  and free"

finish
