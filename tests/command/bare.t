#!/bin/bash
# SPDX-License-Identifier: MIT
# `make` on a machine without the libraries' headers, or without a compiler,
# names what is missing, and tools/deps, which installs it.
#
# Otherwise a newcomer would search for the package of a header.
. "$(dirname "$0")/lib.sh"
root=$here/../..
cat >"$dir/cc" <<'END'
#!/bin/sh
# a compiler that has neither jansson nor nghttp2
for a; do
	[ "$a" != -E ] || { grep -qE 'jansson|nghttp2' && exit 1; exit 0; }
done
echo "fatal error: jansson.h: No such file or directory" >&2
exit 1
END
chmod +x "$dir/cc"
run make -C "$root" CC="$dir/cc" BUILD="$dir/build" "$dir/build/tools/show.o"
ok "make fails" [ "$status" != 0 ]
like "$err" "not installed: jansson.h nghttp2/nghttp2.h; run tools/deps" \
    "  and says what to do"
run make -C "$root" CC="$dir/none" BUILD="$dir/build" "$dir/build/tools/show.o"
like "$err" "there is no compiler '$dir/none': run tools/deps" \
    "without a compiler, too"
run "$root/tools/missing" cc
is "$status$err" 0 "where nothing is missing, nothing is said"
finish
