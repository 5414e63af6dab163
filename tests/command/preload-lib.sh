# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Shared by the tests of leasehold-preload, after lib.sh: programs that lock files
# (locker.c), and do what each line says that is sent to them.
#
#	locker a		begins one with the library; plain a: without
#	tell a flock 5 ex	$answer
#	send a wait 5 w 0 0	the same, which may wait; hear a: its answer
#	file f			$file, $key: a new file, and its whole key

preload=${LEASEHOLD%/*}/leasehold-preload.so
must_run "$preload"
PRELOADED="${LEASEHOLD%/*}/libleasehold.so.0 $preload"
compile locker.c
declare -A to_locker from_locker locker_pid

begin_locker() {	# NAME [VARIABLE=VALUE...]
	local in out name=$1

	shift
	rm -f "$dir/$name.in" "$dir/$name.out"
	mkfifo "$dir/$name.in" "$dir/$name.out"
	env "$@" "$dir/locker" <"$dir/$name.in" >"$dir/$name.out" \
	    2>"$dir/$name.err" 3>&- &
	locker_pid[$name]=$!
	mind "${locker_pid[$name]}"
	exec {in}>"$dir/$name.in" {out}<"$dir/$name.out"
	to_locker[$name]=$in
	from_locker[$name]=$out
}
locker() {	# NAME [VARIABLE=VALUE...]
	begin_locker "$1" LD_PRELOAD="$PRELOADED" "${@:2}"
}
plain() {
	begin_locker "$@"
}
send() {
	echo "${*:2}" >&"${to_locker[$1]}"
}
hear() {	# NAME [MS]: $answer; "none", if it takes longer
	local s

	printf -v s '%d.%03d' $((${2:-30000} * slow / 1000)) \
	    $((${2:-30000} * slow % 1000))
	answer=none
	read -r -t "$s" -u "${from_locker[$1]}" answer || answer=none
}
tell() {
	send "$@"
	hear "$1"
}
# its input ends, and it with that
end_locker() {
	local in=${to_locker[$1]} out=${from_locker[$1]}

	exec {in}>&- {out}<&-
	ended "${locker_pid[$1]}"
}
file() {
	file=$dir/$1
	: >"$file"
	key=$(stat -c 'file:%d:%i' "$file")
}
# does NAME WANTED LINE...: what it answers
does() {
	tell "$1" "${@:3}"
	is "$answer" "$2" "  $1: ${*:3}"
}

# waits_in_kernel PID: that process waits for a lock of the kernel's.
waits_in_kernel() {
	grep -q -- "-> .* $1 " /proc/locks
}
