# Sourced by the scripts beside it: where things are, and the one way to build build/release.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
release=$root/build/release

# build_release [OPTION=ON...] TARGET...: one build at a time, everything it says on standard error.
# CMake options once turned on stay on, so tools/run after tools/test builds nothing anew.
build_release() {
  local options=() targets=() argument
  for argument in "$@"; do
    if [[ $argument == *=* ]]; then options+=("$argument"); else targets+=("$argument"); fi
  done
  mkdir -p "$release"
  {
    flock 9
    configure_release "${options[@]}" 9>&-
    ninja_release "${targets[@]}" 9>&-
  } 9>"$release/.lock"
}

configure_release() {
  local cache=$release/CMakeCache.txt arguments=() changed='' option
  for option in "$@"; do
    arguments+=("-D$option")
    grep -qs "^${option%=*}:[A-Z]*=${option#*=}\$" "$cache" || changed=1
  done
  if [[ -e $cache ]] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$cache"; then
    # The tree was copied or moved: this cache would build the sources of the other one.
    arguments+=(--fresh)
    changed=1
  fi
  if [[ -e $release/build.ninja && -z $changed ]]; then return; fi
  echo "configuring build/release" >&2
  if ! (cd "$root" && cmake --preset release "${arguments[@]}") >"$release/configure.log" 2>&1; then
    cat "$release/configure.log" >&2
    return 1
  fi
}

# On a terminal ninja shows its progress; elsewhere the log appears only when the build fails.
ninja_release() {
  local log=$release/build.log
  if ninja -C "$release" -n "$@" 2>/dev/null | grep 'no work to do' >/dev/null; then return; fi
  echo "building $* in build/release" >&2
  if [[ -t 2 ]]; then
    NINJA_STATUS='[%f/%t] ' ninja -C "$release" "$@" >&2
  elif ! ninja -C "$release" "$@" >"$log" 2>&1; then
    cat "$log" >&2
    return 1
  fi
}
