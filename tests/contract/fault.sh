#!/usr/bin/env bash
# fault.sh EXIT_CODE SECONDS WORDS COMMAND...: runs COMMAND, which must end with EXIT_CODE ("lost": anything but 0)
# within SECONDS and print WORDS.
set -uo pipefail

expected=$1 limit=$2 words=$3
shift 3

fail() {
  echo "FAILED: $1"
  exit 1
}

SECONDS=0
output=$(timeout --kill-after=5 "$limit" "$@" 2>&1)
code=$?
printf '%s\n' "$output"
[ "$SECONDS" -lt "$limit" ] || fail "not over after $limit s"
case $expected in
  lost) [ "$code" -ne 0 ] || fail "exit code 0 after a lost rank" ;;
  *) [ "$code" -eq "$expected" ] || fail "exit code $code, expected $expected" ;;
esac
grep -qF -- "$words" <<<"$output" || fail "no \"$words\" in the output"
