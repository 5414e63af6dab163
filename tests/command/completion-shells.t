#!/bin/bash
# SPDX-License-Identifier: MIT
# test: check-all: zsh and fish are installed for it
# The completion of zsh and fish offers what `leasehold complete` prints.
#
# Otherwise these shells would offer options that do not exist.
. "$(dirname "$0")/lib.sh"
table shells
must_run /usr/bin/zsh /usr/bin/fish
scripts=$here/../../tools/completion
export PATH=${LEASEHOLD%/*}:$PATH
lh run 'a key' true
lh run akk true

# zsh_offers WORDS...: $offered; what zsh itself would do is printed
zsh_offers() {
	offered=$(zsh -fc '
		compadd() { shift 4; print -l -- ${(P)1} }
		_files() { print files }
		_command_names() { print commands }
		file=$1
		shift
		words=(leasehold "$@")
		CURRENT=$#words
		source $file' _ "$scripts/_leasehold" "$@" 2>&1)
}
zsh_offers run --sco
is "$offered" --scope "zsh: an option"
zsh_offers status a
is "$offered" $'a key\nakk' "zsh: keys"
zsh_offers gate ''
is "$offered" files "zsh: files"
zsh_offers run k ''
is "$offered" commands "zsh: commands"

# fish_offers LINE: $offered, without what they mean
fish_offers() {
	offered=$(fish --no-config -c "source $scripts/leasehold.fish
		complete -C '$1'" | cut -f 1)
}
fish_offers 'leasehold run --sco'
is "$offered" --scope "fish: an option"
fish_offers 'leasehold status a'
is "$offered" $'a key\nakk' "fish: keys"
fish_offers 'leasehold gate /etc/passw'
like "$offered" /etc/passwd "fish: files"
fish_offers 'leasehold run k ech'
like "$offered" echo "fish: commands"
finish
