#!/usr/bin/env bash
# tests/sanitize/preset.sh PRESET LABELS: builds the tests of a preset that have one of the labels (a ctest expression)
# and runs them. Used by ctest for asan and tsan.
set -euo pipefail

preset=$1
labels=$2
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# Programs with a sanitizer need an address-space layout that newer kernels randomise away.
run() {
  if [ "$(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 28)" -gt 28 ] && setarch -R true 2>/dev/null; then
    setarch -R "$@"
  else
    "$@"
  fi
}

cmake --preset "$preset"
cmake --build --preset "$preset" --target checked
run ctest --preset "$preset" -L "$labels" --no-tests=error
