#!/usr/bin/env bash
# From nothing to rows: installs, builds, makes a full-size sparse checkpoint, serves it from mpirun ranks in two
# combine modes, checks every returned byte with a second reader, prints a table and cleans up.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
bin=$root/build/release/bin
ranks=2
parent=${TMPDIR:-/tmp}
keep=no
packages=yes
work=     # all temporary data lies in it
job=      # process id of a running mpirun
size="full-size"
modes=(OWNER_GATHER ALL_REDUCE_PACKED)

usage() {
  cat <<'EOF'
Usage: deploy/quickstart.sh [--ranks N] [--dir DIR] [--keep] [--no-packages]

  --ranks N       ranks that mpirun launches (default 2)
  --dir DIR       where to make the temporary folder with the checkpoint and logs (default: $TMPDIR or /tmp)
  --keep          leave that folder behind and say where it is
  --no-packages   do not install packages (they are there already, or this is not Debian)
EOF
}

say() { printf '[%4ds] %s\n' "$SECONDS" "$*"; }
fail() { echo "quickstart: $*" >&2; exit 1; }

parse() {
  while [ $# -gt 0 ]; do
    case "$1" in
      --ranks | --dir)
        [ $# -gt 1 ] || fail "$1 needs a value"
        if [ "$1" = --ranks ]; then ranks=$2; else parent=$2; fi
        shift ;;
      --keep) keep=yes ;;
      --no-packages) packages=no ;;
      -h | --help) usage; exit 0 ;;
      *) usage >&2; echo "quickstart: unknown option '$1'" >&2; exit 2 ;;
    esac
    shift
  done
  case "$ranks" in
    '' | *[!0-9]* | 0) fail "--ranks is '$ranks'; it must be a number from 1" ;;
  esac
}

# At exit, however it comes: no process and no temporary data is left behind.
clean_up() {
  local code=$?
  trap - EXIT INT TERM
  if [ -n "$job" ] && kill -0 "$job" 2>/dev/null; then
    kill -TERM "$job" 2>/dev/null || true
    wait "$job" 2>/dev/null || true
  fi
  if [ -n "$work" ] && [ "$keep" = yes ]; then
    echo "Kept: $work (checkpoint, logs)"
  elif [ -n "$work" ]; then
    [ "$code" = 0 ] || tail -n 20 "$work"/*.log >&2 2>/dev/null || true
    say "removing $work (on ext4 mounted with discard this can take minutes)"
    rm -rf "$work"
  fi
  [ "$code" = 0 ] || echo "quickstart: FAILED (exit code $code)" >&2
  exit "$code"
}

build() {
  if [ "$packages" = yes ]; then
    "$root/deploy/install-packages.sh"
  fi
  say "configuring and building the release preset into build/release"
  cd "$root"
  cmake --preset release >"$work/configure.log" 2>&1
  cmake --build --preset release --target engram-server engram
}

# Disk use as a person reads it: "189G apparent, 23M on disk".
disk_use() {
  echo "$(du -sh --apparent-size "$1" | cut -f1) apparent, $(du -sh "$1" | cut -f1) on disk"
}

synth() {
  local code=0 tokens
  tokens=("$root"/deploy/texts/*.jsonl)
  say "writing a full-size sparse checkpoint (about 200 GB apparent; rows only for the texts in deploy/texts)"
  "$bin/engram" synth --config "$root/deploy/geometries/full.json" --sparse --tokens "${tokens[@]}" \
    --out "$work/checkpoint" >"$work/synth.log" 2>&1 || code=$?
  if [ "$code" = 3 ]; then
    size="1/64-size"
    say "this file system keeps no holes: writing tables of 1/64 the size instead, every row (about 3 GB)"
    rm -rf "$work/checkpoint"
    code=0
    "$bin/engram" synth --config "$root/deploy/geometries/full_64th.json" --tokens "${tokens[@]}" \
      --out "$work/checkpoint" >"$work/synth.log" 2>&1 || code=$?
  fi
  [ "$code" = 0 ] || { cat "$work/synth.log" >&2; fail "engram synth ended with $code"; }
  say "checkpoint: $(disk_use "$work/checkpoint")"
}

# Waits until the server says where it listens, or has ended.
wait_for_port() {
  local deciseconds=0
  until [ -s "$work/port" ]; do
    kill -0 "$job" 2>/dev/null || fail "the server ended before it was SERVING"
    [ "$deciseconds" -lt 1200 ] || fail "the server was not SERVING after 120 s"
    deciseconds=$((deciseconds + 1))
    sleep 0.1
  done
}

# $1: combine mode. Serves, verifies, stops; the figures land in $work/$1.verify.
run_mode() {
  local mode=$1 code=0
  rm -f "$work/port" "$work/pid"
  say "mpirun -np $ranks engram-server, MAPPED, $mode"
  mpirun -np "$ranks" --oversubscribe --bind-to none "$bin/engram-server" --checkpoint "$work/checkpoint" \
    --listen 127.0.0.1:0 --port-file "$work/port" --pid-file "$work/pid" --placement MAPPED --combine "$mode" \
    >"$work/$mode.server.log" 2>&1 </dev/null &
  job=$!
  wait_for_port
  "$bin/engram" verify --server "$(cat "$work/port")" --checkpoint "$work/checkpoint" \
    --script prefill-decode --chunk 512 --decode 32 >"$work/$mode.verify" 2>"$work/$mode.verify.log" || code=$?
  [ "$code" = 0 ] || { cat "$work/$mode.verify" "$work/$mode.verify.log" >&2; fail "engram verify ended with $code"; }
  kill -TERM "$(cat "$work/pid")"
  wait "$job" || code=$?
  job=
  [ "$code" = 0 ] || fail "the server ended with $code after SIGTERM; 0 was expected"
}

# $1: a mode, or nothing for the heading. Lines of engram verify: phase steps tokens rows bytes seconds tokens/s
# non-zero % mismatches. Fails unless every phase returned rows, all of them non-zero, and nothing differs.
table_lines() {
  local format='%-18s %-8s %8s %10s %14s %10s %14s %11s\n'
  if [ $# = 0 ]; then
    # shellcheck disable=SC2059
    printf "$format" combine phase tokens rows bytes tokens/s "non-zero rows" mismatches
    return
  fi
  awk -v mode="$1" -v format="$format" '
    $1 == "prefill" || $1 == "decode" {
      printf format, mode, $1, $3, $4, $5, $7, $8 " %", $10
      if ($4 > 0 && $8 == "100.00" && $9 == "%" && $10 == "0") good++
    }
    END { exit good != 2 }' "$work/$1.verify"
}

report() {
  local mode code=0
  printf '\n%s tables, %s ranks, MAPPED; every returned byte compared with the files:\n\n' "$size" "$ranks"
  table_lines
  for mode in "${modes[@]}"; do
    table_lines "$mode" || code=1
  done
  echo
  [ "$code" = 0 ] || fail "not every row is there and equal"
  say "done: built, served and verified; the server drained and exited 0 in each mode"
}

main() {
  parse "$@"
  [ -d "$parent" ] || fail "--dir '$parent' is no folder"
  work=$(mktemp -d "$(cd "$parent" && pwd)/engram-quickstart.XXXXXX")
  trap clean_up EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  # Open MPI refuses to start as root without both; containers and minimal systems have nobody else.
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  build
  synth
  local mode
  for mode in "${modes[@]}"; do
    run_mode "$mode"
  done
  report
}

main "$@"
