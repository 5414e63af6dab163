# SPDX-License-Identifier: MIT
# fish completion of leasehold(1): `leasehold complete` knows the candidates.
function __leasehold_complete
	set -l tokens (commandline -opc)
	set -l begun (commandline -ct)
	for line in ($tokens[1] complete $tokens[2..-1] $begun 2>/dev/null)
		switch $line
			case :files
				__fish_complete_path $begun
			case :commands
				__fish_complete_command
			case '*'
				echo $line
		end
	end
end
complete -c leasehold -f -a '(__leasehold_complete)'
