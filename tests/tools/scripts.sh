#!/usr/bin/env bash
# Checks of the scripts in tools/ and .ci/: scripts.sh CHECK, from the root of the tree. Exit code 77
# means skipped, with the reason printed.
set -euo pipefail

programs=(tools/run tools/test tools/setup tools/bench tools/lint .ci/run)
scripts=("${programs[@]}" tools/common.sh tests/tools/scripts.sh)

fail() {
  echo "FAILED: $*"
  exit 1
}

skip() {
  echo "skipped: $*"
  exit 77
}

expect() {  # expect TEXT PATTERN: TEXT contains a line that matches
  grep -q -- "$2" <<<"$1" || fail "no line matches '$2' in: $1"
}

check_syntax() {
  local script
  for script in "${scripts[@]}"; do bash -n "$script"; done
  for script in "${programs[@]}"; do
    [[ -x $script ]] || fail "$script is not executable"
    grep -qx 'set -euo pipefail' "$script" || fail "$script goes on after errors"
  done
}

check_shellcheck() {
  command -v shellcheck >/dev/null || skip "shellcheck is not installed"
  shellcheck -x -P tools "${scripts[@]}"
}

check_help() {
  local script output
  for script in "${programs[@]}"; do
    # From elsewhere, and with no tool of ours to be found through the working directory.
    output=$(cd / && "$OLDPWD/$script" --help </dev/null) || fail "$script --help: exit code $?"
    expect "$output" "^Usage: $script"
  done
  output=$(tools/run)
  expect "$output" "^Usage: tools/run"
  for script in tools/setup tools/lint .ci/run; do
    local code=0
    "$script" --no-such-option >/dev/null 2>&1 || code=$?
    ((code == 2)) || fail "$script --no-such-option: exit code $code"
  done
}

# A machine made of fakes: `have` lists its packages, `apt.log` what apt-get was asked.
fake_machine() {
  machine=$(mktemp -d)
  trap 'rm -rf "$machine"' EXIT
  mkdir "$machine/bin"
  local tool
  for tool in bash env grep rm tr; do ln -s "$(type -P $tool)" "$machine/bin/"; done
  cat >"$machine/bin/dpkg-query" <<'FAKE'
#!/usr/bin/env bash
echo query >>"$MACHINE/apt.log"
for name in "${@:3}"; do grep -qxF "$name" "$MACHINE/have" && printf 'installed:%s ' "$name"; done
exit 1
FAKE
  cat >"$machine/bin/apt-cache" <<'FAKE'
#!/usr/bin/env bash
[[ $2 == libclang-rt-dev ]] && exit 0
printf '%s:\n  Candidate: 1.0\n' "$2"
# The real one goes on for a while after the line that matters, longer than a pipe holds.
for _ in {1..9999}; do echo '     500 archive'; done
FAKE
  cat >"$machine/bin/apt-get" <<'FAKE'
#!/usr/bin/env bash
echo "apt-get $* ${DEBIAN_FRONTEND:-}" >>"$MACHINE/apt.log"
[[ $1 == update && -e $MACHINE/no-network ]] && rm "$MACHINE/no-network" && exit 100
exit 0
FAKE
  printf '#!/usr/bin/env bash\n"$@"\n' >"$machine/bin/sudo"
  printf '#!/usr/bin/env bash\nexit 0\n' >"$machine/bin/sleep"
  chmod +x "$machine/bin/"*
  : >"$machine/have"
}

on_machine() { MACHINE=$machine PATH=$machine/bin LONGHAUL_SETUP='' "$@" 2>&1; }

check_setup() {
  local output code
  fake_machine
  output=$(on_machine tools/setup run --dry-run) && fail "--dry-run found nothing missing"
  expect "$output" "libisal-dev  *erasure codes"
  ! grep -q apt-get "$machine/apt.log" || fail "--dry-run called apt-get"

  # An empty machine: one update (the first try fails), one install without questions.
  : >"$machine/apt.log"
  : >"$machine/no-network"
  on_machine tools/setup test >/dev/null
  (($(grep -c 'apt-get update' "$machine/apt.log") == 2)) || fail "no second apt-get update"
  output=$(grep 'apt-get install' "$machine/apt.log")
  (($(wc -l <<<"$output") == 1)) || fail "more than one apt-get install"
  expect "$output" '--yes --no-install-recommends g++ cmake .* noninteractive$'
  expect "$output" ' libclang-rt-18-dev '  # this apt has no libclang-rt-dev

  # Everything there, one package under its other name: one question, silence.
  grep -o '[^ ]*' <<<"$output" | grep -vx -e 'apt-get' -e install -e '--.*' >"$machine/have"
  : >"$machine/apt.log"
  output=$(on_machine tools/setup test)
  [[ -z $output && $(<"$machine/apt.log") == query ]] || fail "not idle: $output $(<"$machine/apt.log")"

  # One missing.
  sed -i /libfmt-dev/d "$machine/have"
  on_machine tools/setup >/dev/null
  expect "$(<"$machine/apt.log")" 'no-install-recommends libfmt-dev noninteractive$'

  sed -i d "$machine/have"
  output=$(MACHINE=$machine PATH=$machine/bin LONGHAUL_SETUP=skip tools/setup test)
  [[ -z $output ]] || fail "LONGHAUL_SETUP=skip: $output"

  if ((EUID == 0)) && command -v setpriv >/dev/null; then
    rm "$machine/bin/sudo"
    cp tools/setup "$machine"
    chmod -R a+rX "$machine" && chmod a+w "$machine/apt.log"
    code=0
    output=$(on_machine "$(command -v setpriv)" --reuid=65534 --clear-groups \
      bash "$machine/setup" run) || code=$?
    ((code == 1)) || fail "without root and sudo: exit code $code"
    expect "$output" 'apt-get install --yes --no-install-recommends g++ .*libfmt-dev'
  fi

  rm "$machine/bin/apt-get"
  output=$(on_machine tools/setup run) && fail "no apt, yet success"
  expect "$output" 'LONGHAUL_SETUP=skip'
}

