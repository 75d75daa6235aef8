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

# The whole log goes to build.log and appears here only when the build fails, without its progress.
ninja_release() {
  local log=$release/build.log
  if ! NINJA_STATUS='[%f/%t] ' ninja -C "$release" "$@" 2>&1 | tee "$log" | show_progress "$*"; then
    grep -v '^\[[0-9]*/[0-9]*\] \|^ninja: Entering' "$log" >&2
    return 1
  fi
}

# Reads ninja's log: one line as soon as something is built, and on a terminal a running count. The
# look at git that every build takes is not building.
show_progress() {
  local line started=''
  while IFS= read -r line; do
    case $line in
      *'] cd '* | *'] Running utility command'*) continue ;;  # how ninja shows such targets
      '['*/*']'*) ;;
      *) continue ;;
    esac
    [[ -n $started ]] || echo "building $1 in build/release" >&2
    started=1
    if [[ -t 2 ]]; then printf '\r%-79.79s' "$line" >&2; fi
  done
  if [[ -t 2 && -n $started ]]; then printf '\r%79s\r' '' >&2; fi
}
