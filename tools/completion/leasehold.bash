# SPDX-License-Identifier: MIT
# bash completion of leasehold(1): `leasehold complete` knows the candidates.
_leasehold()
{
	local cur=${COMP_WORDS[COMP_CWORD]} line whole

	COMPREPLY=()
	while IFS= read -r line; do
		case $line in
		:files)
			compopt -o default
			;;
		:commands)
			mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -c -- "$cur")
			;;
		*)
			printf -v whole %q "${line%%$'\t'*}"
			COMPREPLY+=("$whole")
			;;
		esac
	done < <("${COMP_WORDS[0]}" complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _leasehold leasehold
