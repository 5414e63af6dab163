#!/bin/bash
# SPDX-License-Identifier: MIT
# Issue 24 D5: pip builds and installs the Python package with Debian's setuptools
# and wheel, and nothing from the network.  The wheel has the types, mypy has
# nothing to say about the package in its strict mode, and it finds a wrong call of
# a user's.  The tests of the tree pass with what was installed.
#
# Otherwise a program with types could not use it, or an environment of its own
# would not get it.
watch_s=600
. "$(dirname "$0")/../command/lib.sh"
top=$here/../..
python=/usr/bin/python3
must_run $python /usr/bin/mypy
export LEASEHOLD_LIBRARY=${LEASEHOLD%/*}/libleasehold.so.0 PIP_NO_INDEX=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1 HOME=$dir

# pip builds beside the source, so in a copy
mkdir -p "$dir/tree/include" "$dir/tree/bindings"
cp -r "$top/include/leasehold" "$dir/tree/include/"
cp -r "$top/bindings/python" "$dir/tree/bindings/"
cd "$dir/tree" || exit 1
run $python -m pip wheel -q --no-build-isolation --no-deps -w "$dir/wheel" \
    ./bindings/python
is "$status" 0 "a wheel is built"
[ "$status" = 0 ] || diag "$out" "$err"
version=$("$LEASEHOLD" version | sed -n '1s/^leasehold //p')
ok "  whose version is the command's" test -s \
    "$dir/wheel/leasehold-$version-py3-none-any.whl"
$python -m zipfile -l "$dir/wheel"/*.whl >"$dir/files"
like "$(cat "$dir/files")" leasehold/py.typed "  it has the mark of types"
for f in "$top"/bindings/python/leasehold/*.py; do
	like "$(cat "$dir/files")" "leasehold/${f##*/}" "  and ${f##*/}"
done
run $python -m pip install -q --no-build-isolation --no-deps --target "$dir/site" \
    ./bindings/python
is "$status" 0 "pip installs it"
[ "$status" = 0 ] || diag "$out" "$err"
cd "$dir" || exit 1
run env PYTHONPATH="$dir/site" $python -c '
import importlib.metadata as m, leasehold
print(leasehold.__file__, m.version("leasehold"), leasehold.library_version())'
is "$out" "$dir/site/leasehold/__init__.py $version $version" \
    "  python3 finds it, and pip's version is the library's"

run mypy --strict --cache-dir "$dir/mypy" "$top/bindings/python/leasehold"
is "$status" 0 "mypy --strict has nothing to say"
[ "$status" = 0 ] || diag "$out"
cat >user.py <<'END'
import asyncio
import leasehold

async def work() -> int:
    table = leasehold.Table("t")
    lease: leasehold.Lease = await table.start("k", ttl=5)
    async with table.lock("k", renew=1) as lock, table.start("j") as other:
        return lease.token + lock.token + other.token

asyncio.run(work())
END
run env MYPYPATH="$dir/site" mypy --strict --cache-dir "$dir/mypy" user.py
is "$status" 0 "  nor about a program that uses it"
[ "$status" = 0 ] || diag "$out"
cat >wrong.py <<'END'
import leasehold
lease = leasehold.Table("t").try_acquire("k", tll=5)
print(lease.token)
END
run env MYPYPATH="$dir/site" mypy --strict --cache-dir "$dir/mypy" wrong.py
like "$out" 'Unexpected keyword argument "tll"' "  a wrong argument is found"
like "$out" 'has no attribute "token"' "  and an answer that may be None"
finish
