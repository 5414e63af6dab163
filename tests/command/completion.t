#!/bin/bash
# SPDX-License-Identifier: MIT
# `leasehold complete` offers what the help of a verb and the table have: verbs,
# options, keys, sessions, tables, choices.  bash's completion offers the same.
#
# Otherwise a user would be offered options that do not exist.
. "$(dirname "$0")/lib.sh"
table completion
verbs=$(lh --help | sed -n '/^verbs:/,/^$/s/^  \([a-z-]*\) .*/\1/p')

# offers WORDS... = CANDIDATES...: all of them, in any order
offers() {
	local words=() name

	while [ "$1" != = ]; do
		words+=("$1")
		shift
	done
	shift
	printf -v name '%q ' "${words[@]}"
	is "$(lh complete "${words[@]}" | cut -f 1 | sort)" \
	    "$([ $# = 0 ] || printf '%s\n' "$@" | sort)" "complete $name"
}

lh run 'a key' true
lh run 'b,akk' true
lh run $'a\tcontrol' true
lh session open nightly >/dev/null
# shellcheck disable=SC2086
offers '' = $verbs help
offers ru = run
offers help ex = explain
offers nonsense '' =
offers run a = 'a key' akk
offers run b,a = 'b,a key' b,akk
offers run -n --wait 3 b = b
offers run --sco = --scope
offers run --scope '' = ephemeral local quorum
offers run --policy s = strict
offers run -w '' =
offers run -nw '' =
offers run k '' = :commands
offers run k -- '' = :commands
offers run k ls '' = :files
offers run k ls -l x = :files
offers sem '' = status held destroy run
offers sem run --permits 2 s '' = :commands
offers session '' = open renew destroy list
offers session d = destroy
offers session renew '' = nightly
offers renew n = nightly
offers acquire --session '' = nightly
offers list a = 'a key' akk
offers convert -s a = 'a key' akk
offers value '' = get set clear
offers value get b = b
offers gate '' = :files
offers dump '' = :files
offers log --grants '' = on off
offers log --file '' = :files
offers status --table "$LEASEHOLD_TABLE" b = b
offers status --table none '' =
offers status --table "${LEASEHOLD_TABLE%?}" =  "$LEASEHOLD_TABLE"
offers status --table=none b =
offers tables --uid "$(id -u)" = "$(id -u)"
events() { lh log --json | jq length; }
was=$(events)
offers status b = b
is "$(events)" "$was" "completion begins no session"
ok "nothing is made by asking" test ! -e "/dev/shm/leasehold.$(id -u)/none.table"

# Every option of every verb is offered, and no other.
for v in $verbs; do
	# shellcheck disable=SC2046
	offers "$v" -- = $(lh "$v" --help |
	    sed -nE 's/^ +(-[a-zA-Z], )*(--[a-z-]+).*/\2/p')
done
# And what is offered as a choice is one.
for o in scope policy on-loss on-ask; do
	for c in $(lh complete run "--$o" ''); do
		run lh run -n "--$o" "$c" --table none --nonsense k true
		like "$err" nonsense "run --$o $c is no error"
	done
done

# bash_offers WORDS...: $offered, quoted for the command line
bash_offers() {
	offered=$(bash -c '
		PATH=$1:$PATH
		. "$2"
		compopt() { echo "compopt $*"; }
		shift 2
		COMP_WORDS=(leasehold "$@")
		COMP_CWORD=$#
		_leasehold
		printf "%s\n" "${COMPREPLY[@]}"' _ "${LEASEHOLD%/*}" \
	    "$here/../../tools/completion/leasehold.bash" "$@")
}
bash_offers run --sco
is "$offered" --scope "bash: an option"
bash_offers status a
is "$offered" $'a\\ key\nakk' "bash: keys, quoted"
bash_offers gate ''
is "$offered" $'compopt -o default' "bash: files"
bash_offers run k ech
like "$offered" echo "bash: commands"
finish
