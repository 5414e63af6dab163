# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# What the tests of the packages share: clean systems of Debian's packages in a
# folder, with mounts and processes of their own.  TAP is that of the command's
# tests.
#
#	watch_s=600			# the test may take that long
#	. "$(dirname "$0")/lib.sh"
#	make_system NAME		# from Debian's archive, once; then a copy
#	inside apt-get update
#	inside_as USER COMMAND...
#
# Everything stands in build/packages: clean.tar, the system that is copied;
# archives/, what apt has downloaded; debs/, our packages, which build.t makes.
# A system, its processes and its mounts go with the test.
. "$(dirname "$0")/../command/lib.sh"
top=$(cd "$here/../.." && pwd)
store=$top/build/packages
debs=$store/debs
version=$(sed -n '1s/.*(\(.*\)).*/\1/p' "$top/debian/changelog")
upstream=${version%-*}
names='libleasehold0 libleasehold-dev leasehold leasehold-daemons
    leasehold-preload python3-leasehold leasehold-doc'
cd "$top" || exit 1
mkdir -p "$store/archives/partial"

if [ "$(id -u)" != 0 ]; then
	echo "1..0 # SKIP only root can make a system in a folder"
	exit 0
fi

# a command whose output matters only if it fails
loud() {
	"$@" >"$dir/loud" 2>&1 && return
	diag "failed: $*" "$(tail -n 30 "$dir/loud")"
	return 1
}

bail() {
	echo "Bail out! $*"
	exit 1
}

make_clean() {
	[ ! -f "$store/clean.tar" ] || return 0
	loud mmdebstrap --format=tar --variant=minbase \
	    --dpkgopt=force-unsafe-io bookworm \
	    "$store/clean.tar.new" && mv "$store/clean.tar.new" "$store/clean.tar"
}

is_entered() {
	keeper=$(pgrep -P "$1") && [ -e "/proc/$keeper/root/entered" ]
}

# make_system NAME: a clean system, entered; $root is its folder
make_system() {
	make_clean || bail "cannot make a clean system: does apt-get update work?"
	root=$store/$1
	rm -rf --one-file-system "$root"
	mkdir "$root"
	tar -xf "$store/clean.tar" -C "$root" --exclude='./dev/*'
	cp -L /etc/resolv.conf "$root/etc/"
	echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/unsafe-io"
	systems+=("$root")
	enter_system
}

enter_system() {
	rm -f "$root/entered"
	bg unshare -mpf --kill-child "$here/enter" "$root" "$store/archives"
	until_true 20000 is_entered "$pid" || bail "cannot enter $root"
}

inside() {
	nsenter -t "$keeper" -m -p -r -w env -i HOME=/root LC_ALL=C.UTF-8 \
	    PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive \
	    "$@"
}

# inside_as USER COMMAND...
inside_as() {
	inside setpriv --reuid "$1" --regid "$1" --init-groups \
	    --reset-env "${@:2}"
}

apt() {
	loud inside apt-get -y -q --no-install-recommends "$@"
}

# our packages, as files of the system: $ours
copy_debs() {
	local d

	[ -n "$(ls "$debs"/*.deb 2>/dev/null)" ] ||
		bail "there are no packages: run tests/packages/build.t first"
	mkdir -p "$root/debs"
	ours=
	for d in $names; do
		cp "$debs/${d}_${version}"_*.deb "$root/debs/"
		ours+=" /debs/$(basename "$debs/${d}_${version}"_*.deb)"
	done
}

systems=()
leave() {
	clean
	for root in "${systems[@]}"; do
		rm -rf --one-file-system "$root"
	done
}
trap leave EXIT
