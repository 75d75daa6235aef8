#!/usr/bin/env bash
# Installs the build given, and builds and runs the examples against what was installed, outside of
# the source tree: by find_package, and one by pkg-config with a plain C compiler.
set -euo pipefail

build=$1
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "FAILED: $1" >&2 && exit 1; }

cmake --install "$build" --prefix "$work/prefix" >/dev/null
cp -r "$source/core/sdr/examples" "$work/examples"

build_examples() {
  cmake -S "$work/examples" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" &&
    cmake --build "$work/build"
}
if ! build_examples >"$work/log" 2>&1; then
  cat "$work/log"
  fail "find_package(longhaul)"
fi
"$work/build/transfer" || fail "the example transfer"
partial=$("$work/build/partial_completion") || fail "the example partial_completion: $partial"
echo "$partial"
[[ $partial == *"some chunks missing"* ]] || fail "partial completion did not miss a chunk"

export PKG_CONFIG_PATH=$work/prefix/lib/pkgconfig:$work/prefix/lib64/pkgconfig
for found in "$work"/prefix/lib/*/pkgconfig; do PKG_CONFIG_PATH+=:$found; done
IFS=' ' read -ra flags <<<"$(pkg-config --cflags --libs longhaul)"
"${CC:-cc}" -std=c11 -Wall -Wextra -Werror "$work/examples/transfer.c" "${flags[@]}" -o "$work/by_pkg_config" ||
  fail "pkg-config --cflags --libs longhaul"
"$work/by_pkg_config" >/dev/null || fail "the example built by pkg-config"
[[ $(pkg-config --modversion longhaul) == "$("$work/prefix/bin/longhaul" --version | grep -o '[0-9.]*' | head -1)" ]] ||
  fail "the versions of package and program differ"

# Every installed header compiles by itself, in the language that it is for.
(cd "$work/prefix/include" && find longhaul -name '*.h' | sort) >"$work/headers"
while read -r header; do
  echo "#include <$header>"
done <"$work/headers" >"$work/all.cc"
"${CXX:-c++}" -std=c++20 -fsyntax-only -I"$work/prefix/include" -I"$work/prefix/include/longhaul" "$work/all.cc" ||
  fail "the installed headers"
echo "installed, built by find_package and by pkg-config, and run"