# The build function of common.sh, with a tiny project in place of ours.
check_build() {
  local tree output
  tree=$(mktemp -d)
  # shellcheck disable=SC2064  # the path as it is now
  trap "rm -rf '$tree'" EXIT
  mkdir -p "$tree/a/tools" && cp CMakePresets.json "$tree/a" && cp tools/common.sh "$tree/a/tools"
  cat >"$tree/a/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(tiny LANGUAGES NONE)
option(LONGHAUL_TESTS "" OFF)
configure_file(word.in word COPYONLY)
add_custom_target(look COMMAND true)  # in every build, as our look at git
add_custom_target(program ALL DEPENDS out)
add_dependencies(program look)
add_custom_command(OUTPUT out DEPENDS word COMMAND grep good word > out)
if(LONGHAUL_TESTS)
  add_custom_target(extra ALL COMMAND true)
endif()
CMAKE
  echo good a >"$tree/a/word.in"
  build() { bash -c 'set -euo pipefail; source "$0/tools/common.sh"; build_release "${@:1}"' "$@" 2>&1; }

  output=$(build "$tree/a" program) || fail "first build: $output"
  expect "$output" '^building program'
  output=$(build "$tree/a" program)
  [[ -z $output ]] || fail "not silent when nothing changed: $output"

  build "$tree/a" LONGHAUL_TESTS=ON extra >/dev/null || fail "could not turn an option on"
  build "$tree/a" program >/dev/null
  grep -q '^LONGHAUL_TESTS:BOOL=ON$' "$tree/a/build/release/CMakeCache.txt" || fail "option lost"

  # A copied tree builds its own sources, not those of the original.
  cp -r "$tree/a" "$tree/b" && echo good b >"$tree/b/word.in"
  build "$tree/b" program >/dev/null || fail "copied tree does not build"
  [[ $(<"$tree/b/build/release/out") == 'good b' ]] || fail "the copy built the original"

  echo bad >"$tree/b/word.in"
  output=$(build "$tree/b" program) && fail "a failed build passed"
  expect "$output" 'FAILED'
}

# Nothing in the tree may name the machine or the network that it was written on.
find_unportable() {
  local hosts='arxiv\.org|cmake\.org|clangd\.llvm\.org|doi\.org|github\.com|json-schema\.org'
  hosts+='|www\.rfc-editor\.org|www\.w3\.org|vega\.github\.io|longhaul\.example'
  {
    git grep --untracked -nIE '(^|[^[:alnum:]_.*$}/-])/(home|root|work|workspace|Users|mnt|srv)/' || true
    git grep --untracked -nIE '(^|[^0-9.])(10\.[0-9]+|192\.168|172\.(1[6-9]|2[0-9]|3[01]))\.[0-9]+\.[0-9]+' || true
    git grep --untracked -nIPo "https?://(?!($hosts)([/:\"' )>]|\$))[^/ \"')>]*" || true
  } | grep -v '^tests/tools/scripts.sh:' || true
}

check_portable() {
  git rev-parse --is-inside-work-tree >/dev/null 2>&1 || skip "not a git work tree"
  local found
  found=$(find_unportable)
  [[ -z $found ]] || fail "machine paths or unknown hosts:"$'\n'"$found"

  # The check itself must find what it is for.
  machine=$(mktemp -d)
  trap 'rm -rf "$machine"' EXIT
  cd "$machine"
  git init -q
  printf '%s\n' 'cd /home/me' 'proxy=10.1.2.3' 'https://registry.internal/x' >bad
  printf '%s\n' 'https://arxiv.org/abs/1' '4/work/unit' '3.10.1.2' 'build/work/x' >good
  found=$(find_unportable)
  (($(grep -c '^bad:' <<<"$found") == 3)) || fail "missed one: $found"
  ! grep '^good:' <<<"$found" || fail "false alarm"
}

"check_${1:?which check?}"
