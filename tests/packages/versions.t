#!/bin/bash
# SPDX-License-Identifier: MIT
# Issue 24 E4 (doc/compatibility.md): this version meets a build whose numbers are
# one higher: that of the shim's messages, and that of the table's format.  Each
# works, or is refused with an error that says so; holders go on in any case.
#
# Otherwise an upgrade could let two versions read the same memory in two ways.
watch_s=3000
. "$(dirname "$0")/lib.sh"
table versions
old=$LEASEHOLD
later=$dir/later

# The other build begins as a copy of this one, and makes anew what a number is in.
mkdir "$later"
tar -C "$top" --exclude=./build --exclude=./.git -cf - . | tar -C "$later" -xf -
mkdir -p "$later/build"
cp -a "$top/build/release" "$later/build/"
# raised FILE DEFINE: that number is one higher
raised() {
	local file=$later/$1 number

	number=$(sed -n "s/^#define $2[[:space:]]*\([0-9]*\)u.*/\1/p" "$file")
	sed -i "s/^\(#define $2[[:space:]]*\)[0-9]*u/\1$((number + 1))u/" "$file"
	is "$(grep -c "^#define $2[[:space:]]*$((number + 1))u" "$file")" 1 \
	    "$2 is one higher in the other build"
	loud env -u BUILT -u MAKEFLAGS -u MAKELEVEL -u MFLAGS \
	    make -s -C "$later" \
	    -j"$(nproc)" tool lib shim || bail "the other build fails"
}
new=$later/build/release/leasehold

# the shim's messages
raised src/base/frame.h FRAME_VERSION
run "$old" init --fence-dir "$dir/fence"
is "$status" 0 "a durable table of this version"
bg "$old" run --scope local --ttl 600s k sleep 600
begun "$pid"
run "$new" run -n k true
is "$status" 75 "the same format: the other build sees what is held"
run "$new" run free true
is "$status" 0 "  and works in that table"
log=$dir/shim.log
mkdir "$dir/run" "$dir/state"
RUNTIME_DIRECTORY=$dir/run STATE_DIRECTORY=$dir/state bg sh -c \
    'exec "$1" -f -t "$2" -e http://127.0.0.1:1 2>"$3"' - \
    "$top/build/release/leasehold-shimd" "$LEASEHOLD_TABLE" "$log"
until_true 20000 "$old" stats --shim
run "$old" run -n cluster:k true
is "$status" 69 "the shim answers its own version: no cluster"
run "$new" run -n cluster:k true
is "$status" 69 "the other version: 69"
like "$err" "is of another version" "  says so"
run "$new" run -n free true
is "$status" 0 "  keys of the host do not notice"

# the table's format, and that of fence files
raised src/fence/range.c FORMAT
raised src/shm/layout.h SHM_FORMAT
format=$(sed -n 's/^#define SHM_FORMAT[[:space:]]*\([0-9]*\)u.*/\1/p' \
    "$top/src/shm/layout.h")
says="has format $format and this build wants $((format + 1))"
for verb in "run -n k true" "status k" list "log k" stats fsck dump "held k" \
    "fsck --repair" rm "explain k" "top -b -n 1" init "init --if-missing"; do
	# shellcheck disable=SC2086
	run "$new" $verb
	is "$status" 65 "another format: $verb: 65"
	like "$err" "$says" "  says so"
done
run python3 -c '
import ctypes, sys
l = ctypes.CDLL(sys.argv[1])
l.lh_error_detail.restype = ctypes.c_char_p
h = ctypes.c_void_p()
print(l.lh_open(ctypes.byref(h), sys.argv[2].encode(), None),
      l.lh_error_detail().decode())' \
    "$later/build/release/libleasehold.so.0" "$LEASEHOLD_TABLE"
like "$out" "-71 " "the other library under a program: -EPROTO"
like "$out" "$says" "  says so"
run "$old" status k
is "$status" 0 "the old processes have lost nothing"
run "$old" run -n other true
is "$status" 0 "  and more of them can be started"
run "$old" fsck
is "$status" 0 "  the table is sound"
token=$("$old" status --json k | jq -r '.holders[0].token')

# over it: the old build removes the table, the new one makes another
run "$old" rm --force
is "$status" 0 "the old build removes the table by force"
run "$new" init --fence-dir "$dir/fence"
is "$status" 0 "the new one makes a table of that name, with the same fence files"
# shellcheck disable=SC2016
run "$new" run --scope local k sh -c 'echo $LEASEHOLD_FENCE'
is "$status" 0 "  and grants leases"
ok "  with larger tokens" test "$out" -gt "$token"
run "$old" run -n k true
is "$status" 65 "now the old build is refused: 65"
like "$err" "has format $((format + 1)) and this build wants $format" "  says so"
run "$new" rm
is "$status" 0 "  and the new one removes its table"
finish
