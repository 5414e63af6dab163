#!/bin/bash
# SPDX-License-Identifier: MIT
# Each thing that can be wrong with the configuration is said, with its place
# and what would be right; -n checks it.
. "$(dirname "$0")/lib.sh"
table bad-config
conf=$dir/conf

# refused TEXT LINE PART: a file of TEXT (printf) is refused at LINE for PART
refused() {
	# shellcheck disable=SC2059
	printf "$1" >"$conf"
	run "$REAPERD" -n -c "$conf"
	is "$status" 78 "'$1': 78"
	like "$err" "leasehold-reaperd: $conf:$2: " "  in line $2"
	like "$err" "$3" "  why"
}

# accepted TEXT
accepted() {
	# shellcheck disable=SC2059
	printf "$1" >"$conf"
	run "$REAPERD" -n -c "$conf"
	is "$status$err" 0 "'$1' is good"
}

printf 'tables = a\n' >"$conf"
chmod 646 "$conf"
run "$REAPERD" -n -c "$conf"
is "$status" 78 "a file that others may write to: 78"
like "$err" "other users can write to" "  why"
chmod 644 "$conf"
refused 'tables = a\ntabels = b\n' 2 "there is no key 'tabels'; the keys are \
system, tables, evict_idle, evict_above, tick_min, metrics, metrics_mode, \
log_level, pidfile"
refused 'tables =\n' 1 "tables: no table is named; write names, or * for all tables"
refused 'tables = ,,\n' 1 "no table is named"
refused 'tables = ok ../x\n' 1 "'../x' is no name for a table: use 1 to 64"
refused "tables = $(printf 'x%.0s' {1..65})" 1 "longer than 64 characters"
refused 'system = maybe\n' 1 "system: 'maybe' is neither yes nor no"
refused 'evict_idle = 5q\n' 1 "'q' in '5q' is no unit of time; write ms, s"
refused 'evict_idle = -1s\n' 1 "is negative"
refused 'evict_idle = 0\n' 1 "write a time, or never"
refused 'evict_idle = 99999999999d\n' 1 "is more than ten years"
refused 'evict_above = 101\n' 1 "'101' is not a whole number from 0 to 100"
refused 'evict_above = %%\n' 1 "evict_above: a number is missing"
refused 'evict_above = 12345678901234567890\n' 1 "not a whole number"
refused 'tick_min = 0\n' 1 "tick_min: '0' is not between 1ms and 60s"
refused 'tick_min = 2m\n' 1 "not between 1ms and 60s"
refused 'metrics = here\n' 1 "metrics: 'here' is not an absolute path"
refused "metrics = /$(printf 'x%.0s' {1..107})" 1 "more than 107 bytes"
refused 'metrics_mode = 0778\n' 1 "'0778' is not a mode; write for example 660"
refused 'metrics_mode = 1777\n' 1 "is not a mode"
refused 'metrics_mode = -1\n' 1 "is not a mode"
refused 'log_level = loud\n' 1 "is not a level; write error"
refused 'pidfile = pid\n' 1 "pidfile: 'pid' is not an absolute path"
refused 'system = no\n\n# x\nsystem = yes\n' 4 "already set on an earlier line"
refused '[daemon]\nsystem = no\n' 2 "section [daemon]: there are no sections here"
refused 'system = no\nwhat is this\nsystem = 5\n' 2 "invalid line; write KEY = VALUE"
refused '\n[unclosed\n' 2 "invalid line"
refused "\n\ntables = $(printf 'x %.0s' {1..200})\n" 3 \
    "the line has more than 198 bytes"
refused 'system\0 = no\n' 1 "contains a NUL"
refused 'system = no # really\n' 1 "neither yes nor no"

accepted ''
accepted '# nothing\n; nothing\n\n   \n'
accepted 'tables = a, b  c\ntables = d\ntables = *'
accepted '  system = yes\n\tevict_idle = 1.5h'
accepted 'system: ON\nevict_idle = never\nevict_above = 90%%\r\n'
accepted 'tick_min = 250ms ; a remark\nmetrics = off\nmetrics_mode = 666'

long=/tmp/$(printf 'x%.0s' {1..100})
printf 'tick_min = 1ms\n' >"$conf"
run env RUNTIME_DIRECTORY="$long" "$REAPERD" -n -c "$conf"
is "$status" 78 "a place that is too long for a socket: 78"
like "$err" "metrics: the default path" "  says which"
RUNTIME_DIRECTORY=$long accepted 'metrics = off\n'
accepted 'log_level = Debug\npidfile = /run/x.pid\n'

run "$REAPERD" -n -c "$dir/nothing"
is "$status" 78 "a file that is not there: 78"
like "$err" "cannot read the configuration $dir/nothing: No such file" "  why"
run "$REAPERD" -n -c "$dir"
is "$status" 78 "a directory: 78"
like "$err" "it is no regular file" "  why"
head -c 100000 /dev/urandom >"$conf"
run "$REAPERD" -n -c "$conf"
is "$status" 78 "noise: 78"

# The environment overrides the file, and options the environment.
echo "log_level = nonsense" >"$conf"
run env LEASEHOLD_REAPERD_LOG_LEVEL=error "$REAPERD" -n -c "$conf"
is "$status" 78 "the environment does not make a bad file good"
echo "log_level = error" >"$conf"
run env LEASEHOLD_REAPERD_LOG_LEVEL=loud "$REAPERD" -n -c "$conf"
is "$status" 78 "a bad environment: 78"
like "$err" "environment: LEASEHOLD_REAPERD_LOG_LEVEL: 'loud' is not a level" \
    "  says where"
run "$REAPERD" -n -t 'a b'
is "$status" 78 "a bad option: 78"
like "$err" "-t: 'a b' is no name for a table" "  says which"
echo "tables = x-$$" >"$conf"
run env LEASEHOLD_REAPERD_TABLES="y-$$" "$REAPERD" --once -c "$conf"
like "$err" "table y-$$ does not exist yet" "the environment wins over the file"
run env LEASEHOLD_REAPERD_TABLES="y-$$" "$REAPERD" --once -c "$conf" \
    -t "z-$$" -t "w-$$"
like "$err" "table z-$$ does not exist yet" "options win over the environment"
like "$err" "table w-$$ does not exist yet" "  each of them"
is "$(grep -c "y-$$" <<<"$err")" 0 "  alone"

for o in --nonsense -x -c; do
	run "$REAPERD" $o
	is "$status" 64 "option $o: 64"
	like "$err" "--help" "  where to look"
done
run "$REAPERD" here
is "$status" 64 "an argument: 64"
run "$REAPERD" --help
is "$status" 0 "--help: 0"
run "$REAPERD" --version
is "$status" 0 "--version: 0"
like "$out" "leasehold-reaperd " "  says which"

# Places that are not ours.
run env LEASEHOLD_REAPERD_PIDFILE=/proc/nowhere/pid "$REAPERD" -f
is "$status" 71 "a pid file that cannot be: 71"
like "$err" "cannot lock the pid file /proc/nowhere/pid" "  says so"
mkdir -m 777 "$dir/open"
run env LEASEHOLD_REAPERD_PIDFILE="$dir/open/pid" "$REAPERD" -f
is "$status" 71 "a directory that everybody can write to: 71"
like "$err" "other users can write to the directory" "  says so"

finish
