#!/usr/bin/env bash
# tests/fuzz/run.sh [--seconds N] [TARGET...] [-- LIBFUZZER_ARGS]: builds the preset `fuzz` and fuzzes each target
# (config, hash_state, mask, request; default: all) for N seconds (default 600), starting from tests/fuzz/corpus/TARGET.
# What it finds is kept in build/fuzz/corpus/TARGET. Exit code 77, with the reason, where clang has no libFuzzer.
set -euo pipefail

seconds=600
targets=()
extra=()

parse() {
  while [ $# -gt 0 ]; do
    case "$1" in
      --seconds) seconds=$2; shift ;;
      --) shift; extra=("$@"); break ;;
      -*) echo "run.sh: unknown option '$1'; see the head of tests/fuzz/run.sh" >&2; exit 2 ;;
      *) targets+=("$1") ;;
    esac
    shift
  done
  [ ${#targets[@]} -gt 0 ] || targets=(config hash_state mask request)
}

has_fuzzer() {
  local out
  out=$(mktemp)
  echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' |
    clang++ -fsanitize=fuzzer,address,undefined -x c++ - -o "$out" 2>/dev/null && rm -f "$out"
}

# Programs with a sanitizer need an address-space layout that newer kernels randomise away.
run() {
  if [ "$(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 28)" -gt 28 ] && setarch -R true 2>/dev/null; then
    setarch -R "$@"
  else
    "$@"
  fi
}

fuzz() {
  local target=$1 found=build/fuzz/corpus/$1 seeds=tests/fuzz/corpus/$1
  local command=(build/fuzz/fuzz/"$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -max_len=4096
                 -print_final_stats=1 -artifact_prefix=build/fuzz/failed_"$target"_ "${extra[@]}" "$found" "$seeds")
  mkdir -p "$found"
  echo "fuzz: ${command[*]}"
  if ! run "${command[@]}"; then
    echo "fuzz: $target FAILED. The input lies at build/fuzz/failed_${target}_*; build/dev/tests/fuzz_$target FILE"
    echo "fuzz: replays it. Mend the fault, and add the input to $seeds."
    return 1
  fi
  echo "fuzz: to keep what adds coverage, small and few:"
  echo "  build/fuzz/fuzz/$target -set_cover_merge=1 -use_counters=0 -max_len=400 $seeds $found"
}

main() {
  parse "$@"
  cd "$(dirname "${BASH_SOURCE[0]}")/../.."
  if ! has_fuzzer; then
    echo "SKIPPED: clang++ with libFuzzer is not installed (Debian packages clang and libclang-rt-14-dev)"
    exit 77
  fi
  cmake --preset fuzz
  cmake --build --preset fuzz
  local target
  for target in "${targets[@]}"; do fuzz "$target"; done
  echo "fuzz: ${#targets[@]} targets, $seconds s each: no fault found"
}

main "$@"
