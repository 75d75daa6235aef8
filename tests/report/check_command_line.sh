#!/bin/sh
# The command line as a user meets it: exit codes, and what goes to which stream.
#   check_command_line.sh LONGHAUL_PROGRAM
set -u
longhaul=$1
scenario=scenarios/quickstart.yaml
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
  echo "FAILED: $1"
  sed 's/^/  stdout: /' "$work/stdout" | head -n 20
  sed 's/^/  stderr: /' "$work/stderr" | head -n 20
  failures=$((failures + 1))
}

# expect CODE ARGUMENT...: runs the program, keeps its streams, compares the exit code.
expect() {
  code=$1
  shift
  "$longhaul" "$@" >"$work/stdout" 2>"$work/stderr"
  found=$?
  [ "$found" -eq "$code" ] || fail "longhaul $*: exit code $found, not $code"
}

says() { grep -qF -- "$2" "$work/$1" || fail "$1 lacks: $2"; }
silent() { [ ! -s "$work/$1" ] || fail "$1 is not empty"; }

expect 0 --version
says stdout "longhaul 0."
says stdout "commit"
expect 0 --help
says stdout "Example"
expect 0 run --help
for flag in --out --seed --set --json --jobs --quiet --dry-run; do says stdout "$flag"; done
says stdout "130"

expect 2
says stderr "error:"
expect 2 run
says stderr "error:"
expect 2 run "$scenario" --frobnicate
says stderr "--frobnicate"
says stderr "longhaul run --help"
silent stdout
expect 2 run "$scenario" --jobs 0
says stderr "--jobs"
expect 2 run "$scenario" --seed -1
says stderr "--seed"
expect 2 run "$scenario" --seed 18446744073709551616
says stderr "--seed"
expect 2 run "$work/none.yaml"
says stderr "none.yaml"
expect 2 run "$scenario" --set path.losss.rate=1 --out "$work/out"
says stderr "error:"
expect 2 run "$scenario" --out /proc/longhaul
says stderr "/proc/longhaul"
says stderr "--out"
expect 2 run "$scenario" --out "$work/out" --json "$work/no/such/folder.json"
says stderr "folder"

small="--set seeds=1..3 --set messages=2"
# shellcheck disable=SC2086  # several words on purpose
expect 0 run "$scenario" $small --out "$work/a" --jobs 1
says stdout "finishes first"
says stdout "$work/a/report.html"
tail -n 1 "$work/stdout" | grep -q "^Repeat: .* run $scenario --set seeds=1..3 --set messages=2 --out $work/a$" ||
  fail "the last line is not the command that repeats the run"
silent stderr  # no progress bar into a pipe

# shellcheck disable=SC2086
expect 0 run "$scenario" $small --out "$work/b" --jobs 3 --json - --quiet
python3 -c 'import json,sys; json.load(open(sys.argv[1]))' "$work/stdout" || fail "--json - is not JSON alone"
silent stderr
cmp -s "$work/stdout" "$work/b/result.json" || fail "--json - differs from result.json"
python3 - "$work/a/result.json" "$work/b/result.json" <<'PYTHON' || fail "results depend on --jobs"
import json, sys
a, b = (json.load(open(name)) for name in sys.argv[1:])
sys.exit(0 if a["series"] == b["series"] and a["summary"] == b["summary"] else 1)
PYTHON

# shellcheck disable=SC2086
expect 0 run "$scenario" $small --out "$work/c" --json -
says stderr "finishes first"
# shellcheck disable=SC2086
expect 0 run "$scenario" $small --seed 18446744073709551000 --out "$work/c" --quiet
silent stdout
grep -q 18446744073709551002 "$work/c/result.json" || fail "--seed does not count on from N"
# shellcheck disable=SC2086
"$longhaul" run "$scenario" $small --out "$work/c" --quiet --json - >/dev/full 2>"$work/stderr"
[ $? -eq 2 ] || fail "a full standard output goes unnoticed"
says stderr "standard output"
# shellcheck disable=SC2086
expect 1 run "$scenario" $small --set "expect=[max_slowdown: {below: 1.001}]" --out "$work/d"
says stdout "FAIL"
expect 0 run "$scenario" --dry-run --out "$work/e"
says stdout "samples"
[ ! -e "$work/e" ] || fail "--dry-run made its output folder"

[ "$failures" -eq 0 ] && echo ok
[ "$failures" -eq 0 ]
