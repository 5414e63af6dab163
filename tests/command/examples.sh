# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154,SC2016,SC2317
#
# What the tests of doc/examples share, on top of lib.sh: the examples, made as a
# reader makes them, in $dir, and a way to stop one between two given steps.
#
#	. "$(dirname "$0")/lib.sh"
#	. "$(dirname "$0")/examples.sh"
#	example leader.c		# $dir/leader
#	example migrate.sh s/10s/2s/	# $dir/migrate.sh, with a shorter lease
#	start A "$dir/leader" ...	# in the background; output in A.out, A.err
#
# Once the file `stop` is there, a C program stops before its next rename(2), or, if
# the file has a number, after so many; and a script before a statement for its
# database that has the words in stop-at.  The first of them removes the file.  All
# stand in $dir, which is the current folder.
cd "$dir" || exit 1
PATH=$dir/bin:$(dirname "$LEASEHOLD"):$PATH
export XDG_STATE_HOME=$dir/state
mkdir bin

cat >stop.h <<'END'
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static inline int
stopping_rename(const char *from, const char *to)
{
	static int calls;
	int after = 0;
	FILE *f = fopen("stop", "r");

	calls++;
	if (f != NULL) {
		if (fscanf(f, "%d", &after) < 0)
			after = 0;
		fclose(f);
		if (calls > after && unlink("stop") == 0)
			raise(SIGSTOP);
	}
	return rename(from, to);
}
#define rename stopping_rename
END

# stopping PROGRAM: in place of that client of a database
stopping() {
	cat >"bin/$1" <<END
#!/bin/bash
statements=\$(cat)
if [[ \$statements == *"\$(cat "$dir/stop-at")"* ]] && rm "$dir/stop"; then
	echo \$\$ >"$dir/stopped"
	kill -STOP \$\$
fi 2>/dev/null
exec $(command -v "$1") "\$@" <<<"\$statements"
END
	chmod +x "bin/$1"
}

# example FILE [s/THIS/THAT/]: compiled or copied, with that change
example() {
	local from=$here/../../doc/examples/$1 build=${LEASEHOLD%/*} to=${1%.c}

	must_run "$build/libleasehold.so"
	sed "${2:-}" "$from" >"$1"
	if [ -n "${2:-}" ] && [ -z "$(sed -n "$2p" "$from")" ]; then
		echo "Bail out! $2 finds nothing in $1"
		exit 1
	fi
	case $1 in
	*.c)	# shellcheck disable=SC2086
		run ${CC:-gcc} -O1 -Wall -Wextra -Werror -include stop.h \
		    -I"$here/../../include" ${CPPFLAGS:-} ${CFLAGS:-} -o "$to" \
		    "$1" ${LDFLAGS:-} -L"$build" -lleasehold -Wl,-rpath,"$build"
		is "$status$err" 0 "$1 compiles without a warning" ;;
	*)	chmod +x "$1" ;;
	esac
	# three sentences on when to use it, before any code
	is "$(sed -n '/^[ #*]* Use it when/,/^[ #*]*$/s/^[ #*]*//p' "$from" |
	    grep -oE '\.(  |$)' | wc -l)" 3 "$1 says in three sentences when to use it"
}

# start NAME COMMAND...: $pid; what it prints is in NAME.out and NAME.err
start() {
	bg bash -c 'name=$1; shift; exec "$@" >"$name.out" 2>"$name.err"' - "$@"
}

has_printed() {
	[ -s "$1.out" ]
}

# stops_there PID: that process stops before its next step
stops_there() {
	: >stop
	until_true 20000 is_stopped "$1"
}

field() {	# N LINE
	cut -d ' ' -f "$1" <<<"$2"
}
